"""Find all maximal common runs of two texts: where each begins in both texts, and its length.

In: the symbols of the two texts, k and the window. Out: three arrays. Must never return a run that was not
compared symbol by symbol: hashes only say where to look.

A run is maximal if it cannot be extended in either direction. In two equal windows, winnowing by the
rightmost rule selects the same k-gram. So a run of ``k + window - 1`` symbols has a *seed*, a pair of equal
fingerprints, in each of its windows. All seeds of a run lie on its diagonal: neighbours are at most a window
apart, and the outermost lie less than a window from the ends of the run. So the comparison costs a few
windows for each seed, however long the runs are. The robust rule cannot be used: its selection depends on
earlier windows, so it may select different k-grams in two equal runs.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from docindex.arrays.ranges import CHUNK, I64, U8, U32, U64, Bool, are_first, ranges, starts_of
from docindex.winnowing.selection import select_fingerprints

MAX_SEEDS = 1 << 18
"""If there are at most this many seeds, all are followed. That takes up to a tenth of a second."""
SEEDS_PER_HASH = 16
"""If the texts share many hashes, the limit is this many seeds for each hash. That is enough for two long
texts that both repeat the same text four times."""

# How many symbols are fingerprinted at a time. Of the longer text, only shared fingerprints are kept.
_SLICE = 1 << 20
# A hash with more places than this in a slice fills whole stretches, and only a few of its places are kept.
# In a stretch of one symbol the rightmost rule selects every place, 18 times as many as windows of 36 need.
_DENSE = 1 << 14
# How many seeds are followed at a time: a dozen arrays of this length take 25 MB.
_BATCH = 1 << 18
# How far a run is followed beyond a seed if no other seed follows (k + window, if that is more).
_REACH = 256
# How many symbols are compared at a time: of each run, and of all runs together.
_WIDTH = 32
_SYMBOLS_AT_ONCE = 8 * CHUNK
# The factor by which the rounds of `_covering` grow: few rounds, and few runs that cover nothing new.
_GROWTH = 8
# Texts are shorter than 2^31 symbols, so that a diagonal and a place fit in one 63-bit number.
_LIMIT_BITS = 31


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """The symbols of two texts, and the length of a seed."""

    a: U8
    b: U8
    k: int
    between: Callable[[], None]


def _go_on() -> None:
    """Do nothing between two pieces of work."""


def maximal_runs(
    a: U8, b: U8, k: int, window: int, between: Callable[[], None] = _go_on
) -> tuple[I64, I64, I64]:
    """The starts of the maximal common runs in `a` and in `b`, and their lengths, in the order of the starts.

    Returns all runs of at least ``k + window - 1`` symbols, and the shorter runs that have a seed. No run is
    shorter than k.

    This holds under two conditions:

    - There are at most 2^18 seeds, or at most 16 seeds for each hash that both texts have.
    - No hash fills stretches of text, that is, no hash is selected at more than 2^14 of 2^20 places.

    Otherwise, as in periodic texts, only the seeds of the rarest hashes are followed, up to the same number.
    Then:

    - A run is certain to be returned if it has one of these seeds, and no stretch of more than 256 symbols
      (or ``k + window``, if that is more) without such a seed.
    - Other runs are added until every k-gram that is selected in both texts lies in returned runs, at each of
      its selected places. (The exception is two k-grams with the same 47-bit hash.)
    - Every returned run is still maximal.

    Time: 0.3 microseconds for each seed, plus the fingerprinting; with too many seeds, at most 0.2
    microseconds for each symbol. Memory: up to 50 MB for a slice and a batch, 30 bytes for each fingerprint
    of the shorter text, and 8 bytes for each fingerprint of the longer text that the shorter one shares.

    Calls `between` between pieces of work that take at most some 50 ms; it may raise an error to stop.

    >>> text, other = (np.frombuffer(text, np.uint8) for text in (b"xxadorunrunyy", b"adorunrunadorunz"))
    >>> [array.tolist() for array in maximal_runs(text, other, 5, 2)]
    [[2, 2], [0, 9], [9, 6]]
    """
    if max(len(a), len(b)) >> _LIMIT_BITS:
        raise ValueError(
            f"texts of {len(a)} and {len(b)} symbols are too long to align; each must have fewer than 2^31"
        )
    if len(a) < len(b):
        j, i, length = maximal_runs(b, a, k, window, between)
        order = np.lexsort((j, i))
        return i[order], j[order], length[order]
    runs = _all_runs(_Texts(a, b, k, between), window)
    order = np.lexsort((runs[1], runs[0]))
    i, j, length = runs[:, order]
    return i, j, length


def _all_runs(texts: _Texts, window: int) -> I64:
    """The runs that `maximal_runs` returns, in any order; `b` must not be longer than `a`."""
    places = _places(texts, window)
    followed = _followed(places)
    reach, size = max(texts.k + window, _REACH), len(texts.a)
    runs = _united(size, [_extended(texts, i, j, reach) for i, j in _seeds(places, followed)])
    if not followed.all():
        whole = _maximal(texts, runs)
        cut = runs[:, ~whole]
        in_a, in_b = _other_places(places, followed, texts.k)
        uncovered = np.concatenate([cut, in_a], axis=1), np.concatenate([cut, in_b], axis=1)
        runs = _covering(texts, runs[:, whole], uncovered)
    return runs


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where the hashes that two texts share were selected. Hashes are numbered in ascending order."""

    a: list[tuple[U32, U32]]
    """For each slice of `a`: positions, ascending, and the number of the hash at each."""
    b: U32
    """Positions in `b`, by the number of their hash, then ascending; includes hashes that `a` lacks."""
    starts: I64
    """Where the positions of each hash begin in `b`."""
    dense: Bool
    """True for a hash with too many places in either text: only some of them are here."""

    def pairs(self) -> I64:
        """The number of pairs of places that each hash has."""
        of_a = np.zeros(len(self.starts) - 1, np.int64)
        for _, numbers in self.a:
            np.add.at(of_a, numbers, 1)
        return of_a * np.diff(self.starts)


