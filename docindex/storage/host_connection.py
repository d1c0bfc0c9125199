"""Read and write an index on an apsw connection that belongs to the host program.

Takes the host's connection and the name of a database on it, and offers the same `reading` and `writing` as a
`Store`. A question also sees changes that the host has not committed yet. A change is committed or rolled
back together with the host's own transaction. Must never begin or commit a transaction of the host. May roll
it back only if a change of docindex failed half-way.
"""

import contextlib
import os
import re
import weakref
from collections.abc import Iterator
from typing import Any, cast

import apsw

from docindex.recipe import Recipe
from docindex.storage import forks, migrations
from docindex.storage.rows import Bindings
from docindex.storage.sqlite_errors import refused


def index_schemas(db: apsw.Connection) -> list[str]:
    """The names of a connection's databases that are indexes, in the order in which SQLite searches them."""
    return [name for name in db.db_names() if name != "temp" and migrations.is_index(db, name, newer=False)]


class HostTransactions:
    """Transactions on the index in one database of a host's connection."""

    def __init__(self, db: apsw.Connection, schema: str) -> None:
        self.path = db.db_filename(schema) or schema
        self._schema = schema
        self._process = os.getpid() if db.db_filename(schema) else None
        """The process that opened the file; None for a database in memory, which a fork copies."""
        # The connection may own this object. A strong reference would keep it open after its host drops it.
        self._host = weakref.ref(db)

    def recipe(self) -> Recipe:
        """The parameters the index was made with."""
        with without_traces(self._host_connection()):
            return migrations.recipe_of(self._connection(), self.path)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """The connection, on which every statement sees the same state."""
        db = self._connection()
        with without_traces(self._host_connection()):
            # A statement that has not finished keeps SQLite at the same state, even outside a transaction.
            held = db.execute("select 1 from main.recipe")
            try:
                yield db
            finally:
                held.close(True)

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The connection, for a change that is part of a statement of the host."""
        host = self._host_connection()
        before = host.total_changes()
        try:
            with without_traces(host):
                yield self._connection()
        except BaseException as error:
            # SQLite may not be able to undo a part of the host's statement, and a savepoint cannot begin
            # inside one. Without the rollback, a host that goes on and commits would keep half a document.
            if host.in_transaction and host.total_changes() != before:
                host.execute("rollback")
            if isinstance(error, apsw.ConstraintError):
                # After a ConstraintError, statements such as `insert or fail` would keep their earlier rows.
                raise refused(self.path, error) from error
            raise

    def cancels(self) -> int:
        """Always 0: the host interrupts its own connection instead."""
        return 0

    def refuse_cancelled(self, before: int) -> None:
        """Raise `apsw.InterruptError` if the host has interrupted its connection."""
        if self._host_connection().is_interrupted != bool(before):
            raise apsw.InterruptError("interrupted")

    def _host_connection(self) -> apsw.Connection:
        if self._process is not None and self._process != os.getpid():
            raise forks.inherited(self.path)
        db = self._host()
        if db is None:
            raise ValueError("the connection is closed")
        return db

    def _connection(self) -> apsw.Connection:
        """A connection on which `main` is the index: the host's own, or an `AttachedDatabase`."""
        db = self._host_connection()
        return db if self._schema == "main" else cast("apsw.Connection", AttachedDatabase(db, self._schema))


@contextlib.contextmanager
def without_traces(db: apsw.Connection) -> Iterator[None]:
    """Switch off the host's `exec_trace` and `row_trace`, which could change our statements and rows."""
    traces = db.exec_trace, db.row_trace
    db.exec_trace = db.row_trace = None
    try:
        yield
    finally:
        db.exec_trace, db.row_trace = traces


class AttachedDatabase:
    """A host's connection that presents an attached database as `main`.

    It has the methods of `apsw.Connection` that docindex calls on it.
    """

    def __init__(self, db: apsw.Connection, schema: str) -> None:
        self._db = db
        quoted = schema.replace('"', '""')
        self._prefix = f'"{quoted}".'
        self.filename = db.db_filename(schema) or schema

    def execute(self, statement: str, bindings: Bindings = ()) -> apsw.Cursor:
        """Run a statement on the attached database."""
        return self._db.execute(self._redirected(statement), bindings)

    def cursor(self) -> apsw.Cursor:
        """A cursor for statements on the attached database that contain a caller's condition."""
        return _AttachedCursor(self._db, self._prefix)

    @property
    def authorizer(self) -> Any:
        """The authorizer of the host's connection."""
        return self._db.authorizer

    @authorizer.setter
    def authorizer(self, authorizer: Any) -> None:
        self._db.authorizer = authorizer

    def executemany(self, statement: str, bindings: Any) -> apsw.Cursor:
        """Run a statement on the attached database, once for each tuple of bindings."""
        return self._db.executemany(self._redirected(statement), bindings)

    def last_insert_rowid(self) -> int:
        """The rowid of the last row that the connection inserted."""
        return self._db.last_insert_rowid()

    def _redirected(self, statement: str) -> str:
        return statement.replace("main.", self._prefix)


class _AttachedCursor(apsw.Cursor):
    """A cursor on which `main` is the attached database, except inside the strings of a condition."""

    def __init__(self, db: apsw.Connection, prefix: str) -> None:
        super().__init__(db)
        self._prefix = prefix

    def execute(self, statements: str, bindings: Any = None, **options: Any) -> apsw.Cursor:
        """Run a statement on the attached database."""
        redirected = _MAIN.sub(lambda found: self._prefix if found[1] else found[0], statements)
        return super().execute(redirected, bindings, **options)


_MAIN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(main\.)""")
