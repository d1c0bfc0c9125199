import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.simhash_bits import bit_counts, simhashes_of
from tests import plain

hash_lists = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=12), max_size=5)


@given(hash_lists)
def test_bit_counts_equal_their_definition_and_give_the_simhash(docs):
    hashes, starts = plain.batch(docs)
    counts = bit_counts(hashes, starts)
    assert counts.tolist() == [[sum(hash_ >> bit & 1 for hash_ in doc) for bit in range(64)] for doc in docs]
    balance = 2 * counts - np.diff(starts)[:, None]
    assert simhashes_of(balance).tolist() == [plain.simhash(doc, [1] * len(doc)) for doc in docs]


def test_many_thousand_features_do_not_overflow_a_counter():
    hashes = np.full(100_000, 2**64 - 1, np.uint64)
    hashes[::3] = 1
    counted = bit_counts(hashes, np.array([0, 600, 600, 100_000]))
    assert counted[0].tolist() == [600] + 63 * [400]
    assert counted[2].tolist() == [99_400] + 63 * [99_400 - len(range(600, 100_000, 3))]
    assert simhashes_of(2 * counted[:1] - 600).tolist() == [2**64 - 1]
