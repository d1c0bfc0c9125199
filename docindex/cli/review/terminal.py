"""The terminal of ``docindex review``: sentences, prompts, and answers in single keys.

Must never print text that moves the cursor.
"""

import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from docindex.cli.output import emit, fitted
from docindex.cli.review.text import Screen
from docindex.shown.paths import below_current_folder

# Read single keys from the terminal, without the need to press Enter.
#
# Keys that are typed ahead are kept. Must always give the terminal back as it was.

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


_ONE_KEY = 9
"""Up to this many choices are made by one key; a larger number is typed, and ends with Enter."""


class ReviewTerminal:
    """Shows lines, and asks for keys while its `keys` are entered."""

    def __init__(self) -> None:
        self.keys = KeyReader()
        self._below = below_current_folder()

    @property
    def screen(self) -> Screen:
        """How much fits on the terminal now."""
        columns, lines = shutil.get_terminal_size()
        return Screen(columns, lines, self._below)

    def say(self, text: str) -> None:
        """Print lines. Sentences are wrapped; lines that begin with a space stay as they are."""
        emit(fitted(text, sys.stdout))

    def page(self, lines: Sequence[str]) -> None:
        """Print lines, as many as fit on the terminal at a time."""
        room = max(5, self.screen.lines - 2)
        for start in range(0, len(lines), room):
            self.say("\n".join(lines[start : start + room]))
            if start + room < len(lines):
                left = f"{len(lines) - start - room:,} more lines"
                if self.ask(f"{left}: Enter shows more, any other key ends >") not in ("enter", " "):
                    return

    def ask(self, prompt: str) -> str:
        """The key that a person types at a prompt."""
        self._print(fitted(prompt, sys.stdout) + " ")
        key = self.keys.key()
        self._print("\n")
        return key

    def number(self, question: str, count: int, first: str = "") -> int | None:
        """A number from 1 to `count` that a person types; None, after a sentence, if there is no such number.

        `first` is a digit that was typed before. It is the answer if the choices are few.
        """
        if first and count <= _ONE_KEY:
            number: int | None = int(first)
        elif count <= _ONE_KEY:
            key = self.ask(f"{question} (1-{count}):")
            number = int(key) if key.isdigit() else None
        else:
            self._print(f"{question} (1-{count:,}, and Enter): ")
            number = self.keys.number(first)
        if number is not None and not 1 <= number <= count:
            self.say(f"There is no number {number:,} here; the numbers are 1 to {count:,}.")
            return None
        return number

    def _print(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
