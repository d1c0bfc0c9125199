"""Collect paragraphs that lie in each other: a text box is anchored in a paragraph, and has paragraphs.

In: the starts, texts and ends of paragraphs. Out: whole paragraphs; those of a text box follow the paragraph
that it is anchored in, so that they do not tear it.
"""

from collections.abc import Callable
from typing import NamedTuple


class Paragraph(NamedTuple):
    """A paragraph, and the name of its place."""

    place: str
    text: str


class OpenParagraphs:
    """The paragraphs that have begun and not ended.

    >>> written = []
    >>> inner = OpenParagraphs(written.append).start("1").add("be").start("2").add("box").end()
    >>> _ = inner.add("fore").end()
    >>> [paragraph.text for paragraph in written]
    ['before', 'box']
    """

    def __init__(self, write: Callable[[Paragraph], object]) -> None:
        self._write = write
        self._open: list[tuple[str, list[str]]] = []
        self._pieces: list[str] | None = None
        self._after: list[Paragraph] = []

    @property
    def depth(self) -> int:
        """The number of paragraphs that are open."""
        return len(self._open)

    def start(self, place: str) -> "OpenParagraphs":
        """Begin a paragraph."""
        self._pieces = []
        self._open.append((place, self._pieces))
        return self

    def add(self, text: str) -> "OpenParagraphs":
        """Add to the innermost paragraph; text outside of paragraphs is layout."""
        if self._pieces is not None:
            self._pieces.append(text)
        return self

    def end(self) -> "OpenParagraphs":
        """End the innermost paragraph."""
        place, pieces = self._open.pop()
        paragraph = Paragraph(place, "".join(pieces))
        if self._open:
            self._pieces = self._open[-1][1]
            self._after.append(paragraph)
        else:
            self._pieces = None
            self._write(paragraph)
            for nested in self._after:
                self._write(nested)
            self._after.clear()
        return self
