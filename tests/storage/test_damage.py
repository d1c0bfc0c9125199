"""A damaged file gives a named error or the right answer, or `check` names the damage."""

import tracemalloc
import zlib

import apsw
import pytest

import docindex
from tests.storage import damage


def test_every_damage_is_a_named_error_or_harmless_or_named_by_check(tmp_path):
    found, outcomes, tried = damage.run(150, tmp_path)
    assert found == []
    assert tried == 150
    # Many changes must hit bytes that are used, or the test shows nothing.
    assert outcomes["named"] > 50


def test_a_text_that_would_decompress_to_a_huge_size_is_refused_before_that(tmp_path):
    path = str(tmp_path / "index")
    with docindex.open(path) as index:
        index.add("a", "some text, again and again " * 20)
    db = apsw.Connection(path)
    db.execute("update text set data = ?", (zlib.compress(bytes(100_000_000), 1),))
    db.close()
    with docindex.open(path) as index:
        tracemalloc.start()
        try:
            with pytest.raises(docindex.CorruptIndex, match="text"):
                index.text("a")
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "statement",
    [
        # If docindex trusted one of these, a question would take hours or never end.
        "update dead set segment = 1 << 40",
        "update segment set postings = 1 << 39",
        "update segment set block_bits = 32, hash_bits = 32",
        "update segment set moved = -(1 << 62), target = null",
        "update segment set last = (1 << 31) + first",
        "update segment set id = id + (1 << 31)",
        "update segment set target = id",
        "update segment set target = (select max(id) from segment)",
    ],
)
def test_absurd_numbers_are_found_at_once(statement, tmp_path):
    path = tmp_path / "whole"
    damage.build(path)
    expected = tmp_path / "expected"
    expected.write_text(damage.json.dumps(damage.expected_of(path)))
    assert damage.change_row(path, statement, [])
    reader = damage.Reader(expected)
    try:
        problems, outcomes = reader.read(path)
    finally:
        reader.close()
    assert problems == []
    # The file is opened in two ways. If both were "right", the damage would not be found.
    assert outcomes.get("right", 0) < 2


@pytest.mark.parametrize("damaged", ["x'ff'", "cast(x'ff' as text)"])
def test_a_question_with_a_condition_does_not_blame_the_condition_for_damage(damaged, tmp_path):
    path = str(tmp_path / "index")
    text = "some text that both documents have in common"
    with docindex.open(path) as index:
        index.add_many([("a", text), ("b", text)])
    db = apsw.Connection(path)
    (schema,) = db.execute("select sql from sqlite_schema where name = 'document'").fetchone()
    change = "update sqlite_schema set sql = ? where name = 'document'"
    db.execute("pragma writable_schema = on")
    db.execute(change, (schema.replace("key text", "key").replace(") strict", ")"),))
    db.close()
    db = apsw.Connection(path)
    db.execute(f"update document set key = {damaged} where key = 'a'")
    db.execute("pragma writable_schema = on")
    db.execute(change, (schema,))
    db.close()
    with docindex.open(path) as index:
        for ask in (
            lambda: index.search(docindex.Text(text), where="id < 3"),
            lambda: list(index.pairs(min_resemblance=0.5, where="id < 3")),
            lambda: index.near(docindex.Text(text), where="id < 3"),
        ):
            with pytest.raises(docindex.CorruptIndex, match="wrong type"):
                ask()
