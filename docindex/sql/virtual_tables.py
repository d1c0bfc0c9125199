"""Turn table functions into virtual tables of apsw, so that `doc_search(?)` works anywhere in a join.

For every order of a join, SQLite asks what an access would cost, given the values that are known at that
point. An access that lacks an argument is refused, so that SQLite takes another order. The table functions
give the rows. Must never read an index itself, except to estimate costs.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import apsw
import xxhash

from docindex.sql.sources import IndexSource, document_count
from docindex.sql.sql_values import Value, errors_from, schema_name
from docindex.sql.table_functions import Row, TableFunction
from docindex.storage.values import signed

EQUAL = apsw.SQLITE_INDEX_CONSTRAINT_EQ
_AT_LEAST = {apsw.SQLITE_INDEX_CONSTRAINT_GE, apsw.SQLITE_INDEX_CONSTRAINT_GT}
_AT_MOST = {apsw.SQLITE_INDEX_CONSTRAINT_LE, apsw.SQLITE_INDEX_CONSTRAINT_LT}
_LIMIT = apsw.SQLITE_INDEX_CONSTRAINT_LIMIT

# The names of the values that are not parameters: the bounds of conditions, and LIMIT.
_LEAST, _MOST, _MOST_ROWS = ">=", "<=", "limit"
_GREATEST_DISTANCE = 63


class Condition(NamedTuple):
    """A condition that the rows of an access have to meet."""

    number: int
    column: int
    operator: int
    is_known: bool
    """Whether the value that the column is compared with is known at that point of the join."""


def conditions_of(info: apsw.IndexInfo) -> list[Condition]:
    """The conditions that SQLite offers for an access."""
    return [
        Condition(
            number,
            info.get_aConstraint_iColumn(number),
            info.get_aConstraint_op(number),
            info.get_aConstraint_usable(number),
        )
        for number in range(info.nConstraint)
    ]


class TakenValues:
    """Collects the names of the values that a plan passes to `Filter`; `encoded` is the plan's `idxStr`."""

    def __init__(self, info: apsw.IndexInfo) -> None:
        self._info = info
        self.names: list[str] = []

    def take(self, condition: Condition, name: str, *, omit: bool) -> bool:
        """Tell SQLite to pass the value of a condition; with `omit`, SQLite does not check the condition.

        False if a value of that name is already taken: then SQLite has to check this condition.
        """
        if name in self.names:
            return False
        self.names.append(name)
        self._info.set_aConstraintUsage_argvIndex(condition.number, len(self.names))
        self._info.set_aConstraintUsage_omit(condition.number, omit)
        return True

    def encoded(self) -> str:
        """The names in their order; EXPLAIN QUERY PLAN shows them."""
        return ",".join(self.names)


def decoded(plan: str, values: tuple[Value, ...]) -> dict[str, Value]:
    """The values that `Filter` got, by the names that `TakenValues` encoded."""
    return dict(zip(plan.split(",") if plan else (), values, strict=True))


def declaration(name: str, columns: Iterable[str], hidden: Iterable[str]) -> str:
    """The SQL that declares a virtual table."""
    names = [f'"{column}"' for column in columns] + [f'"{column}" hidden' for column in hidden]
    return f"create table {name} ({', '.join(names)})"


class RowCursor:
    """A cursor of a virtual table, over the rows that an answer gives."""

    def __init__(self, answer: Callable[[str, tuple[Value, ...]], Iterable[Row]]) -> None:
        self._answer = answer
        self._rows: Iterator[Row] = iter(())
        self._row: Row | None = None

    def Filter(self, _number: int, plan: str | None, values: tuple[Value, ...]) -> None:
        """Go to the first row."""
        self._rows = iter(self._answer(plan or "", values))
        self.Next()

    def Next(self) -> None:
        """Go to the next row."""
        self._row = next(self._rows, None)

    def Eof(self) -> bool:
        """Whether there are no more rows."""
        return self._row is None

    def Column(self, number: int) -> Any:
        """A value of the row."""
        return self.Rowid() if number < 0 or self._row is None else self._row[number]

    def Rowid(self) -> int:
        """The hash of the row. SQLite uses it to drop a row that two terms of an OR both find.

        It is compared within one statement only, and never stored.
        """
        return signed(xxhash.xxh3_64_intdigest(repr(self._row).encode("utf-8", "surrogatepass")))

    def Close(self) -> None:
        """Drop the rows."""
        self._rows = iter(())


