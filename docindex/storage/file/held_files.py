"""Remember what docindex has open of each file, and close it when the process has the file open nowhere else.

On Unix, closing a file drops all locks of the process on it, also those of another library: Python's sqlite3
and apsw are two copies of SQLite. So what docindex no longer uses is parked, and used again for the same
file. It is closed when the process has no other descriptor of the file.

It is enough to look at the main file of a database. SQLite locks that file and the one with the suffix -shm,
and it has the main file open as long as the other. The look and the close are two steps: a library that
opens the file for the first time in the tens of microseconds between them can still lose a lock.
"""

import contextlib
import os
import struct
import threading
from collections import Counter
from typing import Any

import apsw

from docindex.storage.file.descriptors import HELD, FileId, begin_counting, file_at, file_id, open_descriptors

# Keep another SQLite library of this process from removing or resetting a database's write-ahead log.
#
# A library that opens or closes a file asks the system whether somebody else holds locks on it. The system
# says no if the locks are those of the same process: then the library clears the index of the log (the file
# with the suffix -shm), or removes the log, although docindex uses both. Locks of Linux that belong to an
# open file, not to a process, are reported to the same process too, and no other descriptor drops them when
# it is closed. So docindex holds two of those, which only say that the file is in use. Must never lock what
# SQLite locks for a transaction.

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


class HeldFile:
    """What docindex has open of one file: connections and plain descriptors, in use or parked."""

    __slots__ = (
        "connections",
        "descriptors",
        "file",
        "guard",
        "hosts",
        "is_closing",
        "lent",
        "looked",
        "main",
        "spare",
    )

    def __init__(self, file: FileId) -> None:
        self.file = file
        self.lent: dict[int, bool] = {}
        """The `id` of each connection in use, and whether it only reads. References would keep their owners
        from being freed."""
        self.connections: list[apsw.Connection] = []
        """The parked connections."""
        self.descriptors: list[int] = []
        """The parked descriptors."""
        self.main = -1
        """A descriptor that stays open as long as there are connections, else -1."""
        self.looked = 0, 0.0, 0.0
        """The `open_count` of the process when nobody else used the file, when to ask for that number again,
        and when to look again in any case."""
        self.guard: LogGuard | None = None
        self.is_closing = False

        self.spare = [0, 0]
        """The descriptors that SQLite keeps for connections closed here before others: to write, to read."""
        self.hosts = 0, 0
        """The descriptors that SQLite has open for the host's own connections of apsw: to write, to read.

        They are counted from the moment when a connection of ours holds a lock: from then on, SQLite keeps
        the descriptors of the connections that the host closes.
        """

    def make_guard(self, index_path: str) -> LogGuard:
        """The guard of the log; `OSError` if its index cannot be opened."""
        FILES.left[self.file] += 1
        try:
            self.guard = guard = LogGuard(index_path, self.main)
        except OSError:
            FILES.left[self.file] -= 1
            raise
        FILES.left[self.file] -= 1
        return guard

    def is_open_elsewhere(self) -> bool:
        """Whether this process has, or may have, the file open elsewhere."""
        found, own = open_descriptors(self.file), self._count_own()
        if found == own:
            return False
        # Fewer: the system does not list all of them. More: perhaps those that SQLite keeps for closed
        # connections of the host, because closing these descriptors would drop the locks of our connections.
        return found != own + sum(self.hosts) or self.guard is None or self.is_used_by_host()

    def is_open_in_another_library(self) -> bool:
        """Whether this process has, or may have, the file open otherwise than through apsw."""
        self.count_hosts()
        return open_descriptors(self.file) != self._count_own() + sum(self.hosts)

    def is_used_by_another_library(self, path: str) -> bool:
        """Whether another SQLite library of this process has used the file, and still has it open.

        In write-ahead mode, each library that has read or written has one descriptor of the index of the log,
        however many connections it has. Other programs' code that copies or hashes files cannot write there.
        """
        index = self.guard.file if self.guard else file_at(beside(path, "-shm"))
        found = 0 if index is None else open_descriptors(index, writable=True)
        is_open_here = bool(self.lent or self.connections)
        if found:
            ours = is_open_here or index in FILES.suspended or self._is_left() or self.is_used_by_host()
            return found > ours + (self.guard is not None) + FILES.left[self.file]
        if not is_open_here or self._is_left():
            return False
        # The file has a rollback journal.
        own = [*self.lent.values(), *(one.readonly("main") for one in self.connections)].count(False)
        found = open_descriptors(self.file, writable=True)
        return found is not None and found > own + self.spare[0] and not self.is_used_by_host()

    def _is_left(self) -> bool:
        """Whether a connection of docindex is open that nobody keeps, as after an interrupt."""
        kept = {*self.lent, *map(id, self.connections)}
        left = [connection for connection in apsw.connections() if id(connection) not in kept]
        files = (getattr(connection, "held", None) for connection in left)
        return any(held is not None and held.file == self.file for held in files)

    def _count_own(self) -> int:
        """The descriptors of docindex."""
        own = len(self.lent) + len(self.connections) + len(self.descriptors) + sum(self.spare)
        return own + (self.main >= 0)

    def count_hosts(self, *new: apsw.Connection) -> tuple[int, int]:
        """Count the connections of apsw to this file that the host has open: to write, to read.

        apsw lists a `new` connection only after its hooks have run. A connection that is busy in another
        thread is not counted: too large a number would hide a descriptor of another library.
        """
        counts = [0, 0]
        for connection in (*apsw.connections(), *new):
            with contextlib.suppress(apsw.Error):
                for schema in self._schemas(connection):
                    counts[connection.readonly(schema)] += 1
        # SQLite opens a descriptor only if it keeps none that is open in the same way.
        self.hosts = max(counts[0], self.hosts[0]), max(counts[1], self.hosts[1])
        return counts[0], counts[1]

    def is_used_by_host(self) -> bool:
        """Whether a connection of apsw that the host has open uses the file, or may use it."""
        for connection in apsw.connections():
            try:
                if self._schemas(connection):
                    return True
            except apsw.ConnectionClosedError:
                continue
            except apsw.Error:  # it is busy in another thread, perhaps in a transaction on this file
                return True
        return False

    def _schemas(self, connection: apsw.Connection) -> list[str]:
        """The databases of a connection of the host that are this file; an error if nobody may ask now."""
        if getattr(connection, "held", None) is not None:
            return []  # one of our own
        names = {name: connection.db_filename(name) for name in connection.db_names()}
        return [name for name, path in names.items() if path and file_at(path) == self.file]

    def count_opened(self, kind: int) -> None:
        """Count a new connection of our own, to write (0) or to read (1): whose descriptor it has taken over.

        SQLite uses a descriptor that it keeps for a closed connection before it opens another one.
        """
        if self.spare[kind]:
            self.spare[kind] -= 1
        elif self.hosts[kind] > self.count_hosts()[kind]:
            left = list(self.hosts)
            left[kind] -= 1
            self.hosts = left[0], left[1]


