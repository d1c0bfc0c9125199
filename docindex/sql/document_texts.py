"""The scalar functions that name a document or show its text: doc_key, doc_literal, doc_text, doc_snippet ...

They take and return SQL values, like the functions in `scalars`. A snippet is the stretch of a text that is
worth showing, with marks around what another text shares. Must never know which kind of connection calls
them.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from docindex import arguments
from docindex.arrays.ranges import I64
from docindex.errors import TextNotKept
from docindex.index.index import Index
from docindex.query.resolve import Id, Text
from docindex.reading.registry import symbol_reader
from docindex.sql.scalars import Functions
from docindex.sql.sources import IndexSource, asked, document_with_key, full_text
from docindex.sql.sql_values import Value, as_text, literal, schema_name, type_name, writable

Range = tuple[int, int]
"""A half-open range of a text, in characters."""


@dataclasses.dataclass(frozen=True, slots=True)
class Marks:
    """The texts that are put around a shared stretch, and in place of what is left out."""

    open: str = "["
    close: str = "]"
    ellipsis: str = "…"


def highlighted(text: str, ranges: Iterable[Range], marks: Marks = Marks()) -> str:
    """A text with marks around some ranges. Ranges that overlap or touch are marked as one.

    >>> highlighted("to be or not", [(3, 5), (0, 5), (9, 12)])
    '[to be] or [not]'
    """
    parts, last = [], 0
    for start, end in _merged(ranges):
        parts += [text[last:start], marks.open, text[start:end], marks.close]
        last = end
    return "".join([*parts, text[last:]])


def snippet(text: str, ranges: Iterable[Range], symbols: int, reading: str, marks: Marks = Marks()) -> str:
    """A stretch of about `symbols` symbols that holds as much as possible of some ranges, with marks.

    It ends between words, except inside a range. Without ranges, it is the beginning of the text.

    >>> snippet("One. To be, or not to be, that is the question. Two.", [(12, 24)], 16, "text/2")
    '…be, [or not to be], that…'
    """
    merged = _merged(ranges)
    begin, end = _window(text, merged, symbols, reading)
    inside = [
        (max(start, begin) - begin, min(stop, end) - begin)
        for start, stop in merged
        if start < end and stop > begin
    ]
    before = marks.ellipsis if begin else ""
    behind = marks.ellipsis if end < len(text) else ""
    return f"{before}{highlighted(text[begin:end], inside, marks)}{behind}"


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """Ranges in ascending order, without overlaps."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _window(text: str, ranges: list[Range], symbols: int, reading: str) -> Range:
    """The stretch of about `symbols` symbols that holds most of the ranges."""
    reader = symbol_reader(reading)
    size = sum(len(part.symbols) for part in reader.readings(text))
    if size <= symbols:
        return 0, len(text)
    offsets = reader.offsets(text, np.arange(size))
    starts, ends = (np.searchsorted(offsets, [place[side] for place in ranges]) for side in (0, 1))
    first, last = _most_covered(starts, ends, symbols)
    # What is left of the window shows the words before and behind, half and half.
    begin = min(max(0, first - (symbols - (last - first)) // 2), size - symbols)
    covered = (int(offsets[first]), int(offsets[last]) if last < size else len(text))
    start = int(offsets[begin]) if begin else 0
    stop = int(offsets[begin + symbols]) if begin + symbols < size else len(text)
    return _whole_words(text, (start, stop), covered)


def _most_covered(starts: I64, ends: I64, symbols: int) -> Range:
    """The first and the last covered symbol of the window that covers most; (0, 0) without ranges."""
    best, chosen = 0, (0, 0)
    before = np.concatenate([[0], np.cumsum(ends - starts)])  # the covered symbols before each range
    # The best window begins where a range begins, or ends where a range ends.
    for begin in sorted({*starts.tolist(), *np.maximum(ends - symbols, 0).tolist()}):
        end = begin + symbols
        first, behind = int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(starts, end))
        if first >= behind:
            continue
        low, high = max(begin, int(starts[first])), min(end, int(ends[behind - 1]))
        cut = low - int(starts[first]) + int(ends[behind - 1]) - high
        covered = int(before[behind] - before[first]) - cut
        if covered > best:
            best, chosen = covered, (low, high)
    return chosen


def _whole_words(text: str, window: Range, covered: Range) -> Range:
    """A window of symbols without parts of words at its ends, except where they are covered.

    Where no white space is near, as in Chinese, the window stays as it is.
    """
    begin, end = window
    place = max(covered[1], begin)
    if end < len(text):
        end = place + len(_without_last_part(text[place:end]))
    if begin and not text[begin - 1].isspace():
        begin = covered[0] - len(_without_first_part(text[begin : covered[0]]))
    return begin, end


def _without_first_part(text: str) -> str:
    """A text without a part of a word at its beginning; if it is a part of one word, the whole text."""
    words = text.split(None, 1)
    return text if words in ([], [text]) else text[len(words[0]) :].lstrip()


def _without_last_part(text: str) -> str:
    """A text without a part of a word at its end; if it is a part of one word, the whole text."""
    words = text.rsplit(None, 1)
    if not words or text[-1].isspace():
        return text.rstrip()
    return text if words[-1] == text else text[: -len(words[-1])].rstrip()


_SYMBOLS = 160
"""The length of a snippet: two lines of a terminal."""


class DocumentTexts:
    """The functions for the indexes of one source."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def all(self) -> Functions:
        """The functions."""
        return {
            "doc_key": (self.id_of_key, (1, 2)),
            "doc_literal": (lambda text: None if text is None else literal(text), (1,)),
            "doc_text": (self.text, (1, 2)),
            "doc_snippet": (self.snippet, tuple(range(2, 8))),
            "doc_highlight": (self.highlight, tuple(range(2, 6))),
        }

    def id_of_key(self, key: Value, schema: Value = None) -> Value:
        """The id of the document with a key."""
        if key is None:
            return None
        return document_with_key(self._source.reader(schema_name(schema)), as_text("key", key))

    def text(self, number: Value, schema: Value = None) -> Value:
        """The text of a document; NULL if it is not stored."""
        if number is None:
            return None
        text = _stored_text(self._source.reader(schema_name(schema)), _document(number))
        return None if text is None else writable(text)

    def snippet(
        self,
        number: Value,
        query: Value,
        open_: Value = None,
        close: Value = None,
        ellipsis: Value = None,
        symbols: Value = None,
        schema: Value = None,
    ) -> Value:
        """The stretch of a document that shares most with a query, with marks around what is shared."""
        if number is None or query is None:
            return None
        marks = _marks(open=open_, close=close, ellipsis=ellipsis)
        length = arguments.whole_number("symbols", _SYMBOLS if symbols is None else symbols)
        reader = self._source.reader(schema_name(schema))
        text, ranges = self._shared(reader, number, query)
        return None if text is None else writable(snippet(text, ranges, length, reader.recipe.reading, marks))

    def highlight(
        self, number: Value, query: Value, open_: Value = None, close: Value = None, schema: Value = None
    ) -> Value:
        """The text of a document with marks around everything that it shares with a query."""
        if number is None or query is None:
            return None
        text, ranges = self._shared(self._source.reader(schema_name(schema)), number, query)
        return None if text is None else writable(highlighted(text, ranges, _marks(open=open_, close=close)))

    def _shared(self, reader: Index, number: Value, query: Value) -> tuple[str | None, list[Range]]:
        """The text of a document, and the ranges of the passages that it shares with a query."""
        document = _document(number)
        (what,) = asked(reader, query)
        text = _stored_text(reader, document)
        if text is None or (isinstance(what, Id) and _stored_text(reader, what) is None):
            return None, []
        found = reader.compare(what, document).passages
        return text, [(passage.start, passage.end) for passage in found if not passage.boilerplate]


def _document(value: Value) -> Id:
    if not isinstance(value, int):
        raise TypeError(
            f"expected the INTEGER id of a document, as doc_key(...) gives it, not {type_name(value)}"
        )
    return Id(value)


def _stored_text(reader: Index, query: Text | Id) -> str | None:
    try:
        return full_text(reader, query)
    except TextNotKept:
        return None


def _marks(**given: Value) -> Marks:
    """The marks that the caller gave, and the default of those that are NULL."""
    return Marks(**{name: as_text(name, value) for name, value in given.items() if value is not None})
