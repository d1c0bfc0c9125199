"""Give each letter that is not ASCII its symbols: one byte, or two for scripts of more than 128 letters.

In: code points of folded letters as arrays. Out: symbols from 0x80 to 0xFF. Must never know what a code point
means: the Unicode table says which letters are narrow (one symbol) and which are wide (two).

Letters of one aligned block of 128 code points never share a narrow symbol, and letters of one aligned block
of 16,384 code points never share a pair of symbols. Every block has its own order, so that alphabets that are
laid out alike (Hebrew and Georgian, Devanagari and Bengali) do not read alike.
"""

import numpy as np

from docindex.arrays.ranges import I64, U8, Bool, mix

_LOW = 0x7F
_HIGH = np.uint8(0x80)
_TO_LOWER = np.uint8(2)  # from 0x80 to 0x20
_A, _LETTERS = np.uint8(ord("a")), np.uint8(26)
_ZERO, _DIGITS = np.uint8(ord("0")), np.uint8(10)
_WIDE_BITS = 14
_WIDE_MASK = (1 << _WIDE_BITS) - 1

_SHIFTS = np.full(0x1100, 25)
_SHIFTS[[0x01, 0x04, 0x06, 0x0F]] = 15, 66, 77, 1
"""How far the second half of each 256 code points is shifted against the first.

Of all 128 shifts, only 66 keeps the letters of each Cyrillic alphabet apart. 77 does so for each Arabic
alphabet, except for one pair in Sindhi (ڱ and پ); 1 for Tibetan; 15 for the letters of Latin that have no
ASCII letter in them; 25 for Armenian, Hiragana and Hangul.
"""

_SEED = np.uint64(47)
"""The first number that keeps apart the letters of Coptic and African Latin, which lie in several blocks."""


def narrow_symbols(letters: I64) -> U8:
    """One symbol for each letter.

    The symbol is ``multiplier * (code + shift) + summand`` modulo 128. The multiplier is odd, so this is a
    bijection in each aligned block of 128. Two neighbouring blocks share the multiplier and the summand, and
    only the second is shifted: many alphabets lie in both.

    >>> len(set(narrow_symbols(np.arange(0x0580, 0x0600)).tolist()))
    128
    """
    numbers = mix((letters >> 8).astype(np.uint64) + _SEED).astype(np.int64)
    shifts = _SHIFTS[letters >> 8] * (letters >> 7 & 1)
    found = (numbers | 1) * ((letters + shifts) & _LOW) + (numbers >> 8)
    symbols: U8 = (found & _LOW | 0x80).astype(np.uint8)
    return symbols


def wide_symbols(letters: I64) -> tuple[U8, U8]:
    """Two symbols for each letter: 14 bits that depend on all bits of its code point.

    >>> first, second = wide_symbols(np.arange(0x4000, 0x8000))
    >>> len(set(zip(first.tolist(), second.tolist())))
    16384
    """
    numbers = mix((letters >> _WIDE_BITS).astype(np.uint64) + _SEED).astype(np.int64)
    mixed = letters & _WIDE_MASK
    for shift in (0, 20):
        mixed = (mixed * (numbers >> shift & _WIDE_MASK | 1) + (numbers >> shift + 4)) & _WIDE_MASK
        mixed ^= mixed >> 7
    return (mixed & _LOW | 0x80).astype(np.uint8), (mixed >> 7 | 0x80).astype(np.uint8)


def are_symbols(codes: U8) -> Bool:
    """True for each byte of a stream that is a symbol: ASCII letters and digits, and all from 0x80.

    >>> are_symbols(np.frombuffer(b"A-1", np.uint8)).tolist()
    [True, False, True]
    """
    kept = np.empty(len(codes), bool)
    folded(codes, kept)
    return kept


def folded(codes: U8, kept: Bool) -> U8:
    """The bytes of a stream with ASCII letters in lower case; sets `kept` to `are_symbols`.

    Other bytes that are not symbols change, too. Arithmetic takes half the time of `bytes.translate`.

    >>> folded(np.frombuffer(b"Ada1", np.uint8), np.empty(4, bool)).tobytes()
    b'ada1'
    """
    # ASCII bytes get the bit that makes letters small; digits have it.
    lower = ~codes & _HIGH
    lower >>= _TO_LOWER
    lower |= codes
    distances = lower - _A
    np.less(distances, _LETTERS, out=kept)
    np.subtract(codes, _ZERO, out=distances)
    kept |= distances < _DIGITS
    kept |= codes >= _HIGH
    return lower
