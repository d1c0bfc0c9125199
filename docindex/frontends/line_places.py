"""Name places in a text file by lines, as editors do: "line 120", or "line 1 column 52,001" in a long one."""

import dataclasses
from collections.abc import Sequence
from typing import overload

from docindex.frontends.extracted import Place, TextBuilder

LONG_LINE = 1000
"""Characters. A longer line has several places."""

MOST_PLACES = 200_000
"""So many places take about 10 MB as a message. In a larger file a place may be that of a line before."""


class LinePlaces:
    r"""Begins the places of a text builder, from the first line of a source to its last one.

    >>> source = "one\ntwo " + "x" * 3000 + " end"
    >>> builder = TextBuilder()
    >>> places = LinePlaces(source, builder)
    >>> for offset in (0, 4, 3004):
    ...     places.begin(offset)
    ...     _ = builder.add("word ")
    >>> [place.name for place in builder.extracted().places.places]
    ['line 1', 'line 2', 'line 2 column 3,001']
    """

    def __init__(self, source: str, builder: TextBuilder) -> None:
        self._source = source
        self._builder = builder
        self._gap = len(source) // MOST_PLACES
        self._line, self._line_start = 1, 0
        self._last_line, self._last = 0, -1

    def begin(self, offset: int) -> None:
        """Begin a place at an offset of the source, which is not before the last one."""
        last = self._last
        if offset - last <= self._gap:
            return
        lines = self._source.count("\n", max(last, 0), offset)
        if lines:
            self._line += lines
            self._line_start = self._source.rfind("\n", 0, offset) + 1
        if self._line != self._last_line:
            self._builder.begin(f"line {self._line}")
        elif offset - last >= LONG_LINE:
            self._builder.begin(f"line {self._line} column {offset - self._line_start + 1:,}")
        else:
            return
        self._last_line, self._last = self._line, offset


def add_lines(source: str, builder: TextBuilder) -> None:
    """Add a text as it is, with a place for each line."""
    places = LinePlaces(source, builder)
    offset = 0
    for line in source.split("\n"):
        places.begin(offset)
        offset += len(line) + 1
        builder.add(f"{line}\n" if offset <= len(source) else line)


# Name many places by their numbers, such as lines and rows: `NumberedPlaces`.
#
# A table of a million rows has a million places, and hardly any of them is ever shown. A name is made when
# somebody asks for it: 48,000 names took 45 ms or more between two processes, and their numbers take 10 ms.


@dataclasses.dataclass(frozen=True, slots=True)
class NumberedPlaces(Sequence[Place]):
    """Places such as "line 7", "rows 31-35" and "line 1 column 52,001".

    >>> places = NumberedPlaces("line", (1, 7), (0, 3001))
    >>> [place.name for place in places], NumberedPlaces("row", (31,), span=5)[0].name
    (['line 1', 'line 7 column 3,001'], 'rows 31-35')
    """

    kind: str
    numbers: tuple[int, ...]
    columns: tuple[int, ...] = ()
    """For each number a column, or 0 for a place that begins its line; empty if no place has a column."""
    span: int = 1
    """How many lines or rows share a place."""

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Place: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Place]: ...
    def __getitem__(self, at: int | slice) -> Place | Sequence[Place]:
        if isinstance(at, slice):
            return NumberedPlaces(self.kind, self.numbers[at], self.columns[at], self.span)
        number = self.numbers[at]
        if self.span > 1:
            return Place(f"{self.kind}s {number}-{number + self.span - 1}")
        column = self.columns[at] if self.columns else 0
        return Place(f"{self.kind} {number} column {column:,}" if column else f"{self.kind} {number}")
