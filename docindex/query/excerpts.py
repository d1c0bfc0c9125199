"""Mark the stretches of a text that another text shares, and choose the stretch that is worth showing.

Takes a text and ranges in it, such as those of passages, in characters; gives a text with marks. Must never
read an index.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from docindex.kernels.arrays import I64
from docindex.reading.registry import symbol_reader

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