def _places(texts: _Texts, window: int) -> _Places:
    """All places that are selected in the shorter text `b`, and those in `a` whose hash is among them."""
    slices = _selected(texts, texts.b, window)
    of_b, hashes, dense = (np.concatenate(parts) for parts in zip(*slices, strict=True))
    order = np.argsort(hashes, kind="stable")
    of_b, hashes = of_b[order], hashes[order]
    starts = np.flatnonzero(are_first(hashes))
    # The last number is greater than all hashes, so that every search ends at an element.
    known = np.append(hashes[starts], np.uint64(2**64 - 1))
    starts = np.append(starts, len(hashes))
    del hashes, order
    of_a = []
    for places, sought, more in _selected(texts, texts.a, window):
        # Searching for hashes in ascending order is twelve times as fast.
        by_hash = np.argsort(sought)
        numbers = np.empty(len(sought), np.uint32)
        numbers[by_hash] = np.searchsorted(known, sought[by_hash])
        both = known[numbers] == sought
        of_a.append((places[both], numbers[both]))
        dense = np.append(dense, more)
    return _Places(of_a, of_b, starts, np.isin(known[:-1], dense))


def _selected(texts: _Texts, symbols: U8, window: int) -> Iterator[tuple[U32, U64, U64]]:
    """The fingerprints of a text by the rightmost rule: for each slice, positions, hashes, and dense hashes.

    Slices give the same fingerprints as the whole text, because this rule looks at each window alone. For a
    dense hash, only some places are returned.
    """
    last, k = -1, texts.k
    for begin in range(0, max(1, len(symbols) - (k + window - 2)), _SLICE):
        texts.between()
        part = symbols[begin : begin + _SLICE + k + window - 2]
        positions, hashes, _ = select_fingerprints(part, np.array([0, len(part)]), k, window, robust=False)
        positions += begin
        new = int(np.searchsorted(positions, last, "right"))  # a window before may have selected it
        last = int(positions[-1]) if len(positions) else last
        yield _thinned(positions[new:], hashes[new:], k)


