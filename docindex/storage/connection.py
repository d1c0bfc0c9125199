"""A path in, transactions on it out: connections, their settings, and SQLite's errors made ours.

Every statement runs inside `Store.reading` or `Store.writing`. A reading sees one commit's
state and never waits for a writer; a writing is all or nothing. Must never know a table.
"""

import contextlib
import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar

import apsw

from docindex.errors import Busy, Cancelled, CorruptIndex, DiskFull, FileError, NotAnIndex, ReadOnly

Connection = apsw.Connection
Durability = Literal["full", "normal"]
Bindings = Sequence[Any]
T = TypeVar("T")

MEMORY = ":memory:"
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}

# 8 KB pages hold several blocks of 1 KB each with little waste.
_PAGE_SIZE = 8192
_CACHE_KIB = 16_384
_WAIT_S = 0.01
_READ_AND_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class Store:
    """The connections of one process to one file.

    One connection writes, under a lock; each reading borrows another one, so that threads
    read side by side and beside the writer. An index in memory has one connection for all.
    """

    def __init__(self, path: str, *, readonly: bool, durability: Durability, timeout_s: float) -> None:
        self.path = path
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
        if not self._in_memory and Path(path).exists() and not Path(path).is_file():
            raise NotAnIndex(f"{path} is not a regular file; name a docindex index or a new file", path)
        with self.translated():
            self._writer = self._connect(readonly=readonly)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection on which every statement sees the same commit."""
        with self.translated():
            if self._in_memory:
                with self._lock:
                    self._refuse_closed()
                    yield self._writer
                return
            connection = self._borrow()
            try:
                connection.execute("begin")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")
                self._give_back(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One transaction: committed at the end, undone on any error."""
        if self.readonly:
            raise ReadOnly(f"{self.path} is open for reading only; open it without readonly=True", self.path)
        before = self._cancels
        with self.translated(), self._lock:
            self._refuse_closed()
            connection = self._writer
            if connection.in_transaction:
                raise RuntimeError("a transaction inside a transaction; finish the first one before")
            try:
                connection.execute("begin immediate")
                self.refuse_cancelled(before)  # while this waited for its turn
                yield connection
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    @contextlib.contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """The writing connection without a transaction, for what SQLite does not do inside one."""
        with self.translated(), self._lock:
            self._refuse_closed()
            yield self._writer

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
        with self._lock, self._pool:
            self._closed = True
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
            self._idle.append(connection)
            self._lent -= 1
            self._pool.notify_all()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ValueError(f"the index {self.path} is closed; open it again")

    def _connect(self, *, readonly: bool) -> apsw.Connection:
        connection = self._connect_readonly() if readonly and not self._in_memory else self._made(self.path)
        connection.set_busy_timeout(int(self._timeout_s * 1000))
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
            connection.execute("select 1 from sqlite_schema").fetchall()
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # A folder that cannot be written has no room for the files beside it that readers and
            # writers share. With no journal there either, nobody writes and nothing is unread.
            if Path(self.path + "-wal").exists():
                raise
            uri = Path(self.path).absolute().as_uri() + "?immutable=1"
            connection = self._made(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        return connection

    def _made(self, name: str, flags: int = _READ_AND_WRITE) -> apsw.Connection:
        connection = apsw.Connection(name, flags)
        self._all.append(connection)  # at once: an error may ask it what the system said
        return connection

    def _ours(self, error: apsw.Error) -> FileError | None:
        path = self.path
        match error:
            case apsw.BusyError() | apsw.LockedError():
                return Busy(
                    f"{path} is being written by {_writer_of(path)}, which did not finish within "
                    f"{self._timeout_s:g} s; try again, or open it with a greater timeout_s",
                    path,
                )
            case apsw.FullError():
                return _disk_full(path)
            case apsw.IOError() if any(connection.system_errno in _NO_ROOM for connection in self._all):
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
                return NotAnIndex(f"{path} cannot be opened: {error}; check that its folder exists", path)
            case (
                apsw.BindingsError() | apsw.MisuseError() | apsw.ThreadingViolationError() | apsw.RangeError()
            ):
                return None
        return CorruptIndex(f"{path} cannot be read: {error}; restore a backup, or index again", path)


def stream(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement, one by one; columns of tables have the type that the schema says.

    SQLite holds a column to its type when it writes, not when it reads: in a damaged file an integer
    can come back as a blob, or a text that is no UTF-8.
    """
    cursor = db.cursor()
    kinds: list[tuple[type, type] | None] | None = None
    try:
        for row in cursor.execute(statement, bindings):
            if kinds is None:
                kinds = [
                    (_KINDS[declared], NoneType if name in _NULLABLE else _KINDS[declared])
                    if declared in _KINDS
                    else None
                    for name, declared in cursor.get_description()
                ]
            for found, kind in zip(row, kinds, strict=True):
                if kind is not None and type(found) not in kind:
                    raise CorruptIndex(_BAD_ROW.format(db.filename, statement), db.filename)
            yield row
    except (UnicodeDecodeError, OverflowError) as error:  # or an impossible id from one row to find another
        raise CorruptIndex(_BAD_ROW.format(db.filename, statement), db.filename) from error


def rows(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement, with the types that the schema says."""
    return list(stream(db, statement, bindings))


def value(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> Any:
    """The first column of the first row, or None."""
    found = rows(db, statement, bindings)
    return found[0][0] if found else None


def counter(db: apsw.Connection, table: str) -> int:
    """The greatest id that a table ever gave; 0 before the first."""
    found = value(db, "select seq from sqlite_sequence where name = ?", (table,))
    if found is None:
        return 0
    if not (isinstance(found, int) and 0 <= found < _MOST_IDS.get(table, 1 << 43)):
        raise CorruptIndex(f"the counter of {table} is {found!r}, which cannot be; index again", db.filename)
    return found


# Ids are the high bits of other ids: segments have 31, contents and documents 43.
_MOST_IDS = {"segment": (1 << 31) - 2}
_KINDS: dict[str | None, type] = {"INTEGER": int, "TEXT": str, "BLOB": bytes}
_NULLABLE = {"meta", "target", "moved"}
_BAD_ROW = "{} is damaged: {!r} reads a value of a type it should not have; restore a backup, or index again"


def _disk_full(path: str) -> DiskFull:
    return DiskFull(
        f"no room left to write {path}; the index is as before: free some space and try again", path
    )


def _writer_of(path: str) -> str:
    """The process that holds the writer's lock, where the system tells (Linux)."""
    # In write-ahead mode that lock is byte 120 of the shared-memory file. The list of locks is
    # read, not asked for with fcntl: closing any handle of that file would drop our own locks.
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = Path(path + "-shm").stat().st_ino
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if (
                "WRITE" in fields
                and fields[5].endswith(f":{inode}")
                and int(fields[6]) <= 120 <= int(fields[7])
            ):
                pid = int(fields[4])
                command = (
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
                return f"process {pid} ({command.strip()[:60]})"
    return "another process"
