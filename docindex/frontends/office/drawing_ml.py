"""Read the paragraphs of the shapes, tables and diagrams of Microsoft Office (DrawingML): `shape_texts`.

In: a part of a presentation or a workbook. Out: paragraphs, in the order of the shapes. Numbers, dates and
footers of slides are left out.
"""

from docindex.frontends.safe_xml import Attributes, read_xml

_LEFT_OUT = {"Fallback"}
"""Second versions for old programs."""

_TEXTS = {"t", "text"}
"""The elements that hold text; the second one is a comment."""

_DECORATION = {"sldNum", "dt", "ftr", "hdr"}
"""The types of the placeholders that repeat on each page."""


def shape_texts(part: bytes) -> list[str]:
    """The paragraphs in the shapes of a part.

    >>> shape_texts(b"<sp><p><r><t>Dear </t></r><r><t>Ada</t></r></p></sp>")
    ['Dear Ada']
    """
    reader = _Reader()
    starts = {
        **dict.fromkeys(_LEFT_OUT, reader.leave_out),
        **dict.fromkeys(_TEXTS, reader.start_text),
        "br": reader.end_line,
        "ph": reader.start_placeholder,
        "fld": reader.start_field,
    }
    ends = {
        **dict.fromkeys(_LEFT_OUT, reader.end_left_out),
        **dict.fromkeys(("p", "text"), reader.end_paragraph),
        "t": reader.end_text,
        "sp": reader.end_shape,
        "fld": reader.end_field,
    }
    read_xml(part, starts, ends, reader.text)
    return reader.paragraphs


class _Reader:
    """Collects the paragraphs; they cannot lie in each other here, unlike in text documents."""

    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self._pieces: list[str] = []
        self._left_out = 0
        self._is_text = False
        self._is_decoration = False
        self._is_number = False

    def leave_out(self, _: Attributes) -> None:
        self._left_out += 1

    def end_left_out(self) -> None:
        self._left_out -= 1

    def start_text(self, _: Attributes) -> None:
        self._is_text = not (self._left_out or self._is_decoration or self._is_number)

    def end_text(self) -> None:
        self._is_text = False

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end_line(self, _: Attributes) -> None:
        self._pieces.append("\n")

    def end_paragraph(self) -> None:
        self._is_text = False
        if self._pieces:
            text = "".join(self._pieces).strip()
            self._pieces.clear()
            if text:
                self.paragraphs.append(text)

    def start_placeholder(self, attributes: Attributes) -> None:
        self._is_decoration = attributes.get("type") in _DECORATION

    def end_shape(self) -> None:
        self._is_decoration = False

    def start_field(self, attributes: Attributes) -> None:
        self._is_number = attributes.get("type", "").startswith(("slidenum", "datetime"))

    def end_field(self) -> None:
        self._is_number = False
