import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.simhashing.bits import as_bits, bit_sums, hamming_distance, simhash_of_features, simhashes_of
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


INTEGERS = st.integers(-(2**63), 2**64 - 1)


@given(st.lists(INTEGERS))
def test_as_bits_keeps_the_64_bits_of_every_integer(numbers):
    assert as_bits(numbers).dtype == np.uint64
    assert as_bits(numbers).tolist() == [number % 2**64 for number in numbers]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64, ">i8", object])
def test_as_bits_reads_arrays_of_every_integer_type_and_shape(dtype):
    smallest = -1 if np.dtype(dtype).kind == "i" else 0
    assert as_bits(np.array([[smallest, 7]], dtype)).tolist() == [[smallest % 2**64, 7]]
    assert as_bits(np.array(smallest, dtype)).shape == as_bits(np.array(smallest, dtype)[()]).shape == ()


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_a_number_beyond_64_bits_is_refused_and_named(number):
    with pytest.raises(ValueError, match=f"{number} does not fit in 64 bits"):
        hamming_distance(number, 0)


@pytest.mark.parametrize("value", [1.0, "1", None, [1, 2.5], np.array([1.0]), np.array([True])])
def test_a_value_that_is_not_an_integer_is_refused(value):
    with pytest.raises(TypeError, match="integer"):
        hamming_distance(value, 0)


@given(st.lists(st.tuples(INTEGERS, INTEGERS)))
def test_distance_is_the_number_of_differing_bits(pairs):
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    assert hamming_distance(xs, ys).dtype == np.int64
    assert hamming_distance(xs, ys).tolist() == [plain.distance(x, y) for x, y in pairs]


@given(INTEGERS, st.lists(INTEGERS))
def test_distance_broadcasts_one_number_against_many(number, numbers):
    expected = [plain.distance(number, other) for other in numbers]
    assert hamming_distance(number, numbers).tolist() == expected
    assert hamming_distance(as_bits(numbers)[:, None], as_bits([number])).ravel().tolist() == expected


@given(st.lists(INTEGERS))
def test_signed_and_unsigned_readings_of_the_same_bits_are_at_distance_0(numbers):
    bits = as_bits(numbers)
    assert not hamming_distance(bits, bits.view(np.int64)).any()
