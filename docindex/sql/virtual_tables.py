"""Table functions in, virtual tables of apsw out, which work wherever a join puts them.

In every order of a join SQLite asks what an access would cost, given what is known there. An access for
which an argument is not known yet is refused, so that another order is taken. Must never answer itself.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import apsw
import xxhash

from docindex.sql.scalars import Value, naming, schema_of
from docindex.sql.sources import IndexSource
from docindex.sql.table_functions import Row, Table
from docindex.storage.values import signed

EQUAL = apsw.SQLITE_INDEX_CONSTRAINT_EQ
_AT_LEAST = {apsw.SQLITE_INDEX_CONSTRAINT_GE, apsw.SQLITE_INDEX_CONSTRAINT_GT}
_AT_MOST = {apsw.SQLITE_INDEX_CONSTRAINT_LE, apsw.SQLITE_INDEX_CONSTRAINT_LT}
_LIMIT = apsw.SQLITE_INDEX_CONSTRAINT_LIMIT
_OFFSET = apsw.SQLITE_INDEX_CONSTRAINT_OFFSET


def constraints(info: apsw.IndexInfo) -> list[tuple[int, int, int, bool]]:
    """What an access is limited by: number, column, operator, and whether the value is known."""
    return [
        (
            which,
            info.get_aConstraint_iColumn(which),
            info.get_aConstraint_op(which),
            info.get_aConstraint_usable(which),
        )
        for which in range(info.nConstraint)
    ]


def declared(name: str, columns: Iterable[str], hidden: Iterable[str]) -> str:
    """The declaration of a virtual table."""
    names = [f'"{column}"' for column in columns] + [f'"{column}" hidden' for column in hidden]
    return f"create table {name} ({', '.join(names)})"


class Cursor:
    """Goes through the rows that an answer gives."""

    def __init__(self, answer: Callable[[str, tuple[Value, ...]], Iterable[Row]]) -> None:
        self._answer = answer
        self._rows: Iterator[Row] = iter(())
        self._row: Row | None = None

    def Filter(self, _number: int, name: str | None, values: tuple[Value, ...]) -> None:
        """Begin with the first row."""
        self._rows = iter(self._answer(name or "", values))
        self.Next()

    def Next(self) -> None:
        """Go on to the next row."""
        self._row = next(self._rows, None)

    def Eof(self) -> bool:
        """Whether there is none any more."""
        return self._row is None

    def Column(self, number: int) -> Any:
        """A value of the row."""
        return self.Rowid() if number < 0 or self._row is None else self._row[number]

    def Rowid(self) -> int:
        """A number of the row's own: where rows are found in two ways, SQLite tells them apart by it."""
        return signed(xxhash.xxh3_64_intdigest(repr(self._row).encode("utf-8", "surrogatepass")))

    def Close(self) -> None:
        """Let go of the rows."""
        self._rows = iter(())


