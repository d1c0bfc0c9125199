"""Search finds the documents that share fingerprints with a query, with the numbers of the definition."""

import random

import numpy as np
import pytest

import docindex
from docindex import Recipe
from docindex.query.search import hash_lookup, scoring
from docindex.query.search import search as search_module
from tests.query.corpus import RECIPE, corpus, hashes_of, search, shares, words
from tests.storage.texts import prose


@pytest.fixture(params=[0, 1, 2], scope="module")
def texts(request):
    return corpus(request.param)


@pytest.fixture(scope="module")
def index(texts):
    with docindex.open(":memory:", recipe=RECIPE) as opened:
        opened.add_many(texts.items(), workers=1)
        yield opened
        assert opened.check() == []


def numbers(match):
    return match.containment, match.reverse_containment, match.resemblance, match.exact


def like(query, texts):
    """The keys of the texts with the same words. (All these texts are ASCII.)"""
    return {key for key, text in texts.items() if words(text) == words(query)}


def found_by(index, query, **options):
    """All answers, by key."""
    return {match.key: match for match in index.search(docindex.Text(query), limit=None, **options)}


def test_matches_have_the_numbers_and_the_order_of_the_definition(index, texts):
    queries = [*texts.values(), *(prose(random.Random(n), 20) for n in range(3))]
    for query in queries:
        expected = search(texts, query)
        if not hashes_of(query):
            continue
        found = index.search(docindex.Text(query), limit=None)
        assert {match.key: shares(match) for match in found} == expected
        assert all(match.basis == "fingerprints" for match in found)
        order = sorted(expected, key=lambda key: (-expected[key][4], key))
        assert [match.key for match in found] == order
        for limit in (1, 2, 5):
            assert [match.key for match in index.search(docindex.Text(query), limit=limit)] == order[:limit]


def test_a_key_stands_for_the_text_of_its_document(index, texts):
    for key, text in texts.items():
        assert index.search(key, limit=None) == index.search(docindex.Text(text), limit=None)


def test_a_text_without_a_fingerprint_finds_only_texts_with_its_words(index, texts):
    for query in ("", "...!", "ABC", "a.b C"):
        found = index.search(query)
        assert {match.key for match in found} == like(query, texts)
        assert {numbers(match) for match in found} == {(1.0, 1.0, 1.0, True)}


def test_the_numbers_of_a_text_without_a_fingerprint_are_those_of_compare():
    with docindex.open(":memory:") as index:
        index.add("a", "To be, or not to be")
        (match,) = index.search(docindex.Text("to be or not to be"))
        assert (match.basis, match.shared, match.resemblance) == ("shingles", 2, 1)
    with docindex.open(":memory:", recipe=docindex.Recipe(token="line", shingle=1)) as index:
        index.add("a", "to be\nor not")
        for exact in False, True:
            (match,) = index.search(docindex.Text("to be or\nnot"), exact=exact)
            assert (match.basis, match.shared, match.resemblance) == ("shingles", 0, 0)  # no line is the same


def test_a_match_exactly_at_a_threshold_is_kept(index, texts):
    for query in list(texts.values())[5:12]:
        expected = search(texts, query)
        for number, name in (
            (1, "min_containment"),
            (2, "min_reverse_containment"),
            (3, "min_resemblance"),
            (0, "min_shared"),
        ):
            for least in sorted({numbers[number] for numbers in expected.values()}):
                found = index.search(docindex.Text(query), limit=None, **{name: least})
                assert {match.key for match in found} == {
                    key for key, numbers in expected.items() if numbers[number] >= least
                }


