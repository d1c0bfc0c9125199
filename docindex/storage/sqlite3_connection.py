"""Run storage's statements on a connection of Python's sqlite3, as if it were a connection of apsw.

Takes the host's connection and the name of a database on it; offers the methods of `apsw.Connection` that
storage calls, on which `main` is this database. sqlite3's errors become apsw's. Must never open a file: Unix
drops all locks of a process on a file when one of two copies of SQLite closes it. Must never begin, commit or
roll back a transaction by itself.
"""

import contextlib
import functools
import itertools
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import apsw

from docindex.kernels.arrays import I64
from docindex.storage import migrations
from docindex.storage.other_connection import OtherConnection
from docindex.storage.rows import Bindings
from docindex.storage.values import quoted

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
            self._cursor.executemany(_redirected(statement, self._schema), bindings)
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
    adapted = _redirected(statement, schema, array)
    if adapted.startswith(_CHANGES):
        # sqlite3 may begin a transaction before a statement that begins with one of these words.
        adapted = f"with unused as (select 1) {adapted}"
    return adapted


def _redirected(statement: str, schema: str, array: str = "") -> str:
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
