"""`similar` finds the near-duplicates of a text or a document, counted in shingles."""

import dataclasses
import math
import random

import pytest

import docindex
from docindex.query import estimates
from docindex.sketching.single_text import shingle_set
from tests.query.corpus import RECIPE, corpus, words
from tests.query.plain_estimates import estimate
from tests.storage.texts import prose

LEAST = (0.05, 0.2, 0.5, 0.8, 0.95, 1.0)


@pytest.fixture(params=[0, 1], scope="module")
def texts(request):
    return corpus(10 + request.param)


def resemblance(a, b, ignored=frozenset()):
    of_a, of_b = (set(shingle_set(text, RECIPE).tolist()) - ignored for text in (a, b))
    return len(of_a & of_b) / len(of_a | of_b) if of_a and of_b else float(words(a) == words(b))


def test_all_documents_that_reach_the_threshold_are_found_with_exact_numbers(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        for query in texts.values():
            true = {key: resemblance(query, text) for key, text in texts.items()}
            for least in LEAST:
                found = index.similar(docindex.Text(query), least)
                assert {match.key: match.resemblance for match in found} == {
                    key: share for key, share in true.items() if share >= least
                }
                assert found == sorted(found, key=lambda match: (-match.resemblance, match.key))
                assert all(match.exact and match.basis == "shingles" for match in found)


def test_a_pair_exactly_at_the_threshold_is_found(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        for key in list(texts)[::4]:
            for match in index.similar(key, 0.01):
                at = {found.key for found in index.similar(key, match.resemblance)}
                assert match.key in at


def test_a_key_stands_for_its_text_and_a_condition_restricts_the_answers(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        for key, text in texts.items():
            found = index.similar(key, 0.3)
            assert found == index.similar(docindex.Text(text), 0.3)
            copies = [match for match in found if match.key.startswith("copy")]
            assert index.similar(key, 0.3, where="key like 'copy%'") == copies


def test_a_limit_gives_the_first_answers(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        found = index.similar("007", 0.05)
        for limit in (1, 2, None):
            assert index.similar("007", 0.05, limit=limit) == found[:limit]
        with pytest.raises(ValueError, match="limit must be a whole number of 1 or more"):
            index.similar("007", limit=0)


def test_without_kept_texts_the_numbers_are_estimates(texts):
    within = cases = 0
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), store_text=False)
        for key, text in texts.items():
            found = {match.key: match for match in index.similar(key, 0.5)}
            assert found[key].resemblance == 1.0
            for other, match in found.items():
                error = match.resemblance_error
                assert match.exact == (error == 0.0)
                within += abs(match.resemblance - resemblance(text, texts[other])) <= 3 * error
                cases += 1
    assert within / cases >= 0.99


# Samples alone may show what neither slots nor fingerprints show.
SAMPLED = dataclasses.replace(RECIPE, mod_m=4, level=8)


@pytest.mark.parametrize("template", [None, "003"])
@pytest.mark.parametrize("recipe", [RECIPE, SAMPLED], ids=["plain", "sampled"])
def test_estimates_of_many_texts_are_those_of_one_pair_after_another(texts, recipe, template, monkeypatch):
    monkeypatch.setattr(estimates, "_ESTIMATED", 7)
    with docindex.open(":memory:", recipe=recipe) as index:
        index.add_many(texts.items(), store_text=False)
        if template is not None:
            index.boilerplate.add(texts[template])
        bases = set()
        for query in list(texts.values())[::3]:
            found = {match.key: match for match in index.similar(docindex.Text(query), 0.01)}
            for key, match in found.items():
                bases.add(match.basis)
                assert not match.exact or words(query) == words(texts[key])
                if not match.exact:
                    expected = estimate(recipe, query, texts[key], template and texts[template])
                    assert dataclasses.astuple(expected) == pytest.approx(measures(match))
        assert bases >= {"shingles", "slots" if template is None else "fingerprints"}


def test_a_text_is_found_at_its_own_estimate_by_fingerprints():
    rng = random.Random(5)
    # With so many slots, texts without a common shingle are no candidates by slots.
    with docindex.open(":memory:", recipe=dataclasses.replace(RECIPE, slots=256)) as index:
        index.boilerplate.add(prose(rng, 20))
        text = prose(rng, 300).split()
        # Each third word is another: no shingle is common, but k-grams of two words are.
        for number, size in enumerate((300, 299, 250, 150)):
            other = [prose(rng, 1) if place % 3 == 2 else word for place, word in enumerate(text[:size])]
            index.add(f"{number}", " ".join(other), store_text=False)
        query = docindex.Text(" ".join(text))
        found = index.similar(query, 0.01)
        assert [match.basis for match in found] == ["fingerprints"] * 4
        for match in found:
            above = math.nextafter(match.resemblance, 1.0)
            assert match.key in [other.key for other in index.similar(query, match.resemblance)]
            assert match.key not in [other.key for other in index.similar(query, above)]


def measures(match):
    return tuple(getattr(match, field.name) for field in dataclasses.fields(docindex.Measures))


@pytest.mark.parametrize("template", [None, "003"])
@pytest.mark.parametrize("recipe", [RECIPE, SAMPLED], ids=["plain", "sampled"])
def test_no_text_is_missed_whose_estimate_reaches_the_threshold(texts, recipe, template):
    with docindex.open(":memory:", recipe=recipe) as index:
        index.add_many(texts.items(), store_text=False)
        if template is not None:
            index.boilerplate.add(texts[template])
        for query in list(texts.values())[::3]:
            true = {
                key: estimate(recipe, query, text, template and texts[template]).resemblance
                for key, text in texts.items()
                if words(text) != words(query)
            }
            for least in LEAST:
                found = {match.key for match in index.similar(docindex.Text(query), least)}
                assert {key for key in found if words(texts[key]) != words(query)} == {
                    key for key, resemblance in true.items() if resemblance >= least
                }


@pytest.mark.parametrize("least", LEAST)
def test_boilerplate_hides_no_document(texts, least):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        index.boilerplate.add(texts["003"])
        ignored = set(shingle_set(texts["003"], RECIPE).tolist())
        for query in texts.values():
            true = {key: resemblance(query, text, ignored) for key, text in texts.items()}
            found = index.similar(docindex.Text(query), least)
            assert {match.key: match.resemblance for match in found} == {
                key: share for key, share in true.items() if share >= least
            }


def test_features_find_the_documents_that_pass_the_filter(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        k, _, r = RECIPE.features
        for key, text in texts.items():
            own = docindex.sketch(text, RECIPE)
            every = {match.key: match for match in index.similar(key, 0.3)}
            found = {match.key: match for match in index.similar(key, 0.3, method="features")}
            assert found == {
                other: match
                for other, match in every.items()
                if (sketch := docindex.sketch(texts[other], RECIPE)).words_hash == own.words_hash
                or len(set(own.features.tolist()) & set(sketch.features.tolist())) >= r
            }
    assert k > r


def test_a_removed_document_is_not_found(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        before = index.similar("007", 0.2)
        for match in before[1:]:
            index.remove(match.key)
        assert [match.key for match in index.similar("007", 0.2)] == [before[0].key]


def test_a_threshold_out_of_range_is_refused():
    with (
        docindex.open(":memory:") as index,
        pytest.raises(ValueError, match="min_resemblance must be a number"),
    ):
        index.similar("a text", 0.0)


def test_an_unknown_method_is_refused():
    with (
        docindex.open(":memory:") as index,
        pytest.raises(ValueError, match="method must be one of shingles, features"),
    ):
        index.similar("a text", method="slots")
