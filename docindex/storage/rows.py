"""Statements in, rows out with the types that the schema says; and the checksums of rows.

Must never trust what a file says, nor know what its tables mean. Every statement names its tables as those of
`main`: a host's temporary table of the same name is not ours, and `borrowed` can put another schema there.
"""

from collections.abc import Iterator, Sequence
from types import NoneType
from typing import Any

import apsw
import xxhash

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64
from docindex.storage.values import signed

Bindings = Sequence[Any]


def stream(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement, one by one; columns of tables have the type that the schema says.

    SQLite holds a column to its type when it writes, not when it reads: in a damaged file an integer
    can come back as a blob, or a text that is no UTF-8.
    """
    kinds: list[set[type] | None] | None = None
    try:
        cursor = db.execute(statement, bindings)
        for row in cursor:
            kinds = kinds or _kinds(cursor)
            for found, kind in zip(row, kinds, strict=True):
                if kind is not None and type(found) not in kind:
                    raise _damaged(db, statement)
            yield row
    except (UnicodeDecodeError, OverflowError) as error:
        raise _damaged(db, statement) from error


def rows(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement, with the types that the schema says, at a third of the price of `stream`."""
    try:
        cursor = db.execute(statement, bindings)
        first = next(cursor, None)
        if first is None:
            return []
        kinds = _kinds(cursor)
        found = [first, *cursor.fetchall()]
    except (UnicodeDecodeError, OverflowError) as error:  # or an impossible id from one row to find another
        raise _damaged(db, statement) from error
    for column, kind in zip(zip(*found, strict=True), kinds, strict=True):
        if kind is not None and not kind.issuperset(map(type, column)):
            raise _damaged(db, statement)
    return found


def rows_for(
    db: apsw.Connection, statement: str, wanted: I64, bindings: Bindings = ()
) -> list[tuple[Any, ...]]:
    """The rows of a statement on ``carray(?)``, its first binding: some numbers, perhaps none."""
    return rows(db, statement, (apsw.carray(wanted), *bindings)) if len(wanted) else []


def _kinds(cursor: apsw.Cursor) -> list[set[type] | None]:
    """The types that the columns of a result may have, None for those of no table."""
    return [
        ({_KINDS[declared], NoneType} if name in _NULLABLE else {_KINDS[declared]})
        if declared in _KINDS
        else None
        for name, declared in cursor.get_description()
    ]


def _damaged(db: apsw.Connection, statement: str) -> CorruptIndex:
    return CorruptIndex(_BAD_ROW.format(db.filename, statement), db.filename)


def value(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> Any:
    """The first column of the first row, or None."""
    found = rows(db, statement, bindings)
    return found[0][0] if found else None


def counter(db: apsw.Connection, table: str) -> int:
    """The greatest id that a table ever gave; 0 before the first."""
    found = value(db, "select seq from main.sqlite_sequence where name = ?", (table,))
    if found is None:
        return 0
    if not (isinstance(found, int) and 0 <= found < _MOST_IDS.get(table, 1 << 43)):
        raise CorruptIndex(f"the counter of {table} is {found!r}, which cannot be; index again", db.filename)
    return found


# Ids are the high bits of other ids: segments have 31, contents and documents 43.
_MOST_IDS = {"segment": (1 << 31) - 2}
_KINDS: dict[str | None, type] = {"INTEGER": int, "TEXT": str, "BLOB": bytes}
_NULLABLE = {"meta", "target", "moved", "digest"}
_BAD_ROW = "{} is damaged: {!r} reads a value of a type it should not have; restore a backup, or index again"


def row_sum(*values: object) -> int:
    """The checksum of a row: xxh3-64 of its values in their order, read signed.

    Of the values as Python writes them, blobs by their length; then of the blobs.
    """
    blobs: list[bytes] = []
    shown: list[object] = []
    for item in values:
        if isinstance(item, bytes):
            blobs.append(item)
            shown.append(len(item))
        else:
            shown.append(item)
    head = repr(shown).encode("utf-8", "surrogatepass")
    return signed(xxhash.xxh3_64_intdigest(b"".join((head, *blobs))))
