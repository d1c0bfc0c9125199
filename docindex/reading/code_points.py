"""Look up how each code point is spelled in a byte stream, and the letters that it consists of.

In: code points as arrays. Out: spellings as numbers of four bytes, counts of symbols, folded letters. The
tables are filled from the Unicode table, 65,536 code points at a time, when a text first needs them. What
another thread may have read must never change.

A spelling is up to four bytes, the first one lowest; zeros among them mean nothing. Bytes from 0x30 are
symbols; the others are the constants below. A code point whose spelling is longer has the number
``LONG | number << 8``, and `long_spellings` has its bytes.
"""

import functools
import threading

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import I64, U8, U32, Bool, ranges, starts_of
from docindex.reading import unicode_table as kinds
from docindex.reading.symbol_bytes import narrow_symbols, wide_symbols
from docindex.reading.unicode_table import I32, unicode_table

Codes = NDArray[np.uint16] | U32

LONG = 0x01
VOICED, HALF_VOICED = 0x03, 0x04
JOINT = 0x1E
"""It separates two texts of a batch."""
WORD_ENDS = 0x1F
"""It follows a letter that is a word by itself."""
END = chr(WORD_ENDS)
SEPARATOR = 0x20
_FIRST_SYMBOL = 0x30
_KEPT_CONTROLS = (ord("\n"), ord("\r"), JOINT)
_CONTROLS = {
    kinds.VOICED: VOICED,
    kinds.HALF_VOICED: HALF_VOICED,
    kinds.SEPARATOR: SEPARATOR,
    kinds.BLANK: SEPARATOR,
}

_CODES = 0x110000
_PLANE = 1 << 16
_spellings = np.zeros(_CODES, np.uint32)  # zeros take no memory until they are written
_values = np.zeros(_CODES, np.int32)
_counts = np.zeros(_CODES, np.uint8)
_filled: set[int] = set()
_filling = threading.Lock()


def spellings_of(codes: Codes) -> U32:
    """The spelling of each code point.

    >>> spellings = spellings_of(np.array([ord("É"), ord("-"), ord("ﬁ")], np.uint16))
    >>> [hex(spelling) for spelling in spellings.tolist()]
    ['0x65', '0x20', '0x6966']
    """
    _fill_for(codes)
    return _spellings.take(codes)  # twice as fast as an index


def counts_of(codes: Codes) -> U8:
    """The number of symbols of each code point.

    >>> counts_of(np.array([ord("A"), ord("-"), ord("ﬁ"), ord("漢")], np.uint16)).tolist()
    [1, 0, 2, 2]
    """
    _fill_for(codes)
    return _counts.take(codes)


def is_solid(codes: Codes) -> Bool:
    """True where a code point has symbols or separates words; False where it is left out.

    >>> is_solid(np.array([ord("A"), ord("-"), 0x0301], np.uint16)).tolist()
    [True, True, False]
    """
    solid: Bool = spellings_of(codes) != 0
    return solid


def is_sign(codes: Codes) -> Bool:
    """True where a code point is neither white space nor invisible.

    >>> is_sign(np.array([ord("-"), ord(" "), 0x200D, 0x0301], np.uint16)).tolist()
    [True, False, False, True]
    """
    _fill_for(codes)
    values = _values.take(codes)
    signs: Bool = (values != kinds.BLANK) & (values != kinds.INVISIBLE)
    return signs


def folded_letters(codes: Codes) -> tuple[U32, I64]:
    """The letters of code points, without those in ASCII, and where the letters of each code point begin.

    >>> letters, starts = folded_letters(np.array([ord("Я"), ord("é"), ord("ж")], np.uint16))
    >>> "".join(map(chr, letters)), starts.tolist()
    ('яж', [0, 1, 1, 2])
    """
    _fill_for(codes)
    values = _values.take(codes)
    table = unicode_table()
    long = np.flatnonzero(values <= kinds.SEQUENCE)
    lengths = np.ones(len(values), np.int64)
    numbers = kinds.SEQUENCE - values[long]
    lengths[long] = np.diff(table.sequence_starts)[numbers]
    found = np.repeat(values, lengths)
    starts = starts_of(lengths)
    found[ranges(starts[long], lengths[long])] = table.items[
        ranges(table.sequence_starts[numbers], lengths[long])
    ]
    for value, letter in kinds.VOICING_LETTERS.items():
        found[found == value] = letter
    kept = (found >= 0) & (found & kinds.LETTER > 0x7F)
    return (found[kept] & kinds.LETTER).astype("<u4"), starts_of(kept.astype(np.int64))[starts]


