"""Code points in, what each of them is to a reading out: its symbols, and whether it parts words.

A table of 16 bits for each code point, read from Python's own a page of 256 at a time when a text first needs
it. Must never change an entry that somebody may have seen.
"""

import threading
import unicodedata

import numpy as np
from numpy.typing import NDArray

from docindex.kernels.arrays import I64, U8, ranges

# What an entry says. (Zeros cost no memory until they are written.)
FIRST = 0x00FF  # the first symbol
COUNT = 0x1F00  # how many symbols: 18 at most, for U+FDFA
SEPARATES = 0x2000
ALONE = 0x4000
_LOADED = 0x8000
UNCOMMON = ALONE | COUNT & ~0x0100  # more than one symbol, or a word by itself
_COUNT_SHIFT = 8
_CODES = 0x110000
_entries = np.zeros(_CODES, np.uint16)
_spelling_starts = np.zeros(_CODES, np.int32)
_spellings = bytearray()  # the symbols of every code point that has more than one
_loading = threading.Lock()

_IDEOGRAPHS = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0x20000, 0x34000))
"""CJK; what NFKD leaves of the compatibility ideographs lies in here, too."""
_UNSPACED = (
    *_IDEOGRAPHS,
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x3040, 0x30A0),  # Hiragana; Katakana writes single words
    range(0xF900, 0xFB00),  # compatibility ideographs
    range(0x2F800, 0x2FA20),
)
_ZERO_WIDTH_SPACE = "\u200b"
"""A format character, but one that is typed to part words."""


def _members(page: int, blocks: tuple[range, ...]) -> list[bool]:
    """For each code point of a page whether it lies in one of some blocks."""
    codes = np.arange(page << 8, (page + 1) << 8)
    inside = [(codes >= block.start) & (codes < block.stop) for block in blocks]
    return [bool(flag) for flag in np.any(inside, axis=0)]


def letters(char: str) -> str:
    """What counts of one code point: the letters and digits that it is made of, without case and accents."""
    folded = unicodedata.normalize("NFKD", char).casefold()
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LN")


def separates(char: str) -> bool:
    """Whether words end at a code point that has no letters."""
    return unicodedata.category(char) not in {"Mn", "Mc", "Me", "Cf"} or char == _ZERO_WIDTH_SPACE


def stands_alone(char: str) -> bool:
    """Whether a letter is a word by itself, as those of scripts without spaces are."""
    return any(ord(char) in block for block in _UNSPACED)


def _spell(char: str) -> bytes:
    """The symbols of one code point."""
    symbols = bytearray()
    for letter in letters(char):
        code = ord(letter)
        symbols.append(code if code < 0x80 else 0x80 | (code & 0x7F))
        if code >= _IDEOGRAPHS[0].start and any(code in block for block in _IDEOGRAPHS):
            symbols.append(0x80 | (code >> 7 & 0x7F))
    return bytes(symbols)


def _load(page: int) -> None:
    """Fill in the entries of 256 code points, unless another thread has."""
    with _loading:
        alone = _members(page, _UNSPACED)
        for code in range(page << 8, (page + 1) << 8):
            if _entries[code]:
                continue
            char = chr(code)
            symbols = _spell(char)
            entry = _LOADED | len(symbols) << _COUNT_SHIFT
            if symbols:
                entry |= symbols[0]
                entry |= ALONE * alone[code & 0xFF]
            elif separates(char):
                entry |= SEPARATES
            if len(symbols) > 1:
                _spelling_starts[code] = len(_spellings)
                _spellings.extend(symbols)
            _entries[code] = entry  # last: who sees it may use the spelling


def entries_of(codes: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """What the table says of each code point."""
    entries = _entries[codes]
    if not entries.all():
        for page in np.unique(codes[entries == 0] >> 8).tolist():
            _load(page)
        entries = _entries[codes]
    return entries


def counts_of(entries: NDArray[np.uint16]) -> U8:
    """How many symbols each code point has."""
    return ((entries & COUNT) >> _COUNT_SHIFT).astype(np.uint8)


def spelled(codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: U8, begins: I64) -> U8:
    """The symbols of some code points, end to end."""
    first = entries.astype(np.uint8)
    if counts.max(initial=0) <= 1:
        return first[counts > 0]
    symbols = np.repeat(first, counts)
    many = np.flatnonzero(counts > 1)
    lengths = counts[many].astype(np.int64)
    spellings = np.frombuffer(bytes(_spellings), np.uint8)
    spelled = spellings[ranges(_spelling_starts[codes[many]].astype(np.int64), lengths)]
    symbols[ranges(begins[many], lengths)] = spelled
    return symbols
