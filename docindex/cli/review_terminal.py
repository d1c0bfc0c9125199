"""The terminal of ``docindex review``: sentences, prompts, and answers in single keys.

Must never print text that moves the cursor.
"""

import shutil
import sys
from collections.abc import Sequence

from docindex.cli.key_reader import KeyReader
from docindex.cli.output import emit, fitted
from docindex.cli.review_text import Screen
from docindex.cli.typed_paths import below_current_folder

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
