"""The simhash of a text: words and pairs of neighbouring words, with weights that grow with their number."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex import Recipe
from docindex.sketching import weighted_words
from docindex.sketching.single_text import simhash_of_text, word_hashes
from docindex.sketching.weighted_words import (
    PAIR,
    WORD,
    WordCounter,
    count_weights,
    simhashes_of_words,
    word_weights,
)
from docindex.winnowing.kgrams import grams
from tests import plain

word_lists = st.lists(
    st.sampled_from([n << 40 | n for n in range(1, 7)]) | st.integers(0, 2**64 - 1), max_size=20
)


def weight(once, count):
    """The definition: (1 + ln n), in units of 1/16, with ln 2 taken as 11/16."""
    sixteenths = 0
    while count**11 >= 2 ** (sixteenths + 1):
        sixteenths += 1
    return once * (16 + sixteenths) // 16


def features(words):
    """The id of each word and each pair, in order."""
    array = np.array(words, np.uint64)
    pairs = grams(array, np.array([0, len(words)]), 2)[0].tolist()
    return [(word >> 21) * 2 for word in words], [(pair >> 21) * 2 + 1 for pair in pairs]


def definition(words):
    """The simhash of a text, from the hashes of its words."""
    ids, weights = [], []
    for once, found in zip((WORD, PAIR), features(words), strict=True):
        for identity, count in Counter(found).items():
            ids.append(plain.mix(identity))
            weights.append(weight(once, count))
    return plain.simhash(ids, weights)


@given(st.lists(word_lists, max_size=5))
def test_the_simhashes_of_a_batch_equal_their_definition(texts):
    assert simhashes_of_words(*plain.batch(texts)).tolist() == [definition(text) for text in texts]


@given(word_lists, st.lists(st.integers(0, 20)), st.sampled_from([1, 10, 1 << 20]))
def test_the_simhash_of_a_text_in_slices_equals_its_definition(words, cuts, at_once):
    cuts = sorted([0, len(words), *(cut for cut in cuts if cut < len(words))])  # some slices are empty
    counter = WordCounter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted_words, "_AT_ONCE", at_once)
        for begin, end in itertools.pairwise(cuts):
            counter.add(np.array(words[begin:end], np.uint64))
    assert counter.simhash.tolist() == [definition(words)]


def test_the_simhash_of_a_text_with_too_many_features_does_not_depend_on_the_slices(monkeypatch):
    monkeypatch.setattr(weighted_words, "_COUNTED", 1000)
    monkeypatch.setattr(weighted_words, "_AT_ONCE", 500)
    words = np.random.default_rng(1).integers(0, 2**64, 3000, np.uint64)
    words[2000:] = words[500:1500]
    found = set()
    for size in (1, 70, 999, 3000):
        counter = WordCounter()
        for begin in range(0, len(words), size):
            counter.add(words[begin : begin + size])
        found.add(int(counter.simhash[0]))
        assert 400 < len(counter._keys) <= 1000
        # The features that are counted are counted completely.
        assert counter._counts.max() == 2
    assert len(found) == 1


def test_weights_are_1_plus_the_natural_logarithm():
    counts = np.array([1, 2, 3, 10, 100, 4096])
    for once, pair in ((WORD, 0), (PAIR, 1)):
        found = count_weights(counts, np.full(len(counts), pair)) / once
        assert found == pytest.approx(1 + np.log(counts), abs=2 / once)
        assert found.tolist() == [weight(once, count) / once for count in counts.tolist()]
    assert count_weights(np.array([5000, 10**12]), np.array([0, 0])).tolist() == [weight(WORD, 4096)] * 2


def test_a_word_that_occurs_in_few_texts_weighs_more():
    texts = ["the cat", "the dog", "the bird sings", "the bird"]
    weights = word_weights((word_hashes(text, Recipe()) for text in texts), Recipe())
    the, bird, cat, unknown = (
        weights.of(next(word_hashes(word, Recipe())))[0] for word in ("the", "bird", "cat", "x")
    )
    expected = [1 + 16 * math.log(5 / count) for count in (4, 2, 1, 1)]
    assert [the, bird, cat, unknown] == pytest.approx(expected, abs=1)
    assert the < bird < cat == unknown


@given(st.lists(st.sampled_from(["rose", "is", "a", "flower"]), max_size=20))
def test_the_simhash_with_rarities_equals_its_definition(tokens):
    weights = word_weights((word_hashes(text, Recipe()) for text in ("a", "a rose", "is")), Recipe())
    words = np.concatenate(list(word_hashes(" ".join(tokens), Recipe())))
    rarity = weights.of(words).tolist()
    of_words, of_pairs = features(words.tolist())
    rarities = dict(zip(of_words, rarity, strict=True))
    rarities.update(zip(of_pairs, map(max, itertools.pairwise(rarity)), strict=True))
    counts = Counter(of_words + of_pairs)
    expected = plain.simhash(
        [plain.mix(identity) for identity in counts],
        [weight(PAIR if identity & 1 else WORD, n) * rarities[identity] for identity, n in counts.items()],
    )
    assert simhash_of_text(" ".join(tokens), Recipe(), weights) == expected
