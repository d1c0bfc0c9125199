import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.simhash_bits import as_bits, hamming_distance
from tests import plain

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
