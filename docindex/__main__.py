"""Run the command `docindex`, as ``python -m docindex`` or as the script of that name."""

import gc
import sys


def run_command() -> int:
    """Run the command in a process of its own and return its exit code.

    Imports make no garbage. Looking for it during a short command takes a tenth of its time, and looking for
    it once more at the end a sixth.
    """
    gc.set_threshold(200_000, 10, 10)
    try:
        from docindex.cli import main

        return main()
    except KeyboardInterrupt:  # before or after the command, which handles its own
        return 130
    finally:
        gc.freeze()


if __name__ == "__main__":
    sys.exit(run_command())
