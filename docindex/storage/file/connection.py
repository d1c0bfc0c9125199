"""Run the transactions of an index on its connections.

Every statement runs inside `Store.reading` or `Store.writing`. A read transaction sees the state of one
commit, and in a file it never waits for a writer. A write transaction is done completely or not at all. Must
never know a table.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial

import apsw

from docindex.cancellation import is_cancelled
from docindex.errors import CorruptIndex, DiskFull, OutOfDate
from docindex.storage.file import handles
from docindex.storage.file.connections import FileConnections, roll_back
from docindex.storage.file.connector import Durability
from docindex.storage.file.lending import LendingBlock, Loan
from docindex.storage.file.sqlite_errors import still_writing
from docindex.storage.file.write_ahead_log import WriteAheadLog

Connection = apsw.Connection


# A long queue is indexed in several transactions. After this many seconds of work, a pause lets other writers
# in: a writer that waits tries again every 0.1 s.
_WORK_S, _PAUSE_S = 1.0, 0.12


class Store(FileConnections):
    """The transactions of one process on one file.

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
        self._log = WriteAheadLog(path)
        self._refuse_upgraded: Callable[[apsw.Connection], bool] | None = None
        self.index_pending: Callable[[apsw.Connection], int] | None = None
        """Indexes some of what waits to be indexed, before anything else happens; set by the owner."""
        super().__init__(path, readonly=readonly, durability=durability, timeout_s=timeout_s, guard=guard)

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
            if is_cancelled():
                self.refuse_cancelled(self.waiting.cancels)
            connection = self._lender.lend(loan)
            self._refuse_replaced()
            handles.refuse_another_library(getattr(connection, "held", None), self.path, is_change=False)
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
            roll_back(connection)
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
        handles.refuse_another_library(getattr(connection, "held", None), self.path, is_change=True)
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
        connection = self._begin_turn(before, loan)
        if loan.is_nested and connection.in_transaction:
            raise RuntimeError("a transaction cannot begin inside another transaction; finish the first one")
        with self.translated(), self._undone(connection, before):
            self._begin_immediate(connection, log_bytes)
            worked = time.monotonic()
            while self._index_some(connection, indexes_queue=indexes_queue):
                connection.execute("commit")  # what is indexed stays, even if this change is cancelled
                if time.monotonic() - worked > _WORK_S:
                    time.sleep(_PAUSE_S)
                    worked = time.monotonic()
                self.refuse_cancelled(before)
                self._begin_immediate(connection, log_bytes)
        return connection

    def _begin_immediate(self, connection: apsw.Connection, log_bytes: int) -> None:
        deadline = time.monotonic() + self.waiting.timeout_s
        if self._in_memory or self._log.has_room(connection, log_bytes):
            connection.execute("begin immediate")
        else:
            with self._room(connection, log_bytes, deadline):
                connection.execute("begin immediate")

    def _index_some(self, connection: apsw.Connection, *, indexes_queue: bool) -> bool:
        """Index a part of what waits to be indexed, in a transaction. Returns whether more is waiting.

        If nothing more waits, the caller stays in this transaction, because another program might queue more
        after each commit.
        """
        # In this order, because the first one also refuses an upgraded file.
        if not self._is_waiting(connection) or not indexes_queue or self.index_pending is None:
            return False
        self.index_pending(connection)
        return self._is_waiting(connection)

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
                "ask once on a connection of the app, after docindex.register(connection), or open the file "
                "for writing in another process",
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
                    handles.refuse_another_library(
                        getattr(connection, "held", None), self.path, is_change=False
                    )
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
        roll_back(connection)
        if isinstance(error, apsw.BusyError):
            self.refuse_cancelled(before)  # `cancel` ends the wait for a lock
        if isinstance(error, DiskFull):
            self._give_back_room(connection)

    @contextlib.contextmanager
    def _ending(self, loan: Loan, error: BaseException | None) -> Iterator[apsw.Connection]:
        """Take back what was lent. Translates errors: of the block, and of the statements that end it."""
        assert loan.connection is not None
        try:
            yield loan.connection
            if isinstance(error, (apsw.Error, CorruptIndex)):  # perhaps only two libraries in one process
                handles.refuse_another_library(
                    getattr(loan.connection, "held", None), self.path, is_change=True
                )
            if isinstance(error, apsw.Error):
                raise error
        except apsw.Error as failed:
            try:
                self._raise_translated(failed, loan.connection)
            finally:
                if isinstance(failed, (apsw.FullError, apsw.IOError)):
                    self._give_back_room(loan.connection)
            raise
        finally:
            self._lender.take_back(loan)
            if self.waiting.is_closed:  # `close` could not wait for this thread
                self._lender.release_free()

    def _give_back_room(self, db: apsw.Connection) -> None:
        """Shorten the log after a change that did not fit: it may have filled the disk."""
        if self._in_memory:
            return
        db.set_busy_handler(None)
        try:
            self._log.give_back_room(db)
        finally:
            db.set_busy_handler(self.waiting.busy_handler())

    def shorten_journal(self, db: apsw.Connection) -> None:
        """Move the write-ahead journal into the file, unless somebody is reading from the journal."""
        self._refuse_replaced()
        try:
            db.set_busy_handler(None)  # waiting for readers would block writers
            with contextlib.suppress(apsw.BusyError):
                db.execute("pragma wal_checkpoint(truncate)").fetchall()
        finally:
            db.set_busy_handler(self.waiting.busy_handler())
