"""Test where a text comes from: texts pasted together from documents, against what was pasted."""

import itertools
import json
import random
import sqlite3

import pytest

import docindex
from tests.query.corpus import RECIPE
from tests.storage.texts import prose


def symbols(text):
    return [char.lower() for char in text if char.isalnum()]


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(7)
    return {f"{number:03}": prose(rng, rng.randint(150, 400)) for number in range(300)}


@pytest.fixture(scope="module")
def index(texts):
    with docindex.open(":memory:") as index:
        index.add_many(texts.items())
        yield index


def pasted(rng, texts, own):
    """A text made of parts of five documents with `own` characters between, and the symbols of each part.

    Parts have whole words, because passages have.
    """
    sizes, parts = {}, []
    for number, key in enumerate(rng.sample(sorted(texts), 5)):
        size = 600 - 90 * number + rng.randint(-20, 20)
        begin = texts[key].index(" ", rng.randint(0, len(texts[key]) - size - 40)) + 1
        parts.append(texts[key][begin : texts[key].index(" ", begin + size)])
        sizes[key] = len(symbols(parts[-1]))
    rng.shuffle(parts)
    between = ("".join(rng.choices("bcdfghjklmnpqrstvwxz ", k=own)) for _ in parts)
    return " ".join(f"{part} {other}" for part, other in zip(parts, between, strict=True)), sizes


@pytest.mark.parametrize("own", [0, 300])
def test_the_documents_of_a_pasted_text_are_found_by_their_share_and_no_others(index, texts, own):
    rng = random.Random(own)
    for _ in range(10):
        text, sizes = pasted(rng, texts, own)
        total = len(symbols(text))
        found = index.sources(docindex.Text(text))
        assert [source.key for source in found] == sorted(sizes, key=lambda key: -sizes[key])
        assert found.covered == pytest.approx(sum(sizes.values()) / total, abs=0.01)
        assert found.covered + found.uncovered == 1
        assert found.symbols == total
        for source in found:
            assert source.added == pytest.approx(sizes[source.key] / total, abs=0.01)
            assert source.basis == "passages"


def test_stretches_have_the_same_symbols_in_both_texts_and_never_overlap(index, texts):
    text, _ = pasted(random.Random(3), texts, 50)
    found = index.sources(docindex.Text(text))
    taken = []
    for source in found:
        for stretch in source.stretches:
            own = symbols(text[stretch.query_start : stretch.query_end])
            assert own == symbols(texts[source.key][stretch.start : stretch.end])
            assert len(own) == stretch.length
            taken.append((stretch.query_start, stretch.query_end))
        assert sum(stretch.length for stretch in source.stretches) == source.added_symbols
    taken.sort()
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))


def test_stretches_hold_whole_characters_in_any_script():
    rng = random.Random(5)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        texts = ["".join(rng.choices("学而时习之不亦说乎有朋自远方来" + "ﬁé ö🙂", k=200)) for _ in range(4)]
        index.add_many((str(number), text) for number, text in enumerate(texts))
        query = texts[0][20:120] + texts[1][50:110] + texts[0][120:150]
        found = index.sources(query)
        assert [source.key for source in found] == ["0", "1"]
        for source in found:
            for stretch in source.stretches:
                part = texts[int(source.key)][stretch.start : stretch.end]
                assert docindex.resemblance(part, query[stretch.query_start : stretch.query_end]) == 1


def test_each_source_adds_only_what_no_earlier_one_covers():
    rng = random.Random(6)
    first, second, third = (prose(rng, 40) for _ in range(3))
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add("both", f"{first} {second}")
        index.add("overlapping", f"{second} {third}")
        index.add("inside", second)
        found = index.sources(f"{first} {second} {third}")
        assert [source.key for source in found] == ["both", "overlapping"]
        assert found.covered == 1
        assert found[1].covered > found[1].added
        assert found[0].added + found[1].added == pytest.approx(1)
        assert [source.key for source in index.sources(f"{first} {second} {third}", limit=1)] == ["both"]
        assert len(index.sources(f"{first} {second} {third}", min_share=0.5)) == 1


