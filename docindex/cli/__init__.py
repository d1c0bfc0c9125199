"""The command `docindex`: words typed in a shell in, one call, one report out.

Must never compute anything itself. Results go to stdout, what is wrong to stderr in one line.
"""

import sys
from collections.abc import Sequence

_NEEDED = {"click", "jinja2", "pathspec", "rich"}
USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give the exit code, see `docindex.cli.output`."""
    try:
        from docindex.cli.command_list import docindex
        from docindex.cli.output import run

        return run(docindex, arguments)
    except ModuleNotFoundError as error:
        needed = (error.name or "").partition(".")[0]
        if needed not in _NEEDED:
            raise
        print(f"docindex: the command needs {needed}; install it with pip install 'docindex[cli]'",
              file=sys.stderr)  # fmt: skip
        return USAGE
