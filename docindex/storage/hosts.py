"""The connection of a host program, of apsw or of Python's sqlite3, without what the host changed on it.

Takes the host's connection; offers connections on which each of its databases is `main`. SQL functions hold
these objects, and belong to the connection: so these objects must never keep the connection open. Must never
know a table of docindex.
"""

import contextlib
import ctypes
import functools
import re
import sqlite3
import time
import weakref
from collections.abc import Iterator
from typing import Any, Protocol, cast

import apsw

from docindex.errors import Cancelled
from docindex.storage.rows import Bindings
from docindex.storage.sqlite3_connection import RunningStatements, Sqlite3Connection
from docindex.storage.sqlite_errors import BEGAN_AS_READER, is_snapshot, translation
from docindex.storage.values import quoted

_INTERRUPTED = (
    "the question was interrupted by interrupt() or by a progress handler; "
    "Datasette sets one for sql_time_limit_ms"
)


class Host(Protocol):
    """A connection of the host program."""

    def undisturbed(self, schema: str = "main") -> contextlib.AbstractContextManager[apsw.Connection]:
        """The connection, on which the host's settings do not change our statements and rows.

        If the host does not know apsw's errors, those about the file of a database are translated.
        """

    def database(self, schema: str) -> apsw.Connection:
        """A connection on which `main` is a database of the host's connection."""

    def refuse_interrupted(self) -> None:
        """Raise an error if the host has interrupted its connection, or a time limit has passed."""


class ApswHost:
    """A connection of apsw."""

    def __init__(self, connection: apsw.Connection) -> None:
        # The connection owns the functions. If they owned the connection too, nothing would ever close it.
        self._connection = weakref.ref(connection)

    @property
    def connection(self) -> apsw.Connection:
        """The connection. It exists whenever SQLite calls one of its functions."""
        connection = self._connection()
        if connection is None:
            raise ValueError("the connection is closed")
        return connection

    @contextlib.contextmanager
    def undisturbed(self, _schema: str = "main") -> Iterator[apsw.Connection]:
        """The connection without `exec_trace` and `row_trace`."""
        db = self.connection
        traces = db.exec_trace, db.row_trace
        db.exec_trace = db.row_trace = None
        try:
            yield db
        except apsw.BusyError as error:
            if is_snapshot(error):  # SQLite only says "database is locked"
                error.args = (BEGAN_AS_READER,)
            raise
        finally:
            db.exec_trace, db.row_trace = traces

    def database(self, schema: str) -> apsw.Connection:
        """The connection itself, or an `AttachedDatabase`."""
        db = self.connection
        return db if schema == "main" else cast("apsw.Connection", AttachedDatabase(db, schema))

    def refuse_interrupted(self) -> None:
        """Raise `apsw.InterruptError` if the host has interrupted its connection."""
        if self.connection.is_interrupted:
            raise apsw.InterruptError("interrupted")