def letters(char: str) -> str:
    r"""The letters that a character consists of, with a space or `END` where words begin or end.

    >>> letters("É"), letters("ﬁ"), letters("漢"), letters("-"), letters("\u0301")
    ('e', 'fi', ' 漢\x1f', ' ', '')
    """
    code = ord(char)
    _fill_for(np.array([code], np.uint32))
    value, table = int(_values[code]), unicode_table()
    items = [value]
    if value <= kinds.SEQUENCE:
        begin, end = table.sequence_starts[kinds.SEQUENCE - value :][:2].tolist()
        items = table.items[begin:end].tolist()
    return "".join(map(_written, items))


def _written(item: int) -> str:
    if item in kinds.VOICING_LETTERS:
        return chr(kinds.VOICING_LETTERS[item])
    if item < 0:
        return " " if item in {kinds.SEPARATOR, kinds.BLANK} else ""
    return " " * bool(item & kinds.STARTS) + chr(item & kinds.LETTER) + END * bool(item & kinds.ENDS)


def long_spellings() -> list[bytes]:
    """The spellings of more than four bytes."""
    return _sequences()[2]


def _fill_for(codes: Codes) -> None:
    """Fill in the planes of the code points that are still missing."""
    planes = {0} if codes.dtype == np.uint16 else set(np.unique(codes >> 16).tolist())
    for plane in planes - _filled:
        with _filling:
            if plane not in _filled:
                _fill(plane)
                _filled.add(plane)  # last, because other threads look here first


def _fill(plane: int) -> None:
    values = unicode_table().plane(plane)
    spelled = _spelled(values)
    counts = np.count_nonzero(spelled >= _FIRST_SYMBOL, axis=1).astype(np.uint8)
    counts[(values == kinds.VOICED) | (values == kinds.HALF_VOICED)] = 1
    numbers = spelled.view("<u4").reshape(-1)
    sequences = values <= kinds.SEQUENCE
    packed, symbols, _ = _sequences()
    numbers[sequences] = packed[kinds.SEQUENCE - values[sequences]]
    counts[sequences] = symbols[kinds.SEQUENCE - values[sequences]]
    if plane == 0:
        numbers[list(_KEPT_CONTROLS)] = _KEPT_CONTROLS
    own = slice(plane * _PLANE, (plane + 1) * _PLANE)
    _values[own], _counts[own], _spellings[own] = values, counts, numbers


def _spelled(values: I32) -> U8:
    """The four bytes of each value that is not a sequence."""
    found = np.zeros((len(values), 4), np.uint8)
    for kind, byte in _CONTROLS.items():
        found[values == kind, 0] = byte
    own = np.flatnonzero(values >= 0)
    flags, codes = values[own], (values[own] & kinds.LETTER).astype(np.int64)
    wide, starts, ends = (flags & flag > 0 for flag in (kinds.WIDE, kinds.STARTS, kinds.ENDS))
    first, second = wide_symbols(codes)
    first = np.where(wide, first, np.where(codes < 0x80, codes, narrow_symbols(codes))).astype(np.uint8)
    columns = SEPARATOR * starts, first, second * wide, WORD_ENDS * ends
    spelled = np.stack(columns, axis=1).astype(np.uint8)
    spelled[~starts, :3], spelled[~starts, 3] = spelled[~starts, 1:], 0
    found[own] = spelled
    return found


@functools.cache
def _sequences() -> tuple[U32, U8, list[bytes]]:
    """Of each sequence of the Unicode table, its number and its count of symbols; and the long spellings."""
    table = unicode_table()
    items = _spelled(table.items)
    used = items != 0
    flat, starts = items[used], starts_of(used.sum(1))[table.sequence_starts]
    symbols = np.diff(starts_of((flat >= _FIRST_SYMBOL).astype(np.int64))[starts])
    packed, lengths = np.zeros((len(symbols), 4), np.uint8), np.diff(starts)
    for column in range(4):
        having = lengths > column
        packed[having, column] = flat[starts[:-1][having] + column]
    numbers = packed.view("<u4").reshape(-1)
    long = np.flatnonzero(lengths > 4)
    numbers[long] = LONG | np.arange(len(long)) << 8
    return numbers, symbols.astype(np.uint8), [flat[starts[n] : starts[n + 1]].tobytes() for n in long]
