"""A connection in, docindex's functions and tables on it: of apsw, or of Python's own sqlite3.

What goes wrong in a function reaches its caller with our message. Must never change how a connection
behaves otherwise.
"""

import functools
import logging
import sqlite3
from collections.abc import Callable
from typing import Any

import apsw

from docindex.index.reader import IndexReader
from docindex.sql.editable_table import DocIndex
from docindex.sql.fingerprint_list import FingerprintList
from docindex.sql.scalars import Common, Scalars, SketchUnion, Value, naming
from docindex.sql.sources import Beside, Given, Here, IndexSource
from docindex.sql.table_functions import TABLES, Table
from docindex.sql.virtual_tables import Module

_log = logging.getLogger("docindex")

# They are called for every row, and a function around them would cost a third as much as they do.
_NAME_THEMSELVES = {"doc_distance", "doc_sketch_resemblance"}


def register(
    connection: apsw.Connection | sqlite3.Connection,
    index: IndexReader | None = None,
    *,
    limit_s: float | None = None,
) -> None:
    """Put docindex's SQL functions on a connection; on one of apsw its tables, too.

    They are about the index that is given; else about the first database of the connection that is one,
    or the one whose schema is named. Functions about texts alone work on any database.

    On an apsw connection they see, and `doc_index` changes, what its own transaction does. On one of
    sqlite3 they read the files beside it: what it has attached and committed; register again after an
    `attach`. There a question may take `limit_s` seconds.

    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> register(connection)
    >>> connection.execute("select doc_resemblance('to be or not to be', 'To be, or not to be!')").fetchone()
    (1.0,)
    >>> connection.close()
    """
    if not (index is None or isinstance(index, IndexReader)):
        raise TypeError(f"index must be what docindex.open returns, or None, not {index!r}")
    if isinstance(connection, apsw.Connection):
        if limit_s is not None:
            raise ValueError("limit_s is for connections of sqlite3; give one of apsw a progress handler")
        register_on(connection, index)
    elif isinstance(connection, sqlite3.Connection):
        _register_sqlite3(connection, Given(index) if index is not None else Beside(connection, limit_s))
    else:
        kind = type(connection).__name__
        raise TypeError(f"a connection must be an apsw.Connection or a sqlite3.Connection, not {kind}")


def register_on(connection: apsw.Connection, index: IndexReader | None = None) -> None:
    """The same for a connection of apsw."""
    here = Here(connection)
    source: IndexSource = here if index is None else Given(index)
    scalars = Scalars(source)
    flags = apsw.SQLITE_INNOCUOUS
    for name, (function, counts) in scalars.all().items():
        for count in counts:
            connection.create_scalar_function(
                name, _named(name, function), count, deterministic=True, flags=flags
            )
    for name, aggregate in _aggregates(scalars).items():
        connection.create_aggregate_function(name, functools.partial(_steps, name, aggregate), 1, flags=flags)
    for table in TABLES:
        name = f"{table.name}_json"
        connection.create_scalar_function(name, _named(name, _json(table, source)), -1, flags=flags)
    # apsw's types ask for every method a module can have; it takes what there is.
    modules: dict[str, Any] = {table.name: Module(source, table) for table in TABLES}
    modules["fingerprint_list"] = FingerprintList(source)
    for name, module in modules.items():
        connection.create_module(name, module, use_bestindex_object=True, eponymous_only=True, read_only=True)
    if index is None:
        changing: Any = DocIndex(here)
        connection.create_module(
            "doc_index", changing, use_bestindex_object=True, use_no_change=True, eponymous=True
        )


def _register_sqlite3(connection: sqlite3.Connection, source: IndexSource) -> None:
    scalars = Scalars(source)
    told = _Told(source)
    for name, (function, counts) in scalars.all().items():
        for count in counts:
            wrapped = told.quick(function) if name in _NAME_THEMSELVES else told.of(_named(name, function))
            connection.create_function(name, count, wrapped, deterministic=True)
    for name, aggregate in _aggregates(scalars).items():
        connection.create_aggregate(name, 1, functools.partial(_Told.Aggregate, told, name, aggregate))  # type: ignore[arg-type]
    for table in TABLES:
        name = f"{table.name}_json"
        connection.create_function(name, -1, told.of(_named(name, _json(table, source))))
    connection.create_function("doc_error", 0, told.last)


def _aggregates(scalars: Scalars) -> dict[str, Callable[[], SketchUnion | Common]]:
    return {"doc_sketch_union": SketchUnion, "doc_common": lambda: Common(scalars)}


def _named(name: str, function: Callable[..., Value]) -> Callable[..., Value]:
    """A function whose errors have its name."""
    if name in _NAME_THEMSELVES:
        return function

    @functools.wraps(function)
    def call(*values: Value) -> Value:
        with naming(name):
            return function(*values)

    return call


def _json(table: Table, source: IndexSource) -> Callable[..., Value]:
    return lambda *values: table.as_json(source, *values)


def _steps(name: str, aggregate: Callable[[], SketchUnion | Common]) -> tuple[Any, Any, Any]:
    """An aggregate as apsw wants it."""

    def step(state: SketchUnion | Common, value: Value) -> None:
        with naming(name):
            state.step(value)

    return aggregate(), step, lambda state: state.finalize()


class _Told:
    """Errors in functions on one connection of sqlite3.

    Whatever a function raises, sqlite3 tells its caller only that a "user-defined function raised exception".
    So what it was is written to the log "docindex", and `select doc_error()` gives it.
    """

    def __init__(self, source: IndexSource) -> None:
        self._begin = source.begin if isinstance(source, Beside) else lambda: None
        self._last: str | None = None

    def last(self) -> str | None:
        """What the last error on this connection was, or NULL."""
        return self._last

    def of(self, function: Callable[..., Value]) -> Callable[..., Value]:
        """A function whose errors are remembered."""

        @functools.wraps(function)
        def call(*values: Value) -> Value:
            self._begin()
            self._last = None
            try:
                return function(*values)
            except Exception as error:
                self._remember(error)
                raise

        return call

    def quick(self, function: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
        """The same for a function of two values that is called for every row, and takes no time."""

        def call(x: Value, y: Value) -> Value:
            try:
                return function(x, y)
            except Exception as error:
                self._remember(error)
                raise

        return call

    def _remember(self, error: Exception) -> None:
        self._last = str(error)
        _log.error("%s", error)

    class Aggregate:
        """An aggregate whose errors are remembered."""

        def __init__(self, told: "_Told", name: str, aggregate: Callable[[], SketchUnion | Common]) -> None:
            self._state = aggregate()
            self.step = told.of(_named(name, self._state.step))
            self.finalize = self._state.finalize
