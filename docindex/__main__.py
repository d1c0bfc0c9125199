"""Run the command `docindex`, as ``python -m docindex`` or as the script of that name."""

# The module signal imports enum, which takes a tenth of the time of a short command.
import _signal  # type: ignore[import-not-found]  # mypy does not know the part of signal written in C
import contextlib
import gc
import sys

_IS_OURS = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler


def _end_at_interrupt(*, quietly: bool) -> None:
    """Let Ctrl-C end this process at once, without a traceback; or raise `KeyboardInterrupt` as usual."""
    if _IS_OURS:  # else nohup, or the program that imported this, has decided about it
        with contextlib.suppress(ValueError):  # only the main thread may decide
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL if quietly else _signal.default_int_handler)


_end_at_interrupt(quietly=True)  # while the command is imported

from docindex.cli import main  # noqa: E402 - an interrupt during this import must not print a traceback


def run_command() -> int:
    """Run the command in a process of its own and return its exit code.

    A short command made half of its 40 ms worth of objects by importing, and none of them is garbage. So it
    looks for garbage less often, which saves 3 ms, and 10 ms more among 10,000 files; and not among the rest
    at its end, which saves 4 ms.
    """
    gc.set_threshold(200_000, 10, 10)
    _end_at_interrupt(quietly=False)
    code = main()
    _end_at_interrupt(quietly=True)
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(run_command())
