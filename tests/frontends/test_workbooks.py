"""Workbooks give the values of their cells, row by row, and name each cell as people do."""

import datetime as dt
import io
import time

import openpyxl
import pytest
from odf import office, opendocument, table, text
from openpyxl.comments import Comment
from openpyxl.worksheet.formula import ArrayFormula

from docindex.frontends.failures import NotExtracted
from docindex.frontends.office import cells
from tests.frontends.office import converted, places, read, rezipped, saved, xlsx_of


def workbook():
    """Values of all types in two sheets, the second one hidden."""
    book = openpyxl.Workbook()
    book.properties.title = "All prices"
    prices = book.active
    prices.title = "Prices"
    prices.append(["Tea", 1.25, None, 0.1 + 0.2, -3, "two\nlines"])
    prices.append([])
    prices.append([dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, 10, 30), dt.time(10, 30)])  # noqa: DTZ001
    prices.append([dt.timedelta(hours=30, minutes=5), "#DIV/0!", "=B1*2", 0.5])
    prices["D4"].number_format = "0%"
    prices["C1"].comment = Comment("none is left", "Bob")
    hidden = book.create_sheet("Old ones")
    hidden.sheet_state = "hidden"
    hidden["AB12"] = "deep"
    return book


EXPECTED = [
    ("Prices!A1", "Tea"),
    ("Prices!B1", "1.25"),
    ("Prices!D1", "0.3"),
    ("Prices!E1", "-3"),
    ("Prices!F1", "two\nlines"),
    ("Prices!A3", "2020-01-31"),
    ("Prices!B3", "2020-01-31T10:30:00"),
    ("Prices!C3", "10:30:00"),
    ("Prices!A4", "30:05:00"),
    ("Prices!B4", "#DIV/0!"),
    ("Prices!D4", "0.5"),
    ("comment on Prices!C1", "none is left"),
    ("Old ones!AB12", "deep"),
]


def test_cells_give_their_values_and_places():
    found = read(saved(workbook()))
    assert found.title == "All prices"
    assert places(found) == EXPECTED
    assert found.text.startswith("Tea\t1.25\t0.3\t-3\ttwo\nlines\n2020-01-31\t")
    assert "\n\nnone is left\n\ndeep" in found.text


def test_both_formats_give_the_same_cells_with_the_values_of_formulas(tmp_path):
    written = converted(tmp_path, saved(workbook()), "xlsx", "ods")
    again = converted(tmp_path, written, "ods", "xlsx")
    with_formula = [*EXPECTED[:10], ("Prices!C4", "2.5"), *EXPECTED[10:]]
    assert places(read(written)) == with_formula
    assert places(read(again)) == with_formula


def test_booleans_inline_texts_and_array_formulas_are_read():
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("S")
    sheet.append([True, False, "plain", ArrayFormula("D1", "=1+1")])
    assert [words for _, words in places(read(saved(book)))] == ["TRUE", "FALSE", "plain"]


def test_a_text_of_several_fonts_is_one_word_and_pronunciation_is_left_out():
    runs = b"<r><t>Lon</t></r><r><t>don</t></r><rPh><t>spoken</t></rPh>"

    def change(name, data):
        if name == "xl/theme/theme1.xml":
            return b"<sst><si>" + runs + b"</si><si/></sst>"
        data = data.replace(b'relationships/theme"', b'relationships/sharedStrings"')
        data = data.replace(b"<is><t>inline</t>", b"<is>" + runs)
        for number in (b"0", b"7"):
            cell = b't="inlineStr"><is><t>' + number + b"</t></is>"
            data = data.replace(cell, b't="s"><v>' + number + b"</v>")
        return data

    data = rezipped(xlsx_of([["inline", "0", "7"]]), change)  # there is no shared text 7
    assert places(read(data)) == [("Prices!A1", "London"), ("Prices!B1", "London")]


def test_cells_without_references_are_counted():
    def change(_, data):
        return data.replace(b' r="A1"', b"").replace(b' r="B1"', b"").replace(b' r="1"', b"")

    data = rezipped(xlsx_of([["a", "b"]]), change)
    assert places(read(data)) == [("Prices!A1", "a"), ("Prices!B1", "b")]