def test_a_condition_on_documents_restricts_the_answers_and_not_the_ranking(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(
            (key, text, {"even": number % 2 == 0}) for number, (key, text) in enumerate(texts.items())
        )
        everything = index.search("007", limit=None)
        even = {key for number, key in enumerate(texts) if number % 2 == 0}
        for where in ("meta ->> 'even'", ("document.meta ->> ? = ?", ("even", 1)), "meta ->> 'even' -- so"):
            assert index.search("007", limit=None, where=where) == [m for m in everything if m.key in even]
            assert index.search("007", limit=2, where=where) == [m for m in everything if m.key in even][:2]
        with pytest.raises(
            ValueError, match=r"the condition 'nonsense = 1' does not work.*columns of document"
        ):
            index.search("007", where="nonsense = 1")


def test_a_larger_window_finds_the_documents_that_have_a_hash_it_selects(index, texts):
    for query in texts.values():
        for factor in (1, 2, 4, 8):
            window = factor * RECIPE.window
            coarse = hashes_of(query, Recipe(k=RECIPE.k, window=window))
            found = found_by(index, query, window=window)
            if coarse:
                assert set(found) == {key for key, text in texts.items() if coarse & hashes_of(text)}
                check_numbers(found, texts, query)


def test_a_budget_finds_the_documents_that_have_one_of_the_smallest_hashes(index, texts):
    query = max(texts.values(), key=len)
    whole = sorted(hashes_of(query))
    for budget in (1, 3, 8, len(whole), 10_000):
        smallest = set(whole[:budget])
        found = found_by(index, query, budget=budget)
        assert set(found) == {key for key, text in texts.items() if smallest & hashes_of(text)}
        check_numbers(found, texts, query)


def check_numbers(found, texts, query):
    """Check that the numbers count all hashes, even if few of them were looked up."""
    expected = search(texts, query)
    for key, match in found.items():
        assert shares(match)[:4] == expected[key][:4]
        assert match.basis == "fingerprints"


def test_thresholds_hold_even_if_few_hashes_are_looked_up(index, texts):
    query = max(texts.values(), key=len)
    for part in ({"budget": 8}, {"window": 24}, {"ignore_above": 4}, {"ignore_above": 3, "window": 12}):
        everything = found_by(index, query, **part)
        for least in (0.1, 0.3, 0.5, 1.0):
            found = found_by(index, query, min_containment=least, **part)
            assert set(found) == {key for key, match in everything.items() if match.containment >= least}


def test_boilerplate_counts_in_neither_numerator_nor_denominator(texts):
    template = texts["003"]
    ignored = frozenset(
        hash_ >> 16 for hash_ in docindex.fingerprints(template, Recipe(k=RECIPE.k, window=1)).hashes.tolist()
    )
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), workers=1)
        before = index.search("007", limit=None)
        name = index.boilerplate.add(docindex.Text(template))
        for query in ("007", "008", "like 009"):
            if hashes_of(texts.get(query, "")) - ignored:
                found = {match.key: shares(match) for match in index.search(query, limit=None)}
                assert found == search(texts, texts[query], ignored=ignored)
        # A text that is all boilerplate matches itself, and nothing else.
        same = index.search("003", limit=None)
        assert {match.key for match in same} == like(template, texts)
        assert {numbers(match) for match in same} == {(1.0, 1.0, 1.0, True)}
        assert [known.name for known in index.boilerplate] == [name]
        index.boilerplate.remove(name)
        assert index.search("007", limit=None) == before
        assert index.check() == []


def test_hashes_of_too_many_texts_count_in_neither_numerator_nor_denominator(index, texts):
    for query in texts.values():
        for most in (1, 2, 5):
            expected = search(texts, query, ignore_above=most)
            if expected:
                found = index.search(docindex.Text(query), limit=None, ignore_above=most)
                assert {match.key: shares(match) for match in found} == expected


