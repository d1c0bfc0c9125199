"""Documents whose simhash is near that of a key, a text or a number; one query or many at a time."""

import random

import pytest

import docindex
from tests.query.corpus import corpus


@pytest.fixture(scope="module")
def texts():
    return corpus(21, size=120)


@pytest.fixture(scope="module")
def index(texts):
    with docindex.open(":memory:") as opened:
        opened.add_many(texts.items(), workers=1)
        yield opened


def expected(texts, simhash, distance):
    found = [(docindex.distance(simhash, docindex.simhash(text)), key) for key, text in texts.items()]
    return [(key, apart) for apart, key in sorted(found) if apart <= distance]


def answers(found):
    return [(neighbour.key, neighbour.distance) for neighbour in found]


@pytest.mark.parametrize("distance", [0, 1, 3, 8, 20, 40])
def test_all_documents_within_a_distance_are_found_nearest_first(index, texts, distance):
    for key, text in list(texts.items())[:40]:
        simhash = docindex.simhash(text)
        for query in (key, docindex.Text(text), simhash):
            assert answers(index.near(query, distance)) == expected(texts, simhash, distance)


def test_many_queries_at_once_have_the_answers_of_single_queries(index, texts):
    rng = random.Random(1)
    queries = [*texts, rng.getrandbits(64), 2**63, docindex.Text("words that nobody has")]
    assert index.near_many(queries, 6) == [index.near(query, 6) for query in queries]
    assert index.near_many([]) == []


def test_a_condition_restricts_the_answers_and_a_removed_document_is_not_found(texts):
    with docindex.open(":memory:") as index:
        index.add_many(texts.items())
        copies = [key for key in texts if key.startswith("copy")]
        for key in copies:
            original = key.removeprefix("copy of ")
            assert [n.key for n in index.near(original, 0, where="key like 'copy%'")] == [key]
            index.remove(original)
            assert original not in {n.key for n in index.near(key, 3)}


def test_an_impossible_query_or_distance_is_refused(index):
    with pytest.raises(ValueError, match="distance must be a whole number from 0 to 63"):
        index.near("a text", 64)
    with pytest.raises(ValueError, match="does not fit in 64 bits"):
        index.near(1 << 64)
    for query in (1.5, True, None, b"bytes"):
        with pytest.raises(TypeError, match=r"expected a text or a key as a str, or a docindex\.Id, not"):
            index.near(query)
    with pytest.raises(TypeError, match="queries must be a list or another iterable"):
        index.near_many("abc")
