"""A damaged file gives a named error or the right answer, or `check` names the damage."""

import random
import sqlite3
import tracemalloc
import zlib
from contextlib import closing

import apsw
import numpy as np
import pytest

import docindex
from docindex.query.measures import shares_of_sets
from docindex.storage.tracked_files import Tracked
from tests.storage import damage, silent_damage
from tests.storage.texts import prose


def test_every_damage_is_a_named_error_or_harmless_or_named_by_check(tmp_path):
    found, outcomes, tried = damage.run(150, tmp_path)
    assert found == []
    assert tried == 150
    # Many changes must hit bytes that are used, or the test shows nothing.
    assert outcomes["named"] > 50


def test_check_names_all_damage_that_makes_an_answer_wrong():
    outcomes = silent_damage.run(range(240))
    assert len(outcomes) > 200
    assert [outcome for outcome in outcomes if outcome.fault or outcome.named is False] == []
    # Many changes must hit something that a question reads, or the test shows nothing.
    assert sum(outcome.told for outcome in outcomes) > 80


@pytest.fixture
def small(tmp_path):
    """A file with three documents, of which two have the same text; and that text."""
    path = str(tmp_path / "index")
    text = prose(random.Random(3), 60)
    with docindex.open(path) as index:
        index.add_many([("ada", text * 3), ("copy", text * 3), ("other", text + "Nothing else.")])
        index.add("gone", text + " and what will be gone")
        index.remove("gone")
        index.boilerplate.add("a template that nobody uses in this index", name="template")
        index.files.put([Tracked("/home/a", 1, 2, 3, 4, 5, "binary", "", 0, "", None)])
    return path, text


