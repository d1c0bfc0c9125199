"""Register docindex's SQL functions and tables on a connection of apsw, or of Python's own sqlite3.

An error inside a function reaches its caller with docindex's message. Must never change anything else about
the connection.
"""

import ctypes
import functools
import logging
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import apsw

from docindex import arguments
from docindex.cancellation import stopped_by
from docindex.index.index import Index
from docindex.sql.document_changes import DocumentChanges
from docindex.sql.document_texts import DocumentTexts
from docindex.sql.editable_table import DocIndexModule
from docindex.sql.fingerprint_list import FingerprintList
from docindex.sql.grouping import SimilarRows
from docindex.sql.scalars import Aggregate, Aggregates, Scalars, SharedByAll, SketchUnion
from docindex.sql.sources import ConnectionDatabases, GivenIndex, IndexSource
from docindex.sql.sql_values import Value, errors_from
from docindex.sql.table_functions import TABLES, TableFunction
from docindex.sql.virtual_tables import TableModule
from docindex.storage.hosts.connections import ApswHost, Sqlite3Host

# When a process ends, Python may free apsw before a connection that the host has hidden well, for example in
# the module sys. A statement on a table that is still open then calls functions of apsw that are gone, which
# is a signal 11. With this reference, apsw is never freed.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(apsw))

_Registered = TypeVar("_Registered")
_log = logging.getLogger("docindex")

# These functions put their own names into their errors. They are often called for every row, and a wrapper
# that adds the name would cost a third as much as they do.
_NAME_THEMSELVES = {"doc_distance", "doc_sketch_resemblance"}

# SQL can make a text of any size in no time: hex(zeroblob(500000000)). Functions of a text of this size take
# up to a second, and 200 MB of memory.
_MOST_TEXT_BYTES = 5_000_000
_TEXTS_OF_AGGREGATE = 20
"""All texts and keys of an aggregate, which may keep them, have this many times as many bytes."""


def register(
    connection: apsw.Connection | sqlite3.Connection,
    index: Index | None = None,
    *,
    limit_s: float | None = None,
    most_text_bytes: int | None = None,
) -> None:
    """Register docindex's SQL functions on a connection, and its tables on a connection of apsw.

    `help(docindex.sql)` describes them all. They use `index` if it is given. Otherwise they use the database
    whose schema a call names or, without a schema, the first database of the connection that is an index.
    Functions that take only texts work on any database.

    They run on the connection itself. So they see the changes of its open transaction, and the changes that
    they make belong to that transaction. `limit_s` limits the time of a question on sqlite3. Then no argument
    may be longer than `most_text_bytes`, which is 5 MB unless you say otherwise.

    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> register(connection)
    >>> connection.execute("select doc_resemblance('to be or not to be', 'To be, or not to be!')").fetchone()
    (1.0,)
    >>> connection.close()
    """
    if not (index is None or isinstance(index, Index)):
        raise TypeError(f"index must be an index that docindex.open returned, or None, not {index!r}")
    limit_s = None if limit_s is None else arguments.seconds("limit_s", limit_s)
    if most_text_bytes is not None:
        arguments.whole_number("most_text_bytes", most_text_bytes, least=1)
    if isinstance(connection, apsw.Connection):
        if limit_s is not None or most_text_bytes is not None:
            raise ValueError(
                "limit_s and most_text_bytes are for connections of sqlite3; on a connection of apsw, set a "
                "progress handler and SQLITE_LIMIT_LENGTH"
            )
        register_on(connection, index)
    elif isinstance(connection, sqlite3.Connection):
        register_on_sqlite3(connection, index, limit_s=limit_s, most_text_bytes=most_text_bytes)
    else:
        kind = type(connection).__name__
        raise TypeError(f"a connection must be an apsw.Connection or a sqlite3.Connection, not {kind}")