class Sqlite3Host:
    """A connection of Python's sqlite3. A question that takes longer than `limit_s` raises `Cancelled`."""

    def __init__(self, connection: sqlite3.Connection, limit_s: float | None = None) -> None:
        # Python has no weak references to these connections. The bare address is as good: SQLite calls a
        # function only while its connection exists, and nobody else uses this object.
        self._address = ctypes.c_void_p(id(connection))
        self._at_address = ctypes.py_object.from_buffer(self._address)
        self._limit_s = limit_s
        self._deadline = 0.0
        self._running = RunningStatements(self.refuse_late)
        self._unlimited = RunningStatements(lambda: None)  # what explains an error is not limited
        self._depth = 0

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection. Only for code that one of its functions runs."""
        return cast("sqlite3.Connection", self._at_address.value)

    def undisturbed(self, schema: str = "main") -> "_Undisturbed":
        """The connection without its `text_factory`. At the end, all statements end."""
        return _Undisturbed(self, schema)

    def database(self, schema: str) -> apsw.Connection:
        """A `Sqlite3Connection`."""
        return cast("apsw.Connection", Sqlite3Connection(self.connection, self._running, schema))

    def begin(self) -> None:
        """Note that statements begin to run; `end` must follow."""
        self._depth += 1

    def end(self) -> None:
        """End all statements that have not ended, if this is the outermost call."""
        self._depth -= 1
        if not self._depth:
            self._running.end()

    def translated(self, error: apsw.Error, schema: str) -> Exception:
        """The error that says what happened to the file of a database."""
        self.refuse_late()
        if isinstance(error, apsw.InterruptError):  # a connection that is interrupted answers nothing
            return Cancelled(_INTERRUPTED, schema)
        db = Sqlite3Connection(self.connection, self._unlimited, schema)
        timeout_s = db.pragma("busy_timeout") / 1000
        return translation(error, db.filename, timeout_s, no_room=False, trusted=True) or error

    @property
    def has_limit(self) -> bool:
        """Whether questions have a time limit."""
        return self._limit_s is not None

    def start_clock(self) -> float:
        """Start the time limit of a question. Returns the time at which it ends, for `continue_clock`."""
        if self._limit_s is not None:
            self._deadline = time.monotonic() + self._limit_s
        return self._deadline

    def continue_clock(self, deadline: float) -> None:
        """Go on with a question, although another one may have begun in the meantime."""
        self._deadline = deadline

    def refuse_late(self) -> None:
        """Raise `Cancelled` if the time limit has passed."""
        if self._limit_s is not None and time.monotonic() > self._deadline:
            path = Sqlite3Connection(self.connection, self._unlimited, "main").filename
            raise Cancelled(
                f"the question was not answered within {self._limit_s:g} s, and was cancelled; ask about "
                "fewer documents, or raise limit_s (in Datasette, sql_time_limit_ms)",
                path,
            )

    def refuse_interrupted(self) -> None:
        """Raise an error if the host has interrupted its connection, or the time limit has passed."""
        self.refuse_late()
        # An interrupted connection refuses every statement until the statement of the host ends.
        self.database("main").execute("select 1").close()


class _Undisturbed:
    """The context of `Sqlite3Host.undisturbed`. A class, because a generator takes three times as long."""

    def __init__(self, host: Sqlite3Host, schema: str) -> None:
        self._host = host
        self._schema = schema

    def __enter__(self) -> apsw.Connection:
        connection = self._host.connection
        self._text_factory = connection.text_factory
        connection.text_factory = str
        self._host.begin()
        return self._host.database("main")

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if isinstance(error, apsw.Error):
                raise self._host.translated(error, self._schema) from error.__cause__
        finally:
            self._host.end()
            self._host.connection.text_factory = self._text_factory


class AttachedDatabase:
    """A host's connection that presents an attached database as `main`.

    It has the methods of `apsw.Connection` that docindex calls on it.
    """

    def __init__(self, db: apsw.Connection, schema: str) -> None:
        self._db = db
        self._schema = schema
        self._prefix = f"{quoted(schema)}."
        self.filename = db.db_filename(schema) or schema

    def execute(self, statement: str, bindings: Bindings = ()) -> apsw.Cursor:
        """Run a statement on the attached database."""
        return self._db.execute(_redirected(statement, self._prefix), bindings)

    def pragma(self, name: str) -> Any:
        """The value of a pragma of the attached database."""
        return self._db.pragma(name, schema=self._schema)

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
        return self._db.executemany(_redirected(statement, self._prefix), bindings)

    def last_insert_rowid(self) -> int:
        """The rowid of the last row that the connection inserted."""
        return self._db.last_insert_rowid()


class _AttachedCursor(apsw.Cursor):
    """A cursor on which `main` is the attached database."""

    def __init__(self, db: apsw.Connection, prefix: str) -> None:
        super().__init__(db)
        self._prefix = prefix

    def execute(self, statements: str, bindings: Any = None, **options: Any) -> apsw.Cursor:
        """Run a statement on the attached database."""
        return super().execute(_redirected(statements, self._prefix), bindings, **options)


# Conditions of callers make statements of their own. So the cache is bounded.
@functools.lru_cache(maxsize=512)
def _redirected(statement: str, prefix: str) -> str:
    """A statement on another database than `main`. Strings, quoted names and comments stay as they are."""
    return _MAIN.sub(lambda found: prefix if found[1] else found[0], statement)


_MAIN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\b(main\.)""")
