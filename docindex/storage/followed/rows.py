"""The rows of followed tables: which of them changed, what they have now, and the texts that only they have.

Triggers note changed rows in `docindex_changed`. A row is found by the value in its key column, as the app
stored it: the key of its document is made from that value, but does not tell its type. Must never change a
row of the app.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from docindex.arguments import shown
from docindex.errors import FileError, OutOfDate, Refused
from docindex.storage.followed import schema
from docindex.storage.other_connection import bound_array
from docindex.storage.statements import rows, stream, value
from docindex.storage.tables import SourceRow
from docindex.storage.values import can_be_stored, quoted

MOST_CHARACTERS = 16_000_000
"""How many are indexed at a time: memory must hold them and their sketches."""
MOST_ROWS = 5_000
"""How many rows are indexed at a time, for the same reason."""


class AppRow(NamedTuple):
    """A row of a followed table that is a document."""

    key: str
    value: Any
    """What the row has in the key column."""
    text: str
    meta: Any


class Changes(NamedTuple):
    """What changed rows of a table are now."""

    rows: list[AppRow]
    gone: list[str]
    """The keys of the documents whose rows are gone."""
    taken: int
    """The number of changes."""
    without_key: int
    """The number of rows that are no documents because their values make no key."""
    repeated: set[str]
    """The keys that several rows have. Only one of these rows is a document."""


def changed_source(db: apsw.Connection) -> str | None:
    """The table whose rows have waited longest to be indexed; None if no rows wait."""
    found: str | None = value(db, "select source from main.docindex_changed order by id limit 1")
    return found


def take_changes(db: apsw.Connection, source: SourceRow) -> Changes:
    """Take changed rows of a table out of the queue, as many as memory should hold.

    `OutOfDate` if the table cannot be read.
    """
    last = value(
        db, f"select max(id) from (select id from main.docindex_changed order by id limit {MOST_ROWS})"
    )
    coding = str(value(db, "pragma main.encoding"))
    found: dict[str, AppRow] = {}
    repeated = set()
    without_key = characters = previous = 0
    for row in _read(db, source, _CHANGED, last):
        if characters >= MOST_CHARACTERS and row.number != previous:
            last = previous
            break
        previous = row.number
        made = _made(source, coding, row)
        if made is None:
            without_key += 1
            continue
        if made.key in found and found[made.key].text != made.text:
            repeated.add(made.key)
        found[made.key] = made
        characters += len(made.text)
    shadowed = {
        key for key, owner in _owners(db, source, last, found) if not _is_same(owner, found[key].value)
    }
    of_documents = rows(db, _DOCUMENTS_OF_CHANGES, (source.name, last, source.prefix))
    taken = rows(db, _TAKE, (source.name, last))
    gone = [key for (key,) in of_documents if key not in found]
    present = [row for key, row in found.items() if key not in shadowed]
    return Changes(present, gone, len(taken), without_key, repeated | shadowed)


def _owners(db: apsw.Connection, source: SourceRow, last: int, found: Iterable[str]) -> list[tuple[str, Any]]:
    """The documents with some keys that belong to rows of the table which did not change, by their values."""
    keys = tuple(found)
    return rows(db, _OWNERS, (bound_array(db, keys), source.name, last)) if keys else []


def _is_same(a: Any, b: Any) -> bool:
    """Whether two values of SQLite are the same, unlike 7 and '7', or 1 and 1.0."""
    return type(a) is type(b) and a == b


def drop_changes(db: apsw.Connection, name: str) -> int:
    """Forget the changed rows of a table that does not exist any longer. Returns their number."""
    return len(rows(db, "delete from main.docindex_changed where source = ? returning id", (name,)))


def queue_all(db: apsw.Connection, source: SourceRow) -> None:
    """Note all rows of a table as changed, and all its documents: those without a row are removed."""
    key = quoted(source.key_column)
    for values in (
        f"select {key} as value from main.{quoted(source.name)} where {key} is not null",
        "select value from main.docindex_sourced where source = ?1",
    ):
        db.execute(
            f"insert into main.docindex_changed (source, value) select ?1, v.value from ({values}) as v "
            "where not exists (select 1 from main.docindex_changed as c where c.source = ?1 "
            "and c.value = +v.value collate binary and typeof(c.value) = typeof(v.value))",
            (source.name,),
        )


def count_rows(db: apsw.Connection, source: SourceRow) -> int:
    """The number of rows of a table that are documents."""
    found: int = value(db, "select count(*) from main.docindex_sourced where source = ?", (source.name,))
    return found


def missing(db: apsw.Connection, source: SourceRow) -> int:
    """The number of rows that should be documents, and are not."""
    key = quoted(source.key_column)
    found: int = rows(
        db,
        f"select count(*) from main.{quoted(source.name)} as n "
        f"where n.{key} is not null and n.{quoted(source.text_column)} is not null "
        f"and (typeof(n.{key}) <> 'text' or instr(n.{key}, char(0)) = 0) "  # else it makes no key
        "and not exists (select 1 from main.docindex_document as d "
        "join main.docindex_sourced as s on s.document = d.id and s.source = ?2 "
        f"where d.key = ?1 || {_key_text(f'n.{key}')})",
        (source.prefix, source.name),
    )[0][0]
    return found


def repeated_key(db: apsw.Connection, source: SourceRow) -> str | None:
    """What follows the prefix in the key of two rows of a table; None if all keys are different."""
    key = f"'' || {_key_text(quoted(source.key_column))}"  # 7 and '7' make the same key
    statement = (
        f"select cast({key} as blob) from main.{quoted(source.name)} "
        f"where {quoted(source.key_column)} is not null group by {key} having count(*) > 1 limit 1"
    )
    found = value(db, statement)
    return None if found is None else found.decode(str(value(db, "pragma main.encoding")), "replace")


def taken_key(db: apsw.Connection, source: SourceRow) -> str | None:
    """The key of a document that a row of a table would have, but another document has; or None."""
    key = quoted(source.key_column)
    statement = (
        f"select d.key from main.{quoted(source.name)} as n "
        f"cross join main.docindex_document as d on d.key = ?1 || {_key_text(f'n.{key}')} "
        f"where n.{quoted(source.text_column)} is not null limit 1"
    )
    found: str | None = value(db, statement, (source.prefix,))
    return found


def others(db: apsw.Connection, keys: Sequence[str], name: str | None) -> set[str]:
    """Those of some keys that documents have which are not rows of the table `name`.

    Without a name: those that rows of any table have.
    """
    if not keys:
        return set()
    wanted = bound_array(db, tuple(keys))
    if name is None:
        return {key for (key,) in rows(db, _AMONG_ROWS, (wanted,))}
    return {key for (key,) in rows(db, _AMONG_OTHERS, (wanted, name))}


def table_with(db: apsw.Connection, document: int) -> str | None:
    """The table in which a document is a row; None for a document of the index alone."""
    found: str | None = value(db, "select source from main.docindex_sourced where document = ?", (document,))
    return found


def refuse_unreadable(db: apsw.Connection, source: SourceRow) -> None:
    """Raise an error if a table cannot be read on this connection."""
    for _ in _read(db, source, _CHANGED, 0):
        pass


def unreadable(db: apsw.Connection, source: SourceRow, error: apsw.SQLError) -> FileError:
    """The error for a followed table that SQLite cannot read."""
    if schema.is_gone(db, source):
        return OutOfDate(
            f"the table {source.name!r}, which the index follows, cannot be read ({error}); unfollow it, and "
            "follow the table as it is now",
            db.filename,
        )
    return Refused(  # such as a collation
        f"the table {source.name!r} cannot be read on this connection ({error}); use one of the app, "
        "which has it",
        db.filename,
    )


def refuse_rows(db: apsw.Connection, keys: Iterable[str]) -> None:
    """Raise a `ValueError` if one of the documents with some keys is a row of a followed table."""
    if value(db, "select 1 from main.docindex_source limit 1") is None:
        return
    for key in sorted(others(db, list(keys), None)):
        raise ValueError(
            f"the document {shown(key)} is a row of a table that the index follows; change the row there"
        )


def texts(db: apsw.Connection, source: SourceRow, content: int) -> Iterator[str]:
    """The texts that those rows of a table have now whose documents have a content."""
    coding = str(value(db, "pragma main.encoding"))
    for row in _read(db, source, _OF_CONTENT, content):
        yield row.text.decode(coding, "replace")


def _key_text(column: str) -> str:
    """The expression for what follows the prefix in the key of a document. A BLOB is in hexadecimal."""
    return f"case typeof({column}) when 'blob' then hex({column}) else {_text(column)} end"


def _text(column: str) -> str:
    """The expression for a column as a text. The versions of SQLite write a REAL with 15 digits alike."""
    return f"case typeof({column}) when 'real' then printf('%!.15g', {column}) else {column} end"


# The tables that name the rows to read, the column with their values, and the condition.
_Where = tuple[str, str, str]
_CHANGED: _Where = ("main.docindex_changed as c", "c.value", "+c.source = ?1 and c.id <= ?2 order by c.id")
_OF_CONTENT: _Where = (
    "main.docindex_document as c cross join main.docindex_sourced as s on s.document = c.id",
    "s.value",
    "c.content = ?2 and s.source = ?1",
)


class _Read(NamedTuple):
    """A row of an app's table as SQLite gives it. Its texts are bytes, because they may be no UTF-8."""

    number: int
    """The id in the first of the tables that name the rows."""
    kind: str
    value: Any
    key: bytes
    text: bytes
    meta: Any


