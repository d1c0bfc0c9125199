"""Extract the text of Excel workbooks (.xlsx, .xltx, and those with macros).

Gives the sheets in their order, hidden ones too: a line for each row, then the shapes and the comments of the
sheet. A formula is given by its last value, a number as the file stores it, a date as 2020-01-31. Binary
workbooks (.xlsb) are not read.
"""

import re
from typing import NamedTuple

from docindex.frontends.cells import (
    Cell,
    DateKind,
    RowWriter,
    column_letters,
    date_kind,
    date_of_serial,
    plain_number,
)
from docindex.frontends.drawing_ml import shape_texts
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.nested_paragraphs import Paragraph
from docindex.frontends.ooxml import (
    SIGNATURES,
    core_title,
    has_member,
    main_part,
    refuse_encrypted,
    related,
    relations,
)
from docindex.frontends.safe_xml import Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource
from docindex.frontends.written_text import text_of_zip, warn_of_damage, write_paragraph

_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
"""The numbers of Excel's own formats that show a date or a time."""

_DURATION = "46"
"""Excel's own format of hours beyond 24."""

_BOOLEANS = {"0": "FALSE", "1": "TRUE"}
_DIGITS = "0123456789"


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a workbook."""
    refuse_encrypted(data)
    source = ZipSource(data)
    main = main_part(source, "xl/workbook.xml")
    if main.endswith(".bin") or "xl/workbook.bin" in source.names:
        raise NotExtracted("unknown format", "it is a binary workbook; save it as .xlsx")
    book = _Workbook(source, main)
    builder = TextBuilder()
    rows = RowWriter(builder)
    for name, part in book.sheets:
        try:
            _Sheet(book, name, rows).read(source.read(part))
        except NotExtracted as error:
            warn_of_damage(builder, f"The end of the sheet {name!r}", error)
        builder.end_paragraph()
        for paragraph in _beside(source, name, part, builder):
            write_paragraph(builder, paragraph)
    return text_of_zip(builder, source, core_title(source))


def _beside(source: ZipSource, name: str, part: str, builder: TextBuilder) -> list[Paragraph]:
    """The texts of the shapes and the comments of a sheet."""
    found = []
    try:
        for drawing in related(source, part, "/drawing"):
            found += [Paragraph(f"shapes on {name}", text) for text in shape_texts(source.read(drawing))]
        for comments in related(source, part, "/comments"):
            found += _comments(source.read(comments), name)
    except NotExtracted as error:
        warn_of_damage(builder, f"A shape or comment of the sheet {name!r}", error)
    return found


class _Workbook:
    """What the sheets of a workbook share: its texts, and the formats that show dates."""

    def __init__(self, source: ZipSource, main: str) -> None:
        self.sheets: list[_SheetPart] = []
        self.is_1904 = False
        self.texts: list[str] = []
        self.dates: dict[str, DateKind] = {}
        """The styles of cells that show a date."""
        targets = {relation.identity: relation for relation in relations(source, main)}
        self._read_list(source.read(main), {key: each.target for key, each in targets.items()})
        for relation in targets.values():
            if relation.kind.endswith("/sharedStrings"):
                self.texts = _texts(source.read(relation.target))
            elif relation.kind.endswith("/styles") and relation.target in source.names:
                self.dates = _date_styles(source.read(relation.target))

    def _read_list(self, part: bytes, targets: dict[str, str]) -> None:
        def start(name: str, attributes: Attributes) -> None:
            if name == "sheet" and (target := targets.pop(attributes.get("id", ""), None)):
                self.sheets.append(_SheetPart(attributes.get("name", ""), target))
            elif name == "workbookPr":
                self.is_1904 = attributes.get("date1904") in ("1", "true")

        read_xml(part, start, _ignore, _ignore)


class _SheetPart(NamedTuple):
    name: str
    part: str


def _texts(part: bytes) -> list[str]:
    """The texts that cells refer to by their number, without the pronunciation of Japanese words."""
    found: list[str] = []
    pieces: list[str] = []
    is_text = is_spoken = False

    def start(name: str, _: Attributes) -> None:
        nonlocal is_text, is_spoken
        if name == "t":
            is_text = not is_spoken
        elif name == "rPh":
            is_spoken = True

    def end(name: str) -> None:
        nonlocal is_text, is_spoken
        if name == "si":
            found.append("".join(pieces))
            pieces.clear()
        elif name == "t":
            is_text = False
        elif name == "rPh":
            is_spoken = False

    read_xml(part, start, end, lambda text: pieces.append(text) if is_text else None)
    return found


def _date_styles(part: bytes) -> dict[str, DateKind]:
    """The styles of cells that show a date, by their number."""
    dates: dict[str, DateKind] = {str(number): "date" for number in _DATES}
    dates[_DURATION] = "duration"
    formats: list[str] = []
    is_inside = False

    def start(name: str, attributes: Attributes) -> None:
        nonlocal is_inside
        if name == "numFmt":
            dates[attributes.get("numFmtId", "")] = date_kind(attributes.get("formatCode", ""))
        elif name == "cellXfs":
            is_inside = True
        elif name == "xf" and is_inside:
            formats.append(attributes.get("numFmtId", ""))

    def end(name: str) -> None:
        nonlocal is_inside
        is_inside = is_inside and name != "cellXfs"

    read_xml(part, start, end, _ignore)
    kinds = (dates.get(number, "") for number in formats)
    return {str(style): kind for style, kind in enumerate(kinds) if kind}


class _Sheet:
    """Writes the rows of a sheet."""

    def __init__(self, book: _Workbook, name: str, rows: RowWriter) -> None:
        self._book = book
        self._name = name
        self._rows = rows
        self._row = 0
        self._cells: list[Cell] = []
        self._spoken_from = 0
        self._attributes: Attributes = {}
        self._pieces: list[str] = []
        self._is_value = False

    def read(self, part: bytes) -> None:
        read_xml(part, self._start, self._end, self._text)
        self._end("row")

    def _start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            self._attributes = attributes
        elif name in ("v", "t"):
            self._is_value = True
        elif name == "row":
            number = attributes.get("r", "")
            self._row = int(number) if _is_row_number(number) else self._row + 1
        elif name == "rPh":  # how a Japanese word is pronounced
            self._spoken_from = len(self._pieces)

    def _end(self, name: str) -> None:
        if name in ("v", "t"):
            self._is_value = False
        elif name == "rPh":
            del self._pieces[self._spoken_from :]
        elif name == "c":
            if self._pieces:
                self._end_cell("".join(self._pieces))
                self._pieces.clear()
        elif name == "row" and self._cells:
            self._rows.write(self._name, self._row, self._cells)
            self._cells = []

    def _end_cell(self, value: str) -> None:
        attributes = self._attributes
        kind = attributes.get("t")
        if kind == "s":
            value = self._shared(value)
        elif kind == "b":
            value = _BOOLEANS.get(value, value)
        elif kind is None or kind == "n":
            shown = self._book.dates.get(attributes.get("s", ""))
            value = date_of_serial(value, shown, is_1904=self._book.is_1904) if shown else plain_number(value)
        if value:
            reference = attributes.get("r")
            column = reference.rstrip(_DIGITS) if reference else column_letters(len(self._cells) + 1)
            self._cells.append((column, value))

    def _shared(self, number: str) -> str:
        try:
            return self._book.texts[int(number)]
        except (ValueError, IndexError):
            return ""

    def _text(self, text: str) -> None:
        if self._is_value:
            self._pieces.append(text)


def _is_row_number(number: str) -> bool:
    return re.fullmatch("[0-9]{1,7}", number) is not None


def _comments(part: bytes, sheet: str) -> list[Paragraph]:
    """The comments on cells."""
    found: list[Paragraph] = []
    pieces: list[str] = []
    reference = ""
    is_text = False

    def start(name: str, attributes: Attributes) -> None:
        nonlocal reference, is_text
        if name == "comment":
            reference = attributes.get("ref", "")
        is_text = name == "t"

    def end(name: str) -> None:
        nonlocal is_text
        is_text = False
        if name == "comment":
            found.append(Paragraph(f"comment on {sheet}!{reference}", "".join(pieces)))
            pieces.clear()

    read_xml(part, start, end, lambda text: pieces.append(text) if is_text else None)
    return found


def _ignore(_: str) -> None:
    pass


FRONT_END = FrontEnd(
    "xlsx",
    1,
    extract,
    SIGNATURES,
    lambda data: has_member(data, b"xl/workbook.xml") or has_member(data, b"xl/workbook.bin"),
    frozenset({".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb"}),
    frozenset({"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}),
)
