"""Test pairs between two sets of documents, and their order: they equal a filter of all pairs."""

import json
import random
import sqlite3

import pytest

import docindex
from docindex.arrays import joins
from docindex.query.pairs import nodes
from docindex.storage.rows import bulk
from tests.query.corpus import RECIPE, corpus
from tests.storage.texts import prose

OPTIONS = [{"min_resemblance": least} for least in (0.1, 0.4, 0.75, 0.8, 0.9)] + [
    {"min_containment": least} for least in (0.3, 0.8)
]
# Sizes of two sets: the smaller one is read first if it is much smaller. None: both sets are the same.
SIZES = [(8, 25), (5, 39), (39, 6), (4, 30), (12, None), (0, 25), (25, 0), (3, 39)]


def among(keys):
    """The condition that a document has one of these keys."""
    return "key in (select value from json_each(?))", [json.dumps(sorted(keys))]


def numbers(pair):
    return pair.containment, pair.reverse_containment, pair.resemblance, pair.shared, pair.basis


def filtered(pairs, first, second):
    """The definition: the pairs with a document in each set, the one in the first set first."""
    found = []
    for pair in pairs:
        inside, reverse, *others = numbers(pair)
        if pair.a in first and pair.b in second:
            found.append((pair.a, pair.b, inside, reverse, *others))
        elif pair.b in first and pair.a in second:
            found.append((pair.b, pair.a, reverse, inside, *others))
    return found


@pytest.mark.parametrize("method", ["shingles", "fingerprints", "slots", "features"])
@pytest.mark.parametrize("seed", range(24))
def test_pairs_between_two_sets_are_those_of_a_filter(method, seed, monkeypatch):
    rng = random.Random(seed)
    texts = corpus(seed, 25)
    # If no set is small, the pairs of all texts are filtered.
    monkeypatch.setattr(nodes, "FEW", rng.choice([-1, 256]))
    first, second = (set(rng.sample(sorted(texts), size or 0)) for size in SIZES[seed % 8])
    if None in SIZES[seed % 8]:
        second = first
    kept = [1, 0.5, 0][seed % 3]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        if rng.random() < 0.4:
            index.boilerplate.add(texts[rng.choice(sorted(texts))])
        for key, text in texts.items():
            index.add(key, text, store_text=rng.random() < kept)
        for options in OPTIONS:
            if method in ("slots", "features") and "min_containment" in options:
                continue
            ignore_above = rng.choice([None, 4]) if method in ("shingles", "fingerprints") else None
            min_shared = rng.choice([0, 3])
            question = {"method": method, "ignore_above": ignore_above, "min_shared": min_shared, **options}
            # Whether a text is kept may depend on copies outside of the sets.
            every = index.pairs(where=None if kept == 1 else among(first | second), **question)
            found = index.pairs(between=(among(first), among(second)), **question)
            rows = [(pair.a, pair.b, *numbers(pair)) for pair in found]
            assert sorted(rows) == sorted(filtered(every, first, second))
            assert len(found) == len(rows)
            assert (found.ignore_above, found.set_aside) == (every.ignore_above, every.set_aside)
            assert found[1:4] == list(found)[1:4]
            assert list(index.pairs(between=(among(first), among(second)), limit=3, **question)) == found[:3]


def test_a_document_in_both_sets_never_pairs_with_itself_and_each_pair_comes_once():
    with docindex.open(":memory:") as index:
        for key in "abcd":
            index.add(key, prose(random.Random(1), 30))
        found = index.pairs(between=("key < 'd'", "key > 'a'"))
        assert [(pair.a, pair.b) for pair in found] == [
            *(("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")),
        ]
        assert len(found) == 6
        assert [(pair.a, pair.b) for pair in index.pairs(between=("key = 'd'", "key = 'a'"))] == [("d", "a")]
        assert list(index.pairs(between=("key = 'a'", "key = 'a'"))) == []
        assert list(index.pairs(between=("key = 'x'", "1"))) == []


def test_no_pair_inside_a_set_is_met(monkeypatch):
    text = prose(random.Random(2), 60)
    met = []
    whole = joins.meeting_pairs

    def meeting_pairs(*arrays):
        met.extend(whole(*arrays).tolist())
        return whole(*arrays)

    monkeypatch.setattr("docindex.query.pairs.candidates.meeting_pairs", meeting_pairs)
    with docindex.open(":memory:") as index:
        index.add_many((f"old/{number:03}", f"{text} {number}") for number in range(200))
        index.add("new/1", f"{text} new")
        for few in (-1, 256):
            monkeypatch.setattr(nodes, "FEW", few)
            for options in [*OPTIONS, {"method": "fingerprints"}, {"method": "features"}]:
                met.clear()
                found = index.pairs(between=("key glob 'new/*'", "key glob 'old/*'"), **options)
                assert {pair.a for pair in found} == {"new/1"}
                assert len(found) == 200
                assert 200 <= len(set(met)) <= 201  # the new text may meet itself


@pytest.mark.parametrize("kept", [True, False])
def test_a_few_texts_that_are_mostly_boilerplate_are_found_in_many(kept):
    rng = random.Random(9)
    template, piece = prose(rng, 300), prose(rng, 20)
    with docindex.open(":memory:") as index:
        index.boilerplate.add(template)
        index.add_many((f"old/{number}", prose(rng, 80)) for number in range(30))
        index.add("old/whole", f"{prose(rng, 80)} {piece} {prose(rng, 80)}", store_text=kept)
        index.add("new/1", f"{piece} {template}", store_text=kept)
        index.add("old/piece", piece, store_text=kept)
        sides = ("key glob 'new/*'", "key glob 'old/*'")
        pairs = [(pair.a, pair.b) for pair in index.pairs(between=sides, min_containment=0.6)]
        assert sorted(pairs) == [("new/1", "old/piece"), ("new/1", "old/whole")]
        pairs = [(pair.a, pair.b) for pair in index.pairs(between=sides, min_resemblance=0.6)]
        assert pairs == [("new/1", "old/piece")]


