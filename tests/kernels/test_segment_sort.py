import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels import segment_sort
from docindex.kernels.segment_sort import free_bits, sort_segments
from tests import plain


@pytest.mark.parametrize("long", [0, 1 << 30])
@given(docs=st.lists(st.lists(st.integers(0, 3) | st.integers(0, 2**60 - 1), max_size=9), max_size=9))
def test_each_document_is_sorted_and_its_runs_are_found_in_either_way(long, docs):
    numbers, starts = plain.batch(docs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_sort, "_LONG", long)
        heads = set(sort_segments(numbers, starts).tolist())
    assert numbers.tolist() == [number for doc in docs for number in sorted(doc)]
    for begin, doc in zip(starts.tolist(), docs, strict=False):
        ordered = sorted(doc)
        runs = {begin + i for i in range(len(doc)) if i == 0 or ordered[i] != ordered[i - 1]}
        assert heads & set(range(begin, begin + len(doc))) == runs


def test_the_largest_numbers_that_leave_the_free_bits_are_sorted():
    documents = 5
    largest = 2 ** (64 - free_bits(documents)) - 1
    numbers = np.array(documents * [largest, 0], np.uint64)
    sort_segments(numbers, np.arange(0, 2 * documents + 1, 2))
    assert numbers.tolist() == documents * [0, largest]
