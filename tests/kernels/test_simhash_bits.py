import random
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.simhash_bits import bit_sums, simhash_of_features, simhashes_of
from tests import plain

hashes_of_64_bits = st.integers(0, 2**64 - 1)


def documents(weights):
    features = st.tuples(hashes_of_64_bits, weights)
    return st.lists(st.lists(features, max_size=12), max_size=5)


def batch(docs):
    hashes, starts = plain.batch([[hash_ for hash_, _ in doc] for doc in docs])
    weights, _ = plain.batch([[weight for _, weight in doc] for doc in docs])
    return hashes, starts, weights


@given(documents(st.integers(0, 127) | st.integers(0, 2**50)))
def test_bit_sums_equal_their_definition_and_give_the_simhash(docs):
    sums = bit_sums(*batch(docs))
    assert sums.tolist() == [
        [sum(weight for hash_, weight in doc if hash_ >> bit & 1) for bit in range(64)] for doc in docs
    ]
    expected = [plain.simhash(*zip(*doc, strict=True)) if doc else 0 for doc in docs]
    assert simhashes_of(*batch(docs)).tolist() == expected


def test_many_thousand_features_with_the_largest_weights_do_not_overflow_a_sum():
    hashes = np.full(100_000, 2**64 - 1, np.uint64)
    hashes[::3] = 1
    weights = np.full(100_000, 127, np.uint64)
    summed = bit_sums(hashes, np.array([0, 600, 600, 100_000]), weights) // 127
    assert summed[0].tolist() == [600] + 63 * [400]
    assert summed[2].tolist() == [99_400] + 63 * [99_400 - len(range(600, 100_000, 3))]
    assert simhashes_of(hashes, np.array([0, 100_000]), weights).tolist() == [2**64 - 1]


@given(st.lists(st.tuples(hashes_of_64_bits, st.floats(-1e100, 1e100)), max_size=12))
def test_the_simhash_of_features_with_any_weights_equals_its_definition_in_any_order(doc):
    expected = plain.simhash([hash_ for hash_, _ in doc], [Fraction(weight) for _, weight in doc])
    for order in (doc, doc[::-1], random.Random(1).sample(doc, len(doc))):
        hashes = np.array([hash_ for hash_, _ in order], np.uint64)
        assert simhash_of_features(hashes, np.array([weight for _, weight in order])) == expected


def test_features_that_almost_balance_are_summed_exactly():
    hashes = np.array([1, 1, 1, 0], np.uint64)
    # In floating point, 0.1 + 0.1 + 0.1 - 0.3 is above 0 in this order, and 0.3 - 0.1 - 0.1 - 0.1 below.
    assert simhash_of_features(hashes, np.array([0.1, 0.1, 0.1, 0.3])) == 1
    assert simhash_of_features(hashes, np.array([0.1, 0.1, 0.1, 0.30000000000000004])) == 0
