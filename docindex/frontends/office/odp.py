"""Extract the text of presentations of LibreOffice Impress and others (.odp, .otp).

Gives the slides in their order, hidden ones too: the paragraphs of their shapes and tables in the order of
the file, then the speaker's notes and the comments. Numbers, dates and footers of slides are left out.
"""

import functools

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.office.opendocument import SIGNATURE, OpenDocument, OpenDocumentText, is_open_document
from docindex.frontends.office.paragraphs import text_of_zip, write_paragraph
from docindex.frontends.safe_xml import Attributes, read_xml

_DECORATION = {"page-number", "date-time", "footer", "header"}
"""The classes of the frames that repeat on each page."""


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a presentation."""
    document = OpenDocument(data)
    reader = _Reader()
    reader.read(document.content())
    return text_of_zip(reader.builder, document.source, document.title())


class _Reader:
    """Writes the slides of a presentation."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._slide = 0
        self._is_notes = False
        self._frames: list[bool] = []  # whether each open frame is decoration
        self._decoration = 0
        self._text = OpenDocumentText(functools.partial(write_paragraph, self.builder), self._place)

    def read(self, content: bytes) -> None:
        text = self._text
        starts = {"page": self._start_slide, "notes": self._start_notes, "frame": self._start_frame}
        ends = {"page": self._end_slide, "notes": self._end_notes, "frame": self._end_frame}
        read_xml(content, {**text.starts, **starts}, {**text.ends, **ends}, self._add)

    def _start_slide(self, _: Attributes) -> None:
        self._slide += 1

    def _end_slide(self) -> None:
        for comment in self._text.notes():
            write_paragraph(self.builder, *comment)

    def _start_notes(self, _: Attributes) -> None:
        self._is_notes = True

    def _end_notes(self) -> None:
        self._is_notes = False

    def _start_frame(self, attributes: Attributes) -> None:
        self._frames.append(attributes.get("class") in _DECORATION)
        self._decoration += self._frames[-1]

    def _end_frame(self) -> None:
        self._decoration -= self._frames.pop()

    def _add(self, text: str) -> None:
        if not self._decoration:
            self._text.text(text)

    def _place(self, kind: str, _: int) -> str:
        if kind == "comment":
            return f"comments on slide {self._slide}"
        return f"notes of slide {self._slide}" if self._is_notes else f"slide {self._slide}"


FRONT_END = FrontEnd(
    "odp",
    1,
    extract,
    (SIGNATURE,),
    lambda data: is_open_document(data, "presentation"),
    frozenset({".odp", ".otp"}),
    frozenset({"application/vnd.oasis.opendocument.presentation"}),
)
