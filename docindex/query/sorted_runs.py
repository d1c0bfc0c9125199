"""Sort more numbers than memory holds: sorted runs, of which the same pieces are read together.

Takes 64-bit numbers in any order. Gives the different numbers, ascending, in batches of bounded size. Must
never know what the numbers mean.
"""

from collections.abc import Iterator

import numpy as np

from docindex.checkpoints import checkpoint
from docindex.kernels.arrays import I64, U64
from docindex.kernels.joins import starts_of_runs
from docindex.query.spilled_numbers import SpilledNumbers

_NOTHING = np.empty(0, np.uint64)

# This many numbers are sorted at a time, 8 bytes each.
_RUN = 1 << 22
# A run is cut into this many pieces by the highest bits. Batches are made from about `_RUN` numbers in the
# same pieces of all runs.
_PIECE_BITS = 12


class SortedRuns:
    """Numbers that are sorted run by run. Batches are small only if the highest bits of the numbers differ.

    A run is as large as memory allows; all runs together are as large as they have to be.
    """

    def __init__(self) -> None:
        self._keys = SpilledNumbers()
        self._borders: list[I64] = []
        """For each run, where each of its pieces begins in `_keys`."""
        self._waiting: list[U64] = []
        self._held = 0

    def add(self, numbers: U64) -> None:
        """Take numbers."""
        self._waiting.append(numbers)
        self._held += len(numbers)
        if self._held >= _RUN:
            self._sort()

    def close(self) -> None:
        """Free the memory or the file."""
        self._keys.close()

    def _sort(self) -> None:
        checkpoint()
        keys = np.sort(np.concatenate([_NOTHING, *self._waiting]))
        pieces = np.arange(1 << _PIECE_BITS, dtype=np.uint64)
        inside = np.searchsorted(keys >> np.uint64(64 - _PIECE_BITS), pieces)
        self._borders.append(np.append(inside, len(keys)) + len(self._keys))
        self._keys.append(keys)
        self._waiting, self._held = [], 0

    def batches(self) -> Iterator[U64]:
        """The different numbers, ascending; numbers with the same highest bits are in one batch."""
        if self._held:
            self._sort()
        if not self._borders:
            return
        borders = np.array(self._borders)
        until = np.cumsum(np.diff(borders, axis=1).sum(axis=0))
        first = 0
        while first < len(until):
            checkpoint()
            before = int(until[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(until, before + _RUN, "right")))
            keys = np.concatenate([self._keys.read(int(run[first]), int(run[last])) for run in borders])
            if len(borders) > 1:
                keys.sort()
            yield keys[starts_of_runs(keys)[:-1]]
            first = last
