"""Index the rows of an app's own table: its triggers, its rows, and the texts that only it has.

Each table that is followed is a source. Its triggers note in `docindex_pending` which rows were added,
changed or removed; they use no function, so every program can write to the table. Must never change a row of
the app.
"""

from collections.abc import Sequence
from typing import Any

import apsw

from docindex.errors import CorruptIndex, FileError, OutOfDate, Refused
from docindex.storage import app_schema
from docindex.storage.other_connection import bound_array
from docindex.storage.rows import PREFIX, rows, value
from docindex.storage.tables import SOURCE, SourceRow
from docindex.storage.values import quoted

_WITH_CONTENT = (
    "select d.key from main.docindex_document as d join main.docindex_sourced as s on s.document = d.id "
    "where d.content = ? and s.source = ?"
)
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
        if app_schema.same_name(row.name, name):
            return row
    raise KeyError(f"the index does not follow a table {name!r}; follow it first")


def follow(db: apsw.Connection, wanted: SourceRow) -> None:
    """Index a table from now on: make its triggers, and queue all its rows.

    Following it again makes lost triggers again. `ValueError` if the table or one of the columns does not
    exist, or if it is followed in another way. `Refused` if the table cannot be read on this connection.
    """
    row = app_schema.as_in_schema(db, wanted)
    for known in sources(db):
        if app_schema.same_name(known.name, row.name):
            if not _is_same(known, row):
                raise ValueError(
                    f"the table {row.name!r} is followed already, in another way; unfollow it first"
                )
            if _make_lost_triggers(db, known):
                queue_all(db, known)
            return
    read(db, row, [""])  # else all questions would fail at the queue
    db.execute(SOURCE.insert, SOURCE.with_sum(row))
    _make_lost_triggers(db, row)
    queue_all(db, row)


def rebuild(db: apsw.Connection, name: str) -> None:
    """Queue all rows of a followed table, and make its lost triggers again."""
    row = source(db, name)
    read(db, row, [""])  # if the table is gone, this error says what to do
    app_schema.as_in_schema(db, row)  # it may have become a view
    _make_lost_triggers(db, row)
    queue_all(db, row)


def unfollow(db: apsw.Connection, name: str) -> list[str]:
    """Stop following a table. Returns the keys of its documents, which the caller removes."""
    name = source(db, name).name
    for event in _EVENTS:
        db.execute(f"drop trigger if exists main.{_trigger(name, event)}")
    keys = [key for (key,) in rows(db, _OF_SOURCE, (name,))]
    db.execute("delete from main.docindex_pending where source = ?", (name,))
    db.execute("delete from main.docindex_sourced where source = ?", (name,))
    db.execute("delete from main.docindex_source where name = ?", (name,))
    return keys


def _is_same(known: SourceRow, row: SourceRow) -> bool:
    names = zip(known[:-1], row[:-1], strict=True)
    return known.prefix == row.prefix and all(app_schema.same_name(a, b) for a, b in names)


def own_keys(db: apsw.Connection, name: str, keys: Sequence[str]) -> list[str]:
    """Those of some keys whose documents are rows of a table."""
    return [key for (key,) in rows(db, _AMONG, (bound_array(db, tuple(keys)), name))] if keys else []


_AMONG = (
    "select d.key from carray(?) as wanted cross join main.docindex_document as d on d.key = wanted.value "
    "join main.docindex_sourced as s on s.document = d.id where s.source = ?"
)


def queue_all(db: apsw.Connection, row: SourceRow) -> None:
    """Queue all rows of a table, and all its documents: those without a row are removed."""
    table, key = quoted(row.name), quoted(row.key_column)
    db.execute(
        "insert or replace into main.docindex_pending (key, source) "
        f"select ?1 || {key}, ?2 from main.{table} where {key} is not null",
        (row.prefix, row.name),
    )
    db.execute(
        f"insert or ignore into main.docindex_pending (key, source) select key, ?1 from ({_OF_SOURCE})",
        (row.name,),
    )


