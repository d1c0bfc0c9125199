"""Read files of LibreOffice and others (OpenDocument): what texts, workbooks and presentations share.

`OpenDocument` finds the content of a file; `OpenDocumentText` collects the paragraphs in it. Deleted text
that the file keeps for its track of changes is left out.
"""

import re
from collections import Counter
from collections.abc import Callable

from docindex.frontends.failures import NotExtracted
from docindex.frontends.nested_paragraphs import OpenParagraphs, Paragraph
from docindex.frontends.safe_xml import Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource

SIGNATURE = b"pk\3\4"
_TYPE = "application/vnd.oasis.opendocument."

_AS_TEXT = {"s": " ", "tab": "\t", "line-break": "\n"}
"""Empty elements, and the text that they stand for. `s` stands for many spaces, which is layout."""

_LEFT_OUT = {"tracked-changes", "note-citation", "title", "desc", "ruby-text", "page-number", "number"}
"""Elements in or around paragraphs whose text a reader does not read there: deleted text, marks of notes,
descriptions of pictures, the pronunciation above words, numbers of pages and of lists."""

_PARAGRAPHS = {"p", "h"}

PlaceNaming = Callable[[str, int], str]
"""Names the place of a paragraph, from its kind and its number among those of its kind."""


def is_open_document(data: bytes, kind: str) -> bool:
    r"""Whether a zip file says in its first member that it is a "text", a "spreadsheet", a "presentation".

    >>> head = b"PK\3\4" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.text"
    >>> is_open_document(head, "text"), is_open_document(head, "spreadsheet")
    (True, False)
    """
    head = data[:400]
    return head[30:38] == b"mimetype" and f"{_TYPE}{kind}".encode() in head


class OpenDocument:
    """The parts of a file that have text."""

    def __init__(self, data: bytes) -> None:
        """`NotExtracted` for a file that is no zip file, or needs a password."""
        self.source = ZipSource(data)
        manifest = self.source.read_if_there("META-INF/manifest.xml")
        if manifest is not None and b"encryption-data" in manifest:
            raise NotExtracted("encrypted", "it needs a password")

    def content(self) -> bytes:
        """The body of the document."""
        return self.source.read("content.xml")

    def title(self) -> str | None:
        """The title in the properties of the document, or None."""
        pieces: list[str] = []
        is_title = False

        def start(name: str, _: Attributes) -> None:
            nonlocal is_title
            is_title = name == "title"

        def end(_: str) -> None:
            nonlocal is_title
            is_title = False

        try:
            properties = self.source.read_if_there("meta.xml")
            if properties is not None:
                read_xml(properties, start, end, lambda text: pieces.append(text) if is_title else None)
        except NotExtracted:
            return None  # a title is no reason to refuse the text
        return "".join(pieces) or None


class OpenDocumentText:
    """Collects paragraphs, for a front end that hands on the elements of the content.

    The kinds of paragraphs are "paragraph", "text box", "footnote", "endnote" and "comment". A text box has
    the number of the paragraph that it is anchored in. Paragraphs of notes and comments are kept in `notes`,
    because they do not belong to the text around them; the others are written when they end.
    """

    def __init__(self, write: Callable[[Paragraph], object], place: PlaceNaming) -> None:
        self._place = place
        self._open = OpenParagraphs(write)
        self._notes: list[tuple[str, OpenParagraphs]] = []
        self._counts: Counter[str] = Counter()
        self._left_out = 0
        self._note_class = "footnote"
        self._kept: dict[str, list[Paragraph]] = {"footnote": [], "endnote": [], "comment": []}

    def notes(self) -> list[Paragraph]:
        """The paragraphs of the footnotes, endnotes and comments since the last call."""
        found = [paragraph for kept in self._kept.values() for paragraph in kept]
        for kept in self._kept.values():
            kept.clear()
        return found

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins."""
        if name in _LEFT_OUT:
            self._left_out += 1
        elif self._left_out:
            return
        elif name in _PARAGRAPHS:
            self._start_paragraph()
        elif name in _AS_TEXT:
            self._innermost().add(_AS_TEXT[name])
        elif name == "note":
            self._note_class = "endnote" if attributes.get("note-class") == "endnote" else "footnote"
        elif name == "note-body":
            self._start_note(self._note_class)
        elif name == "annotation":
            self._start_note("comment")

    def end(self, name: str) -> None:
        """An element ends."""
        if name in _LEFT_OUT:
            self._left_out -= 1
        elif self._left_out:
            return
        elif name in _PARAGRAPHS:
            self._innermost().end()
        elif name in ("note-body", "annotation"):
            self._notes.pop()

    def text(self, text: str) -> None:
        """Text between two elements."""
        if not self._left_out:
            self._innermost().add(_SPACE.sub(" ", text) if "\n" in text else text)

    def _innermost(self) -> OpenParagraphs:
        return self._notes[-1][1] if self._notes else self._open

    def _start_note(self, kind: str) -> None:
        self._counts[kind] += 1
        self._notes.append((kind, OpenParagraphs(self._kept[kind].append)))

    def _start_paragraph(self) -> None:
        if self._notes:
            kind, paragraphs = self._notes[-1]
            paragraphs.start(self._place(kind, self._counts[kind]))
        else:
            kind = "text box" if self._open.depth else "paragraph"
            self._counts["paragraph"] += kind == "paragraph"
            self._open.start(self._place(kind, self._counts["paragraph"]))


_SPACE = re.compile(r"\s+")
