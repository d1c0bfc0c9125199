"""Extract the text of Word documents (.docx, .docm, .dotx).

Gives the paragraphs of the body, of tables, text boxes, foot- and endnotes and comments. A place is a
paragraph, counted as Word does in its status bar: from 1, also in tables. Text that was deleted with track
changes is left out, headers and footers of pages too.
"""

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.ooxml import SIGNATURES, core_title, has_member, main_part, refuse_encrypted
from docindex.frontends.safe_xml import Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource

_AS_TEXT = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
"""Empty elements of a run, and the text that they stand for."""

_LEFT_OUT = {"del", "moveFrom", "Fallback", "instrText", "delText"}
"""Elements whose text is not part of the document: deleted text, codes of fields, and second versions."""

_NOTES = ("footnotes", "endnotes", "comments")


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a Word document."""
    refuse_encrypted(data)
    source = ZipSource(data)
    main = main_part(source, "word/document.xml")
    reader = _Reader()
    reader.read(source.read(main))
    folder = main.rpartition("/")[0]
    for notes in _NOTES:
        if part := source.read_if_there(f"{folder}/{notes}.xml"):
            try:
                reader.read(part)
            except NotExtracted as error:
                reader.builder.warn(f"Its {notes} cannot be read: {error}.")
    return reader.builder.extracted(core_title(source))


class _Reader:
    """Collects the paragraphs of the parts of a document."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._paragraphs = 0
        self._left_out = 0
        self._is_text = False

    def read(self, part: bytes) -> None:
        read_xml(part, self._start, self._end, self._text)

    def _start(self, name: str, _: Attributes) -> None:
        if name in _LEFT_OUT:
            self._left_out += 1
        elif self._left_out:
            return
        elif name == "t":
            self._is_text = True
        elif name == "p":
            self._paragraphs += 1
            self.builder.end_paragraph().begin(f"paragraph {self._paragraphs}")
        elif name in _AS_TEXT:
            self.builder.add(_AS_TEXT[name])

    def _end(self, name: str) -> None:
        if name in _LEFT_OUT:
            self._left_out -= 1
        elif name == "t":
            self._is_text = False
        elif name == "p" and not self._left_out:
            self.builder.end_paragraph()

    def _text(self, text: str) -> None:
        if self._is_text and not self._left_out:
            self.builder.add(text)


FRONT_END = FrontEnd(
    "docx",
    1,
    extract,
    SIGNATURES,
    lambda data: has_member(data, b"word/document.xml"),
    frozenset({".docx", ".docm", ".dotx", ".dotm"}),
    frozenset({"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}),
)
