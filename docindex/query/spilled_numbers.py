"""Hold a long list of 64-bit numbers that is appended once and then read in ranges.

A short list stays in memory, and a long one goes to a temporary file, so that a question about all documents
takes a bounded amount of memory. The file has no name, and vanishes with the process.
"""

import errno
import io
import tempfile
from collections.abc import Iterator
from io import FileIO

import numpy as np

from docindex.errors import DiskFull
from docindex.kernels.arrays import I64, U64, ranges, starts_of
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
