"""Write paragraphs, and give the text of a source in a zip file: what office files and books share."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from docindex.frontends.extracted import Extracted, SourcePart, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.safe_xml import TextInside, read_xml
from docindex.frontends.safe_zip import ZipSource

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".emf", ".wmf", ".svg", ".webp")
_THUMBNAILS = ("Thumbnails/", "docProps/")


def write_paragraph(builder: TextBuilder, place: str, text: str) -> None:
    """Add a paragraph to a text, unless it is empty."""
    if text := text.strip():
        builder.add_paragraph(place, text)


def warn_of_damage(builder: TextBuilder, what: str, error: NotExtracted) -> None:
    """Say that a part cannot be read; raise the error again if it is about the whole source."""
    if error.reason != "damaged":
        raise error
    builder.warn(f"{what} cannot be read: {error}.")


def text_of_zip(
    builder: TextBuilder, source: ZipSource, title: str | None, parts: tuple[SourcePart, ...] = ()
) -> Extracted:
    """The whole text; `NotExtracted` if there are only pictures."""
    if not builder.length and not parts and any(_is_picture(name) for name in source.names):
        raise NotExtracted("no text", "it has pictures only")
    return builder.extracted(title, parts)


def read_title(source: ZipSource, name: str) -> str | None:
    """The title in the member of a zip file that has the properties of a document, or None."""
    title = TextInside()
    try:
        properties = source.read_if_there(name)
        if properties is not None:
            read_xml(properties, {"title": title.start}, {"title": title.end}, title.text)
    except NotExtracted:
        return None  # a title is no reason to refuse the text
    return title.take() or None


def _is_picture(name: str) -> bool:
    return name.lower().endswith(_PICTURES) and not name.startswith(_THUMBNAILS)


# Collect paragraphs that lie in each other: a text box is anchored in a paragraph, and has paragraphs.
#
# In: the starts, texts and ends of paragraphs. Out: whole paragraphs; those of a text box follow the
# paragraph that it is anchored in, so that they do not tear it.

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
