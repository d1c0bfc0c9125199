"""Read and write an index on a connection that belongs to the host program, of apsw or of Python's sqlite3.

Takes the host's connection and the name of a database on it, and offers the same `reading` and `writing` as a
`Store`. A question also sees changes that the host has not committed yet. A change is committed or rolled
back together with the host's own transaction. Must never begin or commit a transaction of the host. May roll
it back only if a change of docindex failed half-way.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import apsw

from docindex.cancellation import is_cancelled
from docindex.errors import CANCELLED, Cancelled, OutOfDate
from docindex.storage import migrations
from docindex.storage.file import forks
from docindex.storage.file.sqlite_errors import refused
from docindex.storage.hosts.connections import Host
from docindex.storage.values import quoted

# No row has the id 0. A database with both tables is hardly anything else than an index.
_LOCK = "delete from {0}.docindex_posting where id = 0 and keys = (select json from {0}.docindex_recipe)"
_SAVEPOINT = "docindex_change"
_IS_WAITING = (
    "select 1 where exists (select 1 from main.docindex_pending) "
    "or exists (select 1 from main.docindex_changed)"
)


def index_schemas(db: apsw.Connection) -> list[str]:
    """The names of a connection's databases that are indexes, in the order in which SQLite searches them."""
    return [name for name in all_schemas(db) if migrations.is_index(db, name, newer=False)]


def all_schemas(db: apsw.Connection) -> list[str]:
    """The names of a connection's databases, in the order in which SQLite searches them."""
    return [name for name in db.db_names() if name != "temp"]


def lock_tables(db: apsw.Connection, schema: str) -> bool:
    """Take the write lock of a database before anything is read from it. False if it has no index.

    If the transaction had read from the database before, SQLite would not wait for another writer. To find
    out that a table does not exist, SQLite needs no lock.
    """
    try:
        db.execute(_LOCK.format(quoted(schema)))
    except apsw.SQLError:  # no such table
        return False
    return True


