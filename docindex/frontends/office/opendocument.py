"""Read files of LibreOffice and others (OpenDocument): what texts, workbooks and presentations share.

`OpenDocument` finds the content of a file; `OpenDocumentText` collects the paragraphs in it. Deleted text
that the file keeps for its track of changes is left out.
"""

import functools
import re
from collections import Counter
from collections.abc import Callable

from docindex.frontends.failures import NotExtracted
from docindex.frontends.office.paragraphs import OpenParagraphs, Paragraph, read_title
from docindex.frontends.safe_xml import Attributes, EndHandlers, StartHandlers
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
        return read_title(self.source, "meta.xml")


class OpenDocumentText:
    """Collects paragraphs. `starts`, `ends` and `text` are its functions for `read_xml`.

    The kinds of paragraphs are "paragraph", "text box", "footnote", "endnote" and "comment". A text box has
    the number of the paragraph that it is anchored in. Paragraphs of notes and comments are kept in `notes`,
    because they do not belong to the text around them; the others are written when they end.
    """

    def __init__(self, write: Callable[[str, str], object], place: PlaceNaming) -> None:
        self._place = place
        self._open = self._innermost = OpenParagraphs(write)
        self._notes: list[tuple[str, OpenParagraphs]] = []
        self._counts: Counter[str] = Counter()
        self._number = 0
        self._left_out = 0
        self._note_class = "footnote"
        self._kept: dict[str, list[Paragraph]] = {"footnote": [], "endnote": [], "comment": []}
        self.starts: StartHandlers = {
            **dict.fromkeys(_PARAGRAPHS, self._start_paragraph),
            **{name: functools.partial(self._add, text) for name, text in _AS_TEXT.items()},
            "note": self._note,
            "note-body": self._start_note,
            "annotation": self._start_comment,
            **dict.fromkeys(_LEFT_OUT, self._leave_out),
        }
        self.ends: EndHandlers = {
            **dict.fromkeys(_PARAGRAPHS, self._end_paragraph),
            **dict.fromkeys(("note-body", "annotation"), self._end_apart),
            **dict.fromkeys(_LEFT_OUT, self._end_left_out),
        }

    def notes(self) -> list[Paragraph]:
        """The paragraphs of the footnotes, endnotes and comments since the last call."""
        found = [paragraph for kept in self._kept.values() for paragraph in kept]
        for kept in self._kept.values():
            kept.clear()
        return found

    def _leave_out(self, _: Attributes) -> None:
        self._left_out += 1

    def _end_left_out(self) -> None:
        self._left_out -= 1

    def _add(self, text: str, _: Attributes) -> None:
        if not self._left_out:
            self._innermost.add(text)

    def text(self, text: str) -> None:
        """Text between two elements."""
        if not self._left_out:
            self._innermost.pieces.append(_SPACE.sub(" ", text) if "\n" in text else text)

    def _note(self, attributes: Attributes) -> None:
        if not self._left_out:
            self._note_class = "endnote" if attributes.get("note-class") == "endnote" else "footnote"

    def _start_note(self, _: Attributes) -> None:
        self._start_apart(self._note_class)

    def _start_comment(self, _: Attributes) -> None:
        self._start_apart("comment")

    def _start_apart(self, kind: str) -> None:
        if not self._left_out:
            self._counts[kind] += 1
            self._innermost = OpenParagraphs(functools.partial(self._keep, kind))
            self._notes.append((kind, self._innermost))

    def _keep(self, kind: str, place: str, text: str) -> None:
        self._kept[kind].append(Paragraph(place, text))

    def _end_apart(self) -> None:
        if not self._left_out:
            self._notes.pop()
            self._innermost = self._notes[-1][1] if self._notes else self._open

    def _start_paragraph(self, _: Attributes) -> None:
        if self._left_out:
            return
        if self._notes:
            kind = self._notes[-1][0]
            place = self._place(kind, self._counts[kind])
        elif self._open.depth:
            place = self._place("text box", self._number)
        else:
            self._number += 1
            place = self._place("paragraph", self._number)
        self._innermost.start(place)

    def _end_paragraph(self) -> None:
        if not self._left_out:
            self._innermost.end()


_SPACE = re.compile(r"\s+")
