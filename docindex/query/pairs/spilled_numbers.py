"""Hold more 64-bit numbers than memory should: a list that is read in ranges, and runs that are sorted.

A short list stays in memory, and a long one goes to a temporary file, so that a question about all documents
takes a bounded amount of memory. The file has no name, and vanishes with the process. Must never know what
the numbers mean.
"""

import errno
import io
import tempfile
from collections.abc import Iterator
from io import FileIO

import numpy as np

from docindex.arrays.joins import starts_of_runs
from docindex.arrays.ranges import I64, U64, ranges, starts_of
from docindex.cancellation import checkpoint
from docindex.errors import DiskFull
from docindex.sketching.incremental import GrowingArray

# Numbers that are kept in memory: 64 MB.
_IN_MEMORY = 1 << 23
_BYTES = 8


class SpilledNumbers:
    """A list of unsigned 64-bit numbers. ``len(numbers)`` is their count."""

    def __init__(self) -> None:
        self._held = GrowingArray(np.uint64)
        self._file: FileIO | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, more: U64) -> None:
        """Add numbers at the end. `DiskFull` if the folder for temporary files has no room."""
        self._size += len(more)
        if self._file is None and self._size <= _IN_MEMORY:
            self._held.extend(more)
            return
        try:
            if self._file is None:
                # Without a buffer, of which each short read would fill 8 KB.
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it lives as long as this object
                _write(self._file, self._held.taken())
                self._held = GrowingArray(np.uint64)
            _write(self._file, more)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            folder = tempfile.gettempdir()
            raise DiskFull(
                f"the folder for temporary files, {folder}, is full; free some space there, or let TMPDIR "
                "name another folder",
                folder,
            ) from error

    def read(self, begin: int, end: int) -> U64:
        """The numbers in a range, as an array of their own."""
        return self.read_ranges(np.array([begin]), np.array([end - begin]))

    def read_ranges(self, begins: I64, lengths: I64) -> U64:
        """The numbers in some ranges, one range after another."""
        if self._file is None:
            return self._held.part(0, self._size)[ranges(begins, lengths)]
        # Ranges that follow each other in the file are read together.
        ends = begins + lengths
        firsts = np.flatnonzero(np.append(True, begins[1:] != ends[:-1]))[: len(begins)]
        places = starts_of(lengths) * _BYTES
        found = np.empty(int(places[-1]), np.uint8)
        read = found.data
        borders = places[np.append(firsts, len(begins))].tolist()
        for at, begin, end in zip((begins[firsts] * _BYTES).tolist(), borders[:-1], borders[1:], strict=True):
            self._file.seek(at)
            while begin < end:
                count = self._file.readinto(read[begin:end])
                if not count:
                    raise EOFError("a temporary file is shorter than what was written to it")
                begin += count
        return found.view(np.uint64)

    def batches(self, size: int) -> Iterator[U64]:
        """All numbers in their order, `size` at a time."""
        for begin in range(0, len(self), size):
            yield self.read(begin, min(begin + size, len(self)))

    def close(self) -> None:
        """Free the memory or the file."""
        if self._file is not None:
            self._file.close()


def _write(file: FileIO, numbers: U64) -> None:
    """Write numbers to the end of a file, which may take some of them at a time."""
    file.seek(0, io.SEEK_END)
    left = np.ascontiguousarray(numbers).view(np.uint8).data
    while left:
        left = left[file.write(left) :]


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
