"""Print the output of a command: results in every form on stdout, remarks and progress on stderr.

Must never print text to a terminal that moves the cursor or changes the direction of a line, nor progress to
anything but a terminal.
"""

import codecs
import contextlib
import os
import re
import stat
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from docindex.cli.exit_codes import DONE, NOTHING_FOUND
from docindex.cli.options import is_quiet
from docindex.shown.wording import CONTROLS, one_line, several


def show(records: Sequence[Any], form: str | None, text: Callable[[], str], whole: Any = None) -> int:
    """Print records in the form that the options name, and return the exit code.

    Nothing was found if there are no records. `text` makes the report for a person, who does not see the
    records. `whole` is the JSON value that --json prints, if that is not the list of records.
    """
    if form == "json":
        emit(_json(list(records) if whole is None else whole, indent=1))
    elif form == "jsonl":
        for record in records:
            emit(_json(record))
    elif form == "csv":
        emit(_csv(records))
    else:
        emit(fitted(text().translate(CONTROLS), sys.stdout))
    return DONE if records else NOTHING_FOUND


def emit(report: str, *, is_safe: bool = False) -> None:
    """Print to stdout. Characters that its encoding lacks are escaped as bytes, as in keys.

    So are those that a terminal obeys, unless the report `is_safe`: it has colours, and nothing else.
    """
    if report:
        if not is_safe and sys.stdout.isatty():
            report = report.translate(CONTROLS)
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            print(report.encode(encoding, _AS_BYTES).decode(encoding), flush=True)
        except OSError as error:
            # Python writes the rest of its buffer when it exits, and would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if not isinstance(error, BrokenPipeError):  # the reader of a pipe may stop at any time
                raise


def say(line: str) -> None:
    """Print a line to stderr, if it is open."""
    if sys.stderr is not None:
        print(line.translate(CONTROLS).encode("utf-8", "backslashreplace").decode(), file=sys.stderr)


def remark(line: str) -> None:
    """Print a remark about the work to stderr, unless --quiet is given."""
    if not is_quiet():
        say(fitted(line, sys.stderr))


def fitted(text: str, stream: TextIO | None) -> str:
    """The text with its sentences wrapped at words, if it goes to a terminal.

    Lines that begin with a space stay as they are: they have names, which a person may copy.
    """
    if stream is None or not stream.isatty():
        return text
    import textwrap  # for a terminal only

    try:
        width = max(20, os.get_terminal_size(stream.fileno()).columns)
    except OSError:
        return text
    lines = (
        [line]
        if line.startswith(" ") or len(line) < width
        else textwrap.wrap(
            line, width - 1, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
        for line in text.split("\n")
    )
    return "\n".join(part for parts in lines for part in parts)


def remark_on_ignored(ignored: int, ignore_above: int) -> None:
    """Say how many shingles were ignored because too many texts share them."""
    if ignored:
        remark(
            f"docindex: ignored {several(ignored, 'group')} of words found in more than {ignore_above:,} "
            "texts; --ignore-common changes that limit"
        )


@contextlib.contextmanager
def progress(label: str, *, of_bytes: bool = False) -> Iterator[Callable[[int, int | None], object]]:
    """Show a progress bar on stderr if that is a terminal.

    Yields a function to call with the amount done and the total (None while it is unknown).
    """
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    # Imported here, because rich takes longer to import than many commands take without a terminal.
    from docindex.cli.progress_bar import bar

    with bar(label, of_bytes=of_bytes) as advance:
        yield advance


def _bytes_of(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    piece = error.object[error.start : error.end]
    try:
        coded = piece.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte of a file name
        coded = piece.encode("utf-8", "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in coded), error.end


_AS_BYTES = "docindex.bytes"
codecs.register_error(_AS_BYTES, _bytes_of)


def _json(value: Any, indent: int | None = None) -> str:
    """A value as ASCII. JSON itself escapes every control character but this one."""
    import json  # for --json only

    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    """A table: with escaped names for a terminal, with exact names for a pipe, and for a file as below.

    In a file, no cell is a formula, and the table begins with the mark of UTF-8.
    """
    if not records:
        return ""
    import csv  # for --csv only

    size = _size_of_file(sys.stdout)
    shown = one_line if sys.stdout.isatty() else str if size is None else _guarded
    lines: list[str] = []
    columns = dict.fromkeys(name for record in records for name in record)
    # It quotes a cell with a carriage return only if that is a part of its line ends.
    writer = csv.writer(types.SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n"))))
    writer.writerow(map(shown, columns))
    for record in records:
        cells = (record.get(name, "") for name in columns)
        cells = (_json(cell) if isinstance(cell, (list, tuple, dict)) else cell for cell in cells)
        writer.writerow(shown(cell) if isinstance(cell, str) else cell for cell in cells)
    is_utf8 = codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"
    mark = "\ufeff" if size == 0 and is_utf8 else ""
    return mark + "\n".join(lines)


def _guarded(text: str) -> str:
    """A text as a cell that no spreadsheet program takes for a formula.

    >>> _guarded("=1+1"), _guarded("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) else text


_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")
"""How a cell begins that a spreadsheet may run; apostrophes before it were added."""


def _size_of_file(stream: TextIO) -> int | None:
    """The size of the file that a stream writes to; None for a pipe or a terminal."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # a stream in memory
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