def _read(db: apsw.Connection, source: SourceRow, where: _Where, number: int) -> Iterator[_Read]:
    """The rows of a table that are texts, among some; `OutOfDate` if the table cannot be read."""
    tables, value_, condition = where
    key, text = (f"n.{quoted(name)}" for name in (source.key_column, source.text_column))
    meta = "null" if source.meta_column is None else f"n.{quoted(source.meta_column)}"
    statement = (
        f"select c.id, typeof({key}), {_without_text(key)}, cast({_key_text(key)} as blob), "
        f"cast({_text(text)} as blob), {_without_text(meta)}, typeof({meta}) "
        f"from {tables} cross join main.{quoted(source.name)} as n on {key} = {value_} "
        f"where {text} is not null and {condition}"
    )
    try:
        for *columns, kind_of_meta in stream(db, statement, (source.name, number)):
            row = _Read(*columns)
            yield row._replace(meta=_TextBytes(row.meta)) if kind_of_meta == "text" else row
    except apsw.SQLError as error:
        raise unreadable(db, source, error) from error


def _without_text(column: str) -> str:
    """A column whose texts are read as bytes. It is an expression, so its value may have any type."""
    return f"case typeof({column}) when 'text' then cast({column} as blob) else {column} end"


class _TextBytes(bytes):
    """A text as bytes, unlike a BLOB."""


