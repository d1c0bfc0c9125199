"""Make and verify the triggers on the tables that an index follows.

They note in `docindex_changed` which rows were added, changed or removed. They use no function, so every
program can write to the table.
"""

import apsw

from docindex.storage.statements import PREFIX, rows
from docindex.storage.tables import SourceRow
from docindex.storage.values import quoted, text_literal

_EVENTS = ("insert", "update", "delete", "before_insert", "before_update")
_PRESENT = "select name, sql from main.sqlite_schema where type = 'trigger' and tbl_name = ? collate nocase"


def lost_triggers(db: apsw.Connection, row: SourceRow) -> dict[str, str]:
    """The statements that make those triggers of a table that are missing or changed, by their events.

    An app that makes its table anew, as SQLite advises for changes that `alter table` cannot do, drops the
    triggers with the old table. An empty statement stands for a trigger that is no longer needed.
    """
    present = dict(rows(db, _PRESENT, (row.name,)))
    made = _triggers(db, row)
    return {
        event: made.get(event, "")
        for event in _EVENTS
        # SQLite keeps the statement without the name of the database.
        if present.get(_name(row.name, event), "")
        != made.get(event, "").replace("create trigger main.", "CREATE TRIGGER ", 1)
    }


def make_lost_triggers(db: apsw.Connection, row: SourceRow) -> bool:
    """Make the triggers that are missing or changed; False if all are there."""
    lost = lost_triggers(db, row)
    for event, statement in lost.items():
        db.execute(f"drop trigger if exists main.{quoted(_name(row.name, event))}")
        db.execute(statement)
    return bool(lost)


def drop_triggers(db: apsw.Connection, table: str) -> None:
    """Drop all triggers of a table that the index follows."""
    for event in _EVENTS:
        db.execute(f"drop trigger if exists main.{quoted(_name(table, event))}")


def _name(table: str, event: str) -> str:
    return f"{PREFIX}{event}_{table}"  # no two tables have the same: no event begins with another one


def _triggers(db: apsw.Connection, row: SourceRow) -> dict[str, str]:
    """The statements that make the triggers of a table, by their events."""
    key = quoted(row.key_column)
    read = sorted({row.key_column, row.text_column, row.meta_column or row.key_column})
    # Not `update of` these columns: that misses generated columns, and a rowid under its other names.
    has_changed = " or ".join(map(_has_changed, map(quoted, read)))
    new, old = _noting(row, f"new.{key}"), _noting(row, f"old.{key}")
    made = {
        "insert": ("after insert", new),
        "update": ("after update", old + new),
        "delete": ("after delete", old),
    }
    if unique := _unique(db, row):
        made["before_insert"] = "before insert", _noting_replaced(row, unique)
        others = f"and n.{key} is not old.{key} collate binary"
        made["before_update"] = "before update", _noting_replaced(row, unique, others)
    when = {"update": f" when {has_changed}"}
    return {
        event: f"create trigger main.{quoted(_name(row.name, event))} {time} on {quoted(row.name)}"
        f"{when.get(event, '')} begin {actions}end"
        for event, (time, actions) in made.items()
    }


def _has_changed(column: str) -> str:
    return f"old.{column} is not new.{column} collate binary or typeof(old.{column}) <> typeof(new.{column})"


def _noting(row: SourceRow, value: str, rows_: str = "where true") -> str:
    """The statement of a trigger that notes the rows which have or had a value in the key column."""
    name = text_literal(row.name)
    return (
        # Not `insert or ignore`: a statement of the app, such as `update or fail`, puts its own clause there.
        f"insert into docindex_changed (source, value) select distinct {name}, {value} {rows_} "
        f"and {value} is not null and not exists (select 1 from docindex_changed where source = {name} "
        # The + is for the index: with the type of the column, SQLite would convert each `value` first.
        f"and value = +{value} collate binary and typeof(value) = typeof({value})); "
    )


# The columns that together are different in each row, and the collation in which each is compared.
_Unique = tuple[tuple[str, str], ...]


def _noting_replaced(row: SourceRow, unique: list[_Unique], further: str = "") -> str:
    """The statements of a trigger that note the rows which a clause `or replace` is about to remove.

    SQLite runs no other trigger for them.
    """
    statements = []
    for columns in unique:
        same = " and ".join(
            f"n.{name} = new.{name} collate {collation}"
            for name, collation in ((quoted(name), quoted(collation)) for name, collation in columns)
        )
        rows_ = f"from {quoted(row.name)} as n where {same} {further}"
        statements.append(_noting(row, f"n.{quoted(row.key_column)}", rows_))
    return "".join(statements)


def _unique(db: apsw.Connection, row: SourceRow) -> list[_Unique]:
    """The columns of all unique indexes, other than that on the key column alone.

    Without indexes on expressions, and those that leave out rows: no simple statement finds what they
    replace.
    """
    found: set[_Unique] = set()
    columns = rows(db, f"pragma main.table_xinfo({quoted(row.name)})")
    parts = [(name, kind.upper()) for _, name, kind, _, _, part, _ in columns if part]
    if len(parts) == 1 and parts[0][1] == "INTEGER" and parts[0][0] != row.key_column:
        found.add(((parts[0][0], "BINARY"),))  # perhaps the rowid, which has no index
    # A column without a type can have 1 and 1.0, which are equal and make different keys.
    is_typed = any(name == row.key_column and kind for _, name, kind, *_ in columns)
    for _, index, is_unique, _, is_partial in rows(db, f"pragma main.index_list({quoted(row.name)})"):
        of_index = rows(db, f"pragma main.index_xinfo({quoted(index)})")
        keys = tuple((name, collation) for _, _, name, _, collation, is_key in of_index if is_key)
        is_of_key = keys == ((row.key_column, "BINARY"),) and is_typed
        if is_unique and not is_partial and not is_of_key and all(name for name, _ in keys):
            found.add(keys)
    return sorted(found)
