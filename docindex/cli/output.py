"""What all commands share in what they do: exit codes, errors, results in their forms, remarks, progress.

Exit codes: 0 found or done, 1 nothing found, 2 a slip in the call, 130 interrupted; of errors: `EXIT_CODES`.
"""

import codecs
import contextlib
import csv
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click

from docindex import errors
from docindex.cli.options import is_quiet
from docindex.cli.wording import CONTROLS, several
from docindex.folders.likeness import count_common_fingerprints
from docindex.index.writer import Index
from docindex.opening import open as open_index

NOTHING_FOUND = 1
USAGE = 2
UNKNOWN = 70
INTERRUPTED = 130
EXIT_CODES: dict[type[Exception], int] = {
    errors.UnreadableFile: 3,
    errors.NotAnIndex: 4,
    errors.SchemaTooNew: 5,
    errors.CorruptIndex: 6,
    errors.TextNotKept: 7,
    errors.Busy: 8,
    errors.ReadOnly: 9,
    errors.Refused: 10,
    errors.DiskFull: 11,
    errors.Cancelled: 12,
    errors.RecipeError: 13,
    errors.RecipeMismatch: 14,
    OSError: 3,
    KeyError: NOTHING_FOUND,
    ValueError: USAGE,
    TypeError: USAGE,
}


def run(command: click.Command, arguments: Sequence[str] | None) -> int:
    """Run a command; what goes wrong is one line on stderr, and an exit code."""
    debug = "--debug" in (sys.argv[1:] if arguments is None else arguments)
    try:
        with _streams():
            code = command.main(arguments, prog_name="docindex", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (click.Abort, KeyboardInterrupt):
        _say("docindex: interrupted; what was done until now stays")
        return INTERRUPTED
    except click.UsageError as error:
        if error.ctx is not None:
            _say(error.ctx.get_usage())
        _say(f"docindex: {error.format_message()}")
        return USAGE
    except SystemExit:  # so click leaves when nobody reads the help any more
        return 0
    except ModuleNotFoundError:  # `main` says what to install
        raise
    except Exception as error:
        if debug:
            traceback.print_exc()
        for kind, code in EXIT_CODES.items():
            if isinstance(error, kind):
                _say(f"docindex: {_sentence(error)}")
                return code
        _say(f"docindex: something went wrong that should not ({error!r}); --debug shows where")
        return UNKNOWN


@contextlib.contextmanager
def _streams() -> Iterator[None]:
    """Within, what was closed when the program began is there: for writing to nobody, for reading nothing."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    if "stdout" in closed:
        raise errors.UnreadableFile("there is no stdout to print to; name a file or a pipe", "")
    with contextlib.ExitStack() as stack:
        for name in closed:
            nowhere = stack.enter_context(open(os.devnull, "r+", encoding="utf-8"))  # noqa: PTH123 - no path
            stack.callback(setattr, sys, name, None)
            setattr(sys, name, nowhere)
        yield


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"there is no document {error}"
    if isinstance(error, OSError) and error.filename:
        return f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}"
    return str(error)


def _say(line: str) -> None:
    if sys.stderr is not None:
        print(line.translate(CONTROLS).encode("utf-8", "backslashreplace").decode(), file=sys.stderr)


def remark(line: str) -> None:
    """Say something about the work that is no result."""
    if not is_quiet():
        _say(line)


def remark_on_common(index: Index, ignore_above: int) -> None:
    """Say what did not count, if anything did not."""
    if aside := count_common_fingerprints(index, ignore_above):
        remark(
            f"docindex: {several(aside, 'fingerprint')} that more than {ignore_above:,} texts have did not "
            "count; --ignore-common sets how common one may be"
        )


def existing(path: str | None, *, readonly: bool = True) -> Index:
    """The index; `UnreadableFile` if there is none yet."""
    try:
        index = open_index(path, readonly=True)
    except FileNotFoundError as error:
        where = str(error).partition(";")[0]
        raise errors.UnreadableFile(f"{where}; docindex scan makes one", path or "") from error
    if readonly:
        return index
    index.close()
    return open_index(path)


def show(
    records: Sequence[Mapping[str, Any]], form: str | None, text: Callable[[], str], whole: Any = None
) -> int:
    """Print records in the form that was asked for; gives the exit code.

    `text` makes what people read; `whole` is what one JSON value is, if not the list of the records.
    """
    if form == "json":
        emit(json.dumps(list(records) if whole is None else whole, indent=1))
    elif form == "jsonl":
        for record in records:
            emit(json.dumps(record))
    elif form == "csv":
        emit(_csv(records))
    else:
        emit(text().translate(CONTROLS))
    return 0 if records else NOTHING_FOUND


def emit(report: str) -> None:
    """A report to stdout; what stdout cannot say is written as its bytes, as in keys."""
    if report:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            print(report.encode(encoding, _AS_BYTES).decode(encoding), flush=True)
        except BrokenPipeError:
            # Whoever read our output has seen enough; keep Python from complaining at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _bytes_of(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    piece = error.object[error.start : error.end].encode("utf-8", "surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in piece), error.end


_AS_BYTES = "docindex.bytes"
codecs.register_error(_AS_BYTES, _bytes_of)


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    if not records:
        return ""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {
            name: json.dumps(value) if isinstance(value, (list, dict)) else value
            for name, value in record.items()
        }
        for record in records
    )
    return lines.getvalue().removesuffix("\n")


@contextlib.contextmanager
def progress(what: str, *, of_bytes: bool = False) -> Iterator[Callable[[int, int | None], object]]:
    """On stderr how much is done, of how much if that is known, how fast, and how long it will take.

    Only for a terminal.
    """
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    # Here, for a command that a clock starts has no terminal, and should not wait for it.
    from docindex.cli.progress_bar import bar

    with bar(what, of_bytes=of_bytes) as show:
        yield show
