"""Hashes or symbols in, the positions that winnowing selects out.

Every window of w consecutive hashes has its smallest hash selected. Among equals, the
*rightmost* rule takes the last; the *robust* rule keeps what the window before has taken
while it can. A document with fewer than w hashes keeps its single smallest, the last
among equals. Must never compare hashes of two documents.

The sliding minimum works on keys that hold the hash in the high bits and the reversed
position in the low ones, so that the minimum of a window says where it stands and equal
hashes are taken from the right: ``log2(w)`` passes of `np.minimum`. Robust winnowing is
the rightmost selection thinned where equal minima meet.
"""

import dataclasses
from collections.abc import Callable
from typing import Self

import numpy as np

from docindex.kernels.arrays import CHUNK, I64, U8, U64
from docindex.kernels.kgrams import prefix_sums, rolling_hashes

# A key of 64 bits holds the position within a chunk, which must reach over the chunk and
# the greatest window (2 * 65,536 places), and what is left is the hash: 47 bits.
POSITION_BITS = 17
HASH_BITS = 64 - POSITION_BITS
_SHIFT = np.uint64(POSITION_BITS)
_REVERSED = np.arange(1 << POSITION_BITS, dtype=np.uint64)[::-1].copy()
_POSITION = _REVERSED[0]
_NO_KEY = np.uint64(2**64 - 1)

