"""The connection of a host program, of apsw or of Python's sqlite3, without what the host changed on it.

Takes the host's connection; offers connections on which each of its databases is `main`. SQL functions hold
these objects, and belong to the connection: so these objects must never keep the connection open. Must never
know a table of docindex.
"""

import contextlib
import ctypes
import functools
import itertools
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

import apsw

from docindex.arrays.ranges import I64
from docindex.errors import Cancelled
from docindex.storage import migrations
from docindex.storage.file.sqlite_errors import BEGAN_AS_READER, is_snapshot, translation
from docindex.storage.other_connection import OtherConnection
from docindex.storage.statements import Bindings
from docindex.storage.values import quoted

# Run storage's statements on a connection of Python's sqlite3, as if it were a connection of apsw.
#
# Takes the host's connection and the name of a database on it; offers the methods of `apsw.Connection` that
# storage calls, on which `main` is this database. sqlite3's errors become apsw's. Must never open a file:
# Unix drops all locks of a process on a file when one of two copies of SQLite closes it. Must never begin,
# commit or roll back a transaction by itself.

# Rows that are fetched between two looks at the clock. A call for each row would take twice as long.
_AT_ONCE = 256

_of_thread = threading.local()


class RunningStatements:
    """The statements that have begun and not ended, and a check that can stop them.

    An error can leave a statement in the middle of its rows. It would hold a lock as long as anybody holds
    the error's traceback.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        """`check` is called every few hundred rows; it raises an error to stop the statement."""
        self.check = check
        self.cursors: set[Sqlite3Cursor] = set()

    def end(self) -> None:
        """End all statements."""
        while self.cursors:
            self.cursors.pop().close()


class Sqlite3Connection(OtherConnection):
    """A host's connection of Python's sqlite3 that presents one of its databases as `main`."""

    def __init__(self, connection: sqlite3.Connection, running: RunningStatements, schema: str) -> None:
        self._connection = connection
        self._running = running
        self._schema = schema

    @property
    def filename(self) -> str:
        """The path of the file; for a database in memory, the name of the schema."""
        return self.db_filename(self._schema) or self._schema

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    def total_changes(self) -> int:
        """The number of rows that the connection has changed."""
        return self._connection.total_changes

    def last_insert_rowid(self) -> int:
        """The rowid of the last row that the connection inserted."""
        ((number,),) = self.execute("select last_insert_rowid()")
        return int(number)

    def db_names(self) -> list[str]:
        """The names of the databases, in the order in which SQLite searches them."""
        return [name for _, name, _ in self.execute("pragma database_list")]

    def db_filename(self, schema: str) -> str:
        """The path of a database; empty for a database in memory."""
        paths = {name: path for _, name, path in self.execute("pragma database_list")}
        return paths.get(schema) or ""

    def pragma(self, name: str, *, schema: str | None = None) -> Any:
        """The value of a pragma."""
        ((value,),) = self.execute(f"pragma {quoted(schema or self._schema)}.{name}")
        return value

    def cursor(self) -> "Sqlite3Cursor":
        """A new cursor."""
        return Sqlite3Cursor(self._connection, self._running, self._schema)

    def execute(self, statement: str, bindings: Bindings = ()) -> "Sqlite3Cursor":
        """Run a statement on the database."""
        return Sqlite3Cursor(self._connection, self._running, self._schema).execute(statement, bindings)

    def executemany(self, statement: str, bindings: Iterable[Bindings]) -> "Sqlite3Cursor":
        """Run a statement once for each tuple of bindings."""
        cursor = self.cursor()
        if self.in_transaction and statement.startswith(_CHANGES):  # else sqlite3 would begin a transaction
            return cursor.executemany(statement, bindings)
        for some in bindings:
            cursor.execute(statement, some)
        return cursor

    def array(self, values: I64 | Sequence[str] | Sequence[bytes]) -> Any:
        """Integers as JSON; texts and blobs as a tuple, because JSON has no blobs."""
        return values if isinstance(values, tuple) else str(values.tolist())  # type: ignore[union-attr]

    def empty_index(self) -> apsw.Connection:
        """An empty index in memory. Each thread makes one, in a millisecond."""
        if not hasattr(_of_thread, "empty_index"):
            _of_thread.empty_index = migrations.empty_index()
        found: apsw.Connection = _of_thread.empty_index
        return found


class Sqlite3Cursor:
    """A cursor of Python's sqlite3 with the methods of `apsw.Cursor` that storage calls."""

    __slots__ = ("_cursor", "_running", "_schema", "_statement")

    def __init__(self, connection: sqlite3.Connection, running: RunningStatements, schema: str) -> None:
        # A cursor of our own making: it has neither the row factory nor the class of the host's cursors.
        self._cursor = sqlite3.Cursor(connection)
        self._running = running
        self._schema = schema
        self._statement = ""

    def execute(self, statement: str, bindings: Bindings = ()) -> "Sqlite3Cursor":
        """Run a statement."""
        self._statement = statement
        blobs = None
        if bindings and type(bindings[0]) is tuple:  # the texts or blobs of `carray(?)`
            blobs = len(bindings[0])
            bindings = (*bindings[0], *bindings[1:])
        try:
            self._cursor.execute(_adapted(statement, self._schema, blobs), bindings)
        except sqlite3.Error as error:
            self.close()  # a statement in a traceback would keep the file open after the host's `close`
            raise as_apsw(error) from error
        if self._cursor.description is not None:
            self._running.cursors.add(self)
        return self

    def executemany(self, statement: str, bindings: Iterable[Bindings]) -> "Sqlite3Cursor":
        """Run a statement that changes rows once for each tuple of bindings, in a transaction."""
        try:
            self._cursor.executemany(_in_schema(statement, self._schema), bindings)
        except sqlite3.Error as error:
            self.close()
            raise as_apsw(error) from error
        return self

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return itertools.chain.from_iterable(iter(self._fetched, []))

    def __next__(self) -> tuple[Any, ...]:
        try:
            row: tuple[Any, ...] | None = self._cursor.fetchone()
        except sqlite3.Error as error:
            raise as_apsw(error) from error
        if row is None:
            self._running.cursors.discard(self)
            raise StopIteration
        return row

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The remaining rows."""
        found = self._fetched()
        return found if len(found) < _AT_ONCE else [*found, *self]

    def get_description(self) -> tuple[tuple[str, str | None], ...]:
        """The name and the declared type of each column of the result."""
        return _described(self._statement, tuple([column[0] for column in self._cursor.description]))

    def close(self, _force: bool = False) -> None:
        """End the statement."""
        self._running.cursors.discard(self)
        self._cursor.close()

    def _fetched(self) -> list[tuple[Any, ...]]:
        """The next rows; an empty list at the end."""
        self._running.check()
        try:
            found = self._cursor.fetchmany(_AT_ONCE)
        except sqlite3.Error as error:
            raise as_apsw(error) from error
        if len(found) < _AT_ONCE:
            self._running.cursors.discard(self)
        return found


def as_apsw(error: sqlite3.Error) -> Exception:
    """The error that apsw raises for the same reason; the error itself if apsw has no such error."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        same = apsw.exception_for(code)  # with the extended code, which says why a file is busy
        same.args = (str(error),)
        return same
    if str(error).startswith("Could not decode to UTF-8"):
        return UnicodeDecodeError("utf-8", b"", 0, 0, str(error))
    return error