def test_documents_with_one_content_count_once_and_the_first_key_that_fulfils_the_condition_is_named():
    text = prose(random.Random(1), 60)
    with docindex.open(":memory:") as index:
        for key in ("c", "a", "b"):
            index.add(key, text)
        index.add("like a", text.upper())
        (found,) = index.sources(text)
        assert (found.key, found.copies) == ("a", ("b", "c"))
        (found,) = index.sources(text, where="key between 'b' and 'c'")
        assert (found.key, found.copies) == ("b", ("c",))
        (found,) = index.sources(text, where=("key > ?", ["c"]))
        assert found.key == "like a"
        (found,) = index.sources("a")
        assert (found.key, found.copies) == ("b", ("c",))


def test_a_condition_that_few_documents_fulfil_finds_them_all_the_same():
    rng = random.Random(2)
    shared = prose(rng, 80)
    with docindex.open(":memory:") as index:
        index.add_many((f"{number:03}", f"{shared} {prose(rng, 5)}") for number in range(100))
        (found,) = index.sources(shared, where="key = '077'")
        assert found.key == "077"


def test_boilerplate_counts_neither_as_covered_nor_as_text():
    rng = random.Random(4)
    template, own = prose(rng, 60), prose(rng, 60)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add("form", f"{template} {prose(rng, 20)}")
        index.add("source", own)
        index.boilerplate.add(template, name="form")
        found = index.sources(f"{template} {own}")
        assert [source.key for source in found] == ["source"]
        assert found.covered == pytest.approx(1, abs=0.05)
        assert [source.key for source in index.sources(template)] == []
        everything = index.sources(f"{template} {own}", boilerplate=False)
        assert {source.key for source in everything} == {"form", "source"}


def test_a_document_without_its_text_is_a_source_by_its_fingerprints(texts):
    text, sizes = pasted(random.Random(9), texts, 40)
    total = len(symbols(text))
    with docindex.open(":memory:") as index:
        index.add_many(texts.items(), store_text=False)
        found = index.sources(text)
        assert {source.key for source in found} == set(sizes)
        for source in found:
            assert source.basis == "fingerprints"
            assert source.added == pytest.approx(sizes[source.key] / total, abs=0.04)
            assert source.added <= sizes[source.key] / total + 0.01
            assert all(stretch.start is stretch.end is None for stretch in source.stretches)
            for stretch in source.stretches:
                own = symbols(text[stretch.query_start : stretch.query_end])
                assert "".join(own) in "".join(symbols(texts[source.key]))
        with pytest.raises(docindex.TextNotKept):
            index.sources("000")


def test_a_text_without_fingerprints_has_no_sources(index):
    for text in ("", "...", "a b"):
        found = index.sources(docindex.Text(text))
        assert (list(found), found.covered, found.uncovered) == ([], 0, 1)


def test_many_postings_give_the_same_sources_when_they_are_read_again(index, texts, monkeypatch):
    text, _ = pasted(random.Random(8), texts, 30)
    expected = index.sources(docindex.Text(text))
    monkeypatch.setattr("docindex.query.sources._KEPT", 10)
    assert index.sources(docindex.Text(text)) == expected


def test_python_and_sql_on_both_libraries_give_one_answer(tmp_path, texts):
    text, _ = pasted(random.Random(11), texts, 60)
    with docindex.open(tmp_path / "index") as index:
        index.add_many(texts.items())
        found = index.sources(docindex.Text(text), limit=3, min_share=0.05)
        rows = index.execute("select * from doc_sources(?, 3, 0.05)", [text])
    db = sqlite3.connect(tmp_path / "index")
    docindex.register(db)
    as_json = json.loads(
        db.execute("""select doc_sources_json(?, '{"limit": 3, "min_share": 0.05}')""", [text]).fetchone()[0]
    )
    db.close()
    assert [tuple(row.values()) for row in as_json] == rows
    assert len(rows) == 3
    for source, row in zip(found, as_json, strict=True):
        assert (source.key, source.added, source.covered) == (row["key"], row["added"], row["covered"])
        assert row["uncovered"] == found.uncovered
        assert [stretch.length for stretch in source.stretches] == [
            stretch["length"] for stretch in json.loads(row["stretches"])
        ]
