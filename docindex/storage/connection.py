"""Run the transactions of an index on its connections, and translate SQLite's errors into docindex's.

Every statement runs inside `Store.reading` or `Store.writing`. A read transaction sees the state of one
commit, and in a file it never waits for a writer. A write transaction is done completely or not at all. Must
never know a table.
"""

import contextlib
import os
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial

import apsw

from docindex.errors import Busy, FileReplaced, OutOfDate, ReadOnly
from docindex.storage import forks, handles
from docindex.storage.connector import MEMORY, Connector, Durability
from docindex.storage.descriptors import file_at
from docindex.storage.file_identity import OpenedFile
from docindex.storage.lending import Lender, LendingBlock, Loan, weakly
from docindex.storage.sqlite_errors import still_writing
from docindex.storage.waiting import Waiting
from docindex.storage.write_ahead_log import WriteAheadLog

Connection = apsw.Connection

_CLOSE_S = 5.0  # how long `close` waits for other threads


_stores: "weakref.WeakValueDictionary[int, Store]" = weakref.WeakValueDictionary()


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
        self.readonly = readonly
        self.waiting = Waiting(path, timeout_s)
        self._connector = Connector(path, durability, self.waiting, guard)
        self._in_memory = path == MEMORY
        self._log = WriteAheadLog(path)
        self._process = os.getpid()
        self._refuse_upgraded: Callable[[apsw.Connection], bool] | None = None
        self.index_pending: Callable[[apsw.Connection], int] | None = None
        """Indexes what waits to be indexed, before anything else is read or written; set by the owner."""
        connect_writer = None if self._in_memory else weakly(self._connect_writer)
        self._lender = Lender(weakly(self._connect_reader), connect_writer, weakly(self._release))
        if not self._in_memory:
            _refuse_foreign_log(path)
        with self.translated():
            before = None if self._in_memory else file_at(path)
            self._lender.keep_writer(self._connector.connect(readonly=readonly))
            self._file = None if self._in_memory else OpenedFile(path, before)
        _stores[id(self)] = self

    def at_each_transaction(self, refuse_upgraded: Callable[[apsw.Connection], bool]) -> None:
        """Call a function when a transaction begins: it raises an error if the file was upgraded.

        It returns whether documents wait to be indexed.
        """
        if not self._in_memory:
            self._refuse_upgraded = refuse_upgraded
            if not self._connector.is_immutable:
                handles.guard_log(self._writer)

    def reading(self) -> LendingBlock:
        """A block with a connection on which every statement sees the same commit."""
        if self._in_memory:
            return self.alone()
        return LendingBlock(self._begin_reading, self._end_reading)

    def writing(self, *, log_bytes: int = 0, indexes_queue: bool = True) -> LendingBlock:
        """A block with a connection inside a transaction.

        The transaction is committed at the end, or rolled back after an error. `log_bytes` says about how
        much the transaction will write, if that is more than some megabytes. Raises `Busy` if the write-ahead
        log has no room for it, because somebody reads for too long. The transaction begins with what waits to
        be indexed, if it `indexes_queue`.
        """
        before = self.waiting.cancels
        return LendingBlock(
            partial(self._begin_writing, before, log_bytes, indexes_queue),
            partial(self._end_writing, before),
        )

    def alone(self, *, log_bytes: int = 0) -> LendingBlock:
        """A block with the writing connection, for statements that SQLite refuses inside a transaction.

        `log_bytes` says about how much the statements will write.
        """
        before = self.waiting.cancels
        return LendingBlock(partial(self._begin_alone, before, log_bytes), partial(self._end_turn, before))

    def _begin_reading(self, loan: Loan) -> apsw.Connection:
        try:
            self._refuse_closed()
            self.refuse_cancelled(self.waiting.cancels)  # in a block that is cancelled already
            connection = self._lender.lend(loan)
            self._refuse_replaced()
            self._connector.refuse_changed()
            self._log.question_begins(connection)
            connection.execute("begin")
            while self._is_waiting(connection):
                connection.execute("rollback")
                self._index_waiting()
                connection.execute("begin")
            if self.waiting.is_closed:  # by another thread, perhaps before it could know this connection
                self._lender.take_back(loan)
                self._lender.release_free()
                self._refuse_closed()
            return connection
        except apsw.Error as error:
            self._raise_translated(error, loan.connection)
            raise

    def _end_reading(self, loan: Loan, _: object, error: BaseException | None, __: object) -> None:
        if self._is_inherited():  # the block forked
            return
        with self._ending(loan, error) as connection:
            _roll_back(connection)
            self._log.question_ends(connection)
            if error is None:
                self._connector.refuse_changed()

    def _begin_turn(self, before: int, loan: Loan) -> apsw.Connection:
        """Reserve the writing connection for this thread."""

        def refuse() -> None:
            self._refuse_closed()
            self.refuse_cancelled(before)

        refuse()
        with self.translated():
            connection = self._lender.lend_writer(loan, self.waiting.timeout_s, refuse)
            if connection is None:
                raise still_writing(self.path, "another thread of this process", self.waiting.timeout_s)
        refuse()  # `close` or `cancel` may have been called during the wait
        self._refuse_replaced()
        return connection

    def _end_turn(self, before: int, loan: Loan, _: object, error: BaseException | None, __: object) -> None:
        if self._is_inherited():  # the block forked
            return
        with self._ending(loan, error):
            if isinstance(error, apsw.BusyError):
                self.refuse_cancelled(before)  # `cancel` ends the wait for a lock

    def _begin_alone(self, before: int, log_bytes: int, loan: Loan) -> apsw.Connection:
        deadline = time.monotonic() + self.waiting.timeout_s
        connection = self._begin_turn(before, loan)
        if log_bytes and not self._log.has_room(connection, log_bytes):
            with self.translated(), self._room(connection, log_bytes, deadline):
                pass
        return connection

    def _begin_writing(self, before: int, log_bytes: int, indexes_queue: bool, loan: Loan) -> apsw.Connection:
        self.refuse_readonly()
        deadline = time.monotonic() + self.waiting.timeout_s
        connection = self._begin_turn(before, loan)
        if loan.is_nested and connection.in_transaction:
            raise RuntimeError("a transaction cannot begin inside another transaction; finish the first one")
        with self.translated(), self._undone(connection, before):
            if self._in_memory or self._log.has_room(connection, log_bytes):
                connection.execute("begin immediate")
            else:
                with self._room(connection, log_bytes, deadline):
                    connection.execute("begin immediate")
            # In this order, because the first one also refuses an upgraded file.
            if self._is_waiting(connection) and indexes_queue and self.index_pending is not None:
                self.index_pending(connection)
        return connection

    @contextlib.contextmanager
    def _room(self, connection: apsw.Connection, log_bytes: int, deadline: float) -> Iterator[None]:
        """Make room in the write-ahead log. All waits for readers and writers in here end at the deadline."""
        before, waits = self.waiting.cancels, self.waiting.busy_handler(deadline)
        connection.set_busy_handler(waits)
        try:
            refusal = self._log.make_room(connection, log_bytes, waits)
            self._refuse_closed()
            self.refuse_cancelled(before)  # `cancel` ends the wait for readers
            if refusal is not None:
                raise refusal
            yield
        finally:
            connection.set_busy_handler(self.waiting.busy_handler())

    def _is_waiting(self, connection: apsw.Connection) -> bool:
        """Whether documents wait to be indexed. Called in a transaction, before any other statement.

        Raises an error if the file was upgraded.
        """
        if self._refuse_upgraded is None:
            return False
        is_waiting = self._refuse_upgraded(connection)
        if self._file is not None:
            self._file.remember_log()
        return is_waiting and self.index_pending is not None

    def _index_waiting(self) -> None:
        if self.readonly:
            raise OutOfDate(
                f"{self.path} has changes of an app that are not indexed yet, and is open for reading only; "
                "open it once without readonly=True",
                self.path,
            )
        with self.writing():
            pass  # it begins with them

    def _end_writing(
        self, before: int, loan: Loan, _: object, error: BaseException | None, __: object
    ) -> None:
        if self._is_inherited():  # the block forked
            if error is None:
                self._refuse_inherited()
            return
        with self._ending(loan, error) as connection:
            if error is None:
                with self._undone(connection, before):
                    self._refuse_replaced()
                    connection.execute("commit")
            else:
                self._undo(connection, before, error)

    @contextlib.contextmanager
    def _undone(self, connection: apsw.Connection, before: int) -> Iterator[None]:
        """Undo the transaction if one of the statements here fails."""
        try:
            yield
        except BaseException as error:
            self._undo(connection, before, error)
            raise

    def _undo(self, connection: apsw.Connection, before: int, error: BaseException) -> None:
        _roll_back(connection)
        if isinstance(error, apsw.BusyError):
            self.refuse_cancelled(before)  # `cancel` ends the wait for a lock

    @contextlib.contextmanager
    def _ending(self, loan: Loan, error: BaseException | None) -> Iterator[apsw.Connection]:
        """Take back what was lent. Translates errors: of the block, and of the statements that end it."""
        assert loan.connection is not None
        try:
            yield loan.connection
            if isinstance(error, apsw.Error):
                raise error
        except apsw.Error as failed:
            self._raise_translated(failed, loan.connection)
            raise
        finally:
            self._lender.take_back(loan)
            if self.waiting.is_closed:  # `close` could not wait for this thread
                self._lender.release_free()

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

    def shorten_journal(self, db: apsw.Connection) -> None:
        """Move the write-ahead journal into the file, unless somebody is reading from the journal."""
        self._refuse_replaced()
        try:
            db.set_busy_handler(None)  # waiting for readers would block writers
            with contextlib.suppress(apsw.BusyError):
                db.execute("pragma wal_checkpoint(truncate)").fetchall()
        finally:
            db.set_busy_handler(self.waiting.busy_handler())

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
                _roll_back(connection)
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
        self._refuse_inherited()
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


def _roll_back(connection: apsw.Connection) -> None:
    """Roll back the transaction, if there is one. `close` may have done that, without waiting any longer."""
    with contextlib.suppress(apsw.ConnectionClosedError):
        if connection.in_transaction:
            with contextlib.suppress(apsw.InterruptError):
                connection.execute("rollback")
        # The progress handler of a cancelled block stops one ROLLBACK of many, but never two in turn.
        if connection.in_transaction:
            connection.execute("rollback")
