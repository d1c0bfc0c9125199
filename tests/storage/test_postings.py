import numpy as np
import pytest

import docindex
from docindex.storage.postings import segment_writer
from docindex.storage.postings.segments import NO_POSTINGS, NewPostings, Postings
from tests.storage.answers import looked_up


@pytest.mark.parametrize("hash_", [0, 2**63, 2**64 - 1])
def test_the_smallest_and_the_largest_hashes_are_found(hash_):
    with docindex.open(":memory:") as index:
        with index._store.writing() as db:
            hashes = np.array([0, 2**63, 2**64 - 1] * 300, np.uint64)
            postings = Postings(np.sort(hashes), np.array([7]), np.array([900]))
            segment_writer.add_postings(db, NewPostings(postings, NO_POSTINGS, NO_POSTINGS))
        with index._store.reading() as db:
            places, contents = looked_up(db, np.array([hash_], np.uint64))
        assert (places.tolist(), contents.tolist()) == ([0], [7])