def test_of_many_texts_only_the_likely_partners_of_a_few_are_read(monkeypatch):
    rng = random.Random(10)
    read = []
    whole = bulk.sizes
    monkeypatch.setattr(bulk, "sizes", lambda db, among: read.append(among) or whole(db, among))
    with docindex.open(":memory:") as index:
        index.add_many((f"old/{number:03}", prose(rng, 80)) for number in range(60))
        index.add_many([("old/none", ""), ("new/none", "\n"), ("other", index.text("old/007"))])
        index.add_many([("new/1", f"{index.text('old/007')} and more"), ("new/2", index.text("old/008"))])
        question = {"between": ("key glob 'new/*'", "key glob 'old/*'"), "min_resemblance": 0.5}
        found = index.pairs(**question)
        assert sorted((pair.a, pair.b) for pair in found) == [
            *(("new/1", "old/007"), ("new/2", "old/008"), ("new/none", "old/none")),
        ]
        partners = {index[key].content for key in ("new/1", "new/2", "new/none", *PARTNERS)}
        assert set(read.pop().tolist()) == partners
        index.add("old/sketch", index.text("new/1").upper(), store_text=False)  # its pairs are estimated
        assert len(index.pairs(**question)) == 4
        assert set(read.pop().tolist()) == partners | {index["old/sketch"].content}
    assert read == []


PARTNERS = ("old/007", "old/008", "old/none")


@pytest.mark.parametrize("kept", [0, 0.5, 1])
def test_a_few_texts_inside_very_long_ones_are_found_in_many(kept):
    rng = random.Random(11)
    pieces = [prose(rng, 40) for _ in range(4)]
    with docindex.open(":memory:") as index:
        for number in range(40):
            inside = pieces[number] if number < 4 else ""
            text = f"{prose(rng, 6000)} {inside} {prose(rng, 10)}"
            index.add(f"old/{number:02}", text, store_text=rng.random() < kept)
        for number, piece in enumerate(pieces):
            index.add(f"new/{number}", piece, store_text=rng.random() < kept)
        for method in ("shingles", "fingerprints"):
            question = {"min_containment": 0.5, "method": method}
            found = index.pairs(between=("key glob 'new/*'", "key glob 'old/*'"), **question)
            rows = sorted((pair.a, pair.b, *numbers(pair)) for pair in found)
            new, old = ({key for key in index if key.startswith(side)} for side in ("new", "old"))
            assert rows == sorted(filtered(index.pairs(**question), new, old))
            assert [row[:2] for row in rows] == [(f"new/{number}", f"old/{number:02}") for number in range(4)]


def test_pairs_can_be_ordered_and_limited_by_how_much_they_share():
    rng = random.Random(3)
    long, short = prose(rng, 300), prose(rng, 12)
    with docindex.open(":memory:") as index:
        index.add("long", long)
        index.add("longer", f"{long} {prose(rng, 100)}")
        index.add("short", short)
        index.add("Short", short.upper())
        assert [pair.a for pair in index.pairs()] == ["Short", "long"]
        assert [pair.a for pair in index.pairs(rank="shared")] == ["long", "Short"]
        (pair,) = index.pairs(min_shared=100)
        assert (pair.a, pair.b, pair.shared) == ("long", "longer", 296)
        assert len(index.pairs(min_shared=296)) == 1
        assert len(index.pairs(min_shared=297)) == 0
        sql = "select a from doc_pairs where rank = 'shared' and min_shared = 8"
        assert index.execute(sql) == [("long",), ("Short",)]


def test_wrong_sets_are_refused_by_name():
    with docindex.open(":memory:") as index:
        for wrong in ("key = 'a'", ("key = 'a'",), 3, ["1", "1", "1"]):
            with pytest.raises(TypeError, match="between must be two conditions on document"):
                index.pairs(between=wrong)
        with pytest.raises(ValueError, match="where and between cannot be used together"):
            index.pairs(between=("1", "1"), where="1")
        with pytest.raises(ValueError, match="the condition 'nothing' does not work"):
            index.pairs(between=("1", "nothing"))
        with pytest.raises(ValueError, match="rank must be"):
            index.pairs(rank="most")


def test_sql_takes_the_two_conditions_as_a_json_array(tmp_path):
    rng = random.Random(4)
    text = prose(rng, 60)
    with docindex.open(tmp_path / "index") as index:
        index.add_many((key, f"{text} {key}") for key in ("new/1", "new/2", "old/1"))
        sides = json.dumps(["key glob 'new/*'", "key glob 'old/*'"])
        expected = [(pair.a, pair.b) for pair in index.pairs(between=tuple(json.loads(sides)))]
        assert expected == [("new/1", "old/1"), ("new/2", "old/1")]
        assert index.execute('select a, b from doc_pairs where "between" = ?', [sides]) == expected
        for wrong in ("key = 'a'", '["1"]', "[1, 2]", 7):
            with pytest.raises(ValueError, match="between must be a JSON array of two conditions"):
                index.execute('select a from doc_pairs where "between" = ?', [wrong])
        with pytest.raises(ValueError, match="it may use only the columns of document"):
            index.execute(
                """select a from doc_pairs where "between" = '["1", "(select sql from sqlite_schema)"]'"""
            )
    db = sqlite3.connect(tmp_path / "index")
    docindex.register(db)
    (found,) = db.execute("select doc_pairs_json(?)", [json.dumps({"between": sides})]).fetchone()
    db.close()
    assert [(row["a"], row["b"]) for row in json.loads(found)] == expected
