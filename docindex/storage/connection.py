"""Open the connections to a file, run transactions on them, and translate SQLite's errors into docindex's.

Every statement runs inside `Store.reading` or `Store.writing`. A read transaction sees the state of one
commit, and in a file it never waits for a writer. A write transaction is done completely or not at all. Must
never know a table.
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

from docindex.errors import Busy, Cancelled, ReadOnly
from docindex.storage.sqlite_errors import CANCELLED, still_writing, translation

Connection = apsw.Connection
Durability = Literal["full", "normal"]
T = TypeVar("T")

MEMORY = ":memory:"
NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}

# A page of 8 KB holds several blocks of 1 KB with little waste.
_PAGE_SIZE = 8192
_CACHE_KIB = 16_384
_WAIT_S = 0.01
_STEPS = 100_000  # of SQLite's virtual machine between two checks for signals: a few milliseconds
_KEPT_IDLE = 8  # reading connections that stay open while no thread uses them
_READ_AND_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class Transactions(Protocol):
    """The transactions of an index, on the connections of a `Store` or on a connection of the host."""

    path: str

    def reading(self) -> contextlib.AbstractContextManager[apsw.Connection]:
        """A connection on which every statement sees the same state."""

    def writing(self) -> contextlib.AbstractContextManager[apsw.Connection]:
        """A connection inside a transaction, which is done completely or not at all."""

    def cancels(self) -> int:
        """The number of calls of `cancel` so far."""

    def refuse_cancelled(self, before: int) -> None:
        """Raise an error if `cancel` was called since `cancels` returned `before`."""


class Store:
    """The connections of one process to one file.

    One connection writes, under a lock. Each reader borrows another connection, so several threads can read
    at the same time, also while one thread writes. An index in memory has a single connection, which threads
    use in turn.
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
        """`guard` is called with each new connection, before anything is read from the file."""
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
        self._refuse_upgraded: Callable[[apsw.Connection], None] | None = None
        with self.translated():
            self._writer = self._connect(readonly=readonly)

    def at_each_transaction(self, refuse_upgraded: Callable[[apsw.Connection], None]) -> None:
        """Call a function when a transaction begins: it raises an error if the file was upgraded."""
        if not self._in_memory:
            self._refuse_upgraded = refuse_upgraded

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
                if self._refuse_upgraded is not None:
                    self._refuse_upgraded(connection)
                yield connection
                self._refuse_changed()
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")
                self._give_back(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """A connection inside a transaction, which is committed at the end, or rolled back after an error."""
        self.refuse_readonly()
        with self.translated(), self._turn():
            connection = self._writer
            if connection.in_transaction:
                raise RuntimeError(
                    "a transaction cannot begin inside another transaction; finish the first one"
                )
            try:
                connection.execute("begin immediate")
                if self._refuse_upgraded is not None:
                    self._refuse_upgraded(connection)
                yield connection
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    @contextlib.contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """The writing connection without a transaction, for statements that SQLite refuses inside one."""
        with self.translated(), self._turn():
            yield self._writer

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Reserve the writing connection for this thread."""
        before = self._cancels
        if not self._lock.acquire(timeout=self._timeout_s):
            raise still_writing(self.path, "another thread of this process", self._timeout_s)
        try:
            self._refuse_closed()
            self.refuse_cancelled(before)  # `cancel` may have been called during the wait
            yield
        except apsw.BusyError:
            self.refuse_cancelled(before)  # `cancel` ends the wait for a lock
            raise
        finally:
            self._lock.release()

    def refuse_readonly(self) -> None:
        """Raise `ReadOnly` if this store is for reading only, `ValueError` if it is closed."""
        self._refuse_closed()
        if self.readonly:
            raise ReadOnly(f"{self.path} is open for reading only; open it without readonly=True", self.path)

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Translate the errors of SQLite that are about the file. All other errors keep their type."""
        try:
            yield
        except apsw.Error as error:
            # Only then: a connection that another thread uses must not be asked.
            is_io = isinstance(error, apsw.IOError)
            no_room = is_io and any(connection.system_errno in NO_ROOM for connection in self._all)
            translated = translation(
                error, self.path, self._timeout_s, no_room=no_room, trusted=self._guard is None
            )
            if translated is None:
                raise  # probably a mistake in docindex: do not tell the user to restore a backup
            raise translated from error

    def shorten_journal(self, db: apsw.Connection) -> None:
        """Move the write-ahead journal into the file, unless somebody is reading from the journal."""
        db.set_busy_handler(None)  # waiting for readers would block writers
        try:
            with contextlib.suppress(apsw.BusyError):
                db.execute("pragma wal_checkpoint(truncate)").fetchall()
        finally:
            db.set_busy_handler(self._waits())

    def wait(self, attempt: Callable[[], T]) -> T:
        """Repeat `attempt` while the file is busy, as SQLite does not wait here, and return its result."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                return attempt()
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_WAIT_S)

    def cancel(self) -> None:
        """Stop the work of all other threads on this store; they get `Cancelled`."""
        with self._pool:
            self._cancels += 1
            for connection in self._all:
                connection.interrupt()

    def cancels(self) -> int:
        """The number of calls of `cancel` so far. Work of many statements passes it to `refuse_cancelled`."""
        return self._cancels

    def refuse_cancelled(self, before: int) -> None:
        """Raise `Cancelled` if `cancel` was called since `cancels` returned `before`."""
        if self._cancels != before:
            raise Cancelled(CANCELLED, self.path)

    def close(self) -> None:
        """Interrupt the other threads that read, and close all connections. Closing twice does no harm."""
        self._closed = True  # first, so that waiting threads stop waiting
        with self._lock, self._pool:
            while self._lent:
                for connection in self._all:
                    connection.interrupt()
                self._pool.wait(0.1)
            # Close the writer last, because the last connection to a file removes the journal.
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
            # In a folder without write permission SQLite cannot make the files that readers and writers
            # share. If there is no journal, nobody is writing now, and all commits are in the file.
            # `_refuse_changed` notices a later writer.
            if Path(self.path + "-wal").exists():
                raise
            self._unchanged = self._unchanged or Path(self.path).stat()
            uri = Path(self.path).as_uri() + "?immutable=1"
            connection = self._made(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        return connection

    def _made(self, name: str, flags: int = _READ_AND_WRITE) -> apsw.Connection:
        connection = apsw.Connection(name, flags)
        self._all.append(connection)  # at once, because `_translation` asks all connections
        connection.set_busy_handler(self._waits())
        # The handler lets Python notice Control-C during a long statement.
        connection.set_progress_handler(lambda: False, _STEPS, id="signals")
        if self._guard is not None:
            self._guard(connection)
        return connection

    def _waits(self) -> Callable[[int], bool]:
        """A busy handler: SQLite calls it repeatedly to ask whether to keep waiting for a lock."""
        deadline, before = 0.0, 0

        def keep_waiting(tries: int) -> bool:
            nonlocal deadline, before
            if tries == 0:
                deadline, before = time.monotonic() + self._timeout_s, self._cancels
            if self._closed or self._cancels != before or time.monotonic() >= deadline:
                return False
            time.sleep(_WAIT_S)
            return True

        return keep_waiting

    def _refuse_changed(self) -> None:
        """Raise `Busy` if a file that was opened as immutable has changed."""
        if self._unchanged is not None:
            now = Path(self.path).stat()
            seen = self._unchanged
            same = (now.st_ino, now.st_size, now.st_mtime_ns) == (seen.st_ino, seen.st_size, seen.st_mtime_ns)
            if not same or Path(self.path + "-wal").exists():
                raise Busy(
                    f"{self.path} was changed by another program, in a folder without write permission; "
                    "open the index again",
                    self.path,
                )
