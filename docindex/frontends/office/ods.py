"""Extract the text of workbooks of LibreOffice Calc and others (.ods, .ots).

Gives the sheets in their order, hidden ones too: a line for each row, then the shapes and the comments of the
sheet. A formula is given by its last value, a number as the file stores it, a date as 2020-01-31. A cell that
is stored once for many cells is repeated, up to a limit.
"""

import re

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.office.cells import Cell, RowWriter, column_letters, plain_number
from docindex.frontends.office.opendocument import SIGNATURE, OpenDocument, OpenDocumentText, is_open_document
from docindex.frontends.office.paragraphs import Paragraph, text_of_zip, write_paragraph
from docindex.frontends.safe_xml import Attributes, read_xml

MOST_REPEATED = 100_000
"""The cells that a workbook may have beyond those that its file stores. A file of 1 KB can ask for 17
billion."""

_SHAPES = {"frame", "custom-shape", "rect", "ellipse", "circle", "line", "connector", "polygon", "polyline"}
_SHAPES |= {"path", "caption", "regular-polygon", "measure", "g"}
_CELLS = {"table-cell", "covered-table-cell"}
_VALUES = {"float": "value", "percentage": "value", "currency": "value", "date": "date-value"}
_VALUES |= {"boolean": "boolean-value", "time": "time-value"}
"""The attribute that has the value of each type of cell. Texts have none."""


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a workbook."""
    document = OpenDocument(data)
    reader = _Reader()
    reader.read(document.content())
    return text_of_zip(reader.builder, document.source, document.title())


class _Reader:
    """Writes the sheets of a workbook."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._rows = RowWriter(self.builder)
        self._text = OpenDocumentText(self._write, self._place)
        self._sheet = ""
        self._row = self._column = 0
        self._row_repeats = 1
        self._cells: list[Cell] = []
        self._cell: Attributes | None = None
        self._lines: list[str] = []
        self._shapes = 0
        self._shape_texts: list[Paragraph] = []
        self._left = MOST_REPEATED

    def read(self, content: bytes) -> None:
        text = self._text
        starts = {
            **text.starts,
            **dict.fromkeys(_SHAPES, self._start_shape),
            **dict.fromkeys(_CELLS, self._start_cell),
            "table-row": self._start_row,
            "table": self._start_sheet,
        }
        ends = {
            **text.ends,
            **dict.fromkeys(_SHAPES, self._end_shape),
            **dict.fromkeys(_CELLS, self._end_cell),
            "table-row": self._end_row,
            "table": self._end_sheet,
        }
        read_xml(content, starts, ends, text.text)

    def _start_cell(self, attributes: Attributes) -> None:
        self._cell = attributes
        self._column += 1

    def _start_row(self, attributes: Attributes) -> None:
        self._row += 1
        self._column = 0
        self._row_repeats = _repeats(attributes, "number-rows-repeated")

    def _start_shape(self, _: Attributes) -> None:
        self._shapes += 1

    def _end_shape(self) -> None:
        self._shapes -= 1

    def _start_sheet(self, attributes: Attributes) -> None:
        if not self._shapes:
            self._sheet, self._row = attributes.get("name", ""), 0

    def _end_cell(self) -> None:
        if self._cell is None:
            return
        repeats = _repeats(self._cell, "number-columns-repeated")
        if text := _value(self._cell, self._lines):
            self._cells.append((column_letters(self._column), text))
            if repeats > 1:
                for number in range(1, 1 + self._granted(repeats - 1)):
                    self._cells.append((column_letters(self._column + number), text))
        self._column += repeats - 1
        self._cell = None
        self._lines = []

    def _end_row(self) -> None:
        if self._cells:
            self._rows.write(self._sheet, self._row, self._cells)
            if self._row_repeats > 1:
                granted = self._granted((self._row_repeats - 1) * len(self._cells)) // len(self._cells)
                for number in range(1, 1 + granted):
                    self._rows.write(self._sheet, self._row + number, self._cells)
            self._cells = []
        self._row += self._row_repeats - 1

    def _granted(self, wanted: int) -> int:
        """How many of the cells that are wanted beyond the stored ones may be given."""
        granted = min(wanted, self._left)
        if granted < wanted:
            self.builder.warn(f"Cells that are repeated more than {MOST_REPEATED:,} times are left out.")
        self._left -= granted
        return granted

    def _end_sheet(self) -> None:
        if self._shapes:
            return
        self.builder.end_paragraph()
        for paragraph in (*self._shape_texts, *self._text.notes()):
            write_paragraph(self.builder, *paragraph)
        self._shape_texts.clear()

    def _place(self, kind: str, _: int) -> str:
        if kind == "comment":
            return f"comment on {self._sheet}!{column_letters(self._column)}{self._row}"
        return f"shapes on {self._sheet}" if self._shapes else ""

    def _write(self, place: str, text: str) -> None:
        if place:
            self._shape_texts.append(Paragraph(place, text))
        elif self._cell is not None:
            self._lines.append(text)


def _repeats(attributes: Attributes, name: str) -> int:
    """How many cells or rows an element stands for."""
    number = attributes.get(name)
    if number is None:
        return 1
    return max(1, int(number)) if re.fullmatch("[0-9]{1,9}", number) else 1


def _value(cell: Attributes, lines: list[str]) -> str:
    """The text of a cell: of a text its lines, else its value."""
    kind = cell.get("value-type", "")
    value = cell.get(_VALUES.get(kind, ""), "")
    if kind == "time":
        return _clock_time(value)
    if kind == "boolean":
        return value.upper()
    return plain_number(value) or "\n".join(lines).strip() or cell.get("string-value", "")


def _clock_time(duration: str) -> str:
    """A time of day, from its form in OpenDocument.

    >>> _clock_time("PT10H05M00S")
    '10:05:00'
    """
    found = re.fullmatch(r"PT(\d{1,9})H(\d{1,2})M(\d{1,2})(?:[.,]\d*)?S", duration)
    return ":".join(found.groups()) if found else duration


FRONT_END = FrontEnd(
    "ods",
    1,
    extract,
    (SIGNATURE,),
    lambda data: is_open_document(data, "spreadsheet"),
    frozenset({".ods", ".ots"}),
    frozenset({"application/vnd.oasis.opendocument.spreadsheet"}),
)
