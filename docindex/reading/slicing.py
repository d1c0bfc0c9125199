"""Cut long texts into slices, and convert offsets in a text to lines and columns.

In: a text, and offsets in characters. Out: slices, code points, line and column numbers. Knows characters
only; must never know which characters a reading keeps.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import I64, U8, U64, Bool
from docindex.cancellation import checkpoint

PIECE_CHARACTERS = 1 << 20
"""The length of a slice of a long text, and the largest size of a batch of short texts."""

_FEED, _RETURN = ord("\n"), ord("\r")


def codes_of(text: str) -> NDArray[np.uint32]:
    """The code points of a text. Lone surrogates are allowed; a reading treats them as separators.

    >>> codes_of("aé").tolist()
    [97, 233]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def slices(text: str) -> Iterator[str]:
    """A text in slices of at most `PIECE_CHARACTERS` characters. A text that fits in one slice is not copied.

    There is a checkpoint before each slice of a long text, so everything that reads slices can be stopped.

    >>> list(slices("short"))
    ['short']
    """
    if len(text) <= PIECE_CHARACTERS:
        yield text
        return
    for begin in range(0, len(text), PIECE_CHARACTERS):
        checkpoint()
        yield text[begin : begin + PIECE_CHARACTERS]


def is_line_end(codes: U8 | NDArray[np.uint32] | U64) -> Bool:
    r"""True where a character ends a line: line feeds and carriage returns.

    >>> is_line_end(codes_of("a\nb\r")).tolist()
    [False, True, False, True]
    """
    ends: Bool = (codes == _FEED) | (codes == _RETURN)
    return ends


def lines_and_columns(text: str, offsets: I64) -> tuple[I64, I64]:
    r"""The line and the column of each offset, both counted from 1 as in an editor.

    A line ends with a line feed, a carriage return, or both.

    >>> [array.tolist() for array in lines_and_columns("one\r\ntwo", np.array([0, 5, 7]))]
    [[1, 2, 2], [1, 1, 3]]
    """
    ends = [np.zeros(1, np.int64)]
    for begin in range(0, len(text), PIECE_CHARACTERS):
        checkpoint()
        # Take one character more than a slice, to see whether a line feed follows a carriage return.
        codes = codes_of(text[begin : begin + PIECE_CHARACTERS + 1])
        following = np.append(codes[1:], 0)
        breaks = (codes == _FEED) | ((codes == _RETURN) & (following != _FEED))
        ends.append(np.flatnonzero(breaks[:PIECE_CHARACTERS]) + begin + 1)
    line_starts = np.concatenate(ends)
    lines = np.searchsorted(line_starts, offsets, "right")
    return lines, offsets - line_starts[lines - 1] + 1
