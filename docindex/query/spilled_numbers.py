"""Hold a long list of 64-bit numbers that is appended once and then read in ranges.

A short list stays in memory, and a long one goes to a temporary file, so that a question about all documents
takes a bounded amount of memory. The file has no name, and vanishes with the process.
"""

import contextlib
import errno
import tempfile
from collections.abc import Iterator
from typing import IO

import numpy as np

from docindex.errors import DiskFull
from docindex.kernels.arrays import U64
from docindex.sketching.incremental import GrowingArray

# Numbers that are kept in memory: 64 MB.
_IN_MEMORY = 1 << 23


class SpilledNumbers:
    """A list of unsigned 64-bit numbers. ``len(numbers)`` is their count."""

    def __init__(self) -> None:
        self._held = GrowingArray(np.uint64)
        self._file: IO[bytes] | None = None
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
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this object
                self._file.write(self._held.taken().data)
                self._held = GrowingArray(np.uint64)
            self._file.write(np.ascontiguousarray(more).data)
            self._file.flush()  # a full disk must be noticed here
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
        if self._file is None:
            return self._held.part(begin, end).copy()
        self._file.seek(begin * 8)
        found = np.frombuffer(bytearray(self._file.read((end - begin) * 8)), np.uint64)
        self._file.seek(0, 2)
        return found

    def batches(self, size: int) -> Iterator[U64]:
        """All numbers in their order, `size` at a time."""
        for begin in range(0, len(self), size):
            yield self.read(begin, min(begin + size, len(self)))

    def close(self) -> None:
        """Free the memory or the file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # after a full disk, the rest of the buffer cannot be written
                self._file.close()
