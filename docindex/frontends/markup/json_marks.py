r"""Split JSON into its values by the marks between them: `split_values`.

In: JSON. Out: the strings and numbers as they are written, and where they begin. A few searches through the
whole text find everything, so that the time hardly depends on the number of values. JSON with comments, JSON
that was cut off and whatever is no JSON is left to another reader.
"""

import itertools
from typing import NamedTuple

import numpy as np

from docindex.arrays.ranges import I64
from docindex.patterns import compiled


class WrittenValues(NamedTuple):
    """The values of a JSON source."""

    values: list[str]
    """Strings without their quotes, and numbers, both as they are written."""
    offsets: I64
    """Where they begin in the source; a string begins with its quote."""


_QUOTE = ord('"')
_NAME = 1
"""A byte that no source has. It stands for a string that is a name."""
_BETWEEN = bytes.maketrans(b"{}[],\n\r\t\f", b" " * 9)
_OTHERS = compiled(r"(?:(?:-?[0-9][0-9.eE+-]*+|true|false|null|NaN|-?Infinity) )*+")
_BEGINS_WORD = np.isin(np.arange(256), list(b"tfnNI"))


def split_values(source: str) -> WrittenValues | None:
    r"""The values of JSON; None for a source that has anything else between its strings.

    >>> values, offsets = split_values('{"a": [-1.5, "x\\n"], "b": null}')
    >>> values, offsets.tolist()
    (['-1.5', 'x\\n'], [7, 13])
    >>> split_values('{"a": /* one */ 1}') is None
    True
    """
    pieces = _between_quotes(source)
    inside, between = pieces[1::2], '"'.join(pieces[::2])
    if len(pieces) % 2 == 0 or not between.isascii():
        return None
    marks = between.encode().replace(b'":', b"\1 ").replace(b'" :', b"\1  ").translate(_BETWEEN) + b" "
    found = np.frombuffer(marks, np.uint8)
    is_mark = found != ord(" ")
    starts = np.flatnonzero(is_mark[1:] & ~is_mark[:-1]) + 1
    if is_mark[0]:
        starts = np.concatenate(([0], starts))
    first, second = found[starts], found[starts + 1]
    is_name, is_text = first == _NAME, first == _QUOTE
    is_string = is_name | is_text
    if np.count_nonzero(is_string) != len(inside) or (is_string & (second != ord(" "))).any():
        return None
    tokens = marks.decode().split()
    others = itertools.compress(tokens, (~is_string).tolist())
    if not _OTHERS.fullmatch(" ".join([*others, ""])):
        return None
    lengths = np.zeros(len(starts), np.int64)
    lengths[is_string] = np.fromiter(map(len, inside), np.int64, len(inside)) + 1
    offsets = starts + np.cumsum(lengths) - lengths
    is_value = ~(is_name | _BEGINS_WORD[first] | (second == ord("I")))
    written = np.array(tokens, object)
    written[is_string] = inside
    return WrittenValues(written[is_value].tolist(), offsets[is_value])


def _between_quotes(source: str) -> list[str]:
    """The pieces of a source between the quotes that begin and end strings."""
    pieces = source.split('"')
    if "\\" not in source:
        return pieces
    found: list[str] = []
    held: list[str] = []
    for piece in pieces:
        if piece.endswith("\\") and (len(piece) - len(piece.rstrip("\\"))) % 2:
            held.append(piece)
        elif held:
            found.append('"'.join([*held, piece]))
            held.clear()
        else:
            found.append(piece)
    return [*found, '"'.join(held)] if held else found
