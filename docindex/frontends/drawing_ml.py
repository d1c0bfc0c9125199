"""Read the paragraphs of the shapes, tables and diagrams of Microsoft Office (DrawingML): `shape_texts`.

In: a part of a presentation or a workbook. Out: paragraphs, in the order of the shapes. Numbers, dates and
footers of slides are left out.
"""

from docindex.frontends.safe_xml import Attributes, read_xml

_LEFT_OUT = {"Fallback"}
"""Second versions for old programs."""

_DECORATION = {"sldNum", "dt", "ftr", "hdr"}
"""The types of the placeholders that repeat on each page."""


def shape_texts(part: bytes) -> list[str]:
    """The paragraphs in the shapes of a part.

    >>> shape_texts(b"<sp><p><r><t>Dear </t></r><r><t>Ada</t></r></p></sp>")
    ['Dear Ada']
    """
    reader = _Reader()
    read_xml(part, reader.start, reader.end, reader.text)
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

    def start(self, name: str, attributes: Attributes) -> None:
        if name in _LEFT_OUT:
            self._left_out += 1
        elif name in ("t", "text"):  # the second one is a comment
            self._is_text = not (self._left_out or self._is_decoration or self._is_number)
        elif name == "br":
            self._pieces.append("\n")
        elif name == "ph":
            self._is_decoration = attributes.get("type") in _DECORATION
        elif name == "fld":
            self._is_number = attributes.get("type", "").startswith(("slidenum", "datetime"))

    def end(self, name: str) -> None:
        if name in _LEFT_OUT:
            self._left_out -= 1
        elif name == "t":
            self._is_text = False
        elif name in ("p", "text"):
            self._is_text = False
            text = "".join(self._pieces).strip()
            if text:
                self.paragraphs.append(text)
            self._pieces.clear()
        elif name == "sp":
            self._is_decoration = False
        elif name == "fld":
            self._is_number = False

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)
