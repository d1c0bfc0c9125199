"""Count the hashes that pairs of sets have in common, exactly.

Takes a source of sets, such as the fingerprint hashes or the shingles of contents, and pairs of their places.
Gives the counts batch by batch. Must never know what a hash stands for.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from docindex.arrays.joins import found_in
from docindex.arrays.ranges import I64, U64, mix, ranges, starts_of
from docindex.query.scope import CheckCancelled

# About this many hashes are compared at a time, 8 bytes each.
_HASHES = 1 << 22
# The number of sets in a batch.
_SETS = 1 << 16
# The number of pairs in a batch: to number their places takes 50 ms.
_PAIRS = 1 << 22
# A batch begins with this many pairs, and grows while its sets fit.
_FEW_PAIRS = 1 << 14
# A table of all places is faster than sorting those of a batch if there are at most this many for each pair.
_PLACES_FOR_A_PAIR = 64
# The number of hashes that are looked up at a time: their table fits in the cache of a core.
_LOOKED_UP = 1 << 18


class SetSource(Protocol):
    """Sets of hashes, known by their places: 0 and up."""

    def weights(self) -> I64:
        """About how many hashes each set has: enough to cut batches."""

    def sets_of(self, places: I64) -> tuple[U64, I64]:
        """The different hashes of some sets end to end, and where each set begins; the places ascend."""


class PairCounts(NamedTuple):
    """The counts of a batch of pairs."""

    part: slice
    """Which of the pairs."""
    shared: I64
    """How many hashes both sets of a pair have."""
    of_a: I64
    """How many hashes the first set has."""
    of_b: I64


def count_shared(source: SetSource, a: I64, b: I64, check_cancelled: CheckCancelled) -> Iterator[PairCounts]:
    """The exact counts of pairs of places, a batch at a time.

    Cheapest if pairs are ordered by b, and b has no fewer hashes than a.
    """
    weights = source.weights()
    begin = 0
    while begin < len(a):
        end = _end_of_batch(weights, a, b, begin)
        places, of_a, of_b = _numbered(a[begin:end], b[begin:end], len(weights))
        hashes, starts = source.sets_of(places)
        sizes = np.diff(starts)
        shared = _shared(hashes, starts, of_a, of_b, check_cancelled)
        yield PairCounts(slice(begin, end), shared, sizes[of_a], sizes[of_b])
        begin = end


def set_sizes(source: SetSource, places: I64, check_cancelled: CheckCancelled) -> I64:
    """The number of hashes of each set; `places` must ascend."""
    weights = source.weights()
    found = np.empty(len(places), np.int64)
    begin = 0
    while begin < len(places):
        check_cancelled()
        end = _end_of_batch(weights, places, places, begin)
        found[begin:end] = np.diff(source.sets_of(places[begin:end])[1])
        begin = end
    return found


def _end_of_batch(weights: I64, a: I64, b: I64, begin: int) -> int:
    """The end of the batch of pairs at `begin`: one pair, or pairs of sets with up to `_HASHES` hashes.

    The largest set does not count: many small sets may be compared with one very large set.
    """
    end, size = begin, _FEW_PAIRS
    while (
        end < len(a) and end - begin < _PAIRS and _fits(weights, a[begin : end + size], b[begin : end + size])
    ):
        end, size = min(end + size, len(a)), 2 * size
    if end > begin:
        return end
    while size > 1 and not _fits(weights, a[begin : begin + size], b[begin : begin + size]):
        size //= 2
    return min(begin + size, len(a))


def _fits(weights: I64, a: I64, b: I64) -> bool:
    """Whether the sets of some pairs fit in a batch."""
    of_places = weights[_numbered(a, b, len(weights))[0]]
    return len(of_places) < _SETS and bool(of_places.sum() - of_places.max() <= _HASHES)


def _numbered(a: I64, b: I64, count: int) -> tuple[I64, I64, I64]:
    """The different places of some pairs, ascending, and for each pair the numbers of its two places."""
    if len(a) * _PLACES_FOR_A_PAIR < count:
        places, numbers = np.unique(np.concatenate([a, b]), return_inverse=True)
        return places, numbers[: len(a)], numbers[len(a) :]
    is_in = np.zeros(count, bool)
    is_in[a] = is_in[b] = True
    number = np.cumsum(is_in) - 1
    return np.flatnonzero(is_in), number[a], number[b]


def _shared(hashes: U64, starts: I64, a: I64, b: I64, check_cancelled: CheckCancelled) -> I64:
    """How many hashes the sets of each pair have in common."""
    sizes = np.diff(starts)
    # Each set gets a number that is added to its hashes. If a hash of a with the number of b is found among
    # the hashes of b, both sets have it: sums of 64 bits are equal by chance as rarely as hashes are.
    salts = mix(np.arange(1, len(sizes) + 1, dtype=np.uint64))
    keys = hashes + np.repeat(salts, sizes)
    shared = np.zeros(len(a), np.int64)
    until = np.cumsum(sizes[a])
    begin = 0
    while begin < len(a):
        check_cancelled()
        before = int(until[begin - 1]) if begin else 0
        # A table of a very large set serves as many look-ups as it has hashes.
        most = max(_LOOKED_UP, int(sizes[b[begin]]))
        end = max(begin + 1, int(np.searchsorted(until, before + most, "right")))
        of_a, of_b = a[begin:end], b[begin:end]
        moved = hashes[ranges(starts[of_a], sizes[of_a])]
        moved += np.repeat(salts[of_b], sizes[of_a])
        others = np.unique(of_b)
        hits = found_in(keys[ranges(starts[others], sizes[others])], moved)
        shared[begin:end] = np.diff(starts_of(hits.astype(np.int64))[starts_of(sizes[of_a])])
        begin = end
    return shared