def damaged(path, statement):
    """Change rows as no writer does."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute(statement).rowcount >= 1
        db.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "update docindex_posting set keys = substr(keys, 1, length(keys) - 10)",
        "delete from docindex_posting where id = (select min(id) from docindex_posting)",
        "update docindex_fingerprint set numbers = cast(x'010203040506' || substr(numbers, 7) as blob)",
        "update docindex_fingerprint set highs = cast(x'ff' || substr(highs, 2) as blob)",
        "update docindex_segment set kind = 1 - kind",
        "delete from docindex_fingerprint where id >> 20 = 1",
        "update docindex_segment set hash_bits = hash_bits - 1",
    ],
)
def test_a_search_tells_damage_that_it_meets(statement, small):
    path, text = small
    damaged(path, statement)
    with docindex.open(path) as index:
        with pytest.raises(docindex.CorruptIndex):
            index.search(docindex.Text(text), limit=None)
        assert index.check() != []


OF_TRAITS = "id >> 32 in (select id from docindex_segment where kind = 1)"


def by_features(index):
    """Look up features."""
    return index.similar("ada", 0.9, method="features")


@pytest.mark.parametrize(
    ("statement", "ask"),
    [
        (f"update docindex_posting set keys = substr(keys, 6) where {OF_TRAITS}", by_features),
        (f"delete from docindex_posting where {OF_TRAITS}", by_features),
        (
            f"update docindex_posting set keys = substr(keys, 6) where {OF_TRAITS}",
            lambda index: index.search(docindex.Text("?")),
        ),
        (
            f"update docindex_posting set keys = substr(keys, 6) where {OF_TRAITS}",
            lambda index: index.add("new", "a text that is new"),
        ),
        ("update docindex_content set slots = randomblob(192)", lambda index: index["ada"]),
        ("update docindex_document set added_at = 7", lambda index: index["ada"]),
        ("update docindex_boilerplate set text = 'x'", lambda index: list(index.boilerplate)),
        ("update docindex_file set key = '/home/b'", lambda index: index.files.under("/home")),
    ],
)
def test_each_question_tells_damage_that_it_meets(statement, ask, small):
    path, _ = small
    damaged(path, statement)
    with docindex.open(path) as index:
        with pytest.raises(docindex.CorruptIndex):
            ask(index)
        assert index.check() != []


@pytest.mark.parametrize(
    "statement",
    [
        "update docindex_content set hashes = 2",
        "update docindex_content set symbols = symbols + 1",
        "update docindex_content set shingles = shingles + 100 where id = 1",
        "update docindex_content set kept = 0 where id = 1",
        "update docindex_document set content = 1 where key = 'other'",
        "update docindex_document set key = 'cope' where key = 'copy'",
        "update docindex_document set id = 1000 where key = 'copy'",
        "insert into docindex_dead values (1000, 1)",
        "insert into docindex_dead values (1, 1)",
        "delete from docindex_segment",
        "delete from docindex_boilerplate",
        "delete from docindex_tally",
        "update docindex_content set simhash = simhash + 1 where id = 1",
        "update docindex_content set characters = 7",
        "update docindex_content set words_hash = randomblob(16) where id = 1",
        "update docindex_document set content = 2 where key = 'copy'",
        "update docindex_tally set rows = rows - 1 where name = 'document'",
        "delete from docindex_file",
        "update docindex_file set key = '/tmp/a'",
    ],
)
def test_check_names_damage_that_a_question_may_not_notice(statement, small):
    path, _ = small
    damaged(path, statement)
    with docindex.open(path) as index:
        assert index.check() != []


def test_a_change_of_a_document_whose_content_is_missing_is_refused(small):
    path, _ = small
    damaged(path, "update docindex_document set content = 1 << 54 where key = 'other'")
    with docindex.open(path) as index:
        for change in (lambda: index.remove("other"), lambda: index.add("other", "another text")):
            with pytest.raises(docindex.CorruptIndex, match="is missing or damaged"):
                change()
        assert index.check() != []


@pytest.mark.parametrize(
    "table",
    [
        *("document", "content", "fingerprint", "posting", "segment", "dead"),
        *("sample", "boilerplate", "file", "text"),
    ],
)
def test_check_names_every_deleted_row(table, tmp_path):
    path = tmp_path / "whole"
    damage.build(path)
    key = {"file": "key"}.get(table, "rowid")
    with closing(sqlite3.connect(path)) as db:
        keys = db.execute(f"select {key} from docindex_{table} order by random() limit 3").fetchall()
    assert keys
    source = path.read_bytes()
    for values in keys:
        path.write_bytes(source)
        where = " and ".join(f"{name} = ?" for name in key.split(", "))
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"delete from docindex_{table} where {where}", values)
            db.commit()
        with docindex.open(path, readonly=True) as index:
            assert index.check() != [], (table, values)


def test_an_impossible_share_is_damage_and_no_answer():
    one, two = np.array([1]), np.array([2])
    for shared, of_a, of_b in ((two, one, two), (-one, two, two)):
        with pytest.raises(docindex.CorruptIndex, match="not between 0 and 1"):
            shares_of_sets(shared, of_a, of_b)


def test_a_text_that_would_decompress_to_a_huge_size_is_refused_before_that(tmp_path):
    path = str(tmp_path / "index")
    with docindex.open(path) as index:
        index.add("a", "some text, again and again " * 20)
    db = apsw.Connection(path)
    db.execute("update docindex_text set data = ?", (zlib.compress(bytes(100_000_000), 1),))
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
        "update docindex_dead set segment = 1 << 40",
        "update docindex_segment set postings = 1 << 39",
        "update docindex_segment set block_bits = 32, hash_bits = 32",
        "update docindex_segment set moved = -(1 << 62), target = null",
        "update docindex_segment set last = (1 << 31) + first",
        "update docindex_segment set id = id + (1 << 31)",
        "update docindex_segment set target = id",
        "update docindex_segment set target = (select max(id) from docindex_segment)",
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
    (schema,) = db.execute("select sql from sqlite_schema where name = 'docindex_document'").fetchone()
    change = "update sqlite_schema set sql = ? where name = 'docindex_document'"
    db.execute("pragma writable_schema = on")
    db.execute(change, (schema.replace("key text", "key").replace(") strict", ")"),))
    db.close()
    db = apsw.Connection(path)
    db.execute(f"update docindex_document set key = {damaged} where key = 'a'")
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
