"""The command `docindex`: words typed in a shell in, one call, one report out.

Must never compute anything itself. Results go to stdout, what is wrong to stderr in one line.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import docindex
from docindex.cli import compare, sql
from docindex.errors import DocIndexError

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give the exit code: 0 done, 1 a file cannot be used, 2 a slip in the call."""
    parser = argparse.ArgumentParser(
        prog="docindex", description="Find which documents share text, and how much."
    )
    parser.add_argument("--version", action="version", version=f"docindex {docindex.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    compare.register(commands)
    sql.register(commands)
    options = parser.parse_args(arguments)
    try:
        report: str = options.run(options)
        if report:
            _print(report)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep Python from complaining at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (DocIndexError, OSError, ValueError) as error:
        print(f"docindex: {error}".encode("utf-8", "backslashreplace").decode(), file=sys.stderr)
        return 1
    return 0


def _print(report: str) -> None:
    """A report to stdout, also where stdout cannot say all that a file name has."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(report.encode(encoding, "backslashreplace").decode(encoding))
    if sys.stdout is not None:
        sys.stdout.flush()
