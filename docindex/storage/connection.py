"""A path in, transactions on it out: connections, their settings, and SQLite's errors made ours.

Every statement runs inside `Store.reading` or `Store.writing`. A reading sees one commit's
state and never waits for a writer; a writing is all or nothing. Must never know a table.
"""

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import apsw

from docindex.errors import (
    Busy,
    Cancelled,
    CorruptIndex,
    DiskFull,
    FileError,
    NotAnIndex,
    ReadOnly,
    Refused,
    UnreadableFile,
)

Connection = apsw.Connection
Durability = Literal["full", "normal"]
T = TypeVar("T")

MEMORY = ":memory:"
NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}

# 8 KB pages hold several blocks of 1 KB each with little waste.
_PAGE_SIZE = 8192
_CACHE_KIB = 16_384
_WAIT_S = 0.01
_STEPS = 100_000  # of SQLite's machine between two looks at signals: some milliseconds
_KEPT_IDLE = 8  # reading connections that stay open when nobody reads
_READ_AND_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class Transactions(Protocol):
    """Where an index is read and written: a `Store`, or a connection that a host has lent."""

    path: str

    def reading(self) -> contextlib.AbstractContextManager[apsw.Connection]:
        """A connection on which every statement sees the same state."""

    def writing(self) -> contextlib.AbstractContextManager[apsw.Connection]:
        """A connection within a transaction: all that is done there happens, or nothing."""

    def cancels(self) -> int:
        """How often the work was to be stopped."""

    def refuse_cancelled(self, before: int) -> None:
        """An error if that was done again since `cancels` said `before`."""