def _made(source: SourceRow, coding: str, row: _Read) -> AppRow | None:
    """The document that a row is; None if its value makes no key."""
    try:
        key = source.prefix + row.key.decode(coding)
    except UnicodeDecodeError:
        return None
    if not can_be_stored(key):
        return None
    meta = row.meta.decode(coding, "replace") if isinstance(row.meta, _TextBytes) else row.meta
    value_ = row.value.decode(coding) if row.kind == "text" else row.value
    return AppRow(key, value_, row.text.decode(coding, "replace"), meta)


_DOCUMENTS_OF_CHANGES = (
    f"select d.key from main.docindex_changed as c "
    f"cross join main.docindex_document as d on d.key = ?3 || {_key_text('c.value')} "
    "cross join main.docindex_sourced as s on s.document = d.id and s.source = ?1 "
    "where +c.source = ?1 and c.id <= ?2 and s.value = c.value and typeof(s.value) = typeof(c.value)"
)
_OWNERS = (
    "select d.key, s.value from carray(?) as wanted "
    "cross join main.docindex_document as d on d.key = wanted.value "
    "join main.docindex_sourced as s on s.document = d.id and s.source = ? where not exists "
    "(select 1 from main.docindex_changed as c where c.source = s.source and c.value = s.value "
    "and typeof(c.value) = typeof(s.value) and c.id <= ?)"
)
_TAKE = "delete from main.docindex_changed where +source = ? and id <= ? returning id"
_AMONG = (
    "select d.key from carray(?) as wanted cross join main.docindex_document as d on d.key = wanted.value "
)
_AMONG_ROWS = f"{_AMONG} join main.docindex_sourced as s on s.document = d.id"
_AMONG_OTHERS = (
    f"{_AMONG} where not exists "
    "(select 1 from main.docindex_sourced as s where s.document = d.id and s.source = ?)"
)
