"""Name places in a text file by lines, as editors do: "line 120", or "line 1 column 52,001" in a long one."""

from docindex.frontends.extracted import TextBuilder

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
