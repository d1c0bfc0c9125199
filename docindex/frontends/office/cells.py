"""Write the rows of spreadsheets, and name their cells: what workbooks of all formats share.

In: the rows of sheets, with the texts of their cells. Out: lines of a text, with a tab between two cells, and
places: "Prices!A4". Also the values of dates and numbers, in one form for all formats. The number of places
is bounded.
"""

import datetime as dt
import functools
import re
from collections.abc import Sequence
from typing import Literal

from docindex.frontends.extracted import TextBuilder

MOST_CELL_PLACES = 100_000
"""Later rows have one place each, such as "Prices!17:17"."""

MOST_PLACES = 300_000
"""Later rows share a place with others, such as "Prices!301001:302000". With a place for each of a million
rows a sheet takes 1.4 times as long to read, and the host 1.5 seconds more to receive its text."""

_ROWS = 1000

Cell = tuple[str, str]
"""The letters of the column of a cell, such as "AB", and its text. A named tuple takes longer to make than
the rest of a cell."""


class RowWriter:
    r"""Writes the rows of the sheets of a workbook. The end of a sheet is the end of a paragraph.

    >>> builder = TextBuilder()
    >>> RowWriter(builder).write("Prices", 4, [("A", "Tea"), ("C", "1.25")])
    >>> found = builder.extracted()
    >>> found.text, found.places.at(4).name
    ('Tea\t1.25', 'Prices!C4')
    """

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._places = 0
        self._last_place = ""

    def write(self, sheet: str, row: int, cells: Sequence[Cell]) -> None:
        """Write a row; nothing if it has no cells."""
        if not cells:
            return
        if self._places < MOST_CELL_PLACES:
            self._places += len(cells)
            self._builder.add_row([(f"{sheet}!{column}{row}", text) for column, text in cells])
        else:
            self._builder.end_line()
            self._begin_rows(sheet, row, 1 if self._places < MOST_PLACES else _ROWS)
            self._builder.add("\t".join([text for _, text in cells]))

    def _begin_rows(self, sheet: str, row: int, rows: int) -> None:
        """Begin the place of a number of rows that share one, unless it is the last one."""
        first = row - (row - 1) % rows
        place = f"{sheet}!{first}:{first + rows - 1}"
        if place != self._last_place:
            self._builder.begin(place)
            self._last_place = place
            self._places += 1


@functools.lru_cache(1 << 10)
def column_letters(number: int) -> str:
    """The letters of a column, which is counted from 1.

    >>> column_letters(1), column_letters(26), column_letters(27), column_letters(16384)
    ('A', 'Z', 'AA', 'XFD')
    """
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def plain_number(stored: str) -> str:
    """A number to 15 digits, as spreadsheets show it; files may store 17, of which the last are noise.

    >>> plain_number("0.30000000000000004"), plain_number("1234567.5"), plain_number("x")
    ('0.3', '1234567.5', 'x')
    """
    if len(stored) < 16:
        return stored
    try:
        return f"{float(stored):.15g}"
    except ValueError:
        return stored


DateKind = Literal["", "date", "duration"]
"""What a format shows of a number of days: nothing, the date and the time of day, or hours beyond 24."""


def date_kind(code: str) -> DateKind:
    """What a format of numbers shows of a number of days.

    >>> [date_kind(code) for code in ("yyyy-mm-dd", "[h]:mm", "0.00", '0" days"', "[Red]0")]
    ['date', 'duration', '', '', '']
    """
    bare = _NO_DATE.sub("", code.lower()).partition(";")[0]
    if bare == "general" or not re.search("[dmyhs]", bare):
        return ""
    return "duration" if "[" in bare else "date"


_NO_DATE = re.compile(r'"[^"]*"|\\.|[_*].|\[(?!(?:h+|m+|s+)\])[^\]]*+(?:\]|\Z)')


def date_of_serial(stored: str, kind: DateKind = "date", *, is_1904: bool = False) -> str:
    """The date or the time that a number of days stands for; the number itself if it stands for no date.

    >>> date_of_serial("43831"), date_of_serial("43831.5"), date_of_serial("0.4375"), date_of_serial("-7")
    ('2020-01-01', '2020-01-01T12:00:00', '10:30:00', '-7')
    >>> date_of_serial("1.25", "duration")
    '30:00:00'
    """
    try:
        seconds = round(float(stored) * 86400)
        if not 0 <= seconds < _MOST_SECONDS:
            return stored
        if kind == "duration" or 0 < seconds < 86400:
            return _clock(seconds)
        days, seconds = divmod(seconds, 86400)
        first = dt.date(1904, 1, 1) if is_1904 else dt.date(1899, 12, 30)
        if not is_1904 and days < 60:  # spreadsheets believe in 29 February 1900
            first += dt.timedelta(days=1)
        date = first + dt.timedelta(days=days)
    except (ValueError, OverflowError):
        return stored
    return f"{date}T{_clock(seconds)}" if seconds else f"{date}"


_MOST_SECONDS = 2_958_466 * 86400  # the year 10000


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