def beside(path: str, suffix: str) -> str:
    """The path of a file that SQLite keeps beside a database: it follows a link, then appends the suffix."""
    return (os.path.realpath(path) if os.path.islink(path) else path) + suffix


class HeldFiles:
    """The files that docindex has open in this process. Each method is called with the lock held."""

    def __init__(self) -> None:
        # Reentrant, because a signal handler may use an index, and must not wait for its own thread.
        self.lock: Any = threading.RLock()
        self._files: dict[FileId, HeldFile] = HELD
        self.suspended: set[FileId] = set()
        """The indexes of logs that a suspended statement may keep open after its connection was closed."""
        self.left: Counter[FileId] = Counter()
        """How many descriptors of the index of a file's log an interrupt has left open, or may leave now."""

    def is_locked_here(self) -> bool:
        """Whether this thread has the lock."""
        return bool(self.lock._is_owned())  # noqa: SLF001 - as threading.Condition asks, too

    def all(self) -> list[HeldFile]:
        """Every file of which docindex has something open."""
        return list(self._files.values())

    def get(self, file: FileId | None) -> HeldFile | None:
        """What is open of a file; None if nothing is."""
        return None if file is None else self._files.get(file)

    def of_descriptor(self, descriptor: int) -> HeldFile:
        """What is open of the file that a new descriptor belongs to."""
        file = file_id(os.fstat(descriptor))
        return self._files.setdefault(file, HeldFile(file))

    def forget(self) -> set[FileId]:
        """Forget everything without closing a connection; return the files to which there were connections.

        For a process that was just forked: another thread of its parent may have had the lock.
        """
        files = set()
        for held in self._files.values():
            held.lent.clear()
            if held.main >= 0:
                files.add(held.file)
                os.close(held.main)  # else its lock would outlive the parent
            if held.guard is not None:
                os.close(held.guard.index)
        self.lock = threading.RLock()
        self._files.clear()
        begin_counting()
        return files

    def close_parked(self, held: HeldFile) -> None:
        """Close what is parked of a file if nothing is in use and the process has it open nowhere else."""
        if held.lent or held.is_closing:
            return
        if held.is_open_elsewhere():
            if open_descriptors(held.file) is None:  # then the connections are parked until the process ends
                _move_journal(held)
            return
        # Closing would do this work, and another library may open the file while it lasts.
        if _move_journal(held) and held.is_open_elsewhere():
            return
        held.is_closing = True
        try:
            self.left[held.file] += 2  # the guard's and SQLite's
            _close_all(held)
            self.left[held.file] -= 2
        finally:
            # Last: as long as the file is listed, a new connection of the host waits before it takes a lock.
            self._files.pop(held.file, None)


def _close_all(held: HeldFile) -> None:
    if held.guard is not None:
        held.guard.let_go(held.main)
    # A connection that writes is the last one, because the last connection to a file removes the journal.
    for connection in sorted(held.connections, key=lambda one: not one.readonly("main")):
        connection.close(True)  # also if somebody keeps a cursor
    if held.guard is not None:
        held.descriptors.append(held.guard.index)
    if held.main >= 0:
        held.descriptors.append(held.main)
    for descriptor in held.descriptors:
        os.close(descriptor)


FILES = HeldFiles()


def _move_journal(held: HeldFile) -> bool:
    """Move the write-ahead journal into the file, so that a copy of the file alone has every commit.

    False if there was nothing to move, or nobody may write.
    """
    for connection in held.connections:
        if not connection.readonly("main") and _size(connection.filename_wal):
            with contextlib.suppress(apsw.Error):  # then the journal stays, as after a crash
                connection.execute("pragma wal_checkpoint(passive)").fetchall()
            return True
    return False


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def take_parked(path: bytes, *, follow_symlinks: bool) -> int | None:
    """A parked descriptor of the file at a path, at the beginning of the file, or None."""
    file = file_at(path, follow_symlinks=follow_symlinks)
    with FILES.lock:
        held = FILES.get(file)
        if held is None or not held.descriptors:
            return None
        descriptor = held.descriptors.pop()
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def park(descriptor: int) -> None:
    """Close a descriptor of a database; or park it, if this process has the database open elsewhere."""
    with FILES.lock:
        held = FILES.of_descriptor(descriptor)
        held.descriptors.append(descriptor)
        FILES.close_parked(held)