def test_removed_documents_are_not_found_and_optimize_changes_no_answer(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        for key, text in texts.items():
            index.add(key, text)
        gone = [key for number, key in enumerate(texts) if number % 3 == 0]
        for key in gone:
            index.remove(key)
        left = {key: text for key, text in texts.items() if key not in gone}
        before = {key: index.search(docindex.Text(text), limit=None) for key, text in texts.items()}
        for key, found in before.items():
            if hashes_of(texts[key]):
                assert {match.key: shares(match) for match in found} == search(left, texts[key])
        index.optimize()
        after = {key: index.search(docindex.Text(text), limit=None) for key, text in texts.items()}
        assert after == before


@pytest.mark.parametrize("limit", [1, 7, None])
def test_the_numbers_do_not_depend_on_how_much_is_kept_or_looked_up_at_a_time(
    index, texts, monkeypatch, limit
):
    before = {key: index.search(key, limit=limit) for key in texts}
    monkeypatch.setattr(hash_lookup, "_KEPT", 3)
    monkeypatch.setattr(scoring, "_BOUNDS_AT_ONCE", 3)
    monkeypatch.setattr(scoring, "_GUESSED_FROM", 1)
    monkeypatch.setattr(scoring, "_FIRST_BATCH", 1)
    monkeypatch.setattr("docindex.storage.postings.lookup._FIRST_HASHES", 1)
    monkeypatch.setattr("docindex.storage.postings.lookup.KEYS_IN_MEMORY", 2)
    monkeypatch.setattr("docindex.storage.rows.forward_index._ROWS_AT_A_TIME", 1)
    assert {key: index.search(key, limit=limit) for key in texts} == before


def test_if_the_score_of_a_candidate_is_lowered_the_next_candidate_is_found(index, texts, monkeypatch):
    # As if the inverted index confused hashes: the scores that it promises are too high.
    honest = {key: index.search(key, limit=3) for key in texts}
    monkeypatch.setattr(scoring, "_BOUNDS_AT_ONCE", 1)
    monkeypatch.setattr(scoring, "_GUESSED_FROM", 1)
    monkeypatch.setattr(scoring, "_FIRST_BATCH", 1)
    real = search_module.candidates_for

    def generous(*arguments):
        found = real(*arguments)
        extra = np.arange(len(found.contents)) % 5
        return hash_lookup.Candidates(
            found.contents, found.counts + extra, found.sums + (extra << 31), found.weights
        )

    monkeypatch.setattr(search_module, "candidates_for", generous)
    assert {key: index.search(key, limit=3) for key in texts} == honest


def test_ten_thousand_copies_are_all_found_unless_there_is_a_limit():
    text = prose(random.Random(1), 60)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many((f"{number:05}", text) for number in range(10_000))
        index.add("other", text[:200])
        first = [match.key for match in index.search(docindex.Text(text), limit=3)]
        assert first == ["00000", "00001", "00002"]
        assert len(index.search(docindex.Text(text), limit=None)) == 10_001


def test_containment_names_its_direction():
    rng = random.Random(2)
    draft, more = prose(rng, 60), prose(rng, 120)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many([("draft", draft), ("final", f"{more}. {draft}. {more[::-1]}")])
        (of_draft,) = (match for match in index.search("draft") if match.key == "final")
        (of_final,) = (match for match in index.search("final") if match.key == "draft")
    assert of_draft.containment > 0.9 > 0.5 > of_draft.reverse_containment
    assert (of_draft.containment, of_draft.reverse_containment) == (
        of_final.reverse_containment,
        of_final.containment,
    )


def test_hashes_beyond_the_largest_signed_number_are_looked_up_and_counted():
    text = prose(random.Random(3), 300)
    large = [hash_ for hash_ in hashes_of(text) if hash_ >> 47]
    assert len(large) > 50
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add("one", text)
        (match,) = index.search(docindex.Text(text))
        assert match.shared == len(hashes_of(text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 5}, "window=5 is smaller than the window of the index, 6"),
        ({"budget": 0}, "budget must be a whole number of 1 or more, not 0"),
        ({"limit": 0}, "limit must be"),
        ({"min_containment": 1.5}, "min_containment must be a number from 0 to 1, not 1.5"),
        ({"min_resemblance": -1}, "min_resemblance must be a number"),
        ({"min_reverse_containment": 2}, "min_reverse_containment must be a number"),
        ({"rank": "best"}, "rank must be one of likeness, excerpt"),
        ({"ignore_above": 0}, "ignore_above must be"),
        ({"window": 10**9}, "window must be a whole number from 1 to 65535"),
        ({"where": "key = 1; delete from docindex_document"}, "it is not one expression"),
        ({"where": "0) or (1"}, "it is not one expression"),
        ({"where": "key like 'a%"}, r"does not work \(a quote is not closed\); expected SQL"),
        ({"where": '"key = 1'}, "a quote is not closed"),
        ({"where": "1) limit (1"}, "it is not one expression"),
        ({"where": "1); delete from docindex_document; --"}, "it is not one expression"),
        ({"where": "nosuch"}, "no such column"),
        ({"where": ("key = ?", [])}, "1 question mark.* 0 values"),
        ({"where": "\ud800"}, "does not work"),
    ],
)
def test_an_option_out_of_range_is_a_value_error_that_names_it(index, options, message):
    with pytest.raises(ValueError, match=message):
        index.search("a query", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 1.5},
        {"limit": True},
        {"min_containment": "0.5"},
        {"min_shared": None},
        {"exact": "no"},
        {"where": 1},
        {"where": b"x"},
    ],
)
def test_arguments_of_a_wrong_type_are_named(index, options):
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        index.search("a query", **options)


def test_a_condition_may_hold_brackets_and_semicolons_in_strings(index):
    keys = {match.key for match in index.search("007", limit=None)}
    for where in (
        "key <> ');('",
        "key <> 'it''s ;' -- ) ;\n",
        "(key) not in ('(') /* ; ) */",
        '"key" <> (";")',
    ):
        assert {match.key for match in index.search("007", limit=None, where=where)} == keys


def test_a_text_and_a_key_can_be_told_apart(index):
    assert index.search(docindex.Text("short")) == []
    with pytest.raises(KeyError):
        index.search(docindex.Key("no such key"))
    with pytest.raises(TypeError, match=r"expected a text or a key as a str, or a docindex\.Id, not"):
        index.search(b"bytes")