# What is adapted in a statement: names of tables and arrays, except inside of strings and quoted names.
_ADAPTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(main\.)|\b(carray\(\?\))""")
_CHANGES = ("insert", "update", "delete")


# Conditions of callers make statements of their own. So the caches are bounded.
@functools.lru_cache(maxsize=512)
def _adapted(statement: str, schema: str, blobs: int | None) -> str:
    """A statement for sqlite3, on one of the databases.

    `carray(?)` gets integers as JSON; or if `blobs` is a number, that many texts or blobs.
    """
    # Not the table itself: it has columns with the same names as ours.
    array = "(select value from json_each(?))"
    if blobs is not None:
        array = f"(select column1 as value from (values {', '.join(['(?)'] * blobs)}))"
    adapted = _in_schema(statement, schema, array)
    if adapted.startswith(_CHANGES):
        # sqlite3 may begin a transaction before a statement that begins with one of these words.
        adapted = f"with unused as (select 1) {adapted}"
    return adapted


def _in_schema(statement: str, schema: str, array: str = "") -> str:
    """A statement on one of the databases, with an expression for `carray(?)`."""
    prefix = f"{quoted(schema)}."
    return _ADAPTED.sub(lambda found: prefix if found[1] else array if found[2] else found[0], statement)


@functools.lru_cache(maxsize=512)
def _described(statement: str, names: tuple[str, ...]) -> tuple[tuple[str, str | None], ...]:
    """The columns of a result, with their declared types, which sqlite3 does not tell.

    A column has the name of a column in one of the tables of the statement, or no type.
    """
    columns: dict[str, str] = {}
    for table in re.findall(r"\bmain\.(\w+)", statement):
        columns |= _schema().get(table, {})
    for column, other_name in re.findall(r"\.(\w+) as (\w+)", statement):
        if column in columns:
            columns[other_name] = columns[column]
    return tuple((name, columns.get(name)) for name in names)


@functools.lru_cache(maxsize=1)
def _schema() -> dict[str, dict[str, str]]:
    """The declared type of each column in each table of an index."""
    with contextlib.closing(migrations.empty_index()) as made:
        found: dict[str, dict[str, str]] = {}
        for table, column, declared in made.execute(_COLUMNS):
            found.setdefault(table, {})[column] = declared
        return found


_COLUMNS = (
    "select t.name, c.name, c.type from sqlite_schema as t, pragma_table_info(t.name) as c "
    "where t.type = 'table' and t.name not like 'sqlite%'"
)


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
