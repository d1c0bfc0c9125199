"""Extract the text of Excel workbooks (.xlsx, .xltx, and those with macros).

Gives the sheets in their order, hidden ones too: a line for each row, then the shapes and the comments of the
sheet. A formula is given by its last value, a number as the file stores it, a date as 2020-01-31. Binary
workbooks (.xlsb) are not read.
"""

from typing import NamedTuple

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.office.cells import (
    Cell,
    DateKind,
    RowWriter,
    column_letters,
    date_kind,
    date_of_serial,
    plain_number,
)
from docindex.frontends.office.drawing_ml import shape_texts
from docindex.frontends.office.ooxml import (
    SIGNATURES,
    TITLE_PART,
    has_member,
    main_part,
    refuse_encrypted,
    related,
    relations,
)
from docindex.frontends.office.paragraphs import (
    Paragraph,
    read_title,
    text_of_zip,
    warn_of_damage,
    write_paragraph,
)
from docindex.frontends.safe_xml import Attributes, TextInside, read_xml
from docindex.frontends.safe_zip import ZipSource

_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
"""The numbers of Excel's own formats that show a date or a time."""

_DURATION = "46"
"""Excel's own format of hours beyond 24."""

_BOOLEANS = {"0": "FALSE", "1": "TRUE"}
_VALUES = ("v", "t")
"""The elements that hold the value of a cell, or its text."""
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
        if not any(source.unread([part])):
            continue
        try:
            _Sheet(book, name, rows).read(source.read(part))
        except NotExtracted as error:
            warn_of_damage(builder, f"The end of the sheet {name!r}", error)
        builder.end_paragraph()
        for paragraph in _beside(source, name, part, builder):
            write_paragraph(builder, *paragraph)
    return text_of_zip(builder, source, read_title(source, TITLE_PART))


def _beside(source: ZipSource, name: str, part: str, builder: TextBuilder) -> list[Paragraph]:
    """The texts of the shapes and the comments of a sheet."""
    found = []
    try:
        for drawing in source.unread(related(source, part, "/drawing")):
            found += [Paragraph(f"shapes on {name}", text) for text in shape_texts(source.read(drawing))]
        for comments in source.unread(related(source, part, "/comments")):
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
            if not any(source.unread([relation.target])):
                continue
            if relation.kind.endswith("/sharedStrings"):
                self.texts = _texts(source.read(relation.target))
            elif relation.kind.endswith("/styles") and relation.target in source.names:
                self.dates = _date_styles(source.read(relation.target))

    def _read_list(self, part: bytes, targets: dict[str, str]) -> None:
        def start_sheet(attributes: Attributes) -> None:
            if target := targets.pop(attributes.get("id", ""), None):
                self.sheets.append(_SheetPart(attributes.get("name", ""), target))

        def start_properties(attributes: Attributes) -> None:
            self.is_1904 = attributes.get("date1904") in ("1", "true")

        read_xml(part, {"sheet": start_sheet, "workbookPr": start_properties})


class _SheetPart(NamedTuple):
    name: str
    part: str


def _texts(part: bytes) -> list[str]:
    """The texts that cells refer to by their number, without the pronunciation of Japanese words."""
    found: list[str] = []
    inside = TextInside()
    is_spoken = False

    def start_text(attributes: Attributes) -> None:
        if not is_spoken:
            inside.start(attributes)

    def start_spoken(_: Attributes) -> None:
        nonlocal is_spoken
        is_spoken = True

    def end_spoken() -> None:
        nonlocal is_spoken
        is_spoken = False

    starts = {"t": start_text, "rPh": start_spoken}
    ends = {"t": inside.end, "rPh": end_spoken, "si": lambda: found.append(inside.take())}
    read_xml(part, starts, ends, inside.text)
    return found


def _date_styles(part: bytes) -> dict[str, DateKind]:
    """The styles of cells that show a date, by their number."""
    dates: dict[str, DateKind] = {str(number): "date" for number in _DATES}
    dates[_DURATION] = "duration"
    formats: list[str] = []
    is_inside = False

    def start_format(attributes: Attributes) -> None:
        dates[attributes.get("numFmtId", "")] = date_kind(attributes.get("formatCode", ""))

    def start_list(_: Attributes) -> None:
        nonlocal is_inside
        is_inside = True

    def end_list() -> None:
        nonlocal is_inside
        is_inside = False

    def start_style(attributes: Attributes) -> None:
        if is_inside:
            formats.append(attributes.get("numFmtId", ""))

    read_xml(part, {"numFmt": start_format, "cellXfs": start_list, "xf": start_style}, {"cellXfs": end_list})
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
        starts = {
            **dict.fromkeys(_VALUES, self._start_value),
            "c": self._start_cell,
            "row": self._start_row,
            "rPh": self._start_spoken,
        }
        ends = {
            **dict.fromkeys(_VALUES, self._end_value),
            "c": self._end_cell,
            "row": self._end_row,
            "rPh": self._end_spoken,
        }
        read_xml(part, starts, ends, self._text)
        self._end_row()

    def _start_row(self, attributes: Attributes) -> None:
        number = attributes.get("r", "")
        self._row = int(number) if _is_row_number(number) else self._row + 1

    def _end_row(self) -> None:
        if self._cells:
            self._rows.write(self._name, self._row, self._cells)
            self._cells = []

    def _start_cell(self, attributes: Attributes) -> None:
        self._attributes = attributes

    def _end_cell(self) -> None:
        if not self._pieces:
            return
        value = "".join(self._pieces)
        self._pieces.clear()
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

    def _start_value(self, _: Attributes) -> None:
        self._is_value = True

    def _end_value(self) -> None:
        self._is_value = False

    def _text(self, text: str) -> None:
        if self._is_value:
            self._pieces.append(text)

    def _start_spoken(self, _: Attributes) -> None:
        self._spoken_from = len(self._pieces)

    def _end_spoken(self) -> None:
        del self._pieces[self._spoken_from :]

    def _shared(self, number: str) -> str:
        try:
            return self._book.texts[int(number)]
        except (ValueError, IndexError):
            return ""


def _is_row_number(number: str) -> bool:
    return len(number) <= 7 and number.isascii() and number.isdigit()


def _comments(part: bytes, sheet: str) -> list[Paragraph]:
    """The comments on cells."""
    found: list[Paragraph] = []
    inside = TextInside()
    reference = ""

    def start(attributes: Attributes) -> None:
        nonlocal reference
        reference = attributes.get("ref", "")

    def end() -> None:
        found.append(Paragraph(f"comment on {sheet}!{reference}", inside.take()))

    read_xml(part, {"comment": start, "t": inside.start}, {"comment": end, "t": inside.end}, inside.text)
    return found


FRONT_END = FrontEnd(
    "xlsx",
    1,
    extract,
    SIGNATURES,
    lambda data: has_member(data, b"xl/workbook.xml") or has_member(data, b"xl/workbook.bin"),
    frozenset({".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb"}),
    frozenset({"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}),
)