def _thinned(positions: I64, hashes: U64, k: int) -> tuple[U32, U64, U64]:
    """The positions and hashes without most places of the dense hashes, and the dense hashes.

    The k-grams at the remaining places still cover the same symbols.
    """
    ordered = np.sort(hashes)
    dense = np.unique(ordered[_DENSE:][ordered[_DENSE:] == ordered[:-_DENSE]])
    kept = np.ones(len(hashes), bool)
    for hash_ in dense:
        places = np.flatnonzero(hashes == hash_)
        # In each block of k positions, the first and the last place are enough: their k-grams touch.
        blocks = positions[places] // k
        edges = blocks[1:] != blocks[:-1]
        kept[places] = np.append(True, edges) | np.append(edges, True)
    return positions[kept].astype(np.uint32), hashes[kept], dense


def _followed(places: _Places) -> Bool:
    """True for each hash whose seeds are all followed: the rarest hashes, up to the limit of seeds."""
    pairs = np.where(places.dense, 0, places.pairs())
    order = np.argsort(pairs, kind="stable")
    followed = np.empty(len(pairs), bool)
    limit = max(MAX_SEEDS, SEEDS_PER_HASH * int(np.count_nonzero(pairs)))
    followed[order] = np.cumsum(pairs[order]) <= limit
    return followed & ~places.dense


def _seeds(places: _Places, followed: Bool) -> Iterator[tuple[I64, I64]]:
    """All seeds of the followed hashes, a batch at a time: places in `a`, ascending, and in `b`."""
    for of_a, numbers in places.a:
        kept = followed[numbers]
        i, numbers = of_a[kept].astype(np.int64), numbers[kept]
        begins = places.starts[numbers]
        counts = places.starts[numbers + 1] - begins
        before = starts_of(counts)
        cuts = np.searchsorted(before, np.arange(0, before[-1] + _BATCH, _BATCH))
        for first, last in itertools.pairwise(cuts.tolist()):
            here = counts[first:last]
            of_b = places.b[ranges(begins[first:last], here)]
            yield np.repeat(i[first:last], here), of_b.astype(np.int64)


def _other_places(places: _Places, followed: Bool, k: int) -> tuple[I64, I64]:
    """The places of the hashes that are not followed, each with the hash's first place in the other text.

    Two arrays, for the places in `a` and in `b`. Each has three rows: place in `a`, place in `b`, and the
    length of a seed.
    """
    others = [(of_a[~followed[numbers]], numbers[~followed[numbers]]) for of_a, numbers in places.a]
    i, numbers = (np.concatenate(parts).astype(np.int64) for parts in zip(*others, strict=True))
    in_a = np.array([i, places.b[places.starts[numbers]], np.full(len(i), k)])
    first_in_a = np.full(len(followed), -1)
    first_in_a[numbers[::-1]] = i[::-1]  # the last assignment to an element counts
    numbers = np.flatnonzero(first_in_a >= 0)
    counts = np.diff(places.starts)[numbers]
    j = places.b[ranges(places.starts[numbers], counts)]
    return in_a, np.array([np.repeat(first_in_a[numbers], counts), j, np.full(len(j), k)])


def _extended(texts: _Texts, i: I64, j: I64, reach: int) -> I64:
    """The common runs through the seeds, followed from seed to seed, and up to `reach` beyond the outermost.

    Three rows: where each run begins in `a` and in `b`, and its length. A seed whose k-grams differ, in spite
    of equal hashes, gives no run.
    """
    a, b = texts.a, texts.b
    texts.between()
    diagonals, i = _coordinates(np.sort(_keys(len(a), i, j)))
    j = i + diagonals - len(a)
    most = np.minimum(np.minimum(len(a) - i, len(b) - j), reach)
    gaps, same = np.diff(i), diagonals[1:] == diagonals[:-1]
    most[:-1][same] = np.minimum(most[:-1], gaps)[same]
    agreed = _agreeing(texts, i, j, most)
    # A seed that agrees up to the next seed belongs to the same run.
    linked = same & (agreed[:-1] == gaps)
    heads = np.flatnonzero(np.append(True, ~linked)[: len(i)])
    lasts = np.flatnonzero(np.append(~linked, True)[: len(i)])
    length = i[lasts] + agreed[lasts] - i[heads]
    heads, length = heads[length >= texts.k], length[length >= texts.k]
    i, j = i[heads], j[heads]
    most = np.minimum(np.minimum(i, j), reach)
    mirrored = dataclasses.replace(texts, a=a[::-1], b=b[::-1])
    before = _agreeing(mirrored, len(a) - i, len(b) - j, most)
    return np.array([i - before, j - before, length + before])


