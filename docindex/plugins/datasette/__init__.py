"""A plugin for Datasette: docindex's SQL functions on every connection, and a page that finds copied text.

In: Datasette calls the hooks. Out: SQL functions, and an HTML page from a template that escapes every value.
The page must never answer a person who may not run SQL on the database. A request must never take much longer
than Datasette's time limit for SQL.
"""

import dataclasses
import itertools
import json
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import datasette
from datasette.utils import tilde_decode
from datasette.utils.asgi import NotFound, Request, Response

from docindex.sql.register import LastError, register_on_sqlite3

# A URL can ask for hex(zeroblob(500000000)). Python copies the arguments of a function before the function
# can refuse them: so SQLite refuses to make, or to read, a value of more bytes.
_MAX_VALUE_BYTES = 40_000_000
_MAX_CHARACTERS = 200_000
_MAX_MATCHES = 20

# Datasette answers each request on one of several connections, and the next request on another one. So that
# doc_error() gives the message of the request before, all connections to a database share it.
_last_errors: weakref.WeakKeyDictionary[Any, dict[str, LastError]] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the pasted text, and the numbers of the matches that contain it."""

    text: str
    matches: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PageFindings:
    """The contents of the page: the matches with their passages, and the pasted text in stretches."""

    matches: list[dict[str, Any]]
    stretches: list[Stretch]
    error: str | None = None


@datasette.hookimpl
def prepare_connection(conn: sqlite3.Connection, database: str, datasette: Any) -> None:
    """Add docindex's SQL functions to a new connection to a database."""
    last_error = _last_errors.setdefault(datasette, {}).setdefault(database, LastError())
    most = conn.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
    conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(most, _MAX_VALUE_BYTES))
    register_on_sqlite3(conn, limit_s=_limit_s(datasette), last_error=last_error)


@datasette.hookimpl
def register_routes() -> list[tuple[str, Callable[..., Any]]]:
    """Add the page to each database."""
    return [(r"^/(?P<database>[^/]+)/-/docindex$", search_page)]


@datasette.hookimpl
def database_actions(datasette: Any, database: str) -> list[dict[str, str]]:
    """Add a link to the page to the menu of a database."""
    href = f"{datasette.urls.database(database)}/-/docindex"
    return [{"href": href, "label": "Find where a text is from"}]


async def search_page(datasette: Any, request: Request) -> Response:
    """The page with the form and, if a text was sent, the documents that share text with it."""
    route = tilde_decode(request.url_vars["database"])
    try:
        database = datasette.get_database(route=route)
    except KeyError:
        raise NotFound(f"Database not found: {route}") from None
    name = database.name
    await datasette.ensure_permissions(
        request.actor, [("execute-sql", name), ("view-database", name), "view-instance"]
    )
    text = (await request.post_vars()).get("text", "") if request.method == "POST" else ""
    findings = None
    if len(text) > _MAX_CHARACTERS:
        error = f"The text has {len(text):,} characters; paste at most {_MAX_CHARACTERS:,}."
        findings = PageFindings([], [], error)
    elif text.strip():
        # A browser sends two characters for the end of a line.
        text = text.replace("\r\n", "\n")
        limit_s = _limit_s(datasette)
        findings = await database.execute_fn(lambda connection: page_findings(connection, text, limit_s))
    values = {"database": name, "text": text, "findings": findings, "max_characters": _MAX_CHARACTERS}
    return Response.html(await datasette.render_template("docindex.html", values, request=request))


def page_findings(connection: sqlite3.Connection, text: str, limit_s: float) -> PageFindings:
    """The best matches of a text, with passages until the time limit has passed; or an error."""
    deadline = time.monotonic() + limit_s
    try:
        matches = _json_rows(
            connection, "select doc_search_json(?, json_object('limit', ?))", text, _MAX_MATCHES
        )
    except sqlite3.OperationalError as error:
        return PageFindings([], [], _message(connection, error))
    for number, match in enumerate(matches, 1):
        match.update(number=number, passages=[], note=None)
        try:
            if time.monotonic() > deadline:
                match["note"] = "There was no time left to look for the passages."
            elif match["shared"]:
                found = _json_rows(connection, "select doc_passages_json(?, ?)", match["id"], text)
                match["passages"] = [passage for passage in found if not passage["is_boilerplate"]]
        except sqlite3.OperationalError as error:
            match["note"] = f"The passages are not shown: {_message(connection, error)}."
    return PageFindings(matches, stretches(text, matches))


def stretches(text: str, matches: Iterable[dict[str, Any]]) -> list[Stretch]:
    """The text, cut wherever a passage begins or ends.

    >>> [(stretch.text, stretch.matches) for stretch in stretches(
    ...     "one two", [{"number": 1, "passages": [{"start": 4, "end": 7}]}]
    ... )]
    [('one ', ()), ('two', (1,))]
    """
    ranges = [
        (passage["start"], passage["end"], match["number"])
        for match in matches
        for passage in match["passages"]
    ]
    cuts = sorted({0, len(text), *itertools.chain.from_iterable((start, end) for start, end, _ in ranges)})
    return [
        Stretch(
            text[begin:end],
            tuple(sorted({number for first, last, number in ranges if first <= begin and end <= last})),
        )
        for begin, end in itertools.pairwise(cuts)
    ]


def _limit_s(datasette: Any) -> float:
    limit_ms: float = datasette.setting("sql_time_limit_ms")
    return limit_ms / 1000


def _json_rows(connection: sqlite3.Connection, sql: str, *bindings: object) -> list[dict[str, Any]]:
    """The rows of a statement that selects one JSON array of objects."""
    ((answer,),) = connection.execute(sql, bindings)
    rows: list[dict[str, Any]] = json.loads(answer)
    return rows


def _message(connection: sqlite3.Connection, error: sqlite3.OperationalError) -> str:
    """The message of docindex if one of its functions failed, otherwise SQLite's."""
    ((last_error,),) = connection.execute("select doc_error()")
    return last_error if last_error and str(error).startswith("user-defined") else str(error)
