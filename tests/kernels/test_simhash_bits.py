import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.simhash_bits import bit_counts, simhashes_of
from docindex.kernels.study.weighted_simhash import simhash_of_features
from tests import plain

hash_lists = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=12), max_size=5)
# Sums of quarters are exact, so that a balance of zero is zero in whatever order it is added up.
weights = st.integers(-8, 8).map(lambda quarter: quarter / 4)


@given(hash_lists)
def test_unweighted_simhash_is_what_its_definition_says(docs):
    expected = [plain.simhash(doc, [1] * len(doc)) for doc in docs]
    assert simhash_of_features(*plain.batch(docs)).tolist() == expected


@given(st.lists(st.lists(st.tuples(st.integers(0, 2**64 - 1), weights), max_size=12), max_size=5))
def test_weighted_simhash_is_what_its_definition_says(docs):
    hashes, starts = plain.batch([[hash_ for hash_, _ in doc] for doc in docs])
    given_weights, _ = plain.batch([[weight for _, weight in doc] for doc in docs], np.float64)
    expected = [plain.simhash(*zip(*doc, strict=True)) if doc else 0 for doc in docs]
    assert simhash_of_features(hashes, starts, given_weights).tolist() == expected


def test_a_document_of_many_thousand_features_overflows_no_counter():
    hashes = np.full(100_000, 2**64 - 1, np.uint64)
    hashes[::3] = 1
    counted = bit_counts(hashes, np.array([0, 600, 600, 100_000]))
    assert counted[0].tolist() == [600] + 63 * [400]
    assert counted[2].tolist() == [99_400] + 63 * [99_400 - len(range(600, 100_000, 3))]
    assert simhashes_of(2 * counted[:1] - 600).tolist() == [2**64 - 1]
