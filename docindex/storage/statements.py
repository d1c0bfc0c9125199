"""Run statements, check the types of what they return, and compute the checksums of rows.

Every statement names its tables as those of `main`. So a temporary table of the host with the same name is
not used, and `host_connection` can replace `main` by an attached database. Must never trust the values in a
file, and must never know what they mean.
"""

import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import Any

import apsw
import numpy as np
import xxhash

from docindex.arrays.ranges import I64
from docindex.errors import CorruptIndex
from docindex.storage.other_connection import bound_array
from docindex.storage.values import signed

Bindings = Sequence[Any]
Kinds = Sequence[frozenset[type] | None]


def stream(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a statement one by one, and check the types of their values.

    SQLite checks types when it writes, not when it reads: a damaged file can return a blob instead of an
    integer, or a text that is not UTF-8. Raises `CorruptIndex` for a type that the schema does not allow.
    """
    kinds: Kinds | None = None
    try:
        cursor = db.execute(statement, bindings)
        for row in cursor:
            kinds = kinds or _KNOWN_KINDS.get(statement) or _kinds(cursor, statement)
            for found, kind in zip(row, kinds, strict=True):
                if kind is not None and type(found) not in kind:
                    raise _damaged(db, statement)
            yield row
    except (UnicodeDecodeError, OverflowError) as error:
        raise _damaged(db, statement) from error


def rows(
    db: apsw.Connection, statement: str, bindings: Bindings = (), on: apsw.Cursor | None = None
) -> list[tuple[Any, ...]]:
    """All rows of a statement, with the checks of `stream`, in a third of the time.

    The statement runs on the cursor `on`, if one is given.
    """
    return _checked(db, statement, bindings, on)[0]


def columns(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
    """The same rows as columns; an empty list if there is no row."""
    return _checked(db, statement, bindings, None)[1]


def _checked(
    db: apsw.Connection, statement: str, bindings: Bindings, on: apsw.Cursor | None
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows of a statement, and their columns."""
    try:
        cursor = (db if on is None else on).execute(statement, bindings)
        kinds = _KNOWN_KINDS.get(statement)
        if kinds is not None:
            found = cursor.fetchall()
        else:
            first = next(cursor, None)  # the kinds can be asked for only until the last row is read
            if first is None:
                return [], []
            kinds = _kinds(cursor, statement)
            found = [first, *cursor.fetchall()]
        if not found:
            return [], []
    except (UnicodeDecodeError, OverflowError) as error:  # an impossible id overflows in the next query
        raise _damaged(db, statement) from error
    return found, _checked_columns(db, statement, found, kinds)


def _checked_columns(
    db: apsw.Connection, statement: str, found: list[tuple[Any, ...]], kinds: Kinds
) -> list[tuple[Any, ...]]:
    read = list(zip(*found, strict=True))
    for column, kind in zip(read, kinds, strict=True):
        # To collect the types first takes a third of the time of `kind.issuperset(map(type, column))`.
        if kind is not None and not kind.issuperset(set(map(type, column))):
            raise _damaged(db, statement)
    return read


def column_lists(
    db: apsw.Connection, statement: str, bindings: Bindings = (), *, most: int
) -> Iterator[list[tuple[Any, ...]]]:
    """The columns of up to `most` rows of a statement at a time, with the checks of `stream`."""
    try:
        cursor = db.execute(statement, bindings)
        for first in cursor:
            kinds = _KNOWN_KINDS.get(statement) or _kinds(cursor, statement)
            found = [first, *itertools.islice(cursor, most - 1)]
            yield _checked_columns(db, statement, found, kinds)
    except (UnicodeDecodeError, OverflowError) as error:
        raise _damaged(db, statement) from error


def rows_for(
    db: apsw.Connection, statement: str, wanted: I64, bindings: Bindings = ()
) -> list[tuple[Any, ...]]:
    """The rows of a statement whose first binding, for ``carray(?)``, is the array `wanted`."""
    return rows(db, statement, (bound_array(db, wanted), *bindings)) if len(wanted) else []


def columns_for(db: apsw.Connection, statement: str, wanted: I64) -> list[tuple[Any, ...]]:
    """The same as columns; an empty list if there is no row."""
    return columns(db, statement, (bound_array(db, wanted),)) if len(wanted) else []


def _kinds(cursor: apsw.Cursor, statement: str) -> Kinds:
    """The types allowed in each column of a result; None for a column that is not a column of a table."""
    kinds = [
        frozenset(
            {_KINDS[declared], NoneType}
            if name in _NULLABLE or name.endswith("_or_null")
            else {_KINDS[declared]}
        )
        if declared in _KINDS
        else None
        for name, declared in cursor.get_description()
    ]
    if len(_KNOWN_KINDS) < _MOST_KNOWN:  # a host may pass any number of conditions
        _KNOWN_KINDS[statement] = kinds
    return kinds


def _damaged(db: apsw.Connection, statement: str) -> CorruptIndex:
    return CorruptIndex(_BAD_ROW.format(db.filename, statement), db.filename)


def value(db: apsw.Connection, statement: str, bindings: Bindings = ()) -> Any:
    """The first column of the first row, or None if there is no row."""
    found = rows(db, statement, bindings)
    return found[0][0] if found else None


PREFIX = "docindex_"
"""Every table of an index has this prefix: an app's own tables may be in the same file."""
OUR_TABLES = f"select name from main.sqlite_schema where type = 'table' and name glob '{PREFIX}*'"


def counter(db: apsw.Connection, table: str) -> int:
    """The largest id that a table has ever used; 0 if it has not used any."""
    found = value(db, "select seq from main.sqlite_sequence where name = ?", (PREFIX + table,))
    return 0 if found is None else checked_counter(db, table, found)


def checked_counter(db: apsw.Connection, table: str, found: Any) -> int:
    """An id that the counter of a table gave; `CorruptIndex` if it is impossible."""
    if not (isinstance(found, int) and 0 <= found < _MOST_IDS.get(table, 1 << 42)):
        raise CorruptIndex(
            f"the counter of the table {PREFIX}{table} is {found!r}, which is impossible; index again",
            db.filename,
        )
    return found


# Ids are the high bits of other ids: 31 bits for segments, 43 bits for contents and documents. A counter that
# is half-way can only be damage, and leaves room for any batch.
_MOST_IDS = {"segment": 1 << 30}
_KINDS: dict[str | None, type] = {"INTEGER": int, "TEXT": str, "BLOB": bytes}
_NULLABLE = {"meta", "target", "moved", "digest", "meta_column"}
# The kinds of the columns of a statement. Asking for them takes as long as reading a few rows.
_KNOWN_KINDS: dict[str, Kinds] = {}
_MOST_KNOWN = 1000
_BAD_ROW = "{} is damaged: {!r} reads a value of the wrong type; restore a backup, or index again"


_TAG_AND_NUMBER = struct.Struct("<Bq").pack
_NULL, _INTEGER, _TEXT, _BLOB = b"\0", 1, 2, 3


def row_sum(*values: Any) -> int:
    """The checksum of a row with these values, as `schema/0001_first.sql` specifies it.

    It depends only on the values, never on how a version of Python prints them. `TypeError` for a value that
    SQLite would store as another type, such as a numpy integer.

    >>> row_sum(1, "a", None, b"")
    -3341366732432730841
    """
    return signed(xxhash.xxh3_64_intdigest(_checksum_bytes(*values)))


def row_sums(columns: Sequence[Sequence[Any]]) -> list[int]:
    """The checksums of many rows, given their columns, in a third of the time of `row_sum` for each row.

    >>> row_sums([(1, 2), ("a", "b"), (None, b"")])[0] == row_sum(1, "a", None)
    True
    """
    parts: list[Iterable[bytes]] = []
    for kind, some in itertools.groupby(columns, _only_type):
        if kind is int:  # neighbouring columns of numbers take one call for each row
            numbers = list(itertools.chain(*((_TAGS_OF_INTEGERS, column) for column in some)))
            parts.append(map(struct.Struct("<" + "Bq" * (len(numbers) // 2)).pack, *numbers))
        elif kind in (bytes, str):
            tag = itertools.repeat(_BLOB if kind is bytes else _TEXT)
            for column in some:
                data = column if kind is bytes else list(map(str.encode, column))
                parts += [map(_TAG_AND_NUMBER, tag, map(len, data)), data]
        else:
            parts += [map(_checksum_bytes, column) for column in some]
    written = map(b"".join, zip(*parts, strict=True))
    sums: list[int] = np.frombuffer(b"".join(map(xxhash.xxh3_64_digest, written)), ">i8").tolist()
    return sums


_TAGS_OF_INTEGERS = itertools.repeat(_INTEGER)


def _only_type(column: Sequence[Any]) -> type | None:
    """The type of all values of a column; None if there are several."""
    types = set(map(type, column))
    return types.pop() if len(types) == 1 else None


def _checksum_bytes(*values: Any) -> bytes:
    """The bytes from which the checksum of a row with these values is computed."""
    parts = []
    for item in values:
        kind = type(item)
        if kind is int:
            parts.append(_TAG_AND_NUMBER(_INTEGER, item))
        elif kind is bytes:
            parts.append(_TAG_AND_NUMBER(_BLOB, len(item)))
            parts.append(item)
        elif kind is str:
            data = item.encode()
            parts.append(_TAG_AND_NUMBER(_TEXT, len(data)))
            parts.append(data)
        elif item is None:
            parts.append(_NULL)
        else:
            raise TypeError(f"a row has no checksum with a value of the type {kind.__name__}")
    return b"".join(parts)
