"""Own the connections of one process to one file: open them, interrupt them, release them.

Refuses to go on with a file that is closed, was replaced by another, or was inherited at a fork, and
translates SQLite's errors into docindex's. Must never begin a transaction, and must never know a table.
"""

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from docindex.errors import Busy, FileReplaced, ReadOnly
from docindex.storage.file import forks, handles
from docindex.storage.file.connector import MEMORY, Connector, Durability, Waiting
from docindex.storage.file.descriptors import FileId, file_at
from docindex.storage.file.lending import Lender, LendingBlock, Loan, weakly
from docindex.storage.file.sqlite_errors import still_writing

# Notice that an open file was replaced, moved or removed, and keep its log away from the file that came.
#
# SQLite opens a file by its name, then writes to it by its handle, whatever has happened to the name since.
# Its write-ahead log, though, stays beside the *name*: the next program that opens the name would take the
# log for that of the new file, and destroy it. Takes paths, and compares device and inode. Must never write
# to a file that replaced ours.


class OpenedFile:
    """The file that a store has opened under a name."""

    def __init__(self, path: str, before: FileId | None) -> None:
        """Takes the path of a file that was just opened, and the identity that it had before that."""
        self._path = path
        # SQLite follows symbolic links once, when it opens a file. The log is beside the real file.
        self._real = os.path.realpath(path)
        self._identity = file_at(path)
        self._log: dict[str, FileId] = {}
        self._found: FileReplaced | None = None
        if before not in (None, self._identity):
            raise self._replaced()

    def refuse_replaced(self) -> None:
        """`FileReplaced` if the name does not lead to the file that was opened, now or at an earlier call."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - a `Path` takes three times as long
        except OSError:
            raise self._replaced() from None
        if (status.st_dev, status.st_ino) != self._identity or self._found is not None:
            raise self._replaced()

    def remember_log(self) -> None:
        """Note which files are the log. The caller has read: nobody removes a log that is in use."""
        if not self._log:
            found = {name: file_at(name) for name in (self._real + "-wal", self._real + "-shm")}
            self._log = {name: identity for name, identity in found.items() if identity is not None}

    def settle_log(self, db: apsw.Connection) -> None:
        """Remove our log from beside a name that no longer leads to our file.

        First moves the commits in the log to the file that they belong to, wherever that is now: `db`, which
        writes, still has it open. Does nothing if the name leads to our file, or if the log was moved too.
        """
        if not self.left_log_at(self._real):
            return
        # If somebody is reading from the log, it must stay: it may be all there is of the latest commits.
        with contextlib.suppress(apsw.BusyError, apsw.LockedError, apsw.InterruptError):
            ((busy, _, _),) = db.execute("pragma wal_checkpoint(truncate)")
            for name, identity in self._log.items():
                if not busy and file_at(name) == identity:
                    Path(name).unlink()

    def left_log_at(self, real: str) -> bool:
        """Whether our log is beside a real path that no longer leads to our file."""
        return (
            real == self._real
            and file_at(real) != self._identity
            and any(file_at(name) == identity for name, identity in self._log.items())
        )

    def _replaced(self) -> FileReplaced:
        if self._found is None:
            there = file_at(self._path) is not None
            what = "was replaced by another file" if there else "was moved or removed"
            self._found = FileReplaced(
                f"{self._path} {what} while the index was open. Nothing was written after that; "
                f"close the index, {'then' if there else 'put the file back, then'} open it again",
                self._path,
            )
        return FileReplaced(str(self._found), self._path)


_CLOSE_S = 5.0  # how long `close` waits for other threads

_stores: "weakref.WeakValueDictionary[int, FileConnections]" = weakref.WeakValueDictionary()


def _refuse_foreign_log(path: str) -> None:
    """`FileReplaced` if the log beside a file is that of an open store, which had opened another file there.

    SQLite would apply that log to the new file.
    """
    if not _stores:
        return
    real = os.path.realpath(path)
    # Not the values themselves: another thread may open an index during the loop.
    stores = (reference() for reference in _stores.valuerefs())
    if any(store is not None and store.left_log_at(real) for store in stores):
        raise FileReplaced(
            f"{path} was replaced while this process had it open as an index, which still uses the old file; "
            "close that index, then open the new file",
            path,
        )


class FileConnections:
    """The connections of one process to one file.

    `Store` adds the transactions, and says who uses which connection.
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
        self.readonly = readonly
        self.waiting = Waiting(path, timeout_s)
        self._connector = Connector(path, durability, self.waiting, guard)
        self._in_memory = path == MEMORY
        self._process = os.getpid()
        connect_writer = None if self._in_memory else weakly(self._connect_writer)
        self._lender = Lender(weakly(self._connect_reader), connect_writer, weakly(self._release))
        if not self._in_memory:
            _refuse_foreign_log(path)
        with self.translated():
            before = None if self._in_memory else file_at(path)
            self._lender.keep_writer(self._connector.connect(readonly=readonly))
            self._file = None if self._in_memory else OpenedFile(path, before)
        _stores[id(self)] = self

    def refuse_readonly(self) -> None:
        """Raise `ReadOnly` if this store is for reading only, `ValueError` if it is closed."""
        self._refuse_closed()
        if self.readonly:
            raise ReadOnly(f"{self.path} is open for reading only; open it without readonly=True", self.path)

    @contextlib.contextmanager
    def translated(self, connection: apsw.Connection | None = None) -> Iterator[None]:
        """Translate the errors of SQLite that are about the file. All other errors keep their type.

        `connection` is the one that the statements use, if it is known.
        """
        try:
            yield
        except apsw.Error as error:
            self._raise_translated(error, connection)
            raise

    def _raise_translated(self, error: apsw.Error, connection: apsw.Connection | None) -> None:
        if isinstance(error, (apsw.ConnectionClosedError, apsw.ThreadingViolationError)):
            self._refuse_closed()  # `close` closes a connection at the moment when this thread uses it
        # Only then: a connection that another thread uses must not be asked.
        asked = self._lender.connections() if connection is None else [connection]
        self._connector.raise_translated(error, asked)

    def cancel(self) -> None:
        """Stop the work of all other threads on this store; they get `Cancelled`."""
        self._refuse_inherited()
        self.waiting.cancel()
        self._lender.interrupt()

    def cancels(self) -> int:
        """The number of calls of `cancel` so far. Work of many statements passes it to `refuse_cancelled`."""
        return self.waiting.cancels

    def refuse_cancelled(self, before: int) -> None:
        """Raise `Cancelled` in a cancelled block, or after `cancel` if `cancels` had returned `before`."""
        self.waiting.refuse_cancelled(before)

    def close(self) -> None:
        """Interrupt the other threads, and close all connections. Closing twice does no harm.

        Waits for other threads for a few seconds. If a thread goes on for longer, its next statement fails.
        Does nothing in a forked process: the connections belong to its parent.
        """
        if self._is_inherited():
            return
        self.waiting.is_closed = True  # first, so that waiting threads stop waiting
        self._lender.wait_until_idle(_CLOSE_S)
        with self.translated():
            self._lender.release_all()

    def __del__(self) -> None:
        # Without a lender, an error or an interrupt stopped `__init__`. At the end of a frozen application,
        # Python has emptied this module before it drops the last objects, and the process closes the file.
        if hasattr(self, "_lender") and handles is not None:
            handles.drop(self._lender.connections())

    def _release(self, connection: apsw.Connection, is_free: bool) -> None:
        """Close a connection, which another block uses unless it is free. Closing it twice does no harm."""
        with contextlib.suppress(apsw.ConnectionClosedError):
            with contextlib.suppress(apsw.InterruptError):  # `close` rolls back, too
                roll_back(connection)
            try:
                if self._file is not None and not connection.readonly("main"):
                    self._file.settle_log(connection)
            finally:
                handles.release(connection, is_in_use=not is_free)

    def _is_inherited(self) -> bool:
        """Whether this process was forked after the file was opened. An index in memory is a copy there."""
        return os.getpid() != self._process and not self._in_memory

    def _refuse_inherited(self) -> None:
        if self._is_inherited():
            raise forks.inherited(self.path)

    def _refuse_closed(self) -> None:
        # First, and before any lock: another thread of the parent may have had the lock at the fork.
        if self._is_inherited():
            raise forks.inherited(self.path)
        if self.waiting.is_closed:
            raise ValueError(f"the index {self.path} is closed; open it again")

    def _refuse_replaced(self) -> None:
        if self._file is None:
            return
        try:
            self._file.refuse_replaced()
        except FileReplaced:
            with contextlib.suppress(Busy), LendingBlock(self._begin_settling, self._end_settling) as writer:
                self._file.settle_log(writer)
            raise

    def left_log_at(self, real: str) -> bool:
        """Whether our log is beside a file that is not ours. Takes it away if nobody uses this store."""
        if (
            self.waiting.is_closed
            or self._is_inherited()
            or self._file is None
            or not self._file.left_log_at(real)
        ):
            return False
        with contextlib.suppress(FileReplaced):
            self._refuse_replaced()
        return self._file.left_log_at(real)

    def _begin_settling(self, loan: Loan) -> apsw.Connection:
        connection = self._lender.lend_writer(loan, 0, lambda: None)
        if connection is None:
            raise still_writing(self.path, "another thread of this process", 0)
        return connection

    def _end_settling(self, loan: Loan, *_: object) -> None:
        self._lender.take_back(loan)

    @property
    def _writer(self) -> apsw.Connection:
        # Only for tests: it may be in use, and may be replaced by another.
        return self._lender.connections()[0]

    def _connect_writer(self) -> apsw.Connection:
        self._refuse_closed()
        if self._file is not None:
            self._file.refuse_replaced()
        return self._connector.connect(readonly=self.readonly)

    def _connect_reader(self) -> apsw.Connection:
        self._refuse_replaced()
        return self._connector.connect(readonly=True)


def roll_back(connection: apsw.Connection) -> None:
    """Roll back the transaction, if there is one. `close` may have done that, without waiting any longer."""
    # `contextlib.suppress` would take a fortieth of the time of reading a document.
    try:
        if connection.in_transaction:
            try:
                connection.execute("rollback")
            except apsw.InterruptError:
                # The progress handler of a cancelled block stops one ROLLBACK of many, but never two in turn.
                if connection.in_transaction:
                    connection.execute("rollback")
    except apsw.ConnectionClosedError:
        return
