"""A connection of the host's in, the readings and writings that a store has out, on that very connection.

What is asked sees what the host has not committed yet, and what is changed is committed, or undone, with
it. Must never begin, commit or roll back a transaction of the host's but to keep half a change out of it.
"""

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any, cast

import apsw

from docindex.recipe import Recipe
from docindex.storage import migrations
from docindex.storage.connection import refused
from docindex.storage.rows import Bindings


def schemas(db: apsw.Connection) -> list[str]:
    """The names of the databases of a connection that are indexes, in the order SQLite looks there."""
    return [name for name in db.db_names() if name != "temp" and migrations.is_index(db, name, newer=False)]


class Borrowed:
    """An index in a database of a host's connection, to be read and written there."""

    def __init__(self, db: apsw.Connection, schema: str) -> None:
        self.path = db.db_filename(schema) or schema
        self._schema = schema
        # The connection may hold what holds this: it is closed when its host lets it go.
        self._host = weakref.ref(db)

    def recipe(self) -> Recipe:
        """The parameters the index was made with."""
        with without_traces(self._lent()):
            return migrations.recipe_of(self._connection(), self.path)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """The connection, on which every statement sees the same state."""
        db = self._connection()
        with without_traces(self._lent()):
            # A statement that has not come to its end holds that state, in a transaction or not.
            held = db.execute("select 1 from main.recipe")
            try:
                yield db
            finally:
                held.close(True)

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The connection, within a statement of the host's that changes something."""
        host = self._lent()
        before = host.total_changes()
        try:
            with without_traces(host):
                yield self._connection()
        except BaseException as error:
            # A statement may have been made without means to undo a part of it, and a savepoint cannot be
            # begun within one; so a host that goes on and commits would keep half a document.
            if host.in_transaction and host.total_changes() != before:
                host.execute("rollback")
            if isinstance(error, apsw.ConstraintError):
                # As such it would be for `or fail` and its like to keep what was done before it.
                raise refused(self.path, error) from error
            raise

    def cancels(self) -> int:
        """How often there was a `cancel`; here it is the host who interrupts."""
        return 0

    def refuse_cancelled(self, before: int) -> None:
        """`apsw.InterruptError` if the host interrupts what it does on its connection."""
        if self._lent().is_interrupted != bool(before):
            raise apsw.InterruptError("interrupted")

    def _lent(self) -> apsw.Connection:
        db = self._host()
        if db is None:
            raise ValueError("the connection is closed")
        return db

    def _connection(self) -> apsw.Connection:
        """The host's, or what can do for a storage room all that it asks of a connection."""
        db = self._lent()
        return db if self._schema == "main" else cast("apsw.Connection", Attached(db, self._schema))


@contextlib.contextmanager
def without_traces(db: apsw.Connection) -> Iterator[None]:
    """Within, statements and rows are not what a host makes of them."""
    traces = db.exec_trace, db.row_trace
    db.exec_trace = db.row_trace = None
    try:
        yield
    finally:
        db.exec_trace, db.row_trace = traces


class Attached:
    """A host's connection, as if the database of another schema were its main one."""

    def __init__(self, db: apsw.Connection, schema: str) -> None:
        self._db = db
        quoted = schema.replace('"', '""')
        self._prefix = f'"{quoted}".'
        self.filename = db.db_filename(schema) or schema

    def execute(self, statement: str, bindings: Bindings = ()) -> apsw.Cursor:
        """As that of a connection."""
        return self._db.execute(self._there(statement), bindings)

    def executemany(self, statement: str, bindings: Any) -> apsw.Cursor:
        """As that of a connection."""
        return self._db.executemany(self._there(statement), bindings)

    def last_insert_rowid(self) -> int:
        """As that of a connection."""
        return self._db.last_insert_rowid()

    def _there(self, statement: str) -> str:
        return statement.replace("main.", self._prefix)