def test_a_sheet_that_is_damaged_is_read_as_far_as_it_can_be():
    data = xlsx_of([["one", "two"], ["three", "four"]])
    broken = rezipped(data, lambda name, old: old[:-60] if name.endswith("sheet1.xml") else old)
    found = read(broken)
    assert places(found)[0] == ("Prices!A1", "one")
    assert found.warnings[0].startswith("The end of the sheet 'Prices' cannot be read: ")


def test_a_binary_workbook_is_not_read_and_the_message_says_what_to_do():
    data = xlsx_of([["x"]]).replace(b"xl/workbook.xml", b"xl/workbook.bin")
    with pytest.raises(NotExtracted, match=r"binary workbook; save it as \.xlsx") as raised:
        read(data, "x.xlsb")
    assert raised.value.reason == "unknown format"


def test_many_cells_have_a_place_for_each_row_and_many_rows_share_one(monkeypatch):
    monkeypatch.setattr(cells, "MOST_CELL_PLACES", 3)
    monkeypatch.setattr(cells, "MOST_PLACES", 5)
    found = read(xlsx_of([["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"], ["i"]]))
    names = [name for name, _ in places(found)]
    assert names == [f"Prices!{name}" for name in ("A1", "B1", "A2", "B2", "3:3", "1:1000")]
    assert found.text == "a\tb\nc\td\ne\tf\ng\th\ni\n\n"


def repeated(columns, rows):
    """A workbook of odfpy with one cell that stands for many."""
    document = opendocument.OpenDocumentSpreadsheet()
    sheet, row = table.Table(name="S"), table.TableRow(numberrowsrepeated=rows)
    cell = table.TableCell(numbercolumnsrepeated=columns, valuetype="string")
    cell.addElement(text.P(text="x"))
    row.addElement(cell)
    sheet.addElement(row)
    last, cell = table.TableRow(), table.TableCell(valuetype="string")
    comment = office.Annotation()
    comment.addElement(text.P(text="why?"))
    cell.addElement(comment)
    cell.addElement(text.P(text="one"))
    cell.addElement(text.P(text="two"))
    last.addElement(cell)
    sheet.addElement(last)
    document.spreadsheet.addElement(sheet)
    return saved(document)


def test_a_cell_that_stands_for_several_is_repeated():
    assert places(read(repeated(2, 2))) == [
        *(("S!A1", "x"), ("S!B1", "x"), ("S!A2", "x"), ("S!B2", "x"), ("S!A3", "one\ntwo")),
        ("comment on S!A3", "why?"),
    ]


def test_a_cell_that_stands_for_billions_is_repeated_up_to_a_limit():
    begun = time.monotonic()
    found = read(repeated(1_000_000, 1_048_576))
    assert time.monotonic() - begun < 5
    assert found.text.count("x") <= 200_000
    assert places(found)[-1] == ("comment on S!A1048577", "why?")
    assert found.warnings == ("Cells that are repeated more than 100,000 times are left out.",)


def test_a_million_empty_cells_cost_nothing():
    book = openpyxl.Workbook()
    book.active["XFD1048576"] = "last"
    assert places(read(saved(book))) == [("Sheet!XFD1048576", "last")]


def test_dates_of_the_other_epoch_of_excel_are_right():
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active["A1"] = dt.date(2020, 1, 31)
    assert places(read(saved(book))) == [("Sheet!A1", "2020-01-31")]


def test_the_dates_are_those_that_openpyxl_reads():
    book = openpyxl.Workbook()
    formats = [
        "yyyy-mm-dd",
        "d. mmmm yyyy",
        '"Tag" d',
        "[$-407]dd/mm/yy;@",
        "h:mm AM/PM",
        '0.0 "days"',
        "[Red]0",
    ]
    formats += ["General", "#,##0.00 [$€-407]", "@", "mm:ss.0", r"0\d", "_-* #,##0_-"]
    for number, code in enumerate(formats, 1):
        cell = book.active.cell(number, 1, 43861.5)
        cell.number_format = code
    data = saved(book)
    expected = [row[0].is_date for row in openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows()]
    found = [words.startswith("2020-01-31T12:00") for _, words in places(read(data))]
    assert found == expected
