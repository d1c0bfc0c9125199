"""The symbols of two texts in, all their maximal common runs out: where in each, and how long.

A run is maximal if it can be extended neither to the left nor to the right. Winnowing by the
rightmost rule selects in equal windows of two texts the same k-gram, so a run of ``k + window - 1``
symbols has a *seed* - a pair of equal fingerprints - in each of its windows, on its own diagonal:
no seed of a run is more than a window from the next, and the outermost are less than one from
its ends. So the comparing of symbols costs a few windows a seed however long the runs are. The robust
rule keeps what the window before has taken, and so may select differently in two equal runs.

Must never give a run that was not compared symbol by symbol: hashes only say where to look.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from docindex.kernels.arrays import CHUNK, I64, U8, U32, U64, Bool, ranges, starts_of
from docindex.kernels.winnowing import select_fingerprints

MOST_SEEDS = 1 << 18
"""Up to so many seeds all are followed: that takes up to a tenth of a second, and nobody reads more runs."""
SEEDS_A_HASH = 16
"""Or up to so many for each shared hash: two long texts with four copies of one text each."""

# Symbols that are fingerprinted at a time: of one text only what the other shares is kept.
_SLICE = 1 << 20
# A hash with more places than that in a slice fills stretches, and few of these places are kept: in a
# stretch of one symbol the rightmost rule selects everything, 14 times as much as windows of 26 need.
_DENSE = 1 << 14
# Seeds that are followed at a time: a dozen arrays of so many numbers are 25 MB.
_BATCH = 1 << 18
# How far a run is followed beyond a seed, or a window if that is more, before it is known to be worth it.
_REACH = 256
# Symbols of each run that are compared at a time, and of all.
_WIDTH = 32
_AT_ONCE = 8 * CHUNK
# By how much the rounds of `_covering` grow: few rounds, and few runs that show nothing new.
_GROWTH = 8
# Texts are shorter than 2^31 symbols, so that a diagonal and a place are one number of 63 bits.
_LIMIT_BITS = 31


def maximal_runs(a: U8, b: U8, k: int, window: int) -> tuple[I64, I64, I64]:
    """Where maximal common runs begin in `a` and in `b`, and their lengths; by the first, then the second.

    All of at least ``k + window - 1`` symbols; of the shorter ones those with a seed; none shorter than k.

    That holds while there are no more than 2^18 seeds, or 16 for each hash that both texts have, and no
    hash fills stretches of text: stands at more than 2^14 of 2^20 places. Beyond that, as in periodic
    texts, so many seeds of the rarest hashes are followed. A run is certain to be given if it has one of
    these and goes on for no more than 256 symbols without (``k + window``, if that is more). Of the
    others there are as many as show everything: each symbol of a k-gram that is selected in both texts
    lies in some run given, wherever it stands (but for two k-grams with one 47-bit hash). And every run
    given is still maximal.

    Cost: 0.3 microseconds a seed beside the fingerprinting; where there are too many seeds, up to 0.2
    microseconds a symbol. Memory: up to 50 MB for a slice and a batch; 30 bytes for each fingerprint of
    the shorter text, and 8 for each of the longer that it shares.

    >>> text, other = (np.frombuffer(text, np.uint8) for text in (b"xxadorunrunyy", b"adorunrunadorunz"))
    >>> [array.tolist() for array in maximal_runs(text, other, 5, 2)]
    [[2, 2], [0, 9], [9, 6]]
    """
    if max(len(a), len(b)) >> _LIMIT_BITS:
        raise ValueError(
            f"texts of {len(a)} and {len(b)} symbols are too long to align; each must have fewer than 2^31"
        )
    if len(a) < len(b):
        j, i, length = maximal_runs(b, a, k, window)
        order = np.lexsort((j, i))
        return i[order], j[order], length[order]
    places = _places(a, b, k, window)
    joined = _joined(places)
    reach = max(k + window, _REACH)
    parts = [_extended(a, b, k, i, j, reach) for i, j in _seeds(places, joined)]
    found = _united(len(a), parts)
    if not joined.all():
        whole = _maximal(a, b, found)
        cut = found[:, ~whole]
        of_a, of_b = _repeated(places, joined, k)
        left = np.concatenate([cut, of_a], axis=1), np.concatenate([cut, of_b], axis=1)
        found = _covering(a, b, k, found[:, whole], left)
    order = np.lexsort((found[1], found[0]))
    i, j, length = found[:, order]
    return i, j, length


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where the hashes of one text that the other one has, too, were selected."""

    a: list[tuple[U32, U32]]
    """Positions in `a`, ascending, and for each the number of its hash; slice by slice."""
    b: U32
    """Positions in `b`, by the number of their hash, then ascending; also of hashes that `a` has not."""
    starts: I64
    """Where each hash's positions in `b` begin."""
    dense: Bool
    """Which hashes have so many places in either text that not all are here."""

    def pairs(self) -> I64:
        """How many pairs of places each hash has."""
        of_a = np.zeros(len(self.starts) - 1, np.int64)
        for _, numbers in self.a:
            np.add.at(of_a, numbers, 1)
        return of_a * np.diff(self.starts)


