"""Load the library's own table of Unicode code points: which letters each one consists of.

In: the file beside this module. Out: a number for each code point. The file is made from a named version of
Unicode by `tests/unicode_tables.py`, which also says what counts as a letter, and why. So a text reads the
same under every Python. Code points that are newer than the file are letters without case.
"""

import dataclasses
import functools
import itertools
import pkgutil
import zlib

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import I64, starts_of

I32 = NDArray[np.int32]

_FILE = "unicode-16.0.0.table"
_PLANE = 1 << 16

# A number from 0 is a letter with flags: two symbols; a word starts before it; a word ends after it.
LETTER = (1 << 21) - 1
WIDE, STARTS, ENDS = 1 << 21, 1 << 22, 1 << 23
# A number below 0 is another kind of sign, or a sequence of letters and separators.
SEPARATOR = -1
BLANK = -2
"""A separator that is white space."""
LEFT_OUT = -3
"""A sign that is left out without separating words, such as an accent."""
INVISIBLE = -4
"""A sign that is left out and that nobody sees, such as a joiner."""
VOICED, HALF_VOICED = -5, -6
"""The marks that turn か into が and は into ぱ. They belong to the word of the letter before."""
SEQUENCE = -7
"""The first sequence; the next one is -8."""
VOICING_LETTERS = {VOICED: 0x3099, HALF_VOICED: 0x309A}


@dataclasses.dataclass(frozen=True, slots=True)
class UnicodeTable:
    """The table as it lies in the file."""

    index: I32
    """For each 256 code points, the number of their page."""
    pages: I32
    """256 numbers for each page; letters as their difference from the code point, modulo 2^24."""
    sequence_starts: I64
    """Where each sequence begins in `items`."""
    items: I32
    """The letters and separators of all sequences."""

    def plane(self, number: int) -> I32:
        """The numbers of 65,536 code points."""
        pages = self.index[number * 256 : (number + 1) * 256]
        found = self.pages.reshape(-1, 256)[pages].reshape(-1)
        codes = np.arange(number * _PLANE, (number + 1) * _PLANE, dtype=np.int32)
        return np.where(found < 0, found, (found + codes) & 0xFFFFFF)


@functools.cache
def unicode_table() -> UnicodeTable:
    """The table, read from its file once.

    >>> chr(unicode_table().plane(0)[ord("É")])
    'e'
    """
    data = pkgutil.get_data("docindex.reading", _FILE)  # importlib.resources would take 6 ms to import
    if data is None:
        raise FileNotFoundError(f"docindex is installed in a way that cannot read its file {_FILE}")
    packed = data.split(b"\n", 1)[1]
    differences = np.frombuffer(zlib.decompress(packed), "<i4")
    numbers = np.cumsum(differences, dtype=np.int32)
    pages, sequences, items = numbers[:3].tolist()
    sizes = starts_of(np.array([3, 0x110000 >> 8, pages << 8, sequences, items]))
    index, values, lengths, letters = (numbers[a:b] for a, b in itertools.pairwise(sizes[1:]))
    return UnicodeTable(index, values, starts_of(lengths.astype(np.int64)), letters)
