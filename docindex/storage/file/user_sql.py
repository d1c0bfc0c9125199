"""Run SQL that a caller wrote, and refuse statements that are not allowed.

Takes a connection, a statement and its bindings; returns the rows. Must never let a statement write unless
the caller asked for writing.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw

from docindex.arguments import shown
from docindex.errors import ReadOnly
from docindex.storage.other_connection import OtherConnection

UserBindings = Sequence[Any] | Mapping[str, Any]
"""The values of a statement's parameters: a sequence in their order, or a mapping from their names."""
Where = str | tuple[str, Sequence[Any]]
"""An SQL condition on the columns of `document`, or a pair of a condition and its bindings."""


class HarmlessCondition(str):
    """A condition that may use only the columns of `document`, and functions that SQLite calls innocuous.

    A condition that a statement passes to a table function has to be harmless: a view in a file from others
    may have written it. It must not read other tables, and not call the functions of the host.
    """

    __slots__ = ()


# Pragmas that only report. Some take an argument.
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
    """The rows that a statement returned; `columns` holds the names of the columns."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], columns: tuple[str, ...]) -> None:
        super().__init__(rows)
        self.columns = columns


class _Refused(Exception):
    """The statement writes."""


class _Several(Exception):
    """There is more than one statement."""


SLIPS = (
    *(apsw.SQLError, apsw.BindingsError, apsw.TooBigError, apsw.MismatchError, apsw.RangeError),
    *(KeyError, TypeError, OverflowError, UnicodeError),
)
"""The errors that wrong SQL and wrong bindings raise: mistakes of the caller, not of the file."""


def answer(db: apsw.Connection, sql: str, bindings: UserBindings) -> Rows:
    """Run one statement that reads, and return its rows.

    Raises `ReadOnly` for a statement that would write, and `ValueError` for SQL that SQLite refuses or that
    does not fit its bindings, and for several statements or none.
    """
    sql, bindings = _checked_sql(sql), _checked_bindings(bindings)
    columns: tuple[str, ...] = ()
    try:
        with only_reading(db) as cursor:
            inspect = cursor.exec_trace

            def note_columns(cursor: apsw.Cursor, statement: str, bound: UserBindings | None) -> bool:
                # Here, because apsw forgets the columns of a statement that has no row.
                nonlocal columns
                columns = tuple(name for name, *_ in cursor.get_description())
                return inspect is None or inspect(cursor, statement, bound)

            cursor.exec_trace = note_columns
            return Rows(cursor.execute(sql, bindings).fetchall(), columns)
    except SLIPS as error:
        raise _does_not_work(sql, error) from error


def answer_writing(db: apsw.Connection, sql: str, bindings: UserBindings) -> Rows:
    """Run statements that may change anything, in the transaction that is open on `db`; return their rows.

    Raises `ValueError` for SQL that SQLite refuses, and for statements that begin or end a transaction.
    """
    sql, bindings = _checked_sql(sql), _checked_bindings(bindings)
    before = db.authorizer
    db.authorizer = _keep_transaction
    try:
        cursor = db.execute(sql, bindings)
        try:
            columns = tuple(name for name, *_ in cursor.get_description())
        except apsw.ExecutionCompleteError:
            columns = ()
        return Rows(cursor.fetchall(), columns)
    except apsw.AuthError as error:
        raise ValueError(
            f"{sql[:200]!r} runs in one transaction; leave out begin, commit and rollback"
        ) from error
    except SLIPS as error:
        raise _does_not_work(sql, error) from error
    finally:
        db.authorizer = before


@contextlib.contextmanager
def only_reading(db: apsw.Connection) -> Iterator[apsw.Cursor]:
    """A cursor that runs one statement that reads.

    `ReadOnly` for a statement that writes, `ValueError` for a second statement.
    """
    before, cursor, statements = db.authorizer, db.cursor(), 0

    def inspect(cursor: apsw.Cursor, _sql: str, _bindings: UserBindings | None) -> bool:
        nonlocal statements
        statements += 1
        # SQLite does not ask the authorizer about some statements that write, such as `vacuum`.
        if not cursor.is_readonly:
            raise _Refused
        if statements > 1:
            raise _Several
        return True

    db.authorizer = _authorize
    cursor.exec_trace = inspect
    try:
        yield cursor
    except (apsw.AuthError, _Refused) as error:
        raise ReadOnly(
            "only a statement that reads is accepted; change documents with add and remove, and your own "
            "tables on a connection of your own",
            db.filename,
        ) from error
    except _Several as error:
        raise ValueError("there is more than one statement; give one statement at a time") from error
    finally:
        cursor.close(True)
        db.authorizer = before


def checked_condition(db: apsw.Connection, where: Where) -> tuple[str, Sequence[Any]]:
    """A condition on `document`, and its bindings; `ValueError` unless it is a single SQL expression.

    Our own statements put the condition in brackets. The check makes sure that the condition cannot close
    them. A `HarmlessCondition` is also checked for the names that it uses, before any of it runs. It is the
    only kind of condition that another library's connection may get.
    """
    place = _place_to_check(db)
    given, bindings = (where, ()) if isinstance(where, str) else _parts(where)
    condition = str.__str__(given)
    depth, is_unclosed = 0, False
    for found in _BRACKETS.finditer(condition):
        depth += {"(": 1, ")": -1, ";": -len(condition)}.get(found[0], 0)
        is_unclosed = found["unclosed"] is not None
        if depth < 0:
            break
    try:
        if is_unclosed:
            raise apsw.SQLError("a quote is not closed")
        if depth:
            raise apsw.SQLError("it is not one expression")
        if isinstance(given, HarmlessCondition):
            _refuse_harm(db, condition, place)
        with only_reading(place) as cursor:
            cursor.execute(
                f"select 1 from main.docindex_document as document where ({condition}\n) limit 0", bindings
            ).fetchall()
    except SLIPS as error:
        raise ValueError(
            f"the condition {shown(condition)} does not work ({_reason(error)}); "
            "expected SQL on the columns of document, or (SQL, bindings)"
        ) from error
    return condition, bindings


def _place_to_check(db: apsw.Connection) -> apsw.Connection:
    """The connection on which SQLite reads a condition before it runs on `db`."""
    return db.empty_index() if isinstance(db, OtherConnection) else db


@contextlib.contextmanager
def cursor_for_condition(db: apsw.Connection) -> Iterator[apsw.Cursor]:
    """A cursor that runs one statement with a condition that `checked_condition` has checked."""
    if isinstance(db, OtherConnection):  # the host's authorizer cannot be put back there
        yield db.cursor()
    else:
        with only_reading(db) as cursor:
            yield cursor


def _refuse_harm(db: apsw.Connection, condition: str, place: apsw.Connection) -> None:
    """`SQLError` for a condition that uses another table, or a function that is not harmless on `db`.

    SQLite reads the condition on the connection `place`.
    """
    # On `db` itself only the functions that the host added: an older SQLite calls few of its own innocuous.
    harmful = {name for (name,) in (*place.execute(_HARMFUL_FUNCTIONS), *db.execute(_HARMFUL_OF_HOST))}
    selects = 0

    def authorize(
        action: int, first: str | None, second: str | None, _schema: str | None, _by: str | None
    ) -> int:
        nonlocal selects
        selects += action == apsw.SQLITE_SELECT
        allowed = (
            (action == apsw.SQLITE_SELECT and selects == 1)
            or (action == apsw.SQLITE_READ and first == "docindex_document")
            or (action == apsw.SQLITE_FUNCTION and second not in harmful)
        )
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY

    before, cursor = place.authorizer, place.cursor()
    place.authorizer = authorize
    try:
        # EXPLAIN, because `limit 0` does not keep SQLite from computing constant parts of the condition.
        cursor.execute(
            f"explain select 1 from main.docindex_document as document where ({condition}\n)"
        ).fetchall()
    except apsw.AuthError as error:
        raise apsw.SQLError(
            "in SQL it may use only the columns of document, and functions that SQLite calls innocuous"
        ) from error
    finally:
        cursor.close(True)
        place.authorizer = before


def _checked_sql(sql: object) -> str:
    if not isinstance(sql, str):
        raise TypeError(f"a statement must be SQL as a str, not {shown(sql)}")
    plain = str.__str__(sql)
    if not plain.strip(" \t\r\n;"):
        raise ValueError("the statement is empty; give one SQL statement")
    return plain


def _checked_bindings(bindings: object) -> UserBindings:
    if not isinstance(bindings, (Sequence, Mapping)) or isinstance(bindings, (str, bytes, bytearray)):
        raise TypeError(f"bindings must be a list of values or a mapping, not {shown(bindings)}")
    return bindings


def _parts(where: Any) -> tuple[str, Sequence[Any]]:
    if isinstance(where, tuple) and len(where) == 2 and isinstance(where[0], str):
        bindings = where[1]
        if isinstance(bindings, Iterable) and not isinstance(bindings, (str, bytes, bytearray)):
            return where[0], tuple(bindings)
    raise TypeError(f"where must be SQL, or (SQL, bindings), not {shown(where)}")


def _does_not_work(sql: str, error: BaseException) -> ValueError:
    return ValueError(f"{sql[:200]!r} does not work: {_reason(error)}")


_DOC_FUNCTION = re.compile(r"no such function: (doc_\w+)$")

# apsw's words for a wrong number of bindings. It gives the numbers in its message only.
_BINDINGS = re.compile(r"current statement uses (\d+) and there are (\d+) supplied")


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"there is no value for {error}"
    if not isinstance(error, apsw.BindingsError):
        table = _DOC_FUNCTION.search(str(error))
        return f"{error}; if it is a table, write: from {table[1]}(...)" if table else str(error)
    found = _BINDINGS.search(str(error))
    if found is None:
        return "its values do not fit its question marks; give one value for each"
    marks, values = map(int, found.groups())
    return (
        f"it has {_several(marks, 'question mark')}, but got {_several(values, 'value')}; give one for each"
    )


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


_HARMFUL_FUNCTIONS = f"select name from pragma_function_list where not flags & {apsw.SQLITE_INNOCUOUS}"
_HARMFUL_OF_HOST = f"{_HARMFUL_FUNCTIONS} and not builtin"

# The brackets and semicolons of SQL, and the strings, quoted names and comments that may contain these
# characters. A quote without an end takes the rest: to look for its end from each later quote would take
# seven seconds for 50,000 of them.
_BRACKETS = re.compile(
    r"""'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`(?:[^`]|``)*+`|\[[^\]]*+\]|(?P<unclosed>['"`\[].*)"""
    r"""|--[^\n]*|/\*.*?(?:\*/|\Z)|[();]""",
    re.DOTALL,
)


def _keep_transaction(
    action: int, _first: str | None, _second: str | None, _schema: str | None, _by: str | None
) -> int:
    return apsw.SQLITE_DENY if action == apsw.SQLITE_TRANSACTION else apsw.SQLITE_OK


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
