import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.winnowing.other_selections import mod_p, n_smallest, safe_mod_p, winnow
from docindex.winnowing.selection import HASH_BITS
from tests import plain

documents = st.lists(
    st.lists(st.integers(0, 3), max_size=40) | st.lists(st.integers(0, 2**HASH_BITS - 1), max_size=40),
    max_size=5,
)


def test_hashes_that_are_too_large_for_a_key_are_refused():
    with pytest.raises(ValueError, match="47 bits"):
        winnow(np.array([2**HASH_BITS], np.uint64), np.array([0, 1]), 4)


@given(documents, st.integers(1, 9), st.integers(1, 9))
def test_mod_p_and_safe_mod_p_equal_their_definitions(docs, p, window):
    hashes, starts = plain.batch(docs)
    assert mod_p(hashes, p).tolist() == [i for i, hash_ in enumerate(hashes.tolist()) if hash_ % p == 0]
    expected = [
        int(begin) + place
        for begin, document in zip(starts, docs, strict=False)
        for place in plain.safe_mod_p(document, p, window)
    ]
    assert safe_mod_p(hashes, starts, p, window).tolist() == expected


@given(documents, st.integers(1, 9))
def test_n_smallest_selects_the_last_places_of_the_n_smallest_distinct_hashes(docs, n):
    hashes, starts = plain.batch(docs)
    expected = []
    for begin, document in zip(starts, docs, strict=False):
        last = {hash_: place for place, hash_ in enumerate(document)}
        expected += sorted(int(begin) + last[hash_] for hash_ in sorted(last)[:n])
    assert n_smallest(hashes, starts, n).tolist() == expected
