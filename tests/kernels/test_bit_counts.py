import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels import bit_counts
from tests import plain

numbers = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63, 2**64 - 1])


@given(st.lists(st.lists(numbers, max_size=40), max_size=5), st.sampled_from([1, 2, 1 << 13]))
def test_bit_counts_equal_their_definition(docs, at_once):
    expected = [[sum(number >> bit & 1 for number in doc) for bit in range(64)] for doc in docs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bit_counts, "_AT_ONCE", at_once)
        assert bit_counts.bit_counts(*plain.batch(docs)).tolist() == expected


def test_counts_of_any_size_are_exact():
    sizes = np.array([0, 15, 255, 256, 70_000])
    ones = np.full(sizes.sum(), 2**64 - 1, np.uint64)
    found = bit_counts.bit_counts(ones, np.concatenate([[0], np.cumsum(sizes)]))
    assert found.tolist() == [64 * [size] for size in sizes.tolist()]
