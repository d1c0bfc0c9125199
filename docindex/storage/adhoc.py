"""A caller's own SQL in, rows out. Must never let a statement write, whatever it says."""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from docindex.errors import ReadOnly

Bindings = Sequence[Any] | Mapping[str, Any]

# What tells of tables and changes nothing; with an argument or without.
_PRAGMAS = {
    "application_id",
    "collation_list",
    "compile_options",
    "database_list",
    "encoding",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "module_list",
    "page_count",
    "page_size",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
}
_WITH_ARGUMENT = {name for name in _PRAGMAS if name.endswith(("info", "foreign_key_list", "index_list"))}
_READING = {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE}


class Rows(list[tuple[Any, ...]]):
    """The rows of an answer; `columns` are their names."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], columns: tuple[str, ...]) -> None:
        super().__init__(rows)
        self.columns = columns


class _Writes(Exception):
    """A statement would write, by what SQLite says of it."""


def answer(db: apsw.Connection, sql: str, bindings: Bindings) -> Rows:
    """The rows that one statement gives.

    `ReadOnly` for one that would write, `ValueError` for what is not SQL or does not fit its bindings.
    """
    before = db.authorizer
    db.authorizer = _authorize
    try:
        cursor = db.cursor()
        cursor.exec_trace = _refuse_writing
        cursor.execute(sql, bindings)
        try:
            columns = tuple(name for name, *_ in cursor.description)
        except apsw.ExecutionCompleteError:  # not a single row
            columns = ()
        return Rows(cursor.fetchall(), columns)
    except (apsw.AuthError, _Writes) as error:
        raise ReadOnly(
            f"only reading statements are taken, not {sql[:60]!r}; change documents by add and remove",
            db.filename,
        ) from error
    except (apsw.SQLError, apsw.BindingsError, KeyError) as error:
        raise ValueError(f"{sql[:200]!r} does not work: {error}") from error
    finally:
        db.authorizer = before


def _refuse_writing(cursor: apsw.Cursor, _sql: str, _bindings: Bindings | None) -> bool:
    # What no authorizer is asked about: `vacuum`, for one.
    if not cursor.is_readonly:
        raise _Writes
    return True


def _authorize(
    action: int, first: str | None, second: str | None, _schema: str | None, _by: str | None
) -> int:
    if action in _READING:
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_FUNCTION and second != "load_extension":
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_PRAGMA and first is not None:
        allowed = _PRAGMAS if second is None else _WITH_ARGUMENT
        return apsw.SQLITE_OK if first.lower() in allowed else apsw.SQLITE_DENY
    return apsw.SQLITE_DENY
