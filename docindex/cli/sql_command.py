"""``docindex sql FILE STATEMENT``: SQL on a file with docindex's functions; ``docindex shell FILE``: many."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import click

from docindex.cli.options import Command, form_options
from docindex.cli.output import emit, show
from docindex.cli.wording import one_line, several
from docindex.sql.file_session import ask, opened
from docindex.sql.register import register_on
from docindex.storage.user_sql import Rows

_WIDEST = 60
_MARKS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


@click.command(cls=Command)
@click.argument("file", metavar="FILE")
@click.argument("statement", metavar="STATEMENT")
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@click.option("--write", is_flag=True, help="let it change the file; otherwise it cannot")
@form_options
def sql(file: str, statement: str, values: tuple[str, ...], write: bool, form: str | None) -> int:
    """Ask an SQLite file, with docindex's functions.

    FILE is an index or any other SQLite file; docindex's tables are there, too. Each VALUE stands for a
    question mark of the STATEMENT, as text.

    \b
    Examples:
      docindex sql essays.docindex "select key from document limit 5"
      docindex sql essays.docindex "select * from doc_search(?)" "to be or not to be"
    """
    found, changes = ask(file, statement, values, write=write)
    if write and not found and form is None:
        emit(f"{several(changes, 'row')} changed")
        return 0
    columns = _different(found.columns)
    records = [dict(zip(columns, map(_plain, row), strict=True)) for row in found]
    code = show(records, form, lambda: _table(found))
    return 0 if write else code


@click.command(cls=Command)
@click.argument("file", metavar="FILE")
def shell(file: str) -> None:
    """An SQL shell, with docindex's functions.

    It is that of apsw, on any SQLite file; docindex's tables are there, too.

    \b
    Example:
      docindex shell essays.docindex
    """
    opened(file, write=True).close()  # for its errors
    import apsw.shell  # which takes longer than many a command

    apsw.connection_hooks.append(register_on)  # on every connection that the shell opens
    apsw.shell.Shell(args=[file]).cmdloop()  # type: ignore[no-untyped-call]


def _table(found: Rows) -> str:
    """Rows for people: aligned, long values cut."""
    shown = [found.columns, *([_cell(value) for value in row] for row in found)] if found else []
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join(
        "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    )


def _cell(value: Any) -> str:
    text = "" if value is None else one_line(str(_plain(value)).translate(_MARKS))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _plain(value: Any) -> Any:
    """A value as JSON and people take it: bytes in hexadecimal, what is no number as a word."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def _different(columns: Sequence[str]) -> list[str]:
    """Names of columns; of equal ones the later ones with a number."""
    names: list[str] = []
    for column in columns:
        numbers = itertools.chain([column], (f"{column}_{number}" for number in itertools.count(2)))
        names.append(next(name for name in numbers if name not in names))
    return names
