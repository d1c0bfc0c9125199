"""Measure which distance of simhash values finds near-duplicates: recall and precision on real texts.

The best distance is chosen with the pairs of one half, and everything is reported for the other half. A pair
belongs to the half of its first text.
"""

import functools
import itertools

import numpy as np

import docindex
from docindex import Recipe
from docindex.query.near import DEFAULT_DISTANCE
from docindex.sketching.single_text import shingle_set, word_hashes
from docindex.sketching.weighted_words import word_weights
from tests.bench import corpora

MOST = 12
LEAST = 0.8
MIN_WORDS = 20
SHINGLES_AT_ONCE = 200_000


def run():
    """Print, for each corpus, precision and recall at each distance."""
    print(f"precision/recall at each distance, on half 1; the default is {DEFAULT_DISTANCE}")
    if corpora.present("reuters"):
        stories = {key: text for key, text in corpora.reuters().items() if len(text.split()) >= MIN_WORDS}
        collection = Collection(stories)
        report(f"reuters, resemblance >= {LEAST}", collection, collection.alike(LEAST))
    for name, load in (("pyrev", corpora.pyrev), ("manpages", corpora.manpages)):
        if corpora.present(name):
            texts, groups = load()
            collection = Collection(texts)
            report(f"{name}, resemblance >= {LEAST}", collection, collection.alike(LEAST))
            releases = collection.pairs_of(groups)
            report(f"{name}, releases of one file", collection, releases)
            weights = word_weights((word_hashes(text, Recipe()) for text in texts.values()), Recipe())
            report(f"{name}, releases of one file, with idf", collection, releases, weights)


class Collection:
    """Texts, and pairs of them. A pair is a number: first text times number of texts, plus second text."""

    def __init__(self, texts):
        self.texts = list(texts.values())
        self.number = {key: number for number, key in enumerate(texts)}
        # The releases of one file belong to one half, so the half depends on the name without the release.
        self.half = np.array([corpora.half(key.split("/", 1)[-1]) for key in texts])

    def pairs_of(self, groups):
        """All pairs of texts in one group of keys."""
        numbers = (sorted(self.number[key] for key in group) for group in groups)
        pairs = (pair for group in numbers for pair in itertools.combinations(group, 2))
        return np.array(sorted(a * len(self.texts) + b for a, b in pairs), np.int64)

    def alike(self, least):
        """All pairs with at least this resemblance, counted exactly: every shared shingle of every pair."""
        sets = [shingle_set(text, Recipe()) for text in self.texts]
        sizes = np.array([len(found) for found in sets])
        shingles, texts = np.concatenate(sets), np.repeat(np.arange(len(sets)), sizes)
        order = np.argsort(shingles, kind="stable")
        heads = np.flatnonzero(np.diff(shingles[order], prepend=~shingles[order[:1]]))
        pairs, shared, waiting = np.empty(0, np.int64), np.empty(0, np.int64), []
        for members in np.split(texts[order], heads[1:]):
            a, b = np.triu_indices(len(members), 1)
            waiting.append(members[a] * len(sets) + members[b])
            if len(waiting) == SHINGLES_AT_ONCE:
                pairs, shared = counted(pairs, shared, waiting)
                waiting = []
        pairs, shared = counted(pairs, shared, waiting)
        union = sizes[pairs // len(sets)] + sizes[pairs % len(sets)] - shared
        return pairs[shared >= least * union]

    @functools.cache  # noqa: B019 - a collection lives as long as the program
    def close(self, idf=None):
        """All pairs whose simhash values differ in at most `MOST` bits, and their distances."""
        simhashes = np.array([docindex.simhash(text, idf=idf) for text in self.texts], np.uint64)
        pairs, distances = [], []
        for number, simhash in enumerate(simhashes):
            apart = np.bitwise_count(simhashes[number + 1 :] ^ simhash)
            near = np.flatnonzero(apart <= MOST)
            pairs.append(number * len(simhashes) + number + 1 + near)
            distances.append(apart[near])
        return np.concatenate(pairs), np.concatenate(distances)


def counted(pairs, shared, waiting):
    """The pairs, and how many shingles they share, with one more shingle for each pair that waits."""
    together = np.concatenate([pairs, *waiting])
    counts = np.concatenate([shared, np.ones(len(together) - len(pairs), np.int64)])
    found, which = np.unique(together, return_inverse=True)
    return found, np.bincount(which, counts, len(found)).astype(np.int64)


def report(name, collection, wanted, idf=None):
    """Print how many pairs should be found, and precision and recall at each distance."""
    found, distances = collection.close(idf)
    right = np.isin(found, wanted)
    figures = {}
    for half in (0, 1):
        here, sought = (collection.half[pairs // len(collection.texts)] == half for pairs in (found, wanted))
        for most in range(MOST + 1):
            within = here & (distances <= most)
            hits = np.count_nonzero(within & right)
            precision, recall = (
                hits / max(1, np.count_nonzero(within)),
                hits / max(1, np.count_nonzero(sought)),
            )
            figures[half, most] = precision, recall, 2 * precision * recall / max(1e-9, precision + recall)
    best = max(range(MOST + 1), key=lambda most: figures[0, most][2])
    print(f"{name}: {len(wanted):,} pairs")
    print(
        "  "
        + " ".join(f"{most}:{figures[1, most][0]:.2f}/{figures[1, most][1]:.2f}" for most in range(MOST + 1))
    )
    print(
        f"  best distance {best}, F1 {figures[1, best][2]:.3f}; at {DEFAULT_DISTANCE}: precision "
        f"{figures[1, DEFAULT_DISTANCE][0]:.3f}, recall {figures[1, DEFAULT_DISTANCE][1]:.3f} (target .85)"
    )
