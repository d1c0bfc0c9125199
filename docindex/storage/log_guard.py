"""Keep another SQLite library of this process from removing or resetting a database's write-ahead log.

A library that opens or closes a file asks the system whether somebody else holds locks on it. The system says
no if the locks are those of the same process: then the library clears the index of the log (the file with the
suffix -shm), or removes the log, although docindex uses both. Locks of Linux that belong to an open file,
not to a process, are reported to the same process too, and no other descriptor drops them when it is closed.
So docindex holds two of those, which only say that the file is in use. Must never lock what SQLite locks
for a transaction.
"""

import contextlib
import os
import struct
from typing import Any

from docindex.storage.descriptors import file_id

fcntl: Any
try:
    import fcntl  # Unix only
except ImportError:
    fcntl = None

CAN_LOCK = hasattr(fcntl, "F_OFD_SETLK")
"""Whether the system has such locks: Linux does."""

OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
_READ_AND_WRITE = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)

# From SQLite's os_unix.c. Each connection in write-ahead mode holds a shared lock on both ranges.
_IN_USE = (0x4000_0002, 510)
"""In the main file. A library that closes the file removes the log if nobody else locks this range."""
_INDEX_IN_USE = (128, 1)
"""In the file with the suffix -shm. A library that opens it clears it if nobody else locks this byte."""


_CLEARED = 3  # the size in bytes of an index that SQLite has cleared
_FLOCK = struct.Struct("@hhqqi")  # struct flock


def _request(main: int, index: int, kind: str) -> None:
    """Lock or unlock both ranges; `OSError` if another process has one to itself."""
    _lock(index, kind, _INDEX_IN_USE)
    _lock(main, kind, _IN_USE)


def _lock(descriptor: int, kind: str, where: tuple[int, int]) -> None:
    packed = _FLOCK.pack(getattr(fcntl, kind), os.SEEK_SET, *where, 0)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, packed)


def _opened(index_path: str, main: int) -> int:
    try:
        return os.open(index_path, _READ_AND_WRITE)
    except FileNotFoundError:
        # As SQLite makes it: whoever may use the main file may use this one.
        status = os.fstat(main)
        made = os.open(index_path, _READ_AND_WRITE | os.O_CREAT, status.st_mode & 0o777)
        os.fchmod(made, status.st_mode & 0o777)
        if os.geteuid() == 0:
            os.fchown(made, status.st_uid, status.st_gid)
        return made


class LogGuard:
    """The two locks of one database. Keeps the file with the suffix -shm open."""

    __slots__ = ("file", "index", "is_held")

    def __init__(self, index_path: str, main: int) -> None:
        """`main` is a descriptor of the main file. Makes the index of the log if it is missing."""
        self.index = _opened(index_path, main)
        self.file = file_id(os.fstat(self.index))
        self.is_held = False

    def hold(self, main: int) -> bool:
        """Take the locks if they are free. Returns whether nobody used the log before.

        No library clears the index of the log from then on. So it is cleared here if nobody uses it: it may
        be left from a crash.
        """
        was_unused = False
        if self.is_held or not CAN_LOCK:
            return was_unused
        with contextlib.suppress(OSError):  # somebody uses it
            _lock(self.index, "F_WRLCK", _INDEX_IN_USE)
            was_unused = True
            os.ftruncate(self.index, _CLEARED)
        with contextlib.suppress(OSError):  # another process is opening or closing the file at this moment
            _request(main, self.index, "F_RDLCK")
            self.is_held = True
        return was_unused

    def let_go(self, main: int) -> None:
        """Give up the locks, which would keep our own last connection from removing the log."""
        if self.is_held:
            _request(main, self.index, "F_UNLCK")
            self.is_held = False