def read(db: apsw.Connection, row: SourceRow, keys: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """The text and the meta of those of some documents whose rows exist, by key. A NULL is no text.

    `OutOfDate` if the app has dropped or renamed the table or a column, `Refused` if only this connection
    cannot read the table.
    """
    names = [key.removeprefix(row.prefix) for key in keys]
    column, text, meta = (quoted(name) for name in (row.key_column, row.text_column, row.meta_column or ""))
    statement = (
        # Expressions, because a value in a table of an app may have any type.
        f"select wanted.value, cast(n.{text} as blob), {f'+n.{meta}' if row.meta_column else 'null'} "
        f"from carray(?) as wanted cross join main.{quoted(row.name)} as n "
        f"on n.{column} = wanted.value where n.{text} is not null"
    )
    try:
        found = rows(db, statement, (bound_array(db, tuple(names)),)) if names else []
    except apsw.SQLError as error:
        raise unreadable(db, row, error) from error
    coding = str(value(db, "pragma main.encoding"))  # that of texts that are read as bytes
    return {row.prefix + name: (data.decode(coding, "replace"), meta) for name, data, meta in found}


def missing(db: apsw.Connection, row: SourceRow) -> int:
    """The number of rows that should be documents, and are not."""
    key = quoted(row.key_column)
    found: int = rows(
        db,
        f"select count(*) from main.{quoted(row.name)} as n "
        f"where n.{key} is not null and n.{quoted(row.text_column)} is not null "
        f"and not exists (select 1 from main.docindex_document as d where d.key = ? || n.{key})",
        (row.prefix,),
    )[0][0]
    return found


def unreadable(db: apsw.Connection, row: SourceRow, error: apsw.SQLError) -> FileError:
    """The error for a followed table that SQLite cannot read."""
    if str(error).startswith(("no such table", "no such column")):
        return OutOfDate(
            f"the table {row.name!r}, which the index follows, cannot be read ({error}); unfollow it, and "
            "follow the table under its new name",
            db.filename,
        )
    # Such as a collation. It must not be an OutOfDate, for which the queue drops the rows of the table.
    return Refused(
        f"the table {row.name!r} cannot be read on this connection ({error}); use a connection of the app, "
        "which has it",
        db.filename,
    )


def external_texts(db: apsw.Connection, content: int) -> list[str]:
    """The texts that those rows have now whose documents have a content, in all tables."""
    found = []
    for row in sources(db):
        keys = [key for (key,) in rows(db, _WITH_CONTENT, (content, row.name))]
        found += [text for text, _ in read(db, row, keys).values()]
    return found


def out_of_date(db: apsw.Connection, name: str) -> OutOfDate:
    """The error for a row whose text is not the one that was indexed."""
    return OutOfDate(
        f"a row of the table {name!r} was changed without its trigger, so the index has no text for it; "
        f"rebuild the documents of {name!r}",
        db.filename,
    )


_EVENTS = ("insert", "update", "delete")


def _trigger(table: str, event: str) -> str:
    return quoted(f"{PREFIX}{table}_{event}")


def lost_triggers(db: apsw.Connection, row: SourceRow) -> dict[str, str]:
    """The statements that make those triggers of a table that are missing or changed, by their events.

    An app that makes its table anew, as SQLite advises for changes that `alter table` cannot do, drops the
    triggers with the old table.
    """
    present = dict(rows(db, _PRESENT, (row.name,)))
    made = zip(_EVENTS, _triggers(row, watch_all=app_schema.has_generated(db, row)), strict=True)
    return {
        event: statement
        for event, statement in made
        # SQLite keeps the statement without the name of the database.
        if present.get(f"{PREFIX}{row.name}_{event}") != f"CREATE TRIGGER {statement.partition(' main.')[2]}"
    }


_PRESENT = "select name, sql from main.sqlite_schema where type = 'trigger' and tbl_name = ? collate nocase"


def _make_lost_triggers(db: apsw.Connection, row: SourceRow) -> bool:
    """Make the triggers that are missing or changed; False if all are there."""
    lost = lost_triggers(db, row)
    for event, statement in lost.items():
        db.execute(f"drop trigger if exists main.{_trigger(row.name, event)}")
        db.execute(statement)
    return bool(lost)


def _triggers(row: SourceRow, *, watch_all: bool) -> list[str]:
    """The statements that make the triggers of a table.

    With `watch_all`, an update of any column counts: SQLite does not say that a generated column changes.
    """
    key, table = quoted(row.key_column), quoted(row.name)
    read = ", ".join(quoted(name) for name in (row.key_column, row.text_column, row.meta_column) if name)
    events = {
        "insert": ("insert", ("new",)),
        "update": ("update" if watch_all else f"update of {read}", ("old", "new")),
        "delete": ("delete", ("old",)),
    }
    prefix, source_ = (text.replace("'", "''") for text in (row.prefix, row.name))
    return [
        f"create trigger main.{_trigger(row.name, event)} after {what} on {table} begin "
        # Not `insert or replace`: an upsert, and `update or fail`, replace that clause by their own.
        + " ".join(
            f"delete from docindex_pending where key = '{prefix}' || {which}.{key}; "
            "insert into docindex_pending (key, source) "
            f"select '{prefix}' || {which}.{key}, '{source_}' where {which}.{key} is not null;"
            for which in rows_of_event
        )
        + " end"
        for event, (what, rows_of_event) in events.items()
    ]
