"""Extract the text of Word documents (.docx, .docm, .dotx).

Gives the paragraphs of the body, of tables, text boxes, foot- and endnotes and comments. A place is a
paragraph of the body, counted from 1, also in tables; a text box is named by the paragraph that it is
anchored in. Text that was deleted with track changes is left out, headers and footers of pages too.
"""

from docindex.frontends.extracted import Extracted, SourcePart, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.nested_paragraphs import OpenParagraphs, Paragraph
from docindex.frontends.ooxml import (
    SIGNATURES,
    Relation,
    core_title,
    has_member,
    main_part,
    refuse_encrypted,
    relations,
    targets,
)
from docindex.frontends.safe_xml import Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource
from docindex.frontends.written_text import text_of_zip, warn_of_damage, write_paragraph

_AS_TEXT = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
"""Empty elements of a run, and the text that they stand for."""

_LEFT_OUT = {"del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rt"}
"""Elements whose text is not part of the document: deleted text, codes of fields, second versions, tab stops
of a paragraph, and the pronunciation above words."""

_NOTES = ("footnote", "endnote", "comment")


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a Word document."""
    refuse_encrypted(data)
    source = ZipSource(data)
    main = main_part(source, "word/document.xml")
    builder = TextBuilder()
    _Reader(builder).read(source.read(main))
    parts: tuple[SourcePart, ...] = ()
    try:
        beside = relations(source, main)
        for note in _NOTES:
            _read_notes(builder, note, source, beside)
        parts = _imported(source, beside)
    except NotExtracted as error:
        warn_of_damage(builder, "The list of its notes and comments", error)
    return text_of_zip(builder, source, core_title(source), parts)


def _read_notes(builder: TextBuilder, note: str, source: ZipSource, beside: list[Relation]) -> None:
    """Write the notes of one kind."""
    for part in targets(beside, f"/{note}s"):
        try:
            _Reader(builder, note).read(source.read(part))
        except NotExtracted as error:
            warn_of_damage(builder, f"The part with its {note}s", error)


def _imported(source: ZipSource, beside: list[Relation]) -> tuple[SourcePart, ...]:
    """The documents that Word would import when it opens this one: programs that convert web pages use it."""
    return tuple(
        SourcePart(name, source.read(name)) for name in targets(beside, "/aFChunk") if name in source.names
    )


class _Reader:
    """Writes the paragraphs of a part: those of the body, or of one kind of notes."""

    def __init__(self, builder: TextBuilder, note: str | None = None) -> None:
        self._builder = builder
        self._note = note
        self._paragraphs = OpenParagraphs(self._write)
        self._number = 0
        self._left_out = 0
        self._is_text = False

    def read(self, part: bytes) -> None:
        read_xml(part, self._start, self._end, self._text)

    def _start(self, name: str, attributes: Attributes) -> None:
        if name in _LEFT_OUT:
            self._left_out += 1
        elif self._left_out:
            return
        elif name == "t":
            self._is_text = True
        elif name == "p":
            self._paragraphs.start(self._place())
        elif name in _AS_TEXT:
            self._paragraphs.add(_AS_TEXT[name])
        elif name == "sym":
            self._paragraphs.add(_symbol(attributes.get("char", "")))
        elif name == self._note and "type" not in attributes:  # the others are lines that separate notes
            self._number += 1

    def _place(self) -> str:
        if self._note:
            return f"{self._note} {self._number}"
        if self._paragraphs.depth:
            return f"text box in paragraph {self._number}"
        self._number += 1
        return f"paragraph {self._number}"

    def _end(self, name: str) -> None:
        if name in _LEFT_OUT:
            self._left_out -= 1
        elif name == "t":
            self._is_text = False
        elif name == "p" and not self._left_out:
            self._paragraphs.end()

    def _text(self, text: str) -> None:
        if self._is_text and not self._left_out:
            self._paragraphs.add(text)

    def _write(self, paragraph: Paragraph) -> None:
        write_paragraph(self._builder, paragraph)


def _symbol(code: str) -> str:
    """The character of a symbol, which Word stores by its number in a font: U+F04A is number 4A."""
    try:
        character = chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""
    return character if character.isprintable() or "\ue000" <= character <= "\uf8ff" else ""


FRONT_END = FrontEnd(
    "docx",
    1,
    extract,
    SIGNATURES,
    lambda data: has_member(data, b"word/document.xml"),
    frozenset({".docx", ".docm", ".dotx", ".dotm"}),
    frozenset({"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}),
)