def _agreeing(texts: _Texts, i: I64, j: I64, most: I64) -> I64:
    """For each pair of places, how many symbols agree from there on, counted up to `most`."""
    a, b = texts.a, texts.b
    agreed = np.zeros(len(i), np.int64)
    for first in range(0, len(i), _SYMBOLS_AT_ONCE // _WIDTH):
        rows = np.arange(first, min(first + _SYMBOLS_AT_ONCE // _WIDTH, len(i)))
        width = _WIDTH
        while len(rows):
            texts.between()
            sizes = np.minimum(most[rows] - agreed[rows], width)
            starts = starts_of(sizes)
            at = ranges(i[rows] + agreed[rows], sizes)
            unequal = np.flatnonzero(a[at] != b[at + np.repeat(j[rows] - i[rows], sizes)])
            nearest = np.append(unequal, starts[-1])[np.searchsorted(unequal, starts[:-1])]
            more = np.minimum(nearest - starts[:-1], sizes)
            agreed[rows] += more
            rows = rows[more == width]
            # The fewer runs are left, the further each is followed at a time.
            width = max(_WIDTH, min(2 * width, _SYMBOLS_AT_ONCE // max(1, len(rows))))
    return agreed


def _keys(size: int, i: I64, j: I64) -> I64:
    """One number for each pair of places: it sorts by diagonal, then by place in `a`, whose size is given."""
    return (j - i + size) << _LIMIT_BITS | i


def _coordinates(keys: I64) -> tuple[I64, I64]:
    """The diagonals and the places in `a` that `_keys` was given."""
    return keys >> _LIMIT_BITS, keys & ((1 << _LIMIT_BITS) - 1)


def _united(size: int, parts: list[I64]) -> I64:
    """All runs; runs that overlap or touch on one diagonal are merged."""
    i, j, length = np.concatenate([np.empty((3, 0), np.int64), *parts], axis=1)
    keys = _keys(size, i, j)
    begins, ends = merged_ranges(keys, keys + length)
    diagonals, i = _coordinates(begins)
    return np.array([i, i + diagonals - size, ends - begins])


def merged_ranges(begins: I64, ends: I64) -> tuple[I64, I64]:
    """Merge half-open ranges that overlap or touch; the result is ascending.

    >>> [array.tolist() for array in merged_ranges(np.array([5, 0, 2, 9]), np.array([8, 3, 5, 10]))]
    [[0, 9], [8, 10]]
    """
    order = np.argsort(begins)
    begins, reached = begins[order], np.maximum.accumulate(ends[order])
    apart = begins[1:] > reached[:-1]
    first, last = np.append(True, apart)[: len(begins)], np.append(apart, True)[: len(begins)]
    return begins[first], reached[last]


def _maximal(texts: _Texts, runs: I64) -> Bool:
    """True for each run that can be extended neither to the left nor to the right."""
    a, b = texts.a, texts.b
    i, j, length = runs
    left = (i == 0) | (j == 0) | (a[i - 1] != b[j - 1])
    i, j = i + length, j + length
    right = a[np.minimum(i, len(a) - 1)] != b[np.minimum(j, len(b) - 1)]
    maximal: Bool = left & (right | (i == len(a)) | (j == len(b)))
    return maximal


def _covering(texts: _Texts, runs: I64, uncovered: tuple[I64, I64]) -> I64:
    """The runs, and more runs until together they cover the two parts of `uncovered`, in `a` and in `b`.

    Each round follows a few of the uncovered places, evenly spread, and the next round follows more. So one
    long run covers a periodic text at once, and scattered repeats still take few rounds.
    """
    rest = [part[:, np.argsort(part[side], kind="stable")] for side, part in enumerate(uncovered)]
    size, tries = len(texts.a), 1
    while rest[0].size or rest[1].size:
        for side in (0, 1):
            still_open = ~_inside(rest[side][side], rest[side][2], runs[side], runs[2])
            places = np.flatnonzero(still_open)
            if not len(places):
                rest[side] = rest[side][:, :0]
                continue
            picks = places[np.arange(0, len(places), -(-len(places) // tries))]
            i, j, _ = rest[side][:, picks]
            runs = _united(size, [runs, _extended(texts, i, j, size)])
            still_open[picks] = False
            rest[side] = rest[side][:, still_open]
        tries *= _GROWTH
    return runs


def _inside(begins: I64, lengths: I64, outer_begins: I64, outer_lengths: I64) -> Bool:
    """True for each range that lies inside one of the outer ranges."""
    order = np.argsort(outer_begins)
    reached = np.append(0, np.maximum.accumulate((outer_begins + outer_lengths)[order]))
    inside: Bool = reached[np.searchsorted(outer_begins[order], begins, "right")] >= begins + lengths
    return inside


# Chain common runs of two texts, or group pairs of positions, that lie close together in both texts.
#
# In: runs as three arrays, ordered by where they begin in the first text, or pairs (seeds) as two arrays.
# Out: the number of each run's chain, or of each pair's group.


def seed_clusters(i: I64, j: I64, gap: int, checkpoint: Callable[[], None]) -> I64:
    """The group of each pair, numbered from 0: in a group no neighbours, in either sequence, are far apart.

    All pairs begin as one group. A group is split where two neighbouring positions of one sequence have more
    than `gap` positions between them. That is repeated for both sequences in turn, until no group can be
    split. Each turn takes a sort; a few turns are enough. `checkpoint` is called before each.

    >>> seed_clusters(np.array([0, 1, 9, 10]), np.array([5, 6, 0, 30]), 3, lambda: None).tolist()
    [0, 0, 1, 2]
    """
    groups = np.zeros(len(i), np.int64)
    count, unchanged = 1, 0
    positions = (i, j)
    turn = 0
    while unchanged < 2 and len(i):
        checkpoint()
        where = positions[turn % 2]
        order = np.lexsort((where, groups))
        ordered, group = where[order], groups[order]
        begins = (np.diff(ordered) > gap + 1) | (np.diff(group) > 0)
        groups = np.empty_like(groups)
        groups[order] = np.concatenate([[0], np.cumsum(begins)])
        now = int(begins.sum()) + 1
        unchanged = unchanged + 1 if now == count else 0
        count, turn = now, turn + 1
    return groups


_AT_ONCE = 1 << 14


class _Chain(NamedTuple):
    number: int
    i: int
    """Where its last run begins in the first text."""
    j: int
    end_i: int
    """Where it ends in the first text."""
    end_j: int


def run_chains(i: I64, j: I64, length: I64, gap: int, checkpoint: Callable[[], None]) -> I64:
    """The chain that each run belongs to; chains are numbered from 0 by their first runs.

    A run joins a chain if it begins after the chain's last run in both texts, and at most `gap` symbols
    behind the chain's end in both. (It may overlap the end.) If several chains fit, it joins the one that
    ends last. Takes 2 us a run; `checkpoint` is called between 16,384 runs and the next.

    >>> i, j, length = np.array([0, 12, 40]), np.array([5, 16, 9]), np.array([10, 5, 5])
    >>> run_chains(i, j, length, 3, lambda: None).tolist()
    [0, 0, 1]
    """
    width = gap + 1
    latest: dict[int, _Chain] = {}  # by the end in the second text, divided by `width`
    numbers: list[int] = []
    count = 0
    for begin_i, begin_j, size in zip(i.tolist(), j.tolist(), length.tolist(), strict=True):
        if not len(numbers) % _AT_ONCE:
            checkpoint()
        best = None
        for place in range((begin_j - gap) // width, (begin_j + size) // width + 1):
            chain = latest.get(place)
            if (
                chain is not None
                and chain.i < begin_i <= chain.end_i + gap
                and chain.j < begin_j <= chain.end_j + gap
                and (best is None or chain.end_i > best.end_i)
            ):
                best = chain
        if best is None:
            number, count = count, count + 1
        else:
            number = best.number
            del latest[best.end_j // width]
        joined = _Chain(number, begin_i, begin_j, begin_i + size, begin_j + size)
        latest[joined.end_j // width] = joined
        numbers.append(number)
    return np.array(numbers, np.int64)
