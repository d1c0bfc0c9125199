"""Winnowing: select fingerprints from texts so that every long common run shares at least one of them.

In: the symbols of a batch of documents, k and the window. Out: the positions of the selected k-grams and
their hashes. Must never compare hashes of two documents.

In every window of w consecutive hashes, the smallest hash is selected. If several are equally small, the
*rightmost* rule selects the last of them. The *robust* rule selects the same one as the previous window if
possible, and otherwise the last. A document with fewer than w hashes keeps its single smallest hash, or the
last of them if several are equally small.

The sliding minimum works on keys: the hash in the high bits, the reversed position in the low bits. So the
minimum of a window also says where it is, and among equal hashes the rightmost has the smallest key. This
takes ``log2(w)`` passes of `np.minimum`. Robust winnowing starts from the rightmost selection, and leaves out
some of the equal neighbours.
"""

import dataclasses
from collections.abc import Callable
from typing import Self

import numpy as np

from docindex.arrays.ranges import CHUNK, I64, U8, U64, Bool, are_first
from docindex.winnowing.kgrams import prefix_sums, rolling_hashes

# The low bits of a 64-bit key hold the position within a chunk and the window that follows it: at most
# 2 * 65,536 places. The other 47 bits are the hash.
POSITION_BITS = 17
HASH_BITS = 64 - POSITION_BITS
_SHIFT = np.uint64(POSITION_BITS)
_REVERSED = np.arange(1 << POSITION_BITS, dtype=np.uint64)[::-1].copy()
_POSITION_MASK = _REVERSED[0]
_LAST_POSITION = int(_POSITION_MASK)
_NO_KEY = np.uint64(2**64 - 1)