class TableModule:
    """The module of virtual tables for one table function, and its only table, which has the same name."""

    def __init__(self, source: IndexSource, table: TableFunction) -> None:
        self._source = source
        self._table = table
        # The number of documents when the table was last used. It must not be read while a plan is made: if
        # another connection has changed the schema, SQLite cannot read the new schema at that time.
        self._documents = 10_000
        self._names = (*table.columns, *table.hidden)

    def Create(self, db: apsw.Connection, *_arguments: str) -> tuple[str, "TableModule"]:
        """Declare the table."""
        # The table reads only things that any statement can read, so views and triggers of a file that is not
        # trusted may use it.
        db.vtab_config(apsw.SQLITE_VTAB_INNOCUOUS)
        return declaration(self._table.name, self._table.columns, self._table.hidden), self

    Connect = Create

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Choose the values that `Filter` gets, and estimate the cost; False if an argument is unknown."""
        conditions = conditions_of(info)
        if any(self._is_argument(condition) and not condition.is_known for condition in conditions):
            return False
        taken = TakenValues(info)
        done = [self._take(taken, condition) for condition in conditions if condition.operator != _LIMIT]
        info.orderByConsumed = is_ordered = self._is_ordered(info)
        # Where SQLite still has to check, skip or sort rows, it needs all of them.
        if self._table.limit and all(done) and (is_ordered or not info.nOrderBy):
            _take_limit(taken, conditions)
        info.idxStr = taken.encoded()
        info.estimatedCost = self._cost() if not self._missing(taken.names) else 1e15
        info.estimatedRows = self._table.rows
        return True

    def Open(self) -> RowCursor:
        """A cursor."""
        return RowCursor(self._rows)

    def Disconnect(self) -> None:
        """Do nothing: the table holds no resources."""

    Destroy = Disconnect

    def _is_argument(self, condition: Condition) -> bool:
        return condition.operator == EQUAL and condition.column >= len(self._table.columns)

    def _take(self, taken: TakenValues, condition: Condition) -> bool:
        """Take the value of a condition if it helps; False if SQLite still has to check the condition."""
        if self._is_argument(condition):
            return taken.take(condition, self._names[condition.column], omit=True)
        if condition.is_known and (bound := self._bound_name(condition)):
            taken.take(condition, bound, omit=False)
        return False

    def _bound_name(self, condition: Condition) -> str | None:
        """The name for the value of a condition that narrows a parameter, or None."""
        table = self._table
        column = self._names[condition.column] if condition.column >= 0 else ""
        for name, operators, bound in ((_LEAST, _AT_LEAST, table.least), (_MOST, _AT_MOST, table.most)):
            if bound is not None and bound.column == column and condition.operator in operators:
                return name
        return None

    def _is_ordered(self, info: apsw.IndexInfo) -> bool:
        """Whether the rows come in the order that the statement asks for."""
        wanted = tuple(
            (self._names[info.get_aOrderBy_iColumn(number)], info.get_aOrderBy_desc(number))
            for number in range(info.nOrderBy)
            if info.get_aOrderBy_iColumn(number) >= 0
        )
        return 0 < info.nOrderBy == len(wanted) and wanted == self._table.order[: len(wanted)]

    def _missing(self, given: Iterable[str]) -> list[str]:
        return [name for name in self._table.parameters[: self._table.required] if name not in given]

    def _cost(self) -> float:
        return self._table.cost + self._table.cost_per_document * self._documents

    def _rows(self, plan: str, values: tuple[Value, ...]) -> Iterator[Row]:
        """The rows for the values that `BestIndexObject` chose; the arguments follow the columns."""
        table = self._table
        given = decoded(plan, values)
        if missing := self._missing(given):
            raise TypeError(
                f"{table.name} needs {' and '.join(missing)}: {table.name}({', '.join(table.parameters)})"
            )
        if table.cost_per_document and self._source.has_index():
            self._documents = document_count(self._source.reader(schema_name(given.get("schema"))))
        hidden = tuple(given.get(name) for name in table.hidden)
        with errors_from(table.name):
            for row in table.rows_for(self._source, self._arguments(given)):
                yield row + hidden

    def _arguments(self, given: dict[str, Value]) -> dict[str, Value]:
        """The arguments of the function, narrowed by the conditions on its columns and by LIMIT."""
        table = self._table
        arguments = {name: given[name] for name in table.hidden if name in given}
        least, most, most_rows = given.get(_LEAST), given.get(_MOST), given.get(_MOST_ROWS)
        if table.least and isinstance(least, (int, float)):
            _narrow(arguments, table.least.parameter, table.least.default, min(least, 1.0), max)
        if table.most and isinstance(most, (int, float)):
            distance = int(min(max(most, 0), _GREATEST_DISTANCE))
            _narrow(arguments, table.most.parameter, table.most.default, distance, min)
        if table.limit and isinstance(most_rows, int) and most_rows > 0:
            _narrow(arguments, table.limit, most_rows, most_rows, min)
        return arguments


def _take_limit(taken: TakenValues, conditions: Iterable[Condition]) -> None:
    for condition in conditions:
        if condition.operator == _LIMIT and condition.is_known:
            taken.take(condition, _MOST_ROWS, omit=False)


def _narrow(
    arguments: dict[str, Value],
    name: str,
    default: float,
    value: float,
    narrower: Callable[[float, float], float],
) -> None:
    """Narrow an argument, or its default, to a value; a condition never widens it."""
    own = arguments.get(name)
    if own is None or isinstance(own, (int, float)):
        arguments[name] = narrower(default if own is None else own, value)
