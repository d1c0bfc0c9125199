"""`similar` finds the near-duplicates of a text or a document, counted in shingles."""

import pytest

import docindex
from docindex.query import similar as similar_module
from docindex.sketching.single_text import shingle_set
from tests.query.corpus import RECIPE, corpus, words

LEAST = (0.05, 0.2, 0.5, 0.8, 0.95, 1.0)


@pytest.fixture(params=[0, 1], scope="module")
def texts(request):
    return corpus(10 + request.param)


def resemblance(a, b, ignored=frozenset()):
    of_a, of_b = (set(shingle_set(text, RECIPE).tolist()) - ignored for text in (a, b))
    return len(of_a & of_b) / len(of_a | of_b) if of_a and of_b else float(words(a) == words(b))


def reachable(a, b):
    """Whether two texts have a fingerprint or all words in common: an index finds no others."""
    one, other = (set(docindex.fingerprints(text, RECIPE).hashes.tolist()) for text in (a, b))
    return bool(one & other) or resemblance(a, b) == 1.0


def test_all_documents_that_reach_the_threshold_are_found_with_exact_numbers(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        for query in texts.values():
            true = {key: resemblance(query, text) for key, text in texts.items() if reachable(query, text)}
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


def test_without_kept_texts_the_numbers_are_estimates_by_slots(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), store_text=False)
        for key, text in texts.items():
            found = {match.key: match for match in index.similar(key, 0.5)}
            assert found[key].resemblance == 1.0
            for other, match in found.items():
                assert match.basis == "slots"
                error = max(match.resemblance_error, 0.02)
                assert abs(match.resemblance - resemblance(text, texts[other])) <= 5 * error


def test_boilerplate_is_ignored(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        index.boilerplate.add("003")
        ignored = set(shingle_set(texts["003"], RECIPE).tolist())
        for key in ("004", "005", "like 003" if "like 003" in texts else "006"):
            for match in index.similar(key, 0.1):
                assert match.resemblance == resemblance(texts[key], texts[match.key], ignored)


def test_only_features_are_looked_up_if_they_find_nearly_all_documents(texts, monkeypatch):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        monkeypatch.setattr(similar_module, "candidates_of", None)  # must not be called
        copies = [key for key in texts if key.startswith("copy")]
        for key in copies:
            assert key.removeprefix("copy of ") in {match.key for match in index.similar(key, 1.0)}


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
        pytest.raises(ValueError, match="min_resemblance must be a share"),
    ):
        index.similar("a text", 0.0)
