"""Comparing two texts: the numbers are exact if both texts are kept, and are called estimates if not."""

import dataclasses
import random

import numpy as np
import pytest

import docindex
from docindex import Recipe
from docindex.query.measures import measures_of, shares_of_samples, shares_of_slots
from docindex.sketching.single_text import shingle_set
from tests.query import reworded
from tests.query.corpus import RECIPE, corpus, words
from tests.storage.texts import prose


@pytest.fixture(scope="module")
def texts():
    return corpus(7)


def shingles(text):
    return set(shingle_set(text, RECIPE).tolist())


def measured(a, b, *, same=False):
    """The definition: containment of a in b and of b in a, resemblance, and the number of shared shingles.

    `same` says whether the two texts have the same words, in case one has no shingle.
    """
    if not (a and b):
        share = float(same)
        return share, share, share, 0
    both = len(a & b)
    return both / len(a), both / len(b), both / len(a | b), both


def numbers(found):
    return found.containment, found.reverse_containment, found.resemblance, found.shared


def test_the_numbers_are_those_of_the_definition_over_shingles(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        for a in list(texts)[:14]:
            for b in list(texts)[-14:]:
                found = index.compare(a, b)
                same = words(texts[a]) == words(texts[b])
                assert numbers(found) == measured(shingles(texts[a]), shingles(texts[b]), same=same)
                assert found.exact
                assert found.basis == "shingles"
                assert found == index.compare(docindex.Text(texts[a]), docindex.Key(b))


def test_any_document_compared_with_itself_has_resemblance_1(texts):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        index.boilerplate.add("009")
        for key, text in texts.items():
            for other in (key, docindex.Text(text)):
                found = index.compare(key, other)
                assert numbers(found)[:3] == (1.0, 1.0, 1.0)
                assert (found.query_coverage, found.coverage) == (1.0, 1.0)


@pytest.mark.parametrize("samples", [{}, {"mod_m": 4}, {"level": 50}])
def test_if_texts_are_not_kept_the_numbers_are_estimates_and_say_so(texts, samples):
    within = cases = 0
    bases = set()
    with docindex.open(":memory:", recipe=dataclasses.replace(RECIPE, **samples)) as index:
        index.add_many(texts.items(), store_text=False)
        for a, text_a in texts.items():
            for b, text_b in texts.items():
                found = index.compare(a, b)
                same = words(text_a) == words(text_b)
                true = measured(shingles(text_a), shingles(text_b), same=same)
                bases.add(found.basis)
                assert found.passages == ()
                if found.exact:
                    assert numbers(found) == (1.0, 1.0, 1.0, len(shingles(text_a)))
                    assert same
                    continue
                for name, truth in zip(
                    ("containment", "reverse_containment", "resemblance"), true, strict=False
                ):
                    error = getattr(found, name + "_error")
                    within += abs(getattr(found, name) - truth) <= 3 * error
                    cases += 1
    assert bases == {"shingles", "slots", "fingerprints", *(["samples"] if samples else [])}
    assert cases > 5_000
    assert within / cases >= 0.997


def test_a_piece_inside_a_large_text_that_is_not_kept_is_found_by_its_fingerprints():
    rng = random.Random(9)
    piece = prose(rng, 120)
    with docindex.open(":memory:") as index:
        index.add("large", f"{prose(rng, 20_000)} {piece} {prose(rng, 20_000)}", store_text=False)
        found = index.compare(piece, "large")
        assert (found.basis, found.containment) == ("fingerprints", 1.0)
        assert found.containment_error < 0.1
        (match,) = index.search(piece)
        assert match.containment == found.containment
        index.boilerplate.add(piece)
        assert index.compare(piece, "large").containment == 0.0


def test_an_estimated_containment_is_at_most_the_size_of_the_smaller_text():
    # Half of the slots are equal: sets of 10 and 100 shingles would have 36 in common.
    found = shares_of_slots(np.array([4, 4]), 8, np.array([10, 100]), np.array([100, 10]))
    assert [column.tolist() for column in found.shares] == [[1.0, 0.1], [0.1, 1.0], [0.5, 0.5]]


def test_a_containment_has_the_error_of_the_resemblance_times_its_slope():
    columns = shares_of_slots(np.array([2]), 8, np.array([30]), np.array([20]))
    (found,) = measures_of(columns, np.array([2]), ["slots"])
    r, step = found.resemblance, 1e-6
    for size, name in ((30, "containment"), (20, "reverse_containment")):
        slope = ((r + step) / (1 + r + step) - r / (1 + r)) * 50 / size / step
        error = getattr(found, name + "_error")
        assert error == pytest.approx(found.resemblance_error * slope, rel=1e-4)
        assert getattr(found, name) == pytest.approx(r / (1 + r) * 50 / size)


def test_a_text_without_words_shares_no_slot_with_a_text_that_has_words():
    with docindex.open(":memory:", recipe=RECIPE) as index:
        for key, text in (("empty", ""), ("blank", "\n"), ("marks", "..."), ("words", "one or more")):
            index.add(key, text, store_text=False)
        assert numbers(index.compare("empty", "words")) == (0.0, 0.0, 0.0, 0)
        assert numbers(index.compare("empty", "marks")) == (0.0, 0.0, 0.0, 0)
        assert numbers(index.compare("empty", "blank")) == (1.0, 1.0, 1.0, 0)


def test_shingles_of_boilerplate_are_ignored():
    rng = random.Random(4)
    header, one, other = (prose(rng, 50) for _ in range(3))
    a, b = f"{header}\n{one}", f"{header}\n{one} {other}"
    with docindex.open(":memory:", recipe=RECIPE) as index:
        name = index.boilerplate.add(header)
        ignored = shingles(header)
        assert numbers(index.compare(a, b)) == measured(shingles(a) - ignored, shingles(b) - ignored)
        assert index.compare(header, other).resemblance == 0.0
        index.boilerplate.remove(name)
        assert numbers(index.compare(a, b)) == measured(shingles(a), shingles(b))


def test_passages_cover_the_shared_text_and_longest_is_the_longest_passage():
    rng = random.Random(6)
    one, other, alone = (prose(rng, words) for words in (60, 40, 50))
    a, b = f"{one} -- {alone} -- {other}", f"{other} ++ {alone[::-1]} ++ {one}"
    with docindex.open(":memory:") as index:
        index.add("b", b)
        found = index.compare(a, "b")
    shared = {a[passage.query_start : passage.query_end] for passage in found.passages}
    assert shared == {b[passage.start : passage.end] for passage in found.passages}
    assert len(found.passages) == 2
    assert found.longest.length == max(passage.length for passage in found.passages)
    letters = [sum(map(str.isalnum, text)) for text in (a, b)]
    covered = sum(passage.length for passage in found.passages)
    assert (found.query_coverage, found.coverage) == (covered / letters[0], covered / letters[1])


def test_a_larger_minimum_length_leaves_passages_out_of_answers_and_of_coverage():
    short, long = "the analytical engine", "weaves algebraical patterns just as the loom spins flowers"
    a, b = f"{short} 1 {long}", f"{short} 2 {long}"
    with docindex.open(":memory:", recipe=Recipe(k=5, window=4)) as index:
        index.add("b", b)
        (match,) = index.search(a)
        lengths = {}
        for least in (None, 1, 19, 20, 50, 51):
            found = index.compare(a, "b", min_length=least)
            assert list(found.passages) == match.passages(min_length=least)
            lengths[least] = [passage.length for passage in found.passages]
            assert found.query_coverage == sum(lengths[least]) / 70
            assert found.exact
        assert lengths == {None: [19, 50], 1: [19, 50], 19: [19, 50], 20: [50], 50: [50], 51: []}
        for wrong, error in ((0, ValueError), (-1, ValueError), ("5", TypeError), (True, TypeError)):
            with pytest.raises(error, match="min_length must be a whole number"):
                index.compare(a, "b", min_length=wrong)
            with pytest.raises(error, match="min_length must be a whole number"):
                match.passages(min_length=wrong)


def test_a_match_gives_its_passages_or_says_that_a_text_is_not_kept():
    text = prose(random.Random(8), 80)
    with docindex.open(":memory:") as index:
        index.add("kept", text)
        index.add("not kept", text + " and more", store_text=False)
        index.add("removed", text + " and other")
        by_key = {match.key: match for match in index.search(f"Before. {text} After.")}
        (passage,) = by_key["kept"].passages()
        assert (passage.query_start, passage.start) == (8, 0)
        index.remove("removed")
        for key, message in [
            (
                "not kept",
                r"^the text of document 2 \('not kept'\) was not kept; add it again with store_text",
            ),
            ("removed", "^the document was removed, and its text with it; add it again"),
        ]:
            with pytest.raises(docindex.TextNotKept, match=message):
                by_key[key].passages()


def test_texts_are_compared_by_the_recipe_of_the_index():
    with docindex.open(":memory:", recipe=Recipe(shingle=1)) as index:
        assert index.compare("one two three", "three two one").resemblance == 1.0


@pytest.mark.parametrize("size", [1, 2, 4, 7, 15, 60])
def test_a_share_in_a_random_sample_is_within_three_of_its_errors(size):
    rng = np.random.default_rng(size)
    true = rng.random(20_000)
    shared = rng.binomial(size, true)
    found = shares_of_samples(shared, np.full(len(true), size), np.full(len(true), size))
    assert np.mean(abs(found.containment - true) <= 3 * found.containment_error) >= 0.997


def test_an_empty_sample_is_no_estimate():
    rng = random.Random(3)
    words = prose(rng, 900).split()
    with docindex.open(":memory:", recipe=Recipe(mod_m=8)) as index:
        index.add("whole", " ".join(words), store_text=False)
        for _ in range(40):
            begin = rng.randrange(800)
            piece = " ".join(words[begin : begin + rng.randrange(12, 20)])
            found = index.compare(piece, "whole")
            assert abs(found.containment - 1) <= 3 * found.containment_error


def test_regions_use_the_passages_of_their_comparison(monkeypatch):
    with docindex.open(":memory:") as index:
        expected = [index.compare(reworded.A, reworded.B, **lengths).regions for lengths in ({}, {"join": 9})]
        aligned = []
        monkeypatch.setattr(
            "docindex.query.regions.evidence.align", lambda *texts, **_: aligned.append(texts)
        )
        for lengths in ({}, {"min_length": 36}):
            assert index.compare(reworded.A, reworded.B, **lengths).regions == expected[0] == expected[1]
    assert aligned == []
