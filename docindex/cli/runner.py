"""Run a command and turn its errors into one line on stderr and an exit code.

Must never print a traceback without --debug.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

import click

from docindex.cli.exit_codes import DONE, INTERNAL, INTERRUPTED, USAGE, exit_code_of
from docindex.cli.output import say
from docindex.errors import UnknownKey, UnreadableFile, is_no_room
from docindex.shown.wording import one_line


def run(command: click.Command, arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code."""
    debug = "--debug" in (sys.argv[1:] if arguments is None else arguments)
    try:
        with _open_streams():
            code = command.main(arguments, prog_name="docindex", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except (click.Abort, KeyboardInterrupt):
        say("docindex: interrupted; finished work is kept")
        return INTERRUPTED
    except SystemExit:  # from click, when the reader of the help closes the pipe
        return DONE
    except ModuleNotFoundError:  # `docindex.cli.main` says what to install
        raise
    except Exception as error:
        if debug and not isinstance(error, click.UsageError):
            import traceback

            say(traceback.format_exc().rstrip())
        return _report(error)


def _report(error: Exception) -> int:
    """Print one line about an error and return its exit code."""
    if isinstance(error, click.UsageError):
        if error.ctx is not None:
            say(error.ctx.get_usage())
        say(f"docindex: {one_line(error.format_message())}")
        return USAGE
    code = exit_code_of(error)
    if code == INTERNAL:
        say(f"docindex: internal error ({error!r}); run it again with --debug to see where")
    else:
        say(f"docindex: {one_line(_sentence(error))}")
    return code


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyError) and not isinstance(error, UnknownKey):
        return f"there is no document {error}"
    if isinstance(error, OSError) and is_no_room(error):
        name = "the output" if error.filename is None else os.fsdecode(error.filename)
        return f"the disk is full: {name} cannot be written; free some space and try again"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{os.fsdecode(error.filename)} does not exist"
    if isinstance(error, OSError) and error.filename:
        return f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}"
    return str(error)


@contextlib.contextmanager
def _open_streams() -> Iterator[None]:
    """Connect the standard streams that were closed when the program began to the null device.

    `UnreadableFile` if stdout is closed: results would be lost.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    if "stdout" in closed:
        raise UnreadableFile("stdout is closed; send it to a file or a pipe", "")
    with contextlib.ExitStack() as stack:
        for name in closed:
            null = stack.enter_context(open(os.devnull, "r+", encoding="utf-8"))  # noqa: PTH123 - no path
            stack.callback(setattr, sys, name, None)
            setattr(sys, name, null)
        yield
