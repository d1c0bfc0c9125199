"""Name many places by their numbers, such as lines and rows: `NumberedPlaces`.

A table of a million rows has a million places, and hardly any of them is ever shown. A name is made when
somebody asks for it: 48,000 names took 45 ms or more between two processes, and their numbers take 10 ms.
"""

import dataclasses
from collections.abc import Sequence
from typing import overload

from docindex.frontends.extracted import Place


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
