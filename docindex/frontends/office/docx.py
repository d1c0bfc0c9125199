"""Extract the text of Word documents (.docx, .docm, .dotx).

Gives the paragraphs of the body, of tables, text boxes, foot- and endnotes and comments. A place is a
paragraph of the body, counted from 1, also in tables; a text box is named by the paragraph that it is
anchored in. Text that was deleted with track changes is left out, headers and footers of pages too.
"""

import functools

from docindex.frontends.extracted import Extracted, SourcePart, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.office.ooxml import (
    SIGNATURES,
    TITLE_PART,
    Relation,
    has_member,
    main_part,
    refuse_encrypted,
    relations,
    targets,
)
from docindex.frontends.office.paragraphs import (
    OpenParagraphs,
    read_title,
    text_of_zip,
    warn_of_damage,
    write_paragraph,
)
from docindex.frontends.safe_xml import Attributes, StartHandler, read_xml
from docindex.frontends.safe_zip import ZipSource

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
    return text_of_zip(builder, source, read_title(source, TITLE_PART), parts)


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
        self._note = note
        self._paragraphs = OpenParagraphs(functools.partial(write_paragraph, builder))
        self._number = 0
        self._left_out = 0
        self._is_text = False

    def read(self, part: bytes) -> None:
        starts: dict[str, StartHandler] = {
            **{name: functools.partial(self._add, text) for name, text in _AS_TEXT.items()},
            "t": self._start_text,
            "p": self._start_paragraph,
            "sym": self._add_symbol,
            **dict.fromkeys(_LEFT_OUT, self._leave_out),
        }
        if self._note:
            starts[self._note] = self._start_note
        ends = {"t": self._end_text, "p": self._end_paragraph, **dict.fromkeys(_LEFT_OUT, self._end_left_out)}
        read_xml(part, starts, ends, self._text)

    def _leave_out(self, _: Attributes) -> None:
        self._left_out += 1

    def _end_left_out(self) -> None:
        self._left_out -= 1

    def _start_text(self, _: Attributes) -> None:
        self._is_text = True

    def _end_text(self) -> None:
        self._is_text = False

    def _text(self, text: str) -> None:
        if self._is_text and not self._left_out:
            self._paragraphs.pieces.append(text)

    def _start_paragraph(self, _: Attributes) -> None:
        if not self._left_out:
            self._paragraphs.start(self._place())

    def _end_paragraph(self) -> None:
        if not self._left_out:
            self._paragraphs.end()

    def _add(self, text: str, _: Attributes) -> None:
        if not self._left_out:
            self._paragraphs.add(text)

    def _add_symbol(self, attributes: Attributes) -> None:
        self._add(_symbol(attributes.get("char", "")), attributes)

    def _start_note(self, attributes: Attributes) -> None:
        if not self._left_out and "type" not in attributes:  # the others are lines that separate notes
            self._number += 1

    def _place(self) -> str:
        if self._note:
            return f"{self._note} {self._number}"
        if self._paragraphs.depth:
            return f"text box in paragraph {self._number}"
        self._number += 1
        return f"paragraph {self._number}"


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
