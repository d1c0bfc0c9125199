"""``docindex sql``: run an SQL statement with docindex's functions, or open an SQL shell that has them."""

import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import click

from docindex.cli.existing_index import index_queue
from docindex.cli.options import Command, form_options
from docindex.cli.output import emit, show
from docindex.errors import OutOfDate
from docindex.shown.wording import CONTROLS, one_line, several
from docindex.sql.file_session import ask, opened
from docindex.sql.register import register_on
from docindex.storage.file.user_sql import Rows

_WIDEST = 60
"""Characters of a value that are shown."""

_MARKS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


@click.command("sql", cls=Command)
@click.argument("file", metavar="FILE")
@click.argument("statement", metavar="[STATEMENT]", required=False)
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@click.option("--write", is_flag=True, help="Allow STATEMENT to change the file.")
@form_options
def sql_command(
    file: str, statement: str | None, values: tuple[str, ...], write: bool, form: str | None
) -> int:
    """Run SQL with docindex's functions and tables.

    FILE is an index or any other SQLite file. Each VALUE replaces one question mark in STATEMENT. A VALUE is
    always text; write numbers, such as the id of a document, in the statement itself.

    Without a STATEMENT, opens apsw's shell on FILE. Statements in the shell can also change the file.

    \b
    Examples:
      docindex sql essays.docindex
      docindex sql essays.docindex "select key from docindex_document limit 5"
      docindex sql essays.docindex "select * from doc_search(?)" \\
        "Shall I compare thee to a summer's day? Thou art more lovely and more temperate"
    """
    if statement is None:
        if form is not None:
            raise click.UsageError(f"--{form} prints the rows of a statement; give a STATEMENT with it")
        _open_shell(file)
        return 0
    try:
        found, changes = ask(file, statement, values, write=write)
    except OutOfDate as error:
        index_queue(file, error)
        found, changes = ask(file, statement, values, write=write)
    if write and not found and form is None:
        emit(f"{several(changes, 'row')} changed")
        return 0
    columns = _distinct(found.columns)
    records = [dict(zip(columns, map(_plain, row), strict=True)) for row in found]
    code = show(records, form, lambda: _table(found))
    return 0 if write else code


def _open_shell(file: str) -> None:
    opened(file, write=True).close()  # raises an error for a file that is not an SQLite file
    import apsw.shell  # slow to import, and a statement does not need it

    apsw.connection_hooks.append(register_on)  # for every connection that the shell opens
    streams: dict[str, Any] = {
        name: _Escaped(stream)
        for name in ("stdout", "stderr")
        if (stream := getattr(sys, name)) is not None and stream.isatty()
    }
    # The codes of the shell's own colours would be escaped, too.
    arguments = ["-nocolour", file] if streams else [file]
    apsw.shell.Shell(args=arguments, **streams).cmdloop()  # type: ignore[no-untyped-call]


class _Escaped:
    """A terminal to which text is written with escaped control characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return self._stream.write(text.translate(CONTROLS))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _table(found: Rows) -> str:
    """Rows for a person: columns are aligned, and long values are cut."""
    lines = (
        [[*map(one_line, found.columns)], *([_cell(value) for value in row] for row in found)]
        if found
        else []
    )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    text = "" if value is None else one_line(str(_plain(value)).translate(_MARKS))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _plain(value: Any) -> Any:
    """A value that JSON can write: bytes in hexadecimal, infinity and NaN as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def _distinct(columns: Sequence[str]) -> list[str]:
    """The names of columns, made distinct: a repeated name gets a number.

    >>> _distinct(["a", "b", "a"])
    ['a', 'b', 'a_2']
    """
    names: list[str] = []
    for column in columns:
        numbered = itertools.chain([column], (f"{column}_{number}" for number in itertools.count(2)))
        names.append(next(name for name in numbered if name not in names))
    return names