class Module:
    """A table function as a module of virtual tables, and its one table, which has its name."""

    def __init__(self, source: IndexSource, table: Table) -> None:
        self._source = source
        self._table = table
        # Of the last time that it was used. To ask while a plan is made could never succeed once another
        # connection has changed the schema: SQLite reads it again only when no plan is being made.
        self._documents = 10_000
        self._names = (*table.columns, *table.parameters, "schema")

    def Create(self, db: apsw.Connection, *_arguments: str) -> tuple[str, "Module"]:
        """Declare the table."""
        # It reads what any statement can read: views and triggers of a file that is not trusted may use it.
        db.vtab_config(apsw.SQLITE_VTAB_INNOCUOUS)
        table = self._table
        return declared(table.name, table.columns, (*table.parameters, "schema")), self

    Connect = Create

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Say what an access costs, and which values it takes; False if an argument is not known there."""
        table, taken, complete, limit = self._table, list[str](), True, None
        for which, column, operator, known in constraints(info):
            name = self._names[column] if 0 <= column < len(self._names) else ""
            if operator == _LIMIT:
                limit = which if known else None
            elif operator == EQUAL and column >= len(table.columns):
                if not known:
                    return False
                complete &= self._take(info, which, name, taken, omit=True)
            elif known and (given := self._bound(name, operator)):
                complete = False
                self._take(info, which, given, taken, omit=False)
            else:
                complete = False
        info.orderByConsumed = ordered = self._ordered(info)
        # What SQLite leaves out, skips or sorts, it must see all of.
        if limit is not None and complete and table.limit and (ordered or not info.nOrderBy):
            self._take(info, limit, "limit", taken, omit=False)
        info.idxStr = ",".join(taken)
        self._estimate(info, missing=any(name not in taken for name in table.parameters[: table.required]))
        return True

    def Open(self) -> Cursor:
        """A cursor."""
        return Cursor(self._rows)

    def Disconnect(self) -> None:
        """Nothing is left behind."""

    Destroy = Disconnect

    def _take(self, info: apsw.IndexInfo, which: int, name: str, taken: list[str], *, omit: bool) -> bool:
        """Have a value handed to `_rows`; False if it is there already: then SQLite has to compare."""
        if name in taken:
            return False
        taken.append(name)
        info.set_aConstraintUsage_argvIndex(which, len(taken))
        info.set_aConstraintUsage_omit(which, omit)
        return True

    def _bound(self, column: str, operator: int) -> str | None:
        """How `_rows` calls a condition on a column that a parameter can do the work of, or None."""
        least, most = self._table.least, self._table.most
        if operator in _AT_LEAST and least is not None and column == least[0]:
            return ">="
        return "<=" if operator in _AT_MOST and most is not None and column == most[0] else None

    def _ordered(self, info: apsw.IndexInfo) -> bool:
        wanted = tuple(
            (self._names[info.get_aOrderBy_iColumn(which)], info.get_aOrderBy_desc(which))
            for which in range(info.nOrderBy)
            if info.get_aOrderBy_iColumn(which) >= 0
        )
        return 0 < info.nOrderBy == len(wanted) and wanted == self._table.order[: len(wanted)]

    def _estimate(self, info: apsw.IndexInfo, *, missing: bool) -> None:
        table = self._table
        cost = table.cost + table.cost_per_document * self._documents
        info.estimatedCost = 1e15 if missing else cost
        info.estimatedRows = table.rows

    def _rows(self, taken: str, values: tuple[Value, ...]) -> Iterator[Row]:
        """The rows for what `BestIndexObject` took, with the arguments behind the columns."""
        table = self._table
        given = dict(zip(taken.split(",") if taken else (), values, strict=True))
        hidden = tuple(given.get(name) for name in (*table.parameters, "schema"))
        missing = [name for name in table.parameters[: table.required] if name not in given]
        if missing:
            raise TypeError(
                f"{table.name} needs {' and '.join(missing)}: {table.name}({', '.join(table.parameters)})"
            )
        arguments = {name: value for name, value in given.items() if name in (*table.parameters, "schema")}
        if table.least and isinstance(value := given.get(">="), (int, float)):
            _narrow(arguments, *table.least[1:], min(value, 1.0), max)
        if table.most and isinstance(value := given.get("<="), (int, float)):
            _narrow(arguments, *table.most[1:], int(min(max(value, 0), 63)), min)
        if table.limit and isinstance(value := given.get("limit"), int) and value > 0:
            _narrow(arguments, table.limit, value, value, min)
        if table.cost_per_document and self._source.has_index():
            self._documents = self._source.reader(schema_of(given.get("schema"))).approximate_counts()[0]
        with naming(table.name):
            for row in table.rows_for(self._source, arguments):
                yield row + hidden


def _narrow(
    arguments: dict[str, Value],
    name: str,
    default: float,
    value: float,
    narrower: Callable[[float, float], float],
) -> None:
    """Ask for less than the argument says, or its default: never for more, whatever a condition says."""
    own = arguments.get(name)
    if own is None or isinstance(own, (int, float)):
        arguments[name] = narrower(default if own is None else own, value)