Fill = Callable[[int, int, U64], None]
"""Writes the keys of the hashes [begin, end), their position bits zero, into an array."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Carry:
    """What the selection in one part of a document leaves open for the next part.

    The last fingerprint that is sure to be selected (already given out), and after it those
    equal ones that the robust rule may still need. Positions as in the part before.
    """

    positions: I64
    hashes: U64

    def moved(self, places: int) -> Self:
        """The same, as seen from a part that begins so many places further on."""
        return dataclasses.replace(self, positions=self.positions - places)


NO_CARRY = Carry(np.empty(0, np.int64), np.empty(0, np.uint64))


def select_fingerprints(
    symbols: U8,
    starts: I64,
    k: int,
    window: int,
    *,
    robust: bool = True,
    carry: Carry = NO_CARRY,
    closed: bool = True,
) -> tuple[I64, U64, Carry]:
    """Where the selected k-grams of some documents stand, their 47-bit hashes, and what is left open.

    The same as `winnow` of the high bits of `grams`, in one pass over chunks that stay in the
    cache. A document may come in parts, as the last of one batch and the first of the next:
    call with ``closed=False``, then give its last ``k + window - 2`` symbols once more, in
    front of the rest, with the carry of the first call `moved` to fit. Nothing is given out
    twice, and the parts give what the whole gives.

    >>> text = np.frombuffer(b"adorunrunrunadorunrun", np.uint8)
    >>> positions, hashes, _ = select_fingerprints(text, np.array([0, 21]), 5, 4)
    >>> len(positions) == len(hashes) > 3
    True
    """
    sums = np.empty(min(_chunk(window), len(symbols)) + window + k, np.uint64)

    def fill(begin: int, end: int, keys: U64) -> None:
        rolling_hashes(prefix_sums(symbols[begin : end + k - 1], out=sums), k, out=keys)
        keys &= ~_POSITION

    return select_minima(fill, starts, k - 1, window, robust, carry, closed=closed)


def winnowing_density(window: int) -> float:
    """The share of hashes that winnowing selects of random ones: 2 / (w + 1).

    >>> round(winnowing_density(100), 6)
    0.019802
    """
    return 2 / (window + 1)


def _chunk(window: int) -> int:
    """How many windows are worked on at a time: enough to outweigh the overlap of a window."""
    return CHUNK if window <= CHUNK // 2 else (1 << POSITION_BITS) - window


def select_minima(
    fill: Fill, starts: I64, tail: int, window: int, robust: bool, carry: Carry, *, closed: bool
) -> tuple[I64, U64, Carry]:
    """The selection over places that hold hashes, but for the last `tail` places of each document."""
    size = max(0, int(starts[-1]) - tail)
    hash_ends = np.maximum(starts[1:] - tail, starts[:-1])
    last_windows = hash_ends - window
    # A document with fewer hashes than a window is one window that ends early, but not if it is
    # the rest of one that had windows before, or the begin of one that may have them yet.
    short = (hash_ends > starts[:-1]) & (last_windows < starts[:-1])
    short[:1] &= not len(carry.positions)
    short[-1:] &= closed
    last_windows[short] = starts[:-1][short]

    chunk = max(1, min(_chunk(window), size))
    keys, spare = np.empty(chunk + window, np.uint64), np.empty(chunk + window, np.uint64)
    found = [(NO_CARRY.positions, NO_CARRY.hashes)]
    for begin in range(0, size, chunk):
        windows = min(chunk, size - begin)
        end = min(begin + windows + window - 1, size)
        fill(begin, end, keys[: end - begin])
        keys[: end - begin] |= _REVERSED[: end - begin]
        keys[end - begin : windows + window - 1] = _NO_KEY
        first, last = np.searchsorted(starts[:-1], [begin, begin + windows])
        whole = first + np.flatnonzero(short[first:last])
        smallest = _smallest(keys, starts[whole] - begin, hash_ends[whole] - begin)

        minima = _sliding_minimum(keys, spare, windows, window)
        minima[starts[whole] - begin] = smallest
        # A window selects something new where its minimum stands elsewhere than the last one's.
        changes = np.empty(windows, bool)
        changes[0] = True
        np.not_equal(minima[1:], minima[:-1], out=changes[1:])
        changes[starts[first:last] - begin] = True
        places = np.flatnonzero(changes)
        document = np.searchsorted(starts, places + begin, "right") - 1
        chosen = minima[places[places + begin <= last_windows[document]]]
        positions = (begin + _POSITION - (chosen & _POSITION)).view(np.int64)
        if len(carry.positions) and len(positions) and positions[0] <= carry.positions[-1]:
            # The first window of a chunk selects again what the window before it did.
            positions, chosen = positions[1:], chosen[1:]
        # Even without a new fingerprint the next hashes may settle which of the open ones is kept.
        positions, hashes, carry = _thin(
            positions, chosen >> _SHIFT, starts, np.minimum(hash_ends, end), window, carry, robust
        )
        found.append((positions, hashes))
    all_positions, all_hashes = zip(*found, strict=True)
    return np.concatenate(all_positions), np.concatenate(all_hashes), carry


def _sliding_minimum(keys: U64, spare: U64, windows: int, window: int) -> U64:
    """The smallest key of each window, in one of the two arrays given; the other one is spoilt."""
    width = 1
    while 2 * width <= window:
        # Out of place: in place numpy copies first, which costs three times as much.
        count = windows + window - 2 * width
        np.minimum(keys[:count], keys[width : width + count], out=spare[:count])
        keys, spare = spare, keys
        width *= 2
    if width < window:
        np.minimum(keys[:windows], keys[window - width : window - width + windows], out=spare[:windows])
        keys = spare
    return keys[:windows]


def _smallest(keys: U64, begins: I64, ends: I64) -> U64:
    """The smallest key of each of some non-empty ranges that follow one another."""
    if not len(begins):
        return NO_CARRY.hashes
    # `reduceat` also reduces what lies between one range and the next; every other result is ours.
    borders = np.stack([begins, ends], axis=1).ravel()
    return np.minimum.reduceat(keys[: ends[-1] + 1], borders)[::2]


def _thin(
    positions: I64, hashes: U64, starts: I64, ends: I64, window: int, carry: Carry, robust: bool
) -> tuple[I64, U64, Carry]:
    """What the robust rule keeps of the next stretch of a rightmost selection.

    In a run of equal neighbours the robust rule takes the first; what it holds it keeps until
    it leaves the window, and then takes the last equal one that the next window reaches. That
    is a jump from each member of a run to a later one; all that can be reached from the first
    are kept, found by doubling the length of the jumps. Runs are rare, but for texts like
    "0000...", so only their members are looked at.
    """
    old = len(carry.positions)
    if old:
        positions, hashes = (
            np.concatenate([carry.positions, positions]),
            np.concatenate([carry.hashes, hashes]),
        )
    equal = np.flatnonzero(hashes[1:] == hashes[:-1])
    document = np.searchsorted(starts, np.maximum(positions[equal], 0), "right") - 1
    equal = equal[positions[equal + 1] < starts[document + 1]]
    if not (robust and len(equal)):
        return positions[old:], hashes[old:], Carry(positions[-1:], hashes[-1:])

    # Each run ends with the first of its members that the next one does not equal.
    last = equal[np.append(np.diff(equal) > 1, True)] + 1
    run_end = last[np.searchsorted(last, equal, "right")]
    document = np.searchsorted(starts, np.maximum(positions[equal], 0), "right") - 1
    reach = positions[equal] + window
    jump = np.minimum(np.searchsorted(positions, reach, "right") - 1, run_end)
    # A smaller hash that the next window reaches ends the run before the jump.
    after = np.minimum(run_end + 1, len(positions) - 1)
    cut = (
        (hashes[after] < hashes[equal])
        & (positions[after] <= reach)
        & (positions[after] < starts[document + 1])
    )
    members = (jump > equal) & (reach < ends[document]) & ~cut

    nowhere = len(positions)
    jumps = np.full(nowhere + 1, nowhere)
    jumps[equal[members]] = jump[members]
    kept = np.ones(nowhere, bool)
    kept[equal + 1] = False
    reached = np.flatnonzero(kept)
    while (jumps < nowhere).any():
        further = jumps[reached]
        reached = np.concatenate([reached, further[further < nowhere]])
        jumps = jumps[jumps]
    kept[reached] = True
    held = len(kept) - 1 - int(kept[::-1].argmax())
    carry = Carry(positions[held:], hashes[held:])
    kept[:1] &= not old  # the first of the carry was given out before
    return positions[kept], hashes[kept], carry
