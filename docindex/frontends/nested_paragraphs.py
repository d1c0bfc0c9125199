"""Collect paragraphs that lie in each other: a text box is anchored in a paragraph, and has paragraphs.

In: the starts, texts and ends of paragraphs. Out: whole paragraphs; those of a text box follow the paragraph
that it is anchored in, so that they do not tear it.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

Pieces = list[str] | deque[str]
_NOWHERE: deque[str] = deque(maxlen=0)


class Paragraph(NamedTuple):
    """A paragraph, and the name of its place."""

    place: str
    text: str


class OpenParagraphs:
    """The paragraphs that have begun and not ended.

    >>> written = []
    >>> inner = OpenParagraphs(lambda place, text: written.append(text)).start("1").add("be")
    >>> _ = inner.start("2").add("box").end().add("fore").end()
    >>> written
    ['before', 'box']
    """

    def __init__(self, write: Callable[[str, str], object]) -> None:
        """`write` gets the place and the text of each paragraph."""
        self._write = write
        self._place = ""
        self._open: list[tuple[str, Pieces]] = []  # around the innermost one
        self._after: list[Paragraph] = []
        self.depth = 0
        """The number of paragraphs that are open."""
        self.pieces: Pieces = _NOWHERE
        """The texts of the innermost paragraph so far; text outside of paragraphs is layout."""

    def start(self, place: str) -> "OpenParagraphs":
        """Begin a paragraph."""
        if self.depth:
            self._open.append((self._place, self.pieces))
        self._place, self.pieces = place, []
        self.depth += 1
        return self

    def add(self, text: str) -> "OpenParagraphs":
        """Add to the innermost paragraph."""
        self.pieces.append(text)
        return self

    def end(self) -> "OpenParagraphs":
        """End the innermost paragraph."""
        self.depth -= 1
        text = "".join(self.pieces)
        if self.depth:
            self._after.append(Paragraph(self._place, text))
            self._place, self.pieces = self._open.pop()
            return self
        self.pieces = _NOWHERE
        self._write(self._place, text)
        if self._after:
            for nested in self._after:
                self._write(*nested)
            self._after.clear()
        return self
