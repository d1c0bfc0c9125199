"""For Datasette: docindex's SQL functions on every connection, and a page that finds where a text is from.

In: what Datasette calls hooks with. Out: a page of HTML, made by its templates, which escape all there is to
escape. Must never answer who may not run SQL on the database, nor take longer than Datasette lets SQL take.
"""

import dataclasses
import itertools
import json
import sqlite3
import time
from collections.abc import Callable, Iterable
from typing import Any

import datasette
from datasette.utils import tilde_decode
from datasette.utils.asgi import NotFound, Request, Response

from docindex.sql.register import register

_LONGEST = 200_000
_MATCHES = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the text asked with, and which of the matches have it."""

    text: str
    matches: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PageFindings:
    """What the page shows: matches, each with its passages, and the text in stretches."""

    matches: list[dict[str, Any]]
    stretches: list[Stretch]
    error: str | None = None


@datasette.hookimpl
def prepare_connection(conn: sqlite3.Connection, datasette: Any) -> None:
    """Called with each new connection to a database."""
    register(conn, limit_s=datasette.setting("sql_time_limit_ms") / 1000)


@datasette.hookimpl
def register_routes() -> list[tuple[str, Callable[..., Any]]]:
    """The page of each database."""
    return [(r"^/(?P<database>[^/]+)/-/docindex$", page)]


@datasette.hookimpl
def database_actions(datasette: Any, database: str) -> list[dict[str, str]]:
    """A link to the page, in the menu of a database."""
    href = f"{datasette.urls.database(database)}/-/docindex"
    return [{"href": href, "label": "Find where a text is from"}]


async def page(datasette: Any, request: Request) -> Response:
    """The form; and once a text was sent, the documents that share text with it."""
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
    found = None
    if len(text) > _LONGEST:
        found = PageFindings([], [], f"The text has {len(text):,} characters; paste {_LONGEST:,} at most.")
    elif text.strip():
        # As a browser sends it, a line ends with two characters.
        text = text.replace("\r\n", "\n")
        limit_s = datasette.setting("sql_time_limit_ms") / 1000
        found = await database.execute_fn(lambda connection: find(connection, text, limit_s))
    shown = {"database": name, "text": text, "found": found, "longest": _LONGEST}
    return Response.html(await datasette.render_template("docindex.html", shown, request=request))


def find(connection: sqlite3.Connection, text: str, limit_s: float) -> PageFindings:
    """The best matches of a text and, as far as time goes, their passages; or why there are none."""
    end = time.monotonic() + limit_s
    try:
        matches = _asked(connection, "select doc_search_json(?, null, null, null, ?)", text, _MATCHES)
    except sqlite3.OperationalError as error:
        return PageFindings([], [], _why(connection, error))
    for number, match in enumerate(matches, 1):
        match.update(number=number, passages=[], note=None)
        try:
            if time.monotonic() > end:
                match["note"] = "There was no time left to look for its passages."
            elif match["shared"]:
                match["passages"] = _asked(connection, "select doc_passages_json(?, ?)", match["id"], text)
        except sqlite3.OperationalError as error:
            match["note"] = f"Its passages are not shown: {_why(connection, error)}."
    return PageFindings(matches, stretches(text, matches))


def stretches(text: str, matches: Iterable[dict[str, Any]]) -> list[Stretch]:
    """A text cut wherever a passage begins or ends."""
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


def _asked(connection: sqlite3.Connection, sql: str, *bindings: object) -> list[dict[str, Any]]:
    ((answer,),) = connection.execute(sql, bindings)
    found: list[dict[str, Any]] = json.loads(answer)
    return found


def _why(connection: sqlite3.Connection, error: sqlite3.OperationalError) -> str:
    """What docindex said, or else SQLite."""
    ((ours,),) = connection.execute("select doc_error()")
    return ours if ours and str(error).startswith("user-defined") else str(error)