def _places(a: U8, b: U8, k: int, window: int) -> _Places:
    """The places of shared hashes; all of the shorter text `b`, and of `a` what is in there."""
    of_b, hashes, dense = (np.concatenate(parts) for parts in zip(*_selected(b, k, window), strict=True))
    order = np.argsort(hashes, kind="stable")
    of_b, hashes = of_b[order], hashes[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    known = np.append(hashes[starts], np.uint64(2**64 - 1))  # greater than any, so that a search ends
    starts = np.append(starts, len(hashes))
    del hashes, order
    of_a = []
    for places, sought, more in _selected(a, k, window):
        # Ordered hashes are sought twelve times as fast as unordered ones.
        by_hash = np.argsort(sought)
        numbers = np.empty(len(sought), np.uint32)
        numbers[by_hash] = np.searchsorted(known, sought[by_hash])
        both = known[numbers] == sought
        of_a.append((places[both], numbers[both]))
        dense = np.append(dense, more)
    return _Places(of_a, of_b, starts, np.isin(known[:-1], dense))


def _selected(symbols: U8, k: int, window: int) -> Iterator[tuple[U32, U64, U64]]:
    """The rightmost fingerprints of a text, slice by slice: each window's minimum is its own business.

    Positions and hashes; and the hashes of which not all places are given.
    """
    last = -1
    for begin in range(0, max(1, len(symbols) - (k + window - 2)), _SLICE):
        part = symbols[begin : begin + _SLICE + k + window - 2]
        positions, hashes, _ = select_fingerprints(part, np.array([0, len(part)]), k, window, robust=False)
        positions += begin
        new = int(np.searchsorted(positions, last, "right"))  # the windows before may have selected it
        last = int(positions[-1]) if len(positions) else last
        yield _thinned(positions[new:], hashes[new:], k)


def _thinned(positions: I64, hashes: U64, k: int) -> tuple[U32, U64, U64]:
    """The places without most of those of dense hashes, which cover the same symbols; and these hashes."""
    ordered = np.sort(hashes)
    dense = np.unique(ordered[_DENSE:][ordered[_DENSE:] == ordered[:-_DENSE]])
    kept = np.ones(len(hashes), bool)
    for hash_ in dense:
        places = np.flatnonzero(hashes == hash_)
        # The k-grams of the first and the last place among k touch each other.
        blocks = positions[places] // k
        edges = blocks[1:] != blocks[:-1]
        kept[places] = np.append(True, edges) | np.append(edges, True)
    return positions[kept].astype(np.uint32), hashes[kept], dense


def _joined(places: _Places) -> Bool:
    """For each hash whether all its places in one text are joined with all in the other: the rarest."""
    pairs = np.where(places.dense, 0, places.pairs())
    order = np.argsort(pairs, kind="stable")
    joined = np.empty(len(pairs), bool)
    joined[order] = np.cumsum(pairs[order]) <= max(MOST_SEEDS, SEEDS_A_HASH * int(np.count_nonzero(pairs)))
    return joined & ~places.dense


def _seeds(places: _Places, joined: Bool) -> Iterator[tuple[I64, I64]]:
    """All pairs of places of the joined hashes, a batch at a time, by their place in `a`."""
    for of_a, numbers in places.a:
        kept = joined[numbers]
        i, numbers = of_a[kept].astype(np.int64), numbers[kept]
        begins = places.starts[numbers]
        counts = places.starts[numbers + 1] - begins
        before = starts_of(counts)
        cuts = np.searchsorted(before, np.arange(0, before[-1] + _BATCH, _BATCH))
        for first, last in itertools.pairwise(cuts.tolist()):
            here = counts[first:last]
            of_b = places.b[ranges(begins[first:last], here)]
            yield np.repeat(i[first:last], here), of_b.astype(np.int64)


def _repeated(places: _Places, joined: Bool, k: int) -> tuple[I64, I64]:
    """The other hashes' places in `a` with the first in `b` each, and those in `b` with the first in `a`.

    Three rows: where in `a`, where in `b`, and the length of a seed.
    """
    left = [(of_a[~joined[numbers]], numbers[~joined[numbers]]) for of_a, numbers in places.a]
    i, numbers = (np.concatenate(parts).astype(np.int64) for parts in zip(*left, strict=True))
    of_a = np.array([i, places.b[places.starts[numbers]], np.full(len(i), k)])
    first_in_a = np.full(len(joined), -1)
    first_in_a[numbers[::-1]] = i[::-1]  # of several assignments the last one stays
    numbers = np.flatnonzero(first_in_a >= 0)
    counts = np.diff(places.starts)[numbers]
    j = places.b[ranges(places.starts[numbers], counts)]
    return of_a, np.array([np.repeat(first_in_a[numbers], counts), j, np.full(len(j), k)])


def _extended(a: U8, b: U8, k: int, i: I64, j: I64, reach: int) -> I64:
    """The common runs through some seeds, as far as they reach from one seed to the next and beyond.

    Three rows: where each begins in `a` and in `b`, and its length. A seed whose k-grams differ
    has none.
    """
    diagonals, i = _coordinates(np.sort(_keys(len(a), i, j)))
    j = i + diagonals - len(a)
    most = np.minimum(np.minimum(len(a) - i, len(b) - j), reach)
    gaps, same = np.diff(i), diagonals[1:] == diagonals[:-1]
    most[:-1][same] = np.minimum(most[:-1], gaps)[same]
    agreed = _agreeing(a, b, i, j, most)
    # Who agrees up to the next seed is one run with it.
    linked = same & (agreed[:-1] == gaps)
    heads = np.flatnonzero(np.append(True, ~linked)[: len(i)])
    lasts = np.flatnonzero(np.append(~linked, True)[: len(i)])
    length = i[lasts] + agreed[lasts] - i[heads]
    heads, length = heads[length >= k], length[length >= k]
    i, j = i[heads], j[heads]
    most = np.minimum(np.minimum(i, j), reach)
    before = _agreeing(a[::-1], b[::-1], len(a) - i, len(b) - j, most)
    return np.array([i - before, j - before, length + before])


def _agreeing(a: U8, b: U8, i: I64, j: I64, most: I64) -> I64:
    """How many symbols agree from each of many pairs of places on, and no more than `most`."""
    agreed = np.zeros(len(i), np.int64)
    for first in range(0, len(i), _AT_ONCE // _WIDTH):
        rows = np.arange(first, min(first + _AT_ONCE // _WIDTH, len(i)))
        width = _WIDTH
        while len(rows):
            sizes = np.minimum(most[rows] - agreed[rows], width)
            starts = starts_of(sizes)
            at = ranges(i[rows] + agreed[rows], sizes)
            unequal = np.flatnonzero(a[at] != b[at + np.repeat(j[rows] - i[rows], sizes)])
            nearest = np.append(unequal, starts[-1])[np.searchsorted(unequal, starts[:-1])]
            more = np.minimum(nearest - starts[:-1], sizes)
            agreed[rows] += more
            rows = rows[more == width]
            # The fewer are left, the further each is followed at a time.
            width = max(_WIDTH, min(2 * width, _AT_ONCE // max(1, len(rows))))
    return agreed


def _keys(size: int, i: I64, j: I64) -> I64:
    """One number for each pair of places, by diagonal, then by the place in `a`, which is of that size."""
    return (j - i + size) << _LIMIT_BITS | i


def _coordinates(keys: I64) -> tuple[I64, I64]:
    """The diagonals and the places in `a` again."""
    return keys >> _LIMIT_BITS, keys & ((1 << _LIMIT_BITS) - 1)


def _united(size: int, parts: list[I64]) -> I64:
    """Runs that overlap or touch on a diagonal, as one."""
    i, j, length = np.concatenate([np.empty((3, 0), np.int64), *parts], axis=1)
    keys = _keys(size, i, j)
    begins, ends = merged_ranges(keys, keys + length)
    diagonals, i = _coordinates(begins)
    return np.array([i, i + diagonals - size, ends - begins])


def merged_ranges(begins: I64, ends: I64) -> tuple[I64, I64]:
    """Half-open ranges in any order, those that overlap or touch as one; ascending.

    >>> [array.tolist() for array in merged_ranges(np.array([5, 0, 2, 9]), np.array([8, 3, 5, 10]))]
    [[0, 9], [8, 10]]
    """
    order = np.argsort(begins)
    begins, reached = begins[order], np.maximum.accumulate(ends[order])
    apart = begins[1:] > reached[:-1]
    first, last = np.append(True, apart)[: len(begins)], np.append(apart, True)[: len(begins)]
    return begins[first], reached[last]


def _maximal(a: U8, b: U8, found: I64) -> Bool:
    """True for each run that can be extended neither to the left nor to the right."""
    i, j, length = found
    left = (i == 0) | (j == 0) | (a[i - 1] != b[j - 1])
    i, j = i + length, j + length
    right = a[np.minimum(i, len(a) - 1)] != b[np.minimum(j, len(b) - 1)]
    maximal: Bool = left & (right | (i == len(a)) | (j == len(b)))
    return maximal


def _covering(a: U8, b: U8, k: int, found: I64, left: tuple[I64, I64]) -> I64:
    """The runs found, and others so that what is left lies in runs, too: part one in `a`, part two in `b`.

    Each round tries a few of what no run shows yet, evenly spread, and the next one more: in a
    periodic text one long run shows all at once, and scattered repeats take few rounds, too.
    """
    rest = [part[:, np.argsort(part[side], kind="stable")] for side, part in enumerate(left)]
    tries = 1
    while rest[0].size or rest[1].size:
        for side in (0, 1):
            open_ = ~_inside(rest[side][side], rest[side][2], found[side], found[2])
            places = np.flatnonzero(open_)
            if not len(places):
                rest[side] = rest[side][:, :0]
                continue
            picks = places[np.arange(0, len(places), -(-len(places) // tries))]
            i, j, _ = rest[side][:, picks]
            found = _united(len(a), [found, _extended(a, b, k, i, j, len(a))])
            open_[picks] = False
            rest[side] = rest[side][:, open_]
        tries *= _GROWTH
    return found


def _inside(begins: I64, lengths: I64, of_begins: I64, of_lengths: I64) -> Bool:
    """True for each range that lies in one of the others."""
    order = np.argsort(of_begins)
    reached = np.append(0, np.maximum.accumulate((of_begins + of_lengths)[order]))
    inside: Bool = reached[np.searchsorted(of_begins[order], begins, "right")] >= begins + lengths
    return inside
