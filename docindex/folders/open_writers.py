"""Find the processes that have a file open for writing, where the kernel grants no lease on it.

Takes the status of a file and looks through /proc, as `lsof` and `fuser` do. Must never report a process that
only reads the file. It cannot see processes of other users, unless root runs this, nor other computers that
use the same file system.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

_PROC = "/proc"


class OpenWriters(NamedTuple):
    """The result of a search for the writers of a file."""

    processes: tuple[int, ...]
    """The processes that can write to the file."""
    is_complete: bool
    """Whether every process of the system could be looked at."""


def open_writers(status: os.stat_result, path: bytes) -> OpenWriters:
    """The processes that have a file open for writing, or mapped for writing. `path` is its path now."""
    try:
        processes = [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    except OSError:
        return OpenWriters((), is_complete=False)
    # A system that hides the processes of other users hides the first process, too.
    is_complete, writers = 1 in processes, []
    for process in processes:
        try:
            if any(_write_access(process, status)) or any(_mappings(process, status, path)):
                writers.append(process)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended in the meantime
        except OSError:
            is_complete = False
    return OpenWriters(tuple(writers), is_complete)


def _write_access(process: int, status: os.stat_result) -> Iterator[bool]:
    """For each descriptor of a process that leads to the file, whether it is open for writing."""
    folder = f"{_PROC}/{process}/fd"
    for name in os.listdir(folder):
        try:
            if os.path.samestat(os.stat(f"{folder}/{name}"), status):
                yield _is_writable(process, name)
        except FileNotFoundError:  # it was closed in the meantime
            continue


def _is_writable(process: int, descriptor: str) -> bool:
    with open(f"{_PROC}/{process}/fdinfo/{descriptor}", "rb") as info:
        flags = next(int(line.split()[1], 8) for line in info if line.startswith(b"flags:"))
    return flags & (os.O_WRONLY | os.O_RDWR) != 0


def _mappings(process: int, status: os.stat_result, path: bytes) -> Iterator[bool]:
    """For each part of the memory of a process that the file backs, whether it can be written to.

    A file stays mapped after its descriptor is closed.
    """
    with open(f"{_PROC}/{process}/maps", "rb") as maps:
        for line in maps:
            _, access, _, device, inode, *name = line.split(maxsplit=5)
            if access[1:2] != b"w" or access[3:4] != b"s" or int(inode) != status.st_ino:
                continue
            major, minor = (int(part, 16) for part in device.split(b":"))
            # Some file systems, such as Btrfs, show another device here.
            yield os.makedev(major, minor) == status.st_dev or name[:1] == [path + b"\n"]
