from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.arrays import tally


@pytest.mark.parametrize("spread", [1, 1000, 2**40])  # counted in a table, or sorted
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 9), st.integers(0, 2**40)), max_size=20))
def test_a_tally_adds_up_the_counts_and_the_weights_of_equal_numbers(spread, rows):
    counts, weights = Counter(), Counter()
    for number, count, weight in rows:
        counts[number * spread] += count
        weights[number * spread] += weight
    numbers, given_counts, given_weights = np.array(rows, np.int64).reshape(-1, 3).T
    found = tally(numbers * spread, given_counts, given_weights)
    assert [part.dtype for part in found] == [np.int64] * 3
    assert found[0].tolist() == sorted(counts)
    assert dict(zip(found[0].tolist(), found[1].tolist(), strict=True)) == counts
    assert dict(zip(found[0].tolist(), found[2].tolist(), strict=True)) == weights


@pytest.mark.parametrize("spread", [1, 1000, 2**40])
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 2**40)), max_size=20))
def test_without_counts_each_number_counts_one(spread, rows):
    numbers, weights = np.array(rows, np.int64).reshape(-1, 2).T
    numbers = numbers * spread
    expected = [part.tolist() for part in tally(numbers, np.ones_like(numbers), weights)]
    assert [part.tolist() for part in tally(numbers, None, weights.astype(np.float64))] == expected
