"""Make the connections of a store, with the settings that all of them have.

Takes the path of a file and settings; returns connections of apsw. Falls back to reading a file as immutable
in a folder that nobody can write. Must never know a table.
"""

import contextlib
import errno
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

import apsw

from docindex.cancellation import is_cancelled
from docindex.errors import CANCELLED, Busy, Cancelled
from docindex.storage.file import handles, write_ahead_log
from docindex.storage.file.sqlite_errors import disk_error, translation

# Decide how long a store waits for a lock: until its time-out, or until it is cancelled or closed.
#
# Threads share an object of this module: one thread waits, and another may end the wait. Must never ask a
# connection.

T = TypeVar("T")

_WAIT_S = 0.01


class Waiting:
    """What ends the waits of a store."""

    def __init__(self, path: str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.is_closed = False
        """Whether the store was closed. Waits that have begun end, too."""
        self.cancels = 0
        """A number that each call of `cancel` changes."""
        self._path = path
        self._numbers = itertools.count(1)  # gives each number to one thread only

    def cancel(self) -> None:
        """End all waits, and let all work that looks at `cancels` stop."""
        self.cancels = next(self._numbers)

    def refuse_cancelled(self, before: int) -> None:
        """Raise `Cancelled` if `cancel` was called since `cancels` was `before`.

        So it does in a cancelled block of `docindex.cancelling`.
        """
        if self.cancels != before or is_cancelled():
            raise Cancelled(CANCELLED, self._path)

    def busy_handler(self, until: float | None = None) -> Callable[[int], bool]:
        """A busy handler: SQLite calls it repeatedly to ask whether to keep waiting for a lock.

        Each wait may take the time-out, or all waits together last until a deadline.
        """
        deadline, before = until or 0.0, self.cancels

        def keep_waiting(tries: int) -> bool:
            nonlocal deadline, before
            if tries == 0 and until is None:
                deadline, before = time.monotonic() + self.timeout_s, self.cancels
            if self.is_closed or self.cancels != before or is_cancelled() or time.monotonic() >= deadline:
                return False
            time.sleep(_WAIT_S)
            return True

        return keep_waiting

    def repeat(self, attempt: Callable[[], T]) -> T:
        """Repeat `attempt` while the file is busy, where SQLite itself does not wait; return its result."""
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return attempt()
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_WAIT_S)


Durability = Literal["full", "normal"]

MEMORY = ":memory:"
NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}

# A page of 8 KB holds several blocks of 1 KB with little waste.
_PAGE_SIZE = 8192
_CACHE_KIB = 16_384
# Steps of SQLite's virtual machine between two checks for signals and cancelled blocks: a few milliseconds.
_STEPS = 100_000
_READ_AND_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class Connector:
    """Makes the connections to one file."""

    def __init__(
        self,
        path: str,
        durability: Durability,
        waiting: Waiting,
        guard: Callable[[apsw.Connection], None] | None,
    ) -> None:
        """`guard` is called with each new connection, before anything is read from the file."""
        self._path = path
        self._durability = durability
        self._waiting = waiting
        self._guard = guard
        self._in_memory = path == MEMORY
        self._unchanged: os.stat_result | None = None

    @property
    def is_immutable(self) -> bool:
        """Whether the file is read as one that nobody changes."""
        return self._unchanged is not None

    def connect(self, *, readonly: bool) -> apsw.Connection:
        """A connection that nobody else uses."""
        connection = self._connect_readonly() if readonly and not self._in_memory else self._made(self._path)
        with self._released_on_error(connection):
            connection.execute(f"pragma cache_size = -{_CACHE_KIB}")
            connection.execute("pragma foreign_keys = on")
            connection.execute("pragma temp_store = memory")
            if not readonly:
                connection.execute(f"pragma page_size = {_PAGE_SIZE}")
                connection.execute(f"pragma synchronous = {self._durability}")
                connection.execute(f"pragma journal_size_limit = {write_ahead_log.BOUND}")
        handles.expect(connection)
        return connection

    @contextlib.contextmanager
    def _released_on_error(self, connection: apsw.Connection, *passed_on: type[apsw.Error]) -> Iterator[None]:
        """Release a connection if a statement fails. Errors of the classes `passed_on` are not translated."""
        try:
            yield
        except BaseException as error:
            try:
                if isinstance(error, apsw.Error) and not isinstance(error, passed_on):
                    self.raise_translated(error, [connection])
                raise
            finally:
                handles.release(connection)

    def _connect_readonly(self) -> apsw.Connection:
        connection = self._made(self._path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            with self._released_on_error(connection, apsw.CantOpenError, apsw.ReadOnlyError):
                connection.execute("select 1 from main.sqlite_schema").fetchall()
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # In a folder without write permission SQLite cannot make the files that readers and writers
            # share. If there is no journal, nobody is writing now, and all commits are in the file.
            # `refuse_changed` notices a later writer.
            if Path(self._path + "-wal").exists():
                raise
            self._unchanged = self._unchanged or Path(self._path).stat()
            uri = Path(self._path).as_uri() + "?immutable=1"
            connection = self._made(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        return connection

    def _made(self, name: str, flags: int = _READ_AND_WRITE) -> apsw.Connection:
        if self._in_memory:
            connection = apsw.Connection(name, flags)
        else:
            try:
                connection = handles.acquire(
                    *(self._path, flags),
                    name=name,
                    is_restricted=self._guard is not None,
                    timeout_s=self._waiting.timeout_s,
                )
            except OSError as error:  # it reads the head of the file
                raise disk_error(self._path, error.strerror or str(error)) from error
        connection.set_busy_handler(self._waiting.busy_handler())
        # The handler also lets Python notice Control-C during a long statement.
        connection.set_progress_handler(is_cancelled, _STEPS, id="cancelling")
        if self._guard is not None:
            self._guard(connection)
        return connection

    def refuse_changed(self) -> None:
        """Raise `Busy` if a file that was opened as immutable has changed."""
        if self._unchanged is not None:
            now = Path(self._path).stat()
            seen = self._unchanged
            same = (now.st_ino, now.st_size, now.st_mtime_ns) == (seen.st_ino, seen.st_size, seen.st_mtime_ns)
            if not same or Path(self._path + "-wal").exists():
                raise Busy(
                    f"{self._path} was changed by another program, in a folder without write permission; "
                    "open the index again",
                    self._path,
                )

    def raise_translated(self, error: apsw.Error, asked: Iterable[apsw.Connection]) -> None:
        """Raise the error that says what happened to the file, if SQLite's error is about the file.

        One of the connections `asked` had the error; only this thread uses them.
        """
        no_room = isinstance(error, apsw.IOError) and any(one.system_errno in NO_ROOM for one in asked)
        translated = translation(
            error, self._path, self._waiting.timeout_s, no_room=no_room, trusted=self._guard is None
        )
        if translated is not None:  # else it is probably a mistake in docindex: no reason to restore a backup
            raise translated from error
