"""What all commands share: the index they are about, the forms of their results, exit codes, progress.

Exit codes: 0 found or done, 1 nothing found, 2 a slip in the call, 130 interrupted; of errors: `EXIT_CODES`.
"""

import contextlib
import csv
import difflib
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

from docindex import errors
from docindex.files.likeness import too_common
from docindex.files.names import key_of, root_of
from docindex.index import Index
from docindex.index import open as open_index

F = TypeVar("F", bound=Callable[..., Any])

NOTHING_FOUND = 1
USAGE = 2
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
    except tuple(EXIT_CODES) as error:
        if debug:
            traceback.print_exc()
        _say(f"docindex: {_sentence(error)}")
        return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"there is no document {error}"
    if isinstance(error, OSError) and error.filename:
        return f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}"
    return str(error)


def _say(line: str) -> None:
    print(line.translate(_CONTROLS).encode("utf-8", "backslashreplace").decode(), file=sys.stderr)


class Command(click.Command):
    """A command, with the options that all of them have."""

    def __init__(self, *arguments: Any, **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        quiet = "show no progress, and no remarks"
        self.params += [
            click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_note, help=quiet),
            click.Option(
                ["--debug"], is_flag=True, expose_value=False, help="show where an error comes from"
            ),
        ]


class Group(click.Group):
    """Several commands under one name, which alone tells about them."""

    command_class = Command

    def __init__(self, *arguments: Any, **facts: Any) -> None:
        super().__init__(*arguments, **{"invoke_without_command": True, **facts})

    def invoke(self, ctx: click.Context) -> Any:
        """Run the one that was named."""
        found = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            emit(ctx.get_help())
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The one that was named; `click.UsageError` if there is none."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            like = difflib.get_close_matches(args[0], names, n=1)
            advice = f"did you mean {like[0]}?" if like else f"{ctx.command_path} --help lists them"
            raise click.UsageError(f"there is no command {args[0]!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)


def _note(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    ctx.meta[f"docindex.{param.name}"] = given


def is_quiet() -> bool:
    """Whether the person asked for results only."""
    return bool(click.get_current_context().meta.get("docindex.quiet"))


def remark(line: str) -> None:
    """Say something about the work that is no result."""
    if not is_quiet():
        _say(line)


def index_option(command: F) -> F:
    """The option that names the index."""
    text = "the index; without it the one of your own"
    option = click.option("--index", "index_path", metavar="FILE", envvar="DOCINDEX", help=text)
    return option(command)


def share_option(name: str, default: float | None, text: str) -> Callable[[F], F]:
    """An option that is a share: more than 0, and at most 1."""
    share = click.FloatRange(0, 1, min_open=True)
    return click.option(name, type=share, default=default, show_default=default is not None, help=text)


def common_option(command: F) -> F:
    """The option that says what is too common to count."""
    text = "what more texts have does not count"
    option = click.option(
        "--max-documents", type=click.IntRange(1), default=1000, show_default=True, help=text
    )
    return option(command)


def remark_on_common(index: Index, max_documents: int) -> None:
    """Say what did not count, if anything did not."""
    if aside := too_common(index, max_documents):
        remark(
            f"docindex: {several(aside, 'fingerprint')} that more than {max_documents:,} texts have did not "
            "count; --max-documents sets how common one may be"
        )


def existing(path: str | None) -> Index:
    """The index, open for reading; `UnreadableFile` if there is none yet."""
    try:
        return open_index(path, readonly=True)
    except FileNotFoundError as error:
        where = str(error).partition(";")[0]
        raise errors.UnreadableFile(f"{where}; docindex scan makes one", path or "") from error


def form_options(command: F) -> F:
    """The options that say in which form results are printed."""
    for name, text in (
        ("csv", "print comma-separated values"),
        ("jsonl", "print a JSON object a line"),
        ("json", "print one JSON value"),
    ):
        command = click.option(f"--{name}", "form", flag_value=name, help=text)(command)
    return command


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
        emit(text().translate(_CONTROLS))
    return 0 if records else NOTHING_FOUND


# What a terminal would obey, from the name of a file or a text in it.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(10), *range(11, 32), *range(127, 160))}


# And what would make one name look like several, or like another one.
_TURNED = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSEEN = _CONTROLS | {10: "\\x0a"} | {code: f"\\u{code:04x}" for code in _TURNED}


def emit(report: str) -> None:
    """A report to stdout, also where stdout cannot say all that a file name has."""
    if not report:
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(report.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep Python from complaining at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


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
    from docindex.cli.bars import bar

    with bar(what, of_bytes=of_bytes) as show:
        yield show


def size(count: int) -> str:
    """A number of bytes as people write it.

    >>> size(999), size(1000), size(123_456_789)
    ('999 B', '1.0 kB', '123.5 MB')
    """
    amount, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while amount >= 1000 and len(units) > 1:
        amount /= 1000
        del units[0]
    return f"{count} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def shown(key: str) -> str:
    """A path as people know it: below the folder they are in without that folder's own path."""
    here = key_of(root_of(".")).rstrip("/") + "/"
    return key.removeprefix(here).translate(_UNSEEN)


def several(count: int, what: str) -> str:
    """A number of things.

    >>> several(1, "file"), several(2000, "file"), several(2, "copy")
    ('1 file', '2,000 files', '2 copies')
    """
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"
