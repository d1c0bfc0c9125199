"""Name places in a text file by lines, as editors do: "line 120", or "line 1 column 52,001" in a long one."""

from collections.abc import Sequence

import numpy as np

from docindex.frontends.extracted import Places, TextBuilder
from docindex.frontends.numbered_places import NumberedPlaces
from docindex.kernels.arrays import I64, Bool

_LONG_LINE = 1000
_MOST_PLACES = 200_000
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
        self._gap = len(source) // _MOST_PLACES
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
        elif offset - last >= _LONG_LINE:
            self._builder.begin(f"line {self._line} column {offset - self._line_start + 1:,}")
        else:
            return
        self._last_line, self._last = self._line, offset


def places_of_lines(source: str, offsets: I64, starts: I64) -> Places:
    r"""The places of many pieces of a text at once, which begin at `offsets` of a source; both ascending.

    Pieces of one line share a place, unless the line is long.

    >>> places = places_of_lines("one\n" + "x " * 3000, np.array([0, 4, 6, 3004]), np.array([0, 4, 6, 9]))
    >>> places.starts, [place.name for place in places.places]
    ((0, 4, 9), ['line 1', 'line 2', 'line 2 column 3,001'])
    """
    line_starts = _line_starts(source)
    lines = np.searchsorted(line_starts, offsets, "right") - 1
    columns = offsets - line_starts[lines]
    begins_line = _changes(lines)
    chosen = np.flatnonzero(begins_line | _changes(columns // _LONG_LINE))
    if len(chosen) > _MOST_PLACES:
        chosen = chosen[_changes(offsets[chosen] // (len(source) // _MOST_PLACES + 1))]
    named = np.where(begins_line[chosen], 0, columns[chosen] + 1).tolist()
    numbers = tuple((lines[chosen] + 1).tolist())
    return Places(
        tuple(starts[chosen].tolist()), NumberedPlaces("line", numbers, tuple(named) if any(named) else ())
    )


def _line_starts(source: str) -> I64:
    written = np.frombuffer(source.encode("utf-8", "surrogatepass"), np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(written == ord("\n")) + 1))
    if source.isascii():
        return starts
    return starts - np.searchsorted(np.flatnonzero((written & 0xC0) == 0x80), starts)


def lengths_of(texts: Sequence[str]) -> I64:
    """The number of characters of each text."""
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _changes(values: I64) -> Bool:
    """True for the first value, and for each that differs from the one before it."""
    changes = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def add_lines(source: str, builder: TextBuilder) -> None:
    """Add a text as it is, with a place for each line."""
    places = LinePlaces(source, builder)
    offset = 0
    for line in source.split("\n"):
        places.begin(offset)
        offset += len(line) + 1
        builder.add(f"{line}\n" if offset <= len(source) else line)
