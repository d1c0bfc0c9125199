"""Find the table and the columns of an app that SQLite finds under some names.

SQLite ignores the case of ASCII letters in names. Takes names as somebody wrote them; returns the names as
the schema has them. Must never read a row of the app.
"""

import apsw

from docindex.storage.statements import PREFIX, rows
from docindex.storage.tables import SourceRow
from docindex.storage.values import quoted

_TABLE = (
    "select name, type, rootpage from main.sqlite_schema "
    "where name = ? collate nocase and type in ('table', 'view')"
)


def same_name(a: str | None, b: str | None) -> bool:
    """Whether SQLite takes two names for the same; also for None and None.

    >>> same_name("Note", "NOTE"), same_name("É", "é")
    (True, False)
    """
    return (a and a.encode().lower()) == (b and b.encode().lower())


def as_in_schema(db: apsw.Connection, row: SourceRow) -> SourceRow:
    """A source with the names of its table and columns as the schema of the file has them.

    `ValueError` if there is no such table or column, or if SQLite cannot tell when its rows change.
    """
    table = _table(db, row.name)
    columns = _columns(db, table)
    key, text, meta = (
        name if name is None else _column(name, table, columns)
        for name in (row.key_column, row.text_column, row.meta_column)
    )
    assert key is not None
    assert text is not None
    return SourceRow(table, key, text, meta, row.prefix)


def is_gone(db: apsw.Connection, row: SourceRow) -> bool:
    """Whether the app has dropped or renamed a table or one of its columns."""
    columns = _columns(db, row.name)
    read = {row.key_column, row.text_column, row.meta_column or row.key_column}
    return not all(any(same_name(column, name) for column in columns) for name in read)


def _table(db: apsw.Connection, name: str) -> str:
    found = rows(db, _TABLE, (name,))
    if not found:
        raise ValueError(f"there is no table {name!r} in {db.filename}")
    stored, kind, root = found[0]
    if stored.lower().startswith((PREFIX, "sqlite_")):
        raise ValueError(f"the table {stored!r} belongs to docindex or SQLite; follow a table of your own")
    if kind == "view":
        raise ValueError(
            f"{stored!r} is a view, whose changes no trigger notices; follow the table that it reads"
        )
    if not root:
        raise ValueError(
            f"{stored!r} is a virtual table, whose changes no trigger notices; follow an ordinary table"
        )
    return str(stored)


def _columns(db: apsw.Connection, table: str) -> list[str]:
    """The columns of a table, with the generated ones."""
    return [name for _, name, *_ in rows(db, f"pragma main.table_xinfo({quoted(table)})")]


def _column(name: str, table: str, columns: list[str]) -> str:
    for column in columns:
        if same_name(column, name):
            return column
    raise ValueError(f"the table {table!r} has no column {name!r}; it has {', '.join(map(repr, columns))}")
