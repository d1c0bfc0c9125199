"""The order and the scores of a search are those of the definition, in any index of the same documents."""

import dataclasses
import functools
import random

import pytest

import docindex
from docindex import Recipe
from tests.query.corpus import RECIPE, corpus, hashes_of, search, shares

RANKS = ("likeness", "excerpt")


def smallest(budget, hashes):
    return set(sorted(hashes)[:budget])


def selected(query, window, hashes):
    return (hashes_of(query, Recipe(k=RECIPE.k, window=window)) & hashes) or hashes


def parts_of(query):
    """Options that look up a part of a query's hashes, with the definition of that part."""
    yield {}, None
    for budget in (1, 7):
        yield {"budget": budget}, functools.partial(smallest, budget)
    yield {"window": 24}, functools.partial(selected, query, 24)


def check(index, texts, query, *, ignored=frozenset(), **options):
    """Compare searches by both ranks with the definition: all answers, the first few, and a choice."""
    half = {key for key in texts if len(key) % 2 or key.endswith(("1", "4"))}
    where = ("length(key) % 2 or substr(key, -1) in ('1', '4')", ())
    for rank in RANKS:
        for part_options, part in parts_of(query):
            true = search(texts, query, ignored=ignored, rank=rank, part=part, **options)
            if not true:
                continue  # a query without hashes that count; test_search has it
            order = sorted(true, key=lambda key: (-true[key][4], key))
            ask = functools.partial(index.search, docindex.Text(query), rank=rank, **options, **part_options)
            found = ask(limit=None)
            assert {match.key: shares(match) for match in found} == true
            assert [match.key for match in found] == order
            chosen = [match for match in found if match.key in half]
            for limit in (1, 2, 3, 20):
                assert ask(limit=limit) == found[:limit]
                assert ask(limit=limit, where=where) == chosen[:limit]


def queries_of(texts, rng):
    """Some texts, and parts of texts."""
    long = [text for text in texts.values() if len(hashes_of(text)) > 5]
    for text in rng.sample(long, 4):
        yield text
        begin = rng.randrange(len(text) // 2)
        yield text[begin : begin + 150]


@pytest.mark.parametrize("seed", range(6))
def test_scores_and_order_are_those_of_the_definition(seed):
    rng, texts = random.Random(seed), corpus(100 + seed)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1)
        for query in queries_of(texts, rng):
            if hashes_of(query):
                check(index, texts, query)
                check(index, texts, query, ignore_above=4)


@pytest.mark.parametrize("seed", range(3))
def test_batches_removals_and_merges_do_not_change_a_score(seed):
    rng, texts = random.Random(seed), corpus(200 + seed)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        for key, text in rng.sample(sorted(texts.items()), len(texts)):
            index.add(key, text)
        for key in rng.sample(sorted(texts), 12):
            index.remove(key)
            del texts[key]
        queries = [query for query in queries_of(texts, rng) if hashes_of(query)]
        for query in queries:
            check(index, texts, query)
        index.optimize()
        for query in queries:
            check(index, texts, query)


@pytest.mark.parametrize("seed", range(3))
def test_boilerplate_weighs_nothing(seed):
    rng, texts = random.Random(seed), corpus(300 + seed)
    template = texts["003"] + texts["004"]
    every = Recipe(k=RECIPE.k, window=1)
    ignored = frozenset(hash_ >> 16 for hash_ in docindex.fingerprints(template, every).hashes.tolist())
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1)
        index.boilerplate.add(docindex.Text(template))
        for query in queries_of(texts, rng):
            if hashes_of(query) - ignored:
                check(index, texts, query, ignored=ignored)


def test_documents_of_one_score_are_ordered_by_key():
    (text,) = (text for key, text in corpus(5).items() if key == "001")
    keys = [f"{number * 37 % 100:02}" for number in range(100)]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        # Every second document has the same words in another form: another content of the same score.
        index.add_many((key, text + " ?" * int(key)) for key in keys)
        for rank in RANKS:
            for limit in (1, 3, 50, None):
                found = index.search(docindex.Text(text), rank=rank, limit=limit)
                assert [match.key for match in found] == sorted(keys)[:limit]
                assert {match.score for match in found} == {1.0}


def test_of_two_documents_that_hold_the_query_the_one_with_less_else_is_more_like_it():
    quoted, more = (text for key, text in corpus(6).items() if key in ("001", "like 001", "002"))
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many([("a long one", f"{more} {quoted} {more[::-1]}"), ("the text", quoted + " and more")])
        ranked = {rank: [match.key for match in index.search(quoted, rank=rank)] for rank in RANKS}
    assert ranked == {"likeness": ["the text", "a long one"], "excerpt": ["a long one", "the text"]}


@pytest.mark.parametrize("keep", [True, False])
def test_exact_numbers_are_those_of_compare_and_meet_the_minimums(keep):
    texts = corpus(7)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1, store_text=keep)
        for query in ("007", "012", "020"):
            plain = index.search(query, limit=None)
            found = index.search(query, limit=None, exact=True)
            assert [(match.key, match.score) for match in found] == [(m.key, m.score) for m in plain]
            for match in found:
                expected = index.measures(query, docindex.Key(match.key))
                assert match.exact or not keep
                assert all(
                    getattr(match, field.name) == getattr(expected, field.name)
                    for field in dataclasses.fields(docindex.Measures)
                )
            assert index.search(query, limit=3, exact=True) == found[:3]
            for name, some in {
                **dict.fromkeys(
                    ("min_containment", "min_reverse_containment", "min_resemblance"), (0.1, 0.4, 0.9)
                ),
                "min_shared": (1, 5, 50),
            }.items():
                for least in some:
                    enough = [m for m in found if getattr(m, name.removeprefix("min_")) >= least]
                    for limit in (None, 2):
                        asked = index.search(query, limit=limit, exact=True, **{name: least})
                        assert asked == enough[:limit]