def is_writing_statement(db: apsw.Connection) -> bool:
    """Whether a statement that writes is running. Only inside a transaction that writes."""
    try:
        db.execute(f"savepoint {_SAVEPOINT}")
        db.execute(f"release {_SAVEPOINT}")
    except apsw.BusyError:  # SQLite refuses savepoints inside a statement that writes
        return True
    return False


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change on a connection of the host."""

    is_alone: bool
    """Whether it is committed at its end: neither a transaction nor a statement of the host surrounds it."""
    locked: list[str] = dataclasses.field(default_factory=list)
    """The schemas that `lock_tables` has locked."""


@contextlib.contextmanager
def change_of_its_own(db: apsw.Connection) -> Iterator[Change]:
    """Do a change of many statements completely or not at all, inside a statement of the host.

    Outside a transaction of the host, the change is committed. If the statement of the host writes, the
    change is a part of that statement. The caller adds the schemas that `lock_tables` has locked.
    """
    outermost = not db.in_transaction
    change = Change(is_alone=outermost)
    try:
        db.execute(f"savepoint {_SAVEPOINT}")
    except apsw.BusyError:  # SQLite refuses savepoints inside a statement that writes
        with part_of_a_statement(db, change.locked):
            yield Change(is_alone=False, locked=change.locked)
        return
    try:
        yield change
        db.execute(f"release {_SAVEPOINT}")
    except BaseException:
        if db.in_transaction:
            _roll_back(db, "rollback" if outermost else f"rollback to {_SAVEPOINT}", change.locked)
        if db.in_transaction:
            db.execute(f"release {_SAVEPOINT}")
        raise


@contextlib.contextmanager
def part_of_a_statement(db: apsw.Connection, locked: Sequence[str] = ()) -> Iterator[None]:
    """Do a change that is part of a statement of the host. If it fails half-way, undo the transaction."""
    before = db.total_changes()
    try:
        yield
    except BaseException:
        # SQLite may not be able to undo a part of the host's statement, and a savepoint cannot begin inside
        # one. Without the rollback, a host that goes on and commits would keep half a document.
        if db.in_transaction and db.total_changes() != before:
            _roll_back(db, "rollback", locked)
        raise


def _roll_back(db: apsw.Connection, statement: str, locked: Sequence[str]) -> None:
    """Run a statement that rolls back, also on a connection that is interrupted.

    Until the statement of the host ends, SQLite refuses ROLLBACK there, and reads no SQL. But if it
    interrupts a statement that writes, it rolls back the whole transaction. The statement that took the lock
    does that: it is still prepared.
    """
    try:
        db.execute(statement)
    except apsw.InterruptError:
        for schema in locked:
            with contextlib.suppress(apsw.InterruptError):
                db.execute(_LOCK.format(quoted(schema)))
        if db.in_transaction:
            raise


class HostTransactions:
    """Transactions on the index in one database of a host's connection."""

    def __init__(self, host: Host, schema: str) -> None:
        self._host = host
        self.schema = schema
        with host.undisturbed() as db:
            self._process = os.getpid() if db.db_filename(schema) else None
            """The process that opened the file; None for a database in memory, which a fork copies."""
        self.index_pending: Callable[[apsw.Connection], int] | None = None
        """Indexes some of what waits to be indexed, before anything else happens; set by the owner."""

    @property
    def path(self) -> str:
        """The path of the database; for a database in memory, its name on the connection."""
        with self._host.undisturbed() as db:
            return db.db_filename(self.schema) or self.schema

    @property
    def database(self) -> apsw.Connection:
        """A connection on which `main` is the index. Only inside `Host.undisturbed`."""
        if self._process is not None and self._process != os.getpid():
            raise forks.inherited(self.path)
        return self._host.database(self.schema)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """The connection, on which every statement sees the same state."""
        with self._host.undisturbed(self.schema):
            db = self.database
            while self.index_pending is not None and db.execute(_IS_WAITING).fetchall():
                self._index_some(self.index_pending)
            # A statement that has not finished keeps SQLite at the same state, even outside a transaction.
            held = db.execute("select 1 from main.docindex_recipe")
            try:
                yield db
            finally:
                held.close(True)

    @contextlib.contextmanager
    def writing(self, *, indexes_queue: bool = True) -> Iterator[apsw.Connection]:
        """The connection, for a change that is part of a statement of the host.

        It begins with what waits to be indexed, if it `indexes_queue`.
        """
        with self._host.undisturbed(self.schema) as host, self.refusals(), part_of_a_statement(host):
            if indexes_queue:
                self.index_waiting_now()
            yield self.database

    def index_waiting_now(self) -> int:
        """Index what waits to be indexed, as a part of the change that is under way. Returns how many."""
        return 0 if self.index_pending is None else sum(iter(partial(self.index_pending, self.database), 0))

    def _index_some(self, index_pending: Callable[[apsw.Connection], int]) -> None:
        """Index some of what waits to be indexed, as a change of its own."""
        with self._host.undisturbed(self.schema) as host:
            try:
                with change_of_its_own(host) as change:
                    if lock_tables(host, self.schema):
                        change.locked.append(self.schema)
                        index_pending(self.database)
            except (apsw.ReadOnlyError, apsw.AuthError) as error:
                raise OutOfDate(
                    f"{self.path} has changes of an app that are not indexed yet, and this connection may "
                    "not write; ask once on a connection that may",
                    self.path,
                ) from error

    @contextlib.contextmanager
    def refusals(self) -> Iterator[None]:
        """Turn a `ConstraintError` into `Refused`.

        After a ConstraintError, statements such as `insert or fail` would keep their earlier rows.
        """
        try:
            yield
        except apsw.ConstraintError as error:
            raise refused(self.path, error) from error

    def cancels(self) -> int:
        """Always 0: the host interrupts its own connection instead."""
        return 0

    def refuse_cancelled(self, _before: int) -> None:
        """Raise an error if the host has interrupted its connection, or in a cancelled block."""
        if is_cancelled():
            raise Cancelled(CANCELLED, self.path)
        with self._host.undisturbed(self.schema):
            self._host.refuse_interrupted()
