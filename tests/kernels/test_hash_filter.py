import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.arrays import mix
from docindex.kernels.hash_filter import filter_table, may_be_among

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=300)


def place(hash_, places):
    """The definition: the highest bits of the hash times an odd factor, modulo 2^64."""
    return (hash_ * 0x9E3779B97F4A7C15 % 2**64) * places >> 64


@given(HASHES, HASHES)
def test_a_hash_is_kept_if_its_place_is_that_of_one_of_the_few(few, others):
    table = filter_table(np.array(few, np.uint64))
    marked = {place(hash_, len(table)) for hash_ in few}
    assert np.flatnonzero(table).tolist() == sorted(marked)
    found = may_be_among(table, np.array(others + few, np.uint64))
    assert found.tolist() == [place(hash_, len(table)) in marked for hash_ in others + few]
    assert found[len(others) :].all()


def test_few_of_the_other_hashes_are_kept():
    hashes = mix(np.arange(200_000, dtype=np.uint64))
    table = filter_table(hashes[:10_000])
    assert may_be_among(table, hashes[10_000:]).mean() < 1 / 16
