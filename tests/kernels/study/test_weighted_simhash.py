import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.study.weighted_simhash import simhash_of_features
from tests import plain

hash_lists = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=12), max_size=5)


# Sums of quarters are exact, so that a balance of zero is zero in any order of addition.
weights = st.integers(-8, 8).map(lambda quarter: quarter / 4)


@given(hash_lists)
def test_the_unweighted_simhash_equals_its_definition(docs):
    expected = [plain.simhash(doc, [1] * len(doc)) for doc in docs]
    assert simhash_of_features(*plain.batch(docs)).tolist() == expected


@given(st.lists(st.lists(st.tuples(st.integers(0, 2**64 - 1), weights), max_size=12), max_size=5))
def test_the_weighted_simhash_equals_its_definition(docs):
    hashes, starts = plain.batch([[hash_ for hash_, _ in doc] for doc in docs])
    given_weights, _ = plain.batch([[weight for _, weight in doc] for doc in docs], np.float64)
    expected = [plain.simhash(*zip(*doc, strict=True)) if doc else 0 for doc in docs]
    assert simhash_of_features(hashes, starts, given_weights).tolist() == expected
