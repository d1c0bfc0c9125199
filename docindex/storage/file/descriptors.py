"""Count the descriptors that this process has open on a file.

On Unix a process loses all its locks on a file when it closes any one of its descriptors of that file.
`docindex.storage.file.handles` therefore asks here before it closes one. Must never open a file on a disk.
"""

import contextlib
import os
import sys
from typing import Any

CLOSING_DROPS_LOCKS = sys.platform != "win32"
"""Whether closing a descriptor drops the locks of the others. On Windows each has locks of its own."""

FileId = tuple[int, int]
"""The device and the inode of a file: the same for all its names."""

HELD: dict[FileId, Any] = {}
"""What docindex has open of each file, as a `held_files.HeldFile`.

Kept apart from `held_files`, which fills it and needs apsw."""

# The folders that list the open descriptors of a process: on Linux, and on macOS and the BSDs.
_FOLDERS = ("/proc/self/fd", "/dev/fd")
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)


def file_id(status: os.stat_result) -> FileId:
    """The identity of the file that has this status.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     file_id(os.fstat(file.fileno())) == file_id(os.stat("/"))
    False
    """
    return status.st_dev, status.st_ino


def file_at(path: str | bytes, *, follow_symlinks: bool = True) -> FileId | None:
    """The identity of the file at a path; None if there is no file, or it cannot be asked."""
    try:
        return file_id(os.stat(path, follow_symlinks=follow_symlinks))
    except OSError:
        return None


def open_descriptors(file: FileId, *, writable: bool = False) -> int | None:
    """How many descriptors this process has open on a file, or how many of them can write to it.

    None if the system does not tell. Some systems list only a few of them: compare the number with that of
    your own descriptors.
    """
    numbers = _listed()
    if numbers is None:
        return None
    device, inode = file
    found, status_of = 0, os.fstat
    for number in numbers:
        try:
            status = status_of(int(number))
        except OSError:  # the descriptor of the listing itself, or one that another thread has closed
            continue
        if status.st_ino == inode and status.st_dev == device:
            found += not writable or _can_write(int(number))
    return found


def _can_write(descriptor: int) -> bool:
    import fcntl  # Unix only

    with contextlib.suppress(OSError):  # another thread has closed it
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    return False


def open_count() -> int:
    """How many descriptors this process has open; 0 if the system does not tell, as Linux before 6.2.

    Takes a microsecond.
    """
    try:
        return os.fstat(_Listing.descriptor).st_size
    except OSError:
        return 0


class _Listing:
    """The folder that lists the open descriptors. It stays open: to look it up would take twice as long."""

    descriptor = -1


def begin_counting() -> None:
    """Make `open_count` tell about this process, which is new or was just forked."""
    with contextlib.suppress(OSError):
        _Listing.descriptor = os.open(_FOLDERS[0], _OPEN_FLAGS)


if CLOSING_DROPS_LOCKS:
    begin_counting()


def all_open_files() -> set[FileId]:
    """Every file that this process has open, as far as the system lists them."""
    found = set()
    for number in _listed() or ():
        with contextlib.suppress(OSError):
            found.add(file_id(os.fstat(int(number))))
    return found


def _listed() -> list[str] | None:
    for folder in _FOLDERS:
        with contextlib.suppress(OSError):
            return os.listdir(folder)
    return None
