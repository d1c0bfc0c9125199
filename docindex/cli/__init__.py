"""The command `docindex`: words typed in a shell in, one call, one report out.

Must never compute anything itself. Results go to stdout, what is wrong to stderr in one line.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import docindex
from docindex.cli import compare


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give the exit code: 0 done, 1 a file cannot be used, 2 a slip in the call."""
    parser = argparse.ArgumentParser(
        prog="docindex", description="Find which documents share text, where, and how much."
    )
    parser.add_argument("--version", action="version", version=f"docindex {docindex.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    compare.register(commands)
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except compare.UnusableFileError as error:
        print(f"docindex: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep Python from complaining at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
