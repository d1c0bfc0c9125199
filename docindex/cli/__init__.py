"""The command `docindex`: parse the arguments, call the library, print the result.

A command must never compute anything itself. Results go to stdout; each error is one line on stderr.
"""

# From the bottom up: typed_paths, settings, exit_codes, whole_file, existing_index, options, file_selection,
# progress_bar, output, log_remarks, text_input, scan_summary, review, commands, runner, command_list.

import sys
from collections.abc import Sequence

_EXTRA_PACKAGES = {"click", "jinja2", "rich"}
_USAGE, _INTERRUPTED = 2, 130  # as in `docindex.cli.exit_codes`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `docindex.cli.exit_codes`."""
    try:
        from docindex.cli.command_list import docindex
        from docindex.cli.runner import run

        return run(docindex, arguments)
    except KeyboardInterrupt:  # during the imports above; `run` handles all later ones
        print("docindex: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA_PACKAGES:
            raise
        print(f"docindex: the command needs {missing}; in a checkout, install it with pip install '.[cli]'",
              file=sys.stderr)  # fmt: skip
        return _USAGE
