"""``docindex sql FILE STATEMENT``: SQL on a file with docindex's functions; ``docindex shell FILE``: many."""

import argparse
import csv
import io
import json
from typing import TYPE_CHECKING, Any

import apsw
import apsw.shell

from docindex.sql.register import register_on
from docindex.sql.session import ask, opened
from docindex.storage.adhoc import Rows

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it

_WIDEST = 60
_MARKS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


def register(commands: "Commands") -> None:
    """Add both commands and their options."""
    about = "Ask a file in SQL; docindex's functions and tables are there."
    parser = commands.add_parser("sql", help=about, description=about)
    parser.add_argument("file", metavar="FILE", help="an index, or any other SQLite file")
    parser.add_argument("statement", metavar="STATEMENT", help="SQL")
    parser.add_argument(
        "values", metavar="VALUE", nargs="*", help="what its question marks stand for, as text"
    )
    parser.add_argument("--write", action="store_true", help="let it change the file; otherwise it cannot")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON array of objects")
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    parser.set_defaults(run=run)

    about = "An interactive SQL shell (that of apsw) with docindex's functions and tables."
    parser = commands.add_parser("shell", help=about, description=about)
    parser.add_argument("file", metavar="FILE", help="an index, or any other SQLite file")
    parser.set_defaults(run=shell)


def run(options: argparse.Namespace) -> str:
    """The rows of a statement, or how many it changed."""
    found, changes = ask(options.file, options.statement, options.values, write=options.write)
    if options.json:
        return json.dumps([dict(zip(found.columns, map(_plain, row), strict=True)) for row in found])
    if options.csv:
        return _csv(found)
    if options.write and not found:
        return f"{changes} row{'' if changes == 1 else 's'} changed"
    return _table(found)


def shell(options: argparse.Namespace) -> str:
    """Run the shell until it is left."""
    opened(options.file, write=True).close()  # for its errors
    apsw.connection_hooks.append(register_on)  # on every connection that the shell opens
    apsw.shell.Shell(args=[options.file]).cmdloop()  # type: ignore[no-untyped-call]
    return ""


def _table(found: Rows) -> str:
    """Rows for people: aligned, long values cut."""
    shown = [found.columns, *([_cell(value) for value in row] for row in found)] if found else []
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join(
        "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    )


def _cell(value: Any) -> str:
    text = "" if value is None else str(_plain(value)).translate(_MARKS)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _csv(found: Rows) -> str:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(map(_plain, row) for row in found)
    return lines.getvalue().removesuffix("\n")


def _plain(value: Any) -> Any:
    """A value as JSON and people take it: bytes in hexadecimal."""
    return value.hex() if isinstance(value, bytes) else value
