"""Follow tables of an app: which they are, and their triggers.

Each table that is followed is a source. Its triggers note in `docindex_changed` which rows were added,
changed or removed; they use no function, so every program can write to the table. Must never change a row of
the app.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from docindex.argument_checks import shown
from docindex.errors import CorruptIndex, OutOfDate
from docindex.storage import app_rows
from docindex.storage.rows import PREFIX, rows
from docindex.storage.tables import SOURCE, SourceRow
from docindex.storage.values import quoted, text_literal

_OF_SOURCE = (
    "select d.key from main.docindex_sourced as s "
    "cross join main.docindex_document as d on d.id = s.document where s.source = ?1"
)


def sources(db: apsw.Connection) -> list[SourceRow]:
    """The tables that are followed, verified."""
    found = [SOURCE.checked(row) for row in rows(db, SOURCE.select)]
    if None in found:
        raise CorruptIndex("a row of docindex_source was changed; follow the table again", db.filename)
    return [row for row in found if row is not None]


def source(db: apsw.Connection, name: str) -> SourceRow:
    """The followed table with a name; `KeyError` if there is none."""
    for row in sources(db):
        if row.name == name:
            return row
    known = ", ".join(repr(row.name) for row in sources(db)) or "no table"
    raise KeyError(f"the index does not follow a table {name!r}; it follows {known}")


def follow(db: apsw.Connection, row: SourceRow) -> None:
    """Index a table from now on: make its triggers, and queue all its rows. Following it again does nothing.

    `ValueError` if the table or one of the columns does not exist, or if it is followed in another way.
    """
    known = sources(db)
    if row in known:
        return
    for other in known:
        if other.name == row.name:
            raise ValueError(
                f"the table {row.name!r} is followed already, with the columns {other.key_column!r} and "
                f"{other.text_column!r}, the meta {other.meta_column!r} and the prefix {other.prefix!r}; "
                "unfollow it first"
            )
    if row.name.lower().startswith((PREFIX, "sqlite_")):
        raise ValueError(f"the table {row.name!r} belongs to docindex or SQLite; follow a table of your own")
    columns = _columns(db, row.name)
    if not columns:
        raise ValueError(f"there is no table {row.name!r} in {db.filename}")
    for column in (row.key_column, row.text_column, row.meta_column):
        if column is not None and column not in columns:
            raise ValueError(
                f"the table {row.name!r} has no column {column!r}; it has {', '.join(map(repr, columns))}"
            )
    _refuse_unclear_keys(db, row, known)
    db.execute(SOURCE.insert, SOURCE.with_sum(row))
    for statement in _triggers(db, row):
        db.execute(statement)
    app_rows.queue_all(db, row)


def _refuse_unclear_keys(db: apsw.Connection, row: SourceRow, known: Sequence[SourceRow]) -> None:
    for other in known:
        if other.prefix == row.prefix:
            raise ValueError(
                f"the documents of the table {other.name!r} have the prefix {row.prefix!r} too, so two "
                f"rows could have one key; follow {row.name!r} with another prefix, such as '{row.name}/'"
            )
    twice = app_rows.repeated_key(db, row)
    if twice is not None:
        raise ValueError(
            f"two rows of the table {row.name!r} have the key {shown(twice)}; name "
            "a key column whose values are all different"
        )
    taken = app_rows.taken_key(db, row)
    if taken is not None:
        raise ValueError(
            f"the index has a document {shown(taken)} already, as a row of {row.name!r} would be called; "
            f"follow the table with another prefix, such as '{row.name}/'"
        )


def unfollow(db: apsw.Connection, name: str) -> list[str]:
    """Stop following a table. Returns the keys of its documents, which the caller removes."""
    source(db, name)
    for event in _EVENTS:
        db.execute(f"drop trigger if exists main.{_trigger(name, event)}")
    keys = [key for (key,) in rows(db, _OF_SOURCE, (name,))]
    db.execute("delete from main.docindex_changed where source = ?", (name,))
    db.execute("delete from main.docindex_sourced where source = ?", (name,))
    db.execute("delete from main.docindex_source where name = ?", (name,))
    return keys


def external_texts(db: apsw.Connection, content: int) -> Iterator[str]:
    """The texts that those rows have now whose documents have a content, in all tables."""
    for row in sources(db):
        yield from app_rows.texts(db, row, content)


def is_gone(db: apsw.Connection, row: SourceRow) -> bool:
    """Whether the app has dropped or renamed a table or one of its columns."""
    return not {row.key_column, row.text_column, row.meta_column or row.key_column}.issubset(
        _columns(db, row.name)
    )


def _columns(db: apsw.Connection, table: str) -> list[str]:
    return [found[1] for found in _table_info(db, table)]


def _table_info(db: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
    return rows(db, f"pragma main.table_info({quoted(table)})")


def out_of_date(db: apsw.Connection, name: str) -> OutOfDate:
    """The error for a row whose text is not the one that was indexed."""
    return OutOfDate(
        f"a row of the table {name!r} was changed without its trigger, so the index has no text for it; "
        f"rebuild the documents of {name!r}",
        db.filename,
    )


_EVENTS = ("insert", "update", "delete", "before_insert", "before_update")


def _trigger(table: str, event: str) -> str:
    return quoted(f"{PREFIX}{table}_{event}")


def _triggers(db: apsw.Connection, row: SourceRow) -> list[str]:
    """The statements that make the triggers of a table."""
    table, key = quoted(row.name), quoted(row.key_column)
    read = {row.key_column, row.text_column, row.meta_column or row.key_column}
    new, old = _noting(row, f"new.{key}"), _noting(row, f"old.{key}")
    events = {
        "insert": ("after insert", new),
        "update": (f"after update of {_listed(read)}", old + new),
        "delete": ("after delete", old),
    }
    unique = _unique(db, row)
    if unique:
        events["before_insert"] = ("before insert", _noting_replaced(row, unique))
        columns = {name for names in unique for name in names}
        events["before_update"] = (
            f"before update of {_listed(columns)}",
            _noting_replaced(row, unique, f"and n.{key} is not old.{key}"),
        )
    return [
        f"create trigger main.{_trigger(row.name, event)} {when} on {table} begin {actions}end"
        for event, (when, actions) in events.items()
    ]


def _noting(row: SourceRow, value: str, rows_: str = "where true") -> str:
    """The statement of a trigger that notes the rows which have or had a value in the key column."""
    name = text_literal(row.name)
    return (
        # Not `insert or ignore`: a statement of the app, such as `update or fail`, puts its own clause there.
        f"insert into docindex_changed (source, value) select distinct {name}, {value} {rows_} "
        f"and {value} is not null and not exists "
        # The + is for the index: with the type of the column, SQLite would convert each `value` first.
        f"(select 1 from docindex_changed where source = {name} and value = +{value}); "
    )


def _noting_replaced(row: SourceRow, unique: list[tuple[str, ...]], further: str = "") -> str:
    """The statements of a trigger that note the rows which a clause `or replace` is about to remove.

    SQLite runs no other trigger for them.
    """
    statements = []
    for names in unique:
        same = " and ".join(f"n.{name} = new.{name}" for name in map(quoted, names))
        rows_ = f"from {quoted(row.name)} as n where {same} {further}"
        statements.append(_noting(row, f"n.{quoted(row.key_column)}", rows_))
    return "".join(statements)


def _unique(db: apsw.Connection, row: SourceRow) -> list[tuple[str, ...]]:
    """The columns that together are different in each row, other than the key column alone."""
    found = set()
    for _, name, kind, _, _, part in _table_info(db, row.name):
        if (
            part and kind.upper() == "INTEGER" and name != row.key_column
        ):  # perhaps the rowid, without an index
            found.add((name,))
    for _, index, is_unique, *_ in rows(db, f"pragma main.index_list({quoted(row.name)})"):
        parts = [part[2:] for part in rows(db, f"pragma main.index_xinfo({quoted(index)})") if part[-1]]
        is_key = [(name, collation) for name, _, collation, _ in parts] == [(row.key_column, "BINARY")]
        if is_unique and not is_key and all(name is not None for name, *_ in parts):  # None: an expression
            found.add(tuple(name for name, *_ in parts))
    return sorted(found)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, sorted(names)))
