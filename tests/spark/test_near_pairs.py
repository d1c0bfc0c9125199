"""Spark finds the same near documents as an index."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import docindex
from docindex import spark
from docindex.simhashing.table_design import useful_designs
from docindex.spark.near_pairs import cheapest_design, prefix_masks

WORDS = [f"word{number}" for number in range(300)]


def documents():
    """Random texts with edited copies, exact copies, short texts, and texts without words."""
    chosen = random.Random(5)
    texts = {}
    for number in range(60):
        words = chosen.choices(WORDS, k=chosen.choice([3, 40, 200]))
        texts[f"text {number}"] = " ".join(words)
        if number % 3 == 0:
            words[len(words) // 2] = "edited"
            texts[f"copy {number}"] = " ".join(words)
        if number % 10 == 0:
            texts[f"same {number}"] = texts[f"text {number}"].upper()
    return texts | {"empty": "", "spaces": "  ", "dots": "...", "Ä": "a", "": "a"}


def sketches_of(session, texts):
    return spark.sketch(session.createDataFrame(list(texts.items()), "key string, text string")).cache()


def triples(frame):
    rows = [tuple(row) for row in frame.collect()]
    assert len(rows) == len(set(rows)), "a pair occurs twice"
    return set(rows)


def in_order(a, b):
    return min((a, b), (b, a), key=lambda pair: pair[0].encode())


def of_index(texts, distance):
    with docindex.open(":memory:") as index:
        index.add_many(texts.items())
        found = zip(texts, index.near_many(map(docindex.simhash, texts.values()), distance), strict=True)
        return {
            (*in_order(key, each.key), each.distance)
            for key, near in found
            for each in near
            if each.key != key
        }


@pytest.fixture(scope="module")
def sketched(session):
    return sketches_of(session, documents())


@pytest.mark.parametrize("distance", [0, 3, 20, 63])
def test_the_pairs_are_those_of_an_index(sketched, distance):
    assert triples(spark.near(sketched, distance)) == of_index(documents(), distance)


def test_tables_with_prefixes_find_the_same_pairs_as_comparing_all(sketched, monkeypatch):
    monkeypatch.setattr(
        "docindex.spark.near_pairs.cheapest_design", lambda _, bits: useful_designs(64, bits, 30)[-1]
    )
    assert triples(spark.near(sketched, 5)) == of_index(documents(), 5)


@pytest.mark.parametrize("part", [1, 4])
def test_crowds_that_are_cut_into_parts_give_the_same_pairs(sketched, monkeypatch, part):
    monkeypatch.setattr("docindex.spark.crowd_parts._PART", part)
    assert triples(spark.near(sketched, 5)) == of_index(documents(), 5)


def test_between_two_frames_each_pair_has_one_document_of_each(sketched):
    texts = documents()
    old = {key: texts[key] for number, key in enumerate(texts) if number % 3}
    new = {key: texts[key] for number, key in enumerate(texts) if number % 3 != 1}
    both = old.keys() & new.keys()
    wanted = set()
    for one, two, apart in of_index(texts, 8):
        for a, b in ((one, two), (two, one)):
            if a in old and b in new and not ({a, b} <= both and a.encode() > b.encode()):
                wanted.add((a, b, apart))
    frames = (sketched.where(sketched.key.isin(list(side))) for side in (old, new))
    assert triples(spark.near(next(frames), 8, between=next(frames))) == wanted


def test_a_document_that_changed_makes_no_pair_with_its_older_self(session):
    old, new = (sketches_of(session, {"k": text}) for text in ("some old words", "some old word"))
    assert triples(spark.near(old, 63, between=new)) == set()


def test_no_documents_have_no_pairs(session):
    assert triples(spark.near(sketches_of(session, {}), 3)) == set()


@pytest.mark.parametrize("distance", [-1, 64, 1.5])
def test_a_distance_that_is_no_number_of_bits_is_refused(sketched, distance):
    with pytest.raises((ValueError, TypeError), match="distance"):
        spark.near(sketched, distance)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 12), st.integers(0, 30), st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63)))
def test_two_near_values_agree_in_the_prefix_of_a_table(distance, log2, value, flipped):
    masks = np.array(prefix_masks(cheapest_design(1 << log2, distance))).view(np.uint64)
    other = value
    for bit in sorted(flipped)[:distance]:
        other ^= 1 << bit
    assert any((value ^ other) & int(mask) == 0 for mask in masks)
