from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.ranges import mix, owners, ranges, starts_of, tally, union
from tests import plain


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_ranges_and_owners_equal_their_definitions(pairs):
    begins, lengths = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    assert ranges(begins, lengths).tolist() == [
        i for begin, length in pairs for i in range(begin, begin + length)
    ]
    assert owners(starts_of(lengths)).tolist() == [
        i for i, (_, length) in enumerate(pairs) for _ in range(length)
    ]


@given(st.lists(st.lists(st.integers(0, 9)), min_size=1, max_size=3))
def test_a_union_holds_every_distinct_number_once_in_ascending_order(lists):
    found = union(*(np.array(numbers, np.uint64) for numbers in lists))
    assert found.tolist() == sorted(set().union(*lists))


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_mixing_equals_its_definition(numbers):
    assert mix(np.array(numbers, np.uint64)).tolist() == [plain.mix(number) for number in numbers]


def test_every_changed_bit_changes_half_of_the_mixed_bits():
    numbers = np.random.default_rng(1).integers(0, 2**64, 2000, dtype=np.uint64)
    for bit in range(64):
        changed = mix(numbers) ^ mix(numbers ^ np.uint64(1 << bit))
        assert abs(np.bitwise_count(changed).mean() - 32) < 0.5


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
