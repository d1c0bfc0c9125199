"""Read single keys from the terminal, without the need to press Enter.

Keys that are typed ahead are kept. Must always give the terminal back as it was.
"""

import os
import re
import signal
import sys
from types import TracebackType
from typing import Any, Self

_ENTER, _BACKSPACE, _END = ("\r", "\n"), ("\x7f", "\b"), ("\x04", "\x1a")
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])?")
_ARROWS = {b"\x1b[C": "right", b"\x1bOC": "right", b"\x1b[D": "left", b"\x1bOD": "left"}


class KeyReader:
    """Reads keys while it is entered."""

    def __init__(self) -> None:
        self._waiting = b""
        self._before: Any = None
        self._handler: Any = None

    def __enter__(self) -> Self:
        if sys.platform != "win32":
            import termios

            self._before = termios.tcgetattr(sys.stdin.fileno())
            # A shell that continues a stopped program leaves the terminal in the modes of the shell.
            self._handler = signal.signal(signal.SIGCONT, lambda *_: self._set_modes())
            self._set_modes()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.platform != "win32":
            import termios

            signal.signal(signal.SIGCONT, self._handler)
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    def key(self) -> str:
        """The next key: a character, "enter", "backspace", "escape", "left" or "right"; "" for any other key.

        `EOFError` for Ctrl-D, or if the terminal is closed.
        """
        while not self._waiting:
            self._waiting = self._read()
        if sequence := _SEQUENCE.match(self._waiting):
            self._waiting = self._waiting[sequence.end() :]
            return _ARROWS.get(sequence[0], "escape" if sequence[0] == b"\x1b" else "")
        first, self._waiting = self._waiting[:1].decode("latin-1"), self._waiting[1:]
        if first in _END:
            raise EOFError
        if first in _ENTER:
            return "enter"
        if first in _BACKSPACE:
            return "backspace"
        return first if " " <= first <= "~" else ""

    def number(self, first: str = "") -> int | None:
        """A number that is typed, and ends with Enter; None after Escape, or without a digit.

        `first` are digits that were typed before.
        """
        digits = first
        sys.stdout.write(first)
        while True:
            sys.stdout.flush()
            key = self.key()
            if key in ("enter", "escape"):
                sys.stdout.write("\n")
                return int(digits) if digits and key == "enter" else None
            if key == "backspace" and digits:
                digits = digits[:-1]
                sys.stdout.write("\b \b")
            elif key.isdigit() and len(digits) < 9:
                digits += key
                sys.stdout.write(key)

    def _read(self) -> bytes:
        if sys.platform == "win32":
            import click

            return click.getchar().encode("utf-8", "replace")
        found = os.read(sys.stdin.fileno(), 64)
        if not found:
            raise EOFError
        return found

    def _set_modes(self) -> None:
        """Let the terminal give each key at once, and not show it."""
        if sys.platform != "win32":
            import termios

            terminal = sys.stdin.fileno()
            modes = termios.tcgetattr(terminal)
            modes[3] &= ~(termios.ICANON | termios.ECHO)
            modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