def register_on(connection: apsw.Connection, index: Index | None = None) -> None:
    """Register the functions and tables on a connection of apsw."""
    databases = ConnectionDatabases(ApswHost(connection))
    source: IndexSource = databases if index is None else GivenIndex(index)
    scalars = Scalars(source)
    asking = scalars.all() | DocumentTexts(source).all()
    flags = apsw.SQLITE_INNOCUOUS
    for name, function, count in _each(asking):
        connection.create_scalar_function(
            name, _with_name(name, function), count, deterministic=True, flags=flags
        )
    for name, function, count in _each(DocumentChanges(source).all()):
        # Not innocuous: a view in a file from others must not change documents.
        connection.create_scalar_function(name, _with_name(name, function), count)
    for name, aggregate, count in _each(_aggregates(source, scalars)):
        steps = functools.partial(_steps, name, aggregate)
        connection.create_aggregate_function(name, steps, count, flags=flags)
    for table in TABLES:
        name = f"{table.name}_json"
        connection.create_scalar_function(name, _with_name(name, _json(table, source)), -1, flags=flags)
    # "Any", because apsw's types require every method that a module can have, but apsw itself does not.
    modules: dict[str, Any] = {table.name: TableModule(source, table) for table in TABLES}
    modules["fingerprint_list"] = FingerprintList(source)
    for name, module in modules.items():
        connection.create_module(name, module, use_bestindex_object=True, eponymous_only=True, read_only=True)
    if index is None:
        documents: Any = DocIndexModule(databases)
        connection.create_module(
            "doc_index", documents, use_bestindex_object=True, use_no_change=True, eponymous=True
        )


class LastError:
    """The message of the last error of some connections of sqlite3, for `select doc_error()`."""

    def __init__(self) -> None:
        self.message: str | None = None


def register_on_sqlite3(
    connection: sqlite3.Connection,
    index: Index | None = None,
    *,
    limit_s: float | None = None,
    most_text_bytes: int | None = None,
    last_error: LastError | None = None,
) -> None:
    """Register the functions on a connection of sqlite3.

    A program whose requests use one of many connections, nobody knows which, gives them one `last_error`.
    """
    host = Sqlite3Host(connection, limit_s)
    source: IndexSource = ConnectionDatabases(host) if index is None else GivenIndex(index)
    scalars = Scalars(source)
    if most_text_bytes is None and host.has_limit:
        most_text_bytes = _MOST_TEXT_BYTES
    errors = _ErrorLog(host, last_error or LastError(), most_text_bytes)
    for name, function, count in _each(scalars.all() | DocumentTexts(source).all()):
        quick = name in _NAME_THEMSELVES
        wrapped = errors.watch_quick(function) if quick else errors.watch(_with_name(name, function))
        connection.create_function(name, count, wrapped, deterministic=True)
    for name, function, count in _each(DocumentChanges(source).all()):
        connection.create_function(name, count, errors.watch(_with_name(name, function)))
    for name, aggregate, count in _each(_aggregates(source, scalars)):
        # "Any", because the types of sqlite3 require attributes of a class, which the wrappers cannot have.
        made: Any = functools.partial(_ErrorLog.Aggregate, errors, name, aggregate)
        connection.create_aggregate(name, count, made)
    for table in TABLES:
        name = f"{table.name}_json"
        connection.create_function(name, -1, errors.watch(_with_name(name, _json(table, source))))
    connection.create_function("doc_error", 0, errors.last)


def _each(
    functions: Mapping[str, tuple[Callable[..., _Registered], tuple[int, ...]]],
) -> Iterator[tuple[str, Callable[..., _Registered], int]]:
    """Each function once for each number of arguments that it takes."""
    for name, (function, counts) in functions.items():
        for count in counts:
            yield name, function, count


def _aggregates(source: IndexSource, scalars: Scalars) -> Aggregates:
    return {
        "doc_sketch_union": (SketchUnion, (1,)),
        "doc_common": (lambda: SharedByAll(scalars), (1,)),
        "doc_group": (lambda: SimilarRows(source), (2, 3)),
    }


def _with_name(name: str, function: Callable[..., Value]) -> Callable[..., Value]:
    """A function whose errors begin with its name in SQL."""
    if name in _NAME_THEMSELVES:
        return function

    @functools.wraps(function)
    def call(*values: Value) -> Value:
        with errors_from(name):
            return function(*values)

    return call


