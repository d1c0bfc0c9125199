"""Turn table functions into virtual tables of apsw, so that `doc_search(?)` works anywhere in a join.

For every order of a join, SQLite asks what an access would cost, given the values that are known at that
point. An access that lacks an argument is refused, so that SQLite takes another order. The table functions
give the rows. Must never read an index itself.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import apsw
import xxhash

from docindex.sql.sources import IndexSource
from docindex.sql.sql_values import Value, errors_from
from docindex.sql.table_functions import Bound, Row, TableFunction
from docindex.storage.values import signed

EQUAL = apsw.SQLITE_INDEX_CONSTRAINT_EQ
_AT_LEAST = {EQUAL, apsw.SQLITE_INDEX_CONSTRAINT_GE, apsw.SQLITE_INDEX_CONSTRAINT_GT}
_AT_MOST = {EQUAL, apsw.SQLITE_INDEX_CONSTRAINT_LE, apsw.SQLITE_INDEX_CONSTRAINT_LT}
_LIMIT = apsw.SQLITE_INDEX_CONSTRAINT_LIMIT

_MOST_ROWS = "LIMIT"
"""The name of the value of LIMIT. The other values have the name of an argument, or of a bound."""

# Bits of a plan's number: the statement compares one of the numbers; or it selects from the rows or sorts
# them, so that a default limit would hide rows that the statement asks for.
_COMPARED, _ALL_ROWS = 1, 2
_UNLIMITED = -1

# The costs and rows of a call, for the order of a join, in rows that SQLite reads (0.2 us). They must not
# depend on the conditions: otherwise SQLite would sometimes answer the parts of an OR one by one, and then
# the threshold of an OR would depend on the plan.
_ONE_QUESTION, _ALL_DOCUMENTS = (10_000.0, 20), (1_000_000.0, 10_000)
_LAST_RESORT = 1e12
"""The cost of a call that would get a threshold too late, from a table further right in the join."""
_IMPOSSIBLE = 1e15
"""The cost of a call without a required argument: an error."""


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

    def __init__(self, answer: Callable[[int, str, tuple[Value, ...]], Iterable[Row]]) -> None:
        self._answer = answer
        self._rows: Iterator[Row] = iter(())
        self._row: Row | None = None

    def Filter(self, number: int, plan: str | None, values: tuple[Value, ...]) -> None:
        """Go to the first row."""
        self._rows = iter(self._answer(number, plan or "", values))
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
        table, conditions = self._table, conditions_of(info)
        if any(self._is_argument(condition) and not condition.is_known for condition in conditions):
            return False
        info.orderByConsumed = self._is_ordered(info)
        sorts = info.nOrderBy > 0 and not info.orderByConsumed
        taken = TakenValues(info)
        done = [self._take(taken, condition) for condition in conditions if condition.operator != _LIMIT]
        # Where SQLite still has to check, skip or sort rows, it needs all of them.
        if table.limit and all(done) and not sorts:
            _take_limit(taken, conditions)
        # It does not matter whether the other value is known: if not, the threshold is the widest.
        info.idxNum = _COMPARED * any(self._column(condition) in table.numbers for condition in conditions)
        selects = any(not self._is_argument(condition) for condition in conditions)
        if table.limit and _MOST_ROWS not in taken.names and (selects or sorts):
            info.idxNum |= _ALL_ROWS
        info.idxStr = taken.encoded()
        info.estimatedCost, info.estimatedRows = _ONE_QUESTION if table.required else _ALL_DOCUMENTS
        if self._missing(taken.names):
            info.estimatedCost = _IMPOSSIBLE
        elif any(not condition.is_known and self._bound_of(condition) for condition in conditions):
            info.estimatedCost = _LAST_RESORT
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
            return taken.take(condition, self._column(condition), omit=True)
        if condition.is_known and (bound := self._bound_of(condition)):
            taken.take(condition, bound.name, omit=False)
        return False

    def _bound_of(self, condition: Condition) -> Bound | None:
        """The bound that a condition can set, or None."""
        for bound in self._table.bounds:
            operators = _AT_MOST if bound.is_upper else _AT_LEAST
            if bound.column == self._column(condition) and condition.operator in operators:
                return bound
        return None

    def _column(self, condition: Condition) -> str:
        return self._names[condition.column] if condition.column >= 0 else ""

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

    def _rows(self, number: int, plan: str, values: tuple[Value, ...]) -> Iterator[Row]:
        """The rows for the values that `BestIndexObject` chose; the arguments follow the columns."""
        table = self._table
        given = decoded(plan, values)
        if missing := self._missing(given):
            raise TypeError(
                f"{table.name} needs {' and '.join(missing)}: {table.name}({', '.join(table.parameters)})"
            )
        hidden = tuple(map(given.get, table.hidden))
        arguments = {name: given[name] for name in table.hidden if name in given}
        arguments |= table.thresholds(given, compared=bool(number & _COMPARED))
        if table.limit:
            own = given.get(table.limit)
            default = _UNLIMITED if number & _ALL_ROWS else None
            arguments[table.limit] = _fewest(default if own is None else own, given.get(_MOST_ROWS))
        with errors_from(table.name):
            for row in table.rows_for(self._source, arguments):
                yield row + hidden


def _fewest(own: Value, most_rows: Value) -> Value:
    """The argument that limits the rows, given the caller's own one and the value of LIMIT."""
    if not isinstance(most_rows, int) or most_rows == 0 or not (own is None or isinstance(own, int)):
        return own
    finite = [limit for limit in (own, most_rows) if limit is not None and limit >= 0]
    return min(finite) if finite else _UNLIMITED


def _take_limit(taken: TakenValues, conditions: Iterable[Condition]) -> None:
    for condition in conditions:
        if condition.operator == _LIMIT and condition.is_known:
            taken.take(condition, _MOST_ROWS, omit=False)
