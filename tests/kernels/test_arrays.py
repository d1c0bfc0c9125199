import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.arrays import mix, owners, ranges, starts_of, union
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
