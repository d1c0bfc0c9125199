"""Keep other programs from writing to a file while it is compared and removed.

Takes an open file. The kernel's lease is the protection: as long as it holds, nobody can open the file for
writing, and nobody had it open when it began. Where the kernel grants no lease, the open files of all
processes are looked through. Must never make a program wait for longer than one step of the work.

The kernel leaves one gap: a program may have looked up the name of a file and not opened it yet when the file
is deleted. So `act` keeps the lease for a moment after deleting a file. If such a program opens it then, it
may finish, and the file is written again with what it wrote. Its bytes are lost only if it needs longer than
that moment to open the file, or keeps the deleted file open for more than ten seconds. With `trash` there is
no such gap. Not seen at all are other computers that use the same disk, and without a lease the processes of
other users and of other containers.
"""

import os
import time
from collections.abc import Iterator
from typing import Literal, NamedTuple, Self

from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.system import end_lease, lease_holds, take_lease

# Find the processes that have a file open for writing, where the kernel grants no lease on it.
#
# Takes the status of a file and looks through /proc, as `lsof` and `fuser` do. Must never report a process
# that only reads the file. It cannot see processes of other users, unless root runs this, nor other computers
# that use the same file system.

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


Guard = Literal["lease", "processes", "own processes"]
"""How it was found out that no other program was writing to a file. Lease: the kernel kept every program from
opening it. Processes: no process of this computer had it open for writing. Own processes: no process that
this person may look at had it open for writing; a process of another user may have had."""

GUARDS: tuple[Guard, ...] = ("lease", "processes", "own processes")
"""Every value of `Guard`, the safest first."""

IN_USE = "in use by another program"
KEPT_IN_USE = "the kept file is in use by another program"
_PATIENCE_S = 10
_STEP_S = 0.01


class WriteGuard:
    """Says whether another program can be writing to an open file; a context manager.

    `NotReadable` with the reason `in_use` on entering and from `check`, if one can.
    """

    def __init__(self, descriptor: int, path: bytes, in_use: str = IN_USE) -> None:
        self._descriptor = descriptor
        self._path = path
        self._in_use = in_use
        self._has_lease = False
        self.guard: Guard = "own processes"

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def check(self, path: bytes | None = None) -> None:
        """`NotReadable` if another program opens the file for writing now; `path` is its present path."""
        if self._has_lease:
            self.check_lease()
        else:
            self._look_at_processes(path or self._path)

    def check_lease(self) -> None:
        """Like `check`, but looks at the lease only, if there is one: that costs a microsecond."""
        if self._has_lease and not lease_holds(self._descriptor):
            raise NotReadable(self._in_use)

    def end(self) -> None:
        """Let a program that waits for the file go on."""
        if self._has_lease:
            self._has_lease = False
            end_lease(self._descriptor)

    def wait_for_writer(self) -> None:
        """Let a program that waits for the file write to it and close it, for at most ten seconds."""
        self.end()
        for _ in range(int(_PATIENCE_S / _STEP_S)):
            time.sleep(_STEP_S)
            try:
                self._take()
            except NotReadable:
                continue
            return

    def _take(self) -> None:
        try:
            take_lease(self._descriptor)
        except BlockingIOError as error:
            raise NotReadable(self._in_use) from error
        except OSError:
            self._look_at_processes(self._path)
        else:
            self._has_lease = True
            self.guard = "lease"

    def _look_at_processes(self, path: bytes) -> None:
        writers = open_writers(os.fstat(self._descriptor), path)
        if writers.processes:
            raise NotReadable(self._in_use)
        self.guard = "processes" if writers.is_complete else "own processes"
