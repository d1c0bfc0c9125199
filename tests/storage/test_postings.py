import collections
import random

import numpy as np
import pytest

import docindex
from docindex.storage import segment_writer
from docindex.storage.content_writer import NO_POSTINGS, NewPostings, Postings
from docindex.storage.postings import smallest_frequencies
from tests.query.corpus import RECIPE, corpus, hashes_of
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


@pytest.mark.parametrize("most", [1, 100, 1000, 1 << 20])
@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_hashes_have_the_frequencies_of_the_definition(seed, most):
    rng, texts = random.Random(seed), corpus(500 + seed)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        for key, text in rng.sample(sorted(texts.items()), len(texts)):
            index.add(key, text)
        for key in rng.sample(sorted(texts), 10):
            index.remove(key)
            del texts[key]
        having = collections.Counter(hash_ << 16 for text in set(texts.values()) for hash_ in hashes_of(text))
        hashes = sorted(having)
        with index._store.reading() as db:
            found = smallest_frequencies(db, most)
        counts = found.of(np.array(hashes, np.uint64)).tolist()
    known = [hash_ for hash_, count in zip(hashes, counts, strict=True) if count]
    assert known == hashes[: len(known)]  # the smallest ones
    assert counts[: len(known)] == [having[hash_] for hash_ in known]
    assert sum(found.counts) == sum(counts) <= 2 * most + 100
    assert most < 1 << 20 or len(known) == len(hashes)
    assert found.of(np.array([1 << 16], np.uint64)).tolist() == [0]