def _refuse_long(values: tuple[Value, ...], most: int) -> None:
    """`ValueError` for a TEXT or BLOB of more bytes than `most`, before anything reads it."""
    for value in values:
        if isinstance(value, (str, bytes)) and 4 * len(value) > most:  # a character has up to four
            size, unit = len(value), "bytes"
            if isinstance(value, str) and not value.isascii():
                unit = "characters"
                if size <= most:
                    size, unit = len(value.encode("utf-8", "surrogatepass")), "bytes"
            if size > most:
                raise ValueError(
                    f"an argument has {size:,} {unit}, and at most {most:,} bytes are allowed; shorten it, "
                    "or raise most_text_bytes of docindex.register"
                )


def _json(table: TableFunction, source: IndexSource) -> Callable[..., Value]:
    return lambda *values: table.as_json(source, *values)


def _steps(name: str, aggregate: Callable[[], Aggregate]) -> tuple[Any, Any, Any]:
    """The aggregate as apsw expects it: a state, a function for each step, and a function for the end."""

    def step(state: Aggregate, *values: Value) -> None:
        with errors_from(name):
            state.step(*values)

    def finalize(state: Aggregate) -> Value:
        with errors_from(name):
            return state.finalize()

    return aggregate(), step, finalize


class _ErrorLog:
    """Keeps the error messages of functions on a connection of sqlite3.

    If a function raises an error, sqlite3 only says "user-defined function raised exception". So the message
    goes to the log "docindex", and `select doc_error()` returns it.
    """

    def __init__(self, host: Sqlite3Host, last_error: LastError, most_text_bytes: int | None) -> None:
        self._clock = host if host.has_limit else None
        self._last = last_error
        self.most_text_bytes = most_text_bytes

    def last(self) -> str | None:
        """The message of the last error, or NULL if there was no error."""
        return self._last.message

    def watch(
        self,
        function: Callable[..., Value],
        starts: Callable[[Sqlite3Host], object] = lambda clock: clock.start_clock(),
    ) -> Callable[..., Value]:
        """Wrap a function: the wrapper remembers errors, and starts the time limit by `starts`."""

        @functools.wraps(function)
        def call(*values: Value) -> Value:
            try:
                if self.most_text_bytes is not None:
                    _refuse_long(values, self.most_text_bytes)
                if self._clock is None:
                    return function(*values)
                starts(self._clock)
                # Here, because a function of texts opens no index that could look at the clock.
                with stopped_by(self._clock.refuse_late):
                    return function(*values)
            except Exception as error:
                self._remember(error)
                raise

        return call

    def watch_quick(self, function: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
        """Wrap a quick function of two values: the wrapper remembers errors, but starts no time limit."""

        def call(x: Value, y: Value) -> Value:
            try:
                return function(x, y)
            except Exception as error:
                self._remember(error)
                raise

        return call

    def _remember(self, error: Exception) -> None:
        self._last.message = str(error)
        _log.error("%s", error)

    class Aggregate:
        """An aggregate whose errors are remembered."""

        def __init__(self, errors: "_ErrorLog", name: str, aggregate: Callable[[], Aggregate]) -> None:
            self._state = aggregate()
            self._deadline: float | None = None
            self._bytes_left = _TEXTS_OF_AGGREGATE * (errors.most_text_bytes or sys.maxsize)
            # All values together have the time limit of one question, whatever functions give the values.
            self.step = errors.watch(_with_name(name, self._step), self._go_on)
            self.finalize = errors.watch(_with_name(name, self._state.finalize), self._go_on)

        def _step(self, *values: Value) -> None:
            self._bytes_left -= sum([len(value) for value in values if isinstance(value, (str, bytes))])
            if self._bytes_left < 0:
                raise ValueError(
                    f"the values together are longer than {_TEXTS_OF_AGGREGATE} times most_text_bytes of "
                    "docindex.register; choose fewer rows, or raise it"
                )
            self._state.step(*values)

        def _go_on(self, clock: Sqlite3Host) -> None:
            if self._deadline is None:
                self._deadline = clock.start_clock()
            else:
                clock.continue_clock(self._deadline)
