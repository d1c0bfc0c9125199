import random

import numpy as np
import pytest

import docindex
from docindex.storage import postings
from tests.storage.answers import looked_up


def texts(count, words):
    rng = random.Random(count)
    return [" ".join(f"w{rng.randrange(5000)}" for _ in range(words)) for _ in range(count)]


def segments_of(index):
    with index._store.reading() as db:
        return postings.all_segments(db)


def test_small_segments_are_merged_while_a_large_merge_is_still_under_way(monkeypatch):
    monkeypatch.setattr(postings, "_LEAST", 64)
    with docindex.open(":memory:") as index:
        monkeypatch.setattr(postings, "_MERGED_AT_LEAST", 0)
        monkeypatch.setattr(postings, "_MERGED_PER_POSTING", 0)
        for number in range(4):
            index.add_many((f"bulk {number} {i}", text) for i, text in enumerate(texts(100 + number, 300)))
        assert len(segments_of(index)) == 4
        # So little that the large merge takes hundreds of commits.
        monkeypatch.setattr(postings, "_MERGED_PER_POSTING", 3)
        most, large_merges = 0, 0
        for number, text in enumerate(texts(200, 20)):
            index.add(f"small {number}", text)
            segments = segments_of(index)
            most = max(most, len(segments))
            large_merges += any(
                segment.moved is not None and segment.postings > 20_000 for segment in segments
            )
        assert large_merges > 50
        assert most < 30
        assert index.check() == []


@pytest.mark.parametrize("hash_", [0, 2**63, 2**64 - 1])
def test_the_least_and_the_greatest_hashes_are_found_again(hash_):
    with docindex.open(":memory:") as index:
        with index._store.writing() as db:
            hashes = np.array([0, 2**63, 2**64 - 1] * 300, np.uint64)
            postings.add(db, postings.NewPostings(np.sort(hashes), np.array([7]), np.array([900])))
        with index._store.reading() as db:
            which, contents = looked_up(db, np.array([hash_], np.uint64))
        assert (which.tolist(), contents.tolist()) == ([0], [7])
