"""The virtual table `fingerprint_list` of apsw: every fingerprint of the index (document, position, hash).

A condition `document = ...` or `hash = ...` is looked up in the index. A statement without such a condition
reads all fingerprints. Must never write.
"""

import functools
from collections.abc import Iterator

import apsw

from docindex.index.scopes import open_scope
from docindex.query.fingerprint_positions import fingerprint_positions
from docindex.sql.sources import IndexSource
from docindex.sql.sql_values import Value, as_integer, schema_name
from docindex.sql.table_functions import Row
from docindex.sql.virtual_tables import (
    EQUAL,
    Condition,
    RowCursor,
    TakenValues,
    conditions_of,
    declaration,
    decoded,
)

_COLUMNS = ("document", "position", "hash")
_HIDDEN = ("schema",)
_NAMES = (*_COLUMNS, *_HIDDEN)
_LOOKED_UP = {"document", "hash"}

# The estimated rows of a hash, of a document and of the whole table, for the order of a join. The unit of
# cost is a row that SQLite reads: 0.2 us.
_OF_HASH, _OF_DOCUMENT, _ALL = 4, 500, 5_000_000
_LOOK_UP, _OUR_ROW = 500.0, 3.0


class FingerprintList:
    """The module of virtual tables for `fingerprint_list`, and its only table."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def Create(self, db: apsw.Connection, *_arguments: str) -> tuple[str, "FingerprintList"]:
        """Declare the table."""
        db.vtab_config(apsw.SQLITE_VTAB_INNOCUOUS)
        return declaration("fingerprint_list", _COLUMNS, _HIDDEN), self

    Connect = Create

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Choose the values that `Filter` gets, and estimate the cost; False if the schema is unknown."""
        taken = TakenValues(info)
        for condition in conditions_of(info):
            name = _looked_up(condition)
            if name == "schema" and not condition.is_known:
                return False
            if name and condition.is_known:
                # SQLite must check a document or a hash again: its comparison depends on the types of values.
                taken.take(condition, name, omit=name == "schema")
        names = taken.names
        rows = _OF_HASH if "hash" in names else _OF_DOCUMENT if "document" in names else _ALL
        info.idxStr = taken.encoded()
        info.estimatedRows = rows
        info.estimatedCost = _LOOK_UP + _OUR_ROW * rows
        return True

    def Open(self) -> RowCursor:
        """A cursor."""
        return RowCursor(self._rows)

    def Disconnect(self) -> None:
        """Do nothing: the table holds no resources."""

    Destroy = Disconnect

    def _rows(self, _number: int, plan: str, values: tuple[Value, ...]) -> Iterator[Row]:
        """The fingerprints for the values that `BestIndexObject` chose, each with its schema."""
        given = decoded(plan, values)
        schema = given.pop("schema", None)
        wanted = {name: as_integer(value) for name, value in given.items()}
        if None in wanted.values():
            return
        scopes = functools.partial(open_scope, self._source.reader(schema_name(schema)), boilerplate=False)
        document, hash_ = wanted.get("document"), wanted.get("hash")
        for position in fingerprint_positions(scopes, document=document, hash_=hash_):
            yield *position, schema


def _looked_up(condition: Condition) -> str:
    """The column of a condition `document = ...`, `hash = ...` or `schema = ...`; "" for other conditions."""
    name = _NAMES[condition.column] if 0 <= condition.column < len(_NAMES) else ""
    return name if condition.operator == EQUAL and name in (*_LOOKED_UP, *_HIDDEN) else ""
