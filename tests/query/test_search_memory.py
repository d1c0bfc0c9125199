"""What searches remember of an index never changes an answer, whatever was added, removed or forgotten."""

import contextlib
import random

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import docindex
from docindex.query import content_hashes, search_memory
from docindex.query.number_table import NumberTable
from tests.query.corpus import RECIPE, corpus, hashes_of, search, shares


def check(index, texts, query):
    """Compare a search with the definition."""
    true = search(texts, query)
    found = index.search(docindex.Text(query), limit=None)
    assert {match.key: shares(match) for match in found} == true
    order = sorted(true, key=lambda key: (-true[key][4], key))
    for limit in (1, 3, 20):
        assert [match.key for match in index.search(docindex.Text(query), limit=limit)] == order[:limit]
    return len(true)


@pytest.mark.parametrize("seed", range(4))
def test_an_index_that_changes_between_searches_answers_by_the_definition(monkeypatch, seed):
    # The frequencies of the smallest hashes, or of all, are read at the second search of a state or later.
    monkeypatch.setattr(search_memory, "_FREQUENCIES_READ", 20 * seed)
    monkeypatch.setattr(search_memory, "_POSTINGS", (1 << 18, 100, 1, 1 << 18)[seed])
    rng, texts, found = random.Random(seed), corpus(400 + seed), 0
    long = [text for text in texts.values() if len(hashes_of(text)) > 5]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1)
        for step in range(30):
            if rng.random() < 0.4:
                index.add(f"new {step}", text := " ".join(rng.sample(long, 2)))
                texts[f"new {step}"] = text
            if rng.random() < 0.4:
                index.remove(key := rng.choice(sorted(texts)))
                del texts[key]
            found += check(index, texts, rng.choice(long))
    assert found > 100


def max_batch(texts):
    """More than a search reads at a time."""
    return sum(len(hashes_of(text)) + search_memory._ENTRY for text in texts.values())


@pytest.mark.parametrize("most", [0, 40, 400])
def test_forgotten_hashes_are_read_again(monkeypatch, most):
    rng, texts = random.Random(most), corpus(410)
    monkeypatch.setattr(search_memory, "MOST_HASHES", most)
    monkeypatch.setattr(search_memory, "_MOST_UNITS", most // 10)
    real = NumberTable.get

    def forgetful(table, keys):
        numbers = real(table, keys)
        numbers[rng.randrange(2) :: 2] = 0
        return numbers

    monkeypatch.setattr(NumberTable, "get", forgetful)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1)
        for query in [text for text in texts.values() if hashes_of(text)][:12] * 2:
            check(index, texts, query)
        assert index._search_memory._known[1]._held <= most + 32 + max(
            len(hashes_of(t)) for t in texts.values()
        )


def test_searches_together_remember_from_the_first_one_on():
    texts = corpus(430)
    queries = [docindex.Text(text) for text in texts.values()]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1)
        together = index.search_many(queries)
        assert index._search_memory._known[1]._hashes
        index._search_memory = search_memory.SearchMemory()
        assert index.search(queries[-1]) == together[-1]
        assert index._search_memory._known is None  # one search has nothing to remember for
        assert [index.search(query) for query in queries] == together


def test_the_hashes_of_long_contents_are_counted_in_pieces(monkeypatch):
    texts = corpus(420)
    queries = [text for text in texts.values() if hashes_of(text)][:12]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1)
        before = [index.search(docindex.Text(query), rank=rank) for query in queries for rank in RANKS]
        index._search_memory = search_memory.SearchMemory()
        monkeypatch.setattr(content_hashes, "_AT_ONCE", 0)
        for query in queries:
            check(index, texts, query)
        assert not index._search_memory._known[1]._hashes
        assert [
            index.search(docindex.Text(query), rank=rank) for query in queries for rank in RANKS
        ] == before


RANKS = ("likeness", "excerpt")


def test_a_text_that_was_rolled_back_is_forgotten(tmp_path):
    docindex.open(tmp_path / "index", create=True).close()
    with contextlib.closing(apsw.Connection(str(tmp_path / "index"))) as db:
        docindex.register(db)

        def put(key, text):
            db.execute("select doc_put(?, ?)", (key, text)).fetchall()

        def found(text):
            return db.execute("select key, shared, score from doc_search(doc_literal(?))", (text,)).fetchall()

        first, second, third = (
            " ".join(f"{word}{number}" for number in range(60)) for word in ("one", "two", "three")
        )
        put("c", third)
        alone = found(third)
        db.execute("begin")
        put("a", f"{first} {third}")
        assert len(found(third)) == 2
        db.execute("rollback")
        assert found(third) == alone
        put("a", f"{second} {third}")  # gets the id of the content that was rolled back
        with docindex.open(tmp_path / "index", readonly=True) as new:
            expected = [(match.key, match.shared, match.score) for match in new.search(docindex.Text(first))]
            assert found(first) == expected
            again = [(match.key, match.shared, match.score) for match in new.search(docindex.Text(third))]
            assert found(third) == again


@pytest.mark.parametrize("bits", [1, 12, 16])
@given(st.lists(st.tuples(st.integers(0, 2**48 - 1), st.integers(1, 2**32 - 1)), max_size=30))
def test_a_table_has_the_last_number_of_a_key_or_none(bits, entries):
    # Keys with the same low bits take the places of each other.
    table, last = NumberTable(bits), {}
    for key, number in entries:
        for same_place in (key, key & ~0xFFFF, key & ~0xFFFF ^ 1 << 20):
            table.put(np.array([same_place], np.uint64), np.array([number]))
            last[same_place] = number
    keys = [*last, *(key ^ 1 << 40 for key in last)]
    for key, found in zip(keys, table.get(np.array(keys, np.uint64)).tolist(), strict=True):
        assert found in (0, last.get(key, 0))
    for key, number in entries[-1:]:
        key = key & ~0xFFFF ^ 1 << 20
        expected = number if number < 1 << bits + 16 else 0
        assert table.get(np.array([key], np.uint64)).tolist() == [expected]