class Store:
    """The connections of one process to one file.

    One connection writes, under a lock; each reading borrows another one, so that threads
    read side by side and beside the writer. An index in memory has one connection for all.
    """

    def __init__(
        self,
        path: str,
        *,
        readonly: bool,
        durability: Durability,
        timeout_s: float,
        guard: Callable[[apsw.Connection], None] | None = None,
    ) -> None:
        """`guard` gets every new connection before anything of the file is read."""
        self.path = path
        self._guard = guard
        self.readonly = readonly
        self._durability = durability
        self._timeout_s = timeout_s
        self._in_memory = path == MEMORY
        self._lock = threading.RLock()
        self._pool = threading.Condition()
        self._lent = 0
        self._idle: list[apsw.Connection] = []
        self._all: list[apsw.Connection] = []
        self._cancels = 0
        self._closed = False
        self._unchanged: os.stat_result | None = None
        with self.translated():
            self._writer = self._connect(readonly=readonly)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection on which every statement sees the same commit."""
        with self.translated():
            if self._in_memory:
                with self._turn():
                    yield self._writer
                return
            connection = self._borrow()
            try:
                self._refuse_changed()
                connection.execute("begin")
                yield connection
                self._refuse_changed()
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")
                self._give_back(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One transaction: committed at the end, undone on any error."""
        self.refuse_readonly()
        with self.translated(), self._turn():
            connection = self._writer
            if connection.in_transaction:
                raise RuntimeError("a transaction inside a transaction; finish the first one before")
            try:
                connection.execute("begin immediate")
                yield connection
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    @contextlib.contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """The writing connection without a transaction, for what SQLite does not do inside one."""
        with self.translated(), self._turn():
            yield self._writer

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Within, the writing connection is this thread's."""
        before = self._cancels
        if not self._lock.acquire(timeout=self._timeout_s):
            raise self._busy("another thread of this process")
        try:
            self._refuse_closed()
            self.refuse_cancelled(before)  # while this waited for its turn
            yield
        except apsw.BusyError:
            self.refuse_cancelled(before)  # that is why it stopped waiting
            raise
        finally:
            self._lock.release()

    def refuse_readonly(self) -> None:
        """`ReadOnly` if this store is for reading, `ValueError` if it is closed."""
        self._refuse_closed()
        if self.readonly:
            raise ReadOnly(f"{self.path} is open for reading only; open it without readonly=True", self.path)

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Within, SQLite's errors become docindex's own."""
        try:
            yield
        except apsw.Error as error:
            ours = self._ours(error)
            if ours is None:
                raise  # a slip of our own, which must not pass for a damaged file
            raise ours from error

    def shorten_journal(self, db: apsw.Connection) -> None:
        """Move the write-ahead journal into the file, unless somebody is reading from it: then later."""
        db.set_busy_handler(None)  # to wait for readers would keep writers out
        try:
            with contextlib.suppress(apsw.BusyError):
                db.execute("pragma wal_checkpoint(truncate)").fetchall()
        finally:
            db.set_busy_handler(self._waits())

    def wait(self, attempt: Callable[[], T]) -> T:
        """What an attempt gives, tried again while the file is busy: for what SQLite does not wait for."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                return attempt()
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_WAIT_S)

    def cancel(self) -> None:
        """Stop whatever other threads are doing on this store; they get `Cancelled`."""
        with self._pool:
            self._cancels += 1
            for connection in self._all:
                connection.interrupt()

    def cancels(self) -> int:
        """How often there was a `cancel`: work that takes many statements compares before and after."""
        return self._cancels

    def refuse_cancelled(self, before: int) -> None:
        """`Cancelled` if there was a `cancel` since `cancels` said `before`."""
        if self._cancels != before:
            raise Cancelled("the work was cancelled; what was committed before stays", self.path)

    def close(self) -> None:
        """Close all connections, after cutting short what other threads are reading. Twice does no harm."""
        self._closed = True  # now, so that nobody goes on waiting
        with self._lock, self._pool:
            while self._lent:
                for connection in self._all:
                    connection.interrupt()
                self._pool.wait(0.1)
            # The writer last: the last connection of all tidies up the journal.
            for connection in reversed(self._all):
                connection.close()
            self._all.clear()
            self._idle.clear()

    def _borrow(self) -> apsw.Connection:
        with self._pool:
            self._refuse_closed()
            connection = self._idle.pop() if self._idle else self._connect(readonly=True)
            self._lent += 1
            return connection

    def _give_back(self, connection: apsw.Connection) -> None:
        with self._pool:
            self._lent -= 1
            self._pool.notify_all()
            if len(self._idle) < _KEPT_IDLE:
                self._idle.append(connection)
                return
            self._all.remove(connection)
        connection.close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ValueError(f"the index {self.path} is closed; open it again")

    def _connect(self, *, readonly: bool) -> apsw.Connection:
        connection = self._connect_readonly() if readonly and not self._in_memory else self._made(self.path)
        connection.execute(f"pragma cache_size = -{_CACHE_KIB}")
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma temp_store = memory")
        if not readonly:
            connection.execute(f"pragma page_size = {_PAGE_SIZE}")
            connection.execute(f"pragma synchronous = {self._durability}")
        return connection

    def _connect_readonly(self) -> apsw.Connection:
        connection = self._made(self.path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.execute("select 1 from main.sqlite_schema").fetchall()
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # A folder that cannot be written has no room for the files beside it that readers and
            # writers share. With no journal there either, nobody writes and nothing is unread; if
            # somebody begins to, `_refuse_changed` sees it.
            if Path(self.path + "-wal").exists():
                raise
            self._unchanged = self._unchanged or Path(self.path).stat()
            uri = Path(self.path).as_uri() + "?immutable=1"
            connection = self._made(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        return connection

    def _made(self, name: str, flags: int = _READ_AND_WRITE) -> apsw.Connection:
        connection = apsw.Connection(name, flags)
        self._all.append(connection)  # at once: an error may ask it what the system said
        connection.set_busy_handler(self._waits())
        # It lets Python see that somebody has pressed Control-C, however long a statement takes.
        connection.set_progress_handler(lambda: False, _STEPS, id="signals")
        if self._guard is not None:
            self._guard(connection)
        return connection

    def _waits(self) -> Callable[[int], bool]:
        """SQLite asks this, again and again, whether to wait on for somebody else's lock."""
        deadline, before = 0.0, 0

        def wait_on(tries: int) -> bool:
            nonlocal deadline, before
            if tries == 0:
                deadline, before = time.monotonic() + self._timeout_s, self._cancels
            if self._closed or self._cancels != before or time.monotonic() >= deadline:
                return False
            time.sleep(_WAIT_S)
            return True

        return wait_on

    def _refuse_changed(self) -> None:
        """`Busy` if a file that was taken to be at rest is not."""
        if self._unchanged is not None:
            now = Path(self.path).stat()
            seen = self._unchanged
            same = (now.st_ino, now.st_size, now.st_mtime_ns) == (seen.st_ino, seen.st_size, seen.st_mtime_ns)
            if not same or Path(self.path + "-wal").exists():
                raise Busy(
                    f"{self.path} was changed by somebody else, in a folder that cannot be written here; "
                    "open it again",
                    self.path,
                )

    def _busy(self, who: str) -> Busy:
        return Busy(
            f"{self.path} is being written by {who}, which did not finish within {self._timeout_s:g} s; "
            "try again, or open it with a greater timeout_s",
            self.path,
        )

    def _ours(self, error: apsw.Error) -> FileError | None:
        path = self.path
        match error:
            case apsw.BusyError() | apsw.LockedError():
                return self._busy(_writer_of(path))
            case apsw.ConstraintError():
                return refused(path, error)
            case apsw.SQLError() if "no such function" in str(error):
                return Refused(f"{path} has a rule with a function that is not there ({error})", path)
            case apsw.FullError():
                return _disk_full(path)
            case apsw.IOError() if any(connection.system_errno in NO_ROOM for connection in self._all):
                return _disk_full(path)
            case apsw.InterruptError():
                return Cancelled("the work was cancelled; what was committed before stays", path)
            case apsw.ReadOnlyError():
                return ReadOnly(
                    f"{path} cannot be written; check its permissions and those of its folder", path
                )
            case apsw.NotADBError():
                return NotAnIndex(f"{path} is not an SQLite file; name a docindex index or a new file", path)
            case apsw.CantOpenError():
                there = Path(path).parent.is_dir()
                why = (
                    "a permission is missing, or room for another file"
                    if there
                    else "its folder is not there"
                )
                return UnreadableFile(f"{path} cannot be opened: {why}", path)
            case (
                apsw.BindingsError() | apsw.MisuseError() | apsw.ThreadingViolationError() | apsw.RangeError()
            ):
                return None
        return CorruptIndex(f"{path} cannot be read: {error}; restore a backup, or index again", path)


def refused(path: str, error: apsw.ConstraintError) -> Refused:
    """What a rule in a file forbids; what docindex said itself stays as it is."""
    if str(error).startswith("doc_index:"):
        return Refused(str(error), path)
    return Refused(
        f"the change to {path} is against a rule in it ({error}), and was not made; if the rule "
        "is not one of your own tables, triggers or checks, see what check() says",
        path,
    )


def _disk_full(path: str) -> DiskFull:
    return DiskFull(
        f"no room left to write {path}; the index is as before: free some space and try again", path
    )


def _writer_of(path: str) -> str:
    """The process that holds the writer's lock, where the system tells (Linux)."""
    # In write-ahead mode that lock is byte 120 of the shared-memory file. The list of locks is
    # read, not asked for with fcntl: closing any handle of that file would drop our own locks.
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = Path(os.path.realpath(path) + "-shm").stat().st_ino
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if (
                "WRITE" in fields
                and fields[5].endswith(f":{inode}")
                and int(fields[6]) <= 120 <= int(fields[7])
            ):
                pid = int(fields[4])
                if pid == os.getpid():
                    return f"process {pid} (this one, by another index object)"
                command = (
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
                return f"process {pid} ({command.strip()[:60]})"
    return "another process"
