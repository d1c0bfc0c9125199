"""Make and verify the triggers on the tables that an index follows.

They note in `docindex_changed` which rows were added, changed or removed. They use no function, so every
program can write to the table.
"""

from collections.abc import Iterable

import apsw

from docindex.storage import app_schema
from docindex.storage.rows import PREFIX, rows
from docindex.storage.tables import SourceRow
from docindex.storage.values import quoted, text_literal

_EVENTS = ("insert", "update", "delete", "before_insert", "before_update")
_PRESENT = "select name, sql from main.sqlite_schema where type = 'trigger' and tbl_name = ? collate nocase"


def lost_triggers(db: apsw.Connection, row: SourceRow) -> dict[str, str]:
    """The statements that make those triggers of a table that are missing or changed, by their events.

    An app that makes its table anew, as SQLite advises for changes that `alter table` cannot do, drops the
    triggers with the old table.
    """
    present = dict(rows(db, _PRESENT, (row.name,)))
    return {
        event: statement
        for event, statement in _triggers(db, row).items()
        # SQLite keeps the statement without the name of the database.
        if present.get(f"{PREFIX}{row.name}_{event}") != f"CREATE TRIGGER {statement.partition(' main.')[2]}"
    }


def make_lost_triggers(db: apsw.Connection, row: SourceRow) -> bool:
    """Make the triggers that are missing or changed; False if all are there."""
    lost = lost_triggers(db, row)
    for event, statement in lost.items():
        db.execute(f"drop trigger if exists main.{_trigger(row.name, event)}")
        db.execute(statement)
    return bool(lost)


def drop_triggers(db: apsw.Connection, table: str) -> None:
    """Drop all triggers of a table that the index follows."""
    for event in _EVENTS:
        db.execute(f"drop trigger if exists main.{_trigger(table, event)}")


def _trigger(table: str, event: str) -> str:
    return quoted(f"{PREFIX}{table}_{event}")


def _triggers(db: apsw.Connection, row: SourceRow) -> dict[str, str]:
    """The statements that make the triggers of a table, by their events."""
    key = quoted(row.key_column)
    read = {row.key_column, row.text_column, row.meta_column or row.key_column}
    # SQLite does not say that a generated column changes.
    of_columns = "" if app_schema.has_generated(db, row) else f" of {_listed(read)}"
    new, old = _noting(row, f"new.{key}"), _noting(row, f"old.{key}")
    made = {
        "insert": ("after insert", new),
        "update": (f"after update{of_columns}", old + new),
        "delete": ("after delete", old),
    }
    unique = _unique(db, row)
    if unique:
        columns = {name for names in unique for name in names}
        made["before_insert"] = ("before insert", _noting_replaced(row, unique))
        made["before_update"] = (
            f"before update of {_listed(columns)}",
            _noting_replaced(row, unique, f"and n.{key} is not old.{key}"),
        )
    return {
        event: f"create trigger main.{_trigger(row.name, event)} {when} on {quoted(row.name)} "
        f"begin {actions}end"
        for event, (when, actions) in made.items()
    }


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
    for _, name, kind, _, _, part, _ in rows(db, f"pragma main.table_xinfo({quoted(row.name)})"):
        if (
            part and kind.upper() == "INTEGER" and name != row.key_column
        ):  # perhaps the rowid: it has no index
            found.add((name,))
    for _, index, is_unique, *_ in rows(db, f"pragma main.index_list({quoted(row.name)})"):
        parts = [part[2:] for part in rows(db, f"pragma main.index_xinfo({quoted(index)})") if part[-1]]
        is_key = [(name, collation) for name, _, collation, _ in parts] == [(row.key_column, "BINARY")]
        if is_unique and not is_key and all(name is not None for name, *_ in parts):  # None: an expression
            found.add(tuple(name for name, *_ in parts))
    return sorted(found)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, sorted(names)))