Fill = Callable[[int, int, U64], None]
"""Writes the hashes of the places [begin, end) into the high bits of an array; the low bits are 0."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Carry:
    """The selected hashes that one part of a document passes on to the next part.

    The first entry is the last fingerprint that is certain to be selected; it was already returned. After it
    come equal fingerprints that the robust rule may still select. Positions count from the start of the part.
    """

    positions: I64
    hashes: U64

    def moved(self, places: int) -> Self:
        """The same carry for a part that starts this many places later."""
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
    """The positions of the selected k-grams of a batch, their 47-bit hashes, and the carry for the next part.

    The selection equals that of `other_selections.winnow` from the high bits of `grams`, but takes only one
    pass over chunks that stay in the cache.

    A document may come in parts: the last document of a batch may continue as the first one of the next
    batch. Then pass ``closed=False``. Start the next batch with the last ``k + window - 2`` symbols of this
    one, and pass it the carry of this call, `moved` to the new start. Nothing is returned twice, and the
    parts together give the same fingerprints as the whole document.

    >>> text = np.frombuffer(b"adorunrunrunadorunrun", np.uint8)
    >>> positions, hashes, _ = select_fingerprints(text, np.array([0, 21]), 5, 4)
    >>> len(positions) == len(hashes) > 3
    True
    """
    continued = len(carry.positions) > 0
    layout = window_layout(starts, window, tail=k - 1, continued=continued, closed=closed)
    return select_minima(_kgram_keys(symbols, k, window), layout, carry, robust=robust)


def _kgram_keys(symbols: U8, k: int, window: int) -> Fill:
    """Writes the hashes of k-grams."""
    spare = np.empty(min(_chunk(window), len(symbols)) + window + k, np.uint64)

    def fill(begin: int, end: int, keys: U64) -> None:
        sums = prefix_sums(symbols[begin : end + k - 1], out=spare)
        rolling_hashes(sums, k, out=keys)
        keys &= ~_POSITION_MASK

    return fill


def winnowing_density(window: int) -> float:
    """The share of random hashes that winnowing selects: 2 / (w + 1).

    >>> round(winnowing_density(100), 6)
    0.019802
    """
    return 2 / (window + 1)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class WindowLayout:
    """Where the hashes and the windows of each document of a batch are."""

    window: int
    """How many hashes a window holds."""
    size: int
    """The number of places up to the last hash of the batch."""
    starts: I64
    """Where each document starts, and at the end where the last one ends."""
    ends: I64
    """Where the hashes of each document end."""
    last_windows: I64
    """Where the last window of each document begins; before its start if it has no window."""
    short: Bool
    """True for a document with fewer hashes than a window holds: it has one window, which ends early."""


def window_layout(
    starts: I64, window: int, *, tail: int = 0, continued: bool = False, closed: bool = True
) -> WindowLayout:
    """The layout of a batch in which every place but the last `tail` of each document has a hash.

    If `continued`, the first document had windows in an earlier part. Unless `closed`, the last document
    goes on in a later part.

    >>> layout = window_layout(np.array([0, 9, 11]), 4, tail=1)
    >>> layout.ends.tolist(), layout.last_windows.tolist(), layout.short.tolist()
    ([8, 10], [4, 9], [False, True])
    """
    ends = np.maximum(starts[1:] - tail, starts[:-1])
    last_windows = ends - window
    short = (ends > starts[:-1]) & (last_windows < starts[:-1])
    # A part has no short window if other parts of its document have, or may still get, whole windows.
    short[:1] &= not continued
    short[-1:] &= closed
    last_windows[short] = starts[:-1][short]
    size = max(0, int(starts[-1]) - tail)
    return WindowLayout(window, size, starts, ends, last_windows, short)


def select_minima(fill: Fill, layout: WindowLayout, carry: Carry, *, robust: bool) -> tuple[I64, U64, Carry]:
    """The positions of the selected hashes of a batch, the hashes, and the carry for the next part.

    >>> hashes = np.array([5, 2, 9, 2, 8, 7], np.uint64)
    >>> def fill(begin, end, keys):
    ...     np.left_shift(hashes[begin:end], np.uint64(POSITION_BITS), out=keys)
    >>> layout = window_layout(np.array([0, 6]), 3)
    >>> positions, selected, _ = select_minima(fill, layout, NO_CARRY, robust=True)
    >>> positions.tolist(), selected.tolist()
    ([1, 3], [2, 2])
    """
    places, positions, hashes = _rightmost(fill, layout)
    # A window in which the next document begins selects nothing.
    counts = np.diff(np.searchsorted(places, layout.starts))
    own = (places <= np.repeat(layout.last_windows, counts)).nonzero()[0]
    positions, hashes = positions.take(own), hashes.take(own)
    # The first window of a chunk, or of a part, may select again what the window before it selected.
    new = are_first(positions)
    if len(carry.positions):
        new[:1] &= positions[:1] > carry.positions[-1]
    if not new.all():
        positions, hashes = positions[new], hashes[new]
    if robust:
        # Call this even if nothing new was selected: the new hashes may decide what stays in the carry.
        return _robust(positions, hashes, layout, carry)
    return positions, hashes, _last_of(positions, hashes) if len(positions) else carry


def _last_of(positions: I64, hashes: U64) -> Carry:
    """The last fingerprint as a carry. Copies it, because the caller may change what it gets."""
    return Carry(positions[-1:].copy(), hashes[-1:].copy())


def _chunk(window: int) -> int:
    """How many windows are processed at a time: enough to make the overlap of one window cheap."""
    return CHUNK if window <= CHUNK // 2 else (1 << POSITION_BITS) - window


def _rightmost(fill: Fill, layout: WindowLayout) -> tuple[I64, I64, U64]:
    """The windows whose minimum is not that of the window before: their places, and the minima.

    A minimum is given by its position and its hash. The first window of a chunk counts, too.
    """
    size, window = layout.size, layout.window
    chunk = max(1, min(_chunk(window), size))
    keys, spare = np.empty(chunk + window, np.uint64), np.empty(chunk + window, np.uint64)
    changes = np.empty(chunk, bool)
    nothing = NO_CARRY.positions
    found = [(nothing, nothing, NO_CARRY.hashes)]
    for begin in range(0, size, chunk):
        windows = min(chunk, size - begin)
        end = min(begin + windows + window - 1, size)
        fill(begin, end, keys[: end - begin])
        keys[: end - begin] |= _REVERSED[: end - begin]
        keys[end - begin : windows + window - 1] = _NO_KEY
        minima = _minima(keys, spare, layout, begin, windows)
        differs = changes[:windows]
        differs[0] = True
        np.not_equal(minima[1:], minima[:-1], out=differs[1:])
        first, last = np.searchsorted(layout.starts[:-1], [begin, begin + windows])
        differs[layout.starts[first:last] - begin] = True
        places = differs.nonzero()[0]
        selected = minima.take(places)
        positions = (selected & _POSITION_MASK).view(np.int64)
        np.subtract(begin + _LAST_POSITION, positions, out=positions)
        selected >>= _SHIFT
        places += begin
        found.append((places, positions, selected))
    all_places, all_positions, all_hashes = zip(*found, strict=True)
    return np.concatenate(all_places), np.concatenate(all_positions), np.concatenate(all_hashes)


def _minima(keys: U64, spare: U64, layout: WindowLayout, begin: int, windows: int) -> U64:
    """The smallest key of each window that begins in a chunk. Overwrites the keys."""
    starts = layout.starts
    first, last = np.searchsorted(starts[:-1], [begin, begin + windows])
    short = first + np.flatnonzero(layout.short[first:last])
    smallest = _range_minima(keys, starts[short] - begin, layout.ends[short] - begin)
    minima = _sliding_minimum(keys, spare, windows, layout.window)
    minima[starts[short] - begin] = smallest
    return minima


def _sliding_minimum(keys: U64, spare: U64, windows: int, window: int) -> U64:
    """The smallest key of each window, in one of the two arrays; the other one is overwritten."""
    width = 1
    while 2 * width <= window:
        # Not in place: numpy would copy first, which costs three times as much.
        count = windows + window - 2 * width
        np.minimum(keys[:count], keys[width : width + count], out=spare[:count])
        keys, spare = spare, keys
        width *= 2
    if width < window:
        np.minimum(keys[:windows], keys[window - width : window - width + windows], out=spare[:windows])
        keys = spare
    return keys[:windows]


def _range_minima(keys: U64, begins: I64, ends: I64) -> U64:
    """The smallest key of each range. The ranges must ascend, and no range may be empty."""
    if not len(begins):
        return NO_CARRY.hashes
    # `reduceat` also reduces the keys between two ranges, so every second result is dropped.
    borders = np.stack([begins, ends], axis=1).ravel()
    return np.minimum.reduceat(keys[: ends[-1] + 1], borders)[::2]


def _robust(positions: I64, hashes: U64, layout: WindowLayout, carry: Carry) -> tuple[I64, U64, Carry]:
    """The part of a rightmost selection that the robust rule keeps.

    The robust rule selects the first member of a run of equal neighbours. It keeps this member until the
    window has passed it, and then selects the last equal member within the next window. So each member of a
    run leads to a later member, and all members that can be reached from the first are kept. Runs are rare,
    except in texts like "0000...", so only their members are examined.
    """
    carried = len(carry.positions)
    if carried:
        positions = np.concatenate([carry.positions, positions])
        hashes = np.concatenate([carry.hashes, hashes])
    equal = np.flatnonzero(hashes[1:] == hashes[:-1])
    if len(equal):
        document = np.searchsorted(layout.starts, np.maximum(positions[equal], 0), "right") - 1
        equal = equal[positions[equal + 1] < layout.starts[document + 1]]
    if not len(equal):
        return positions[carried:], hashes[carried:], _last_of(positions, hashes)
    kept = np.ones(len(positions), bool)
    kept[equal + 1] = False
    members, successors = _successors(positions, hashes, equal, layout)
    kept[_reached(np.flatnonzero(kept), members, successors, len(positions))] = True
    held = len(kept) - 1 - int(kept[::-1].argmax())
    carry = Carry(positions[held:], hashes[held:])
    kept[:1] &= not carried  # the first of the carry was returned before
    return positions[kept], hashes[kept], carry


def _successors(positions: I64, hashes: U64, equal: I64, layout: WindowLayout) -> tuple[I64, I64]:
    """The members of runs from which the robust rule goes on, and for each the member that it selects next.

    `equal` are the members whose hash equals the next selected hash.
    """
    # Each run ends with the first member that does not equal the next member.
    last = equal[np.append(np.diff(equal) > 1, True)] + 1
    run_end = last[np.searchsorted(last, equal, "right")]
    document = np.searchsorted(layout.starts, np.maximum(positions[equal], 0), "right") - 1
    reach = positions[equal] + layout.window
    successors = np.minimum(np.searchsorted(positions, reach, "right") - 1, run_end)
    # A smaller hash within the next window ends the run first. It may be in the next document, but then the
    # reach is beyond the end of this one, and there is no next window.
    after = np.minimum(run_end + 1, len(positions) - 1)
    cut = (hashes[after] < hashes[equal]) & (positions[after] <= reach)
    leading_on = (successors > equal) & (reach < np.minimum(layout.ends[document], layout.size)) & ~cut
    return equal[leading_on], successors[leading_on]


def _reached(begins: I64, members: I64, successors: I64, count: int) -> I64:
    """The places among `count` that can be reached from `begins` by steps from a member to its successor."""
    steps = np.full(count + 1, count)
    steps[members] = successors
    reached = begins
    while (steps < count).any():
        further = steps[reached]
        reached = np.concatenate([reached, further[further < count]])
        steps = steps[steps]  # steps of twice the length: the rounds are the logarithm of the longest path
    return reached
