"""Look up the symbols of each Unicode code point, and whether it separates words.

In: code points as arrays. Out: one 16-bit table entry for each, and the symbols that they are spelled with.
The table is filled from Python's Unicode tables, in pages of 256 code points, when a text first needs them.
An entry must never change after another thread may have read it.
"""

import threading
import unicodedata

import numpy as np
from numpy.typing import NDArray

from docindex.kernels.arrays import I64, U8, ranges

# The bits of an entry.
FIRST = 0x00FF  # the first symbol
COUNT = 0x1F00  # the number of symbols; the greatest is 18, for U+FDFA
SEPARATES = 0x2000  # words end here
ALONE = 0x4000  # a word by itself
_LOADED = 0x8000
UNCOMMON = ALONE | COUNT & ~0x0100  # more than one symbol, or a word by itself
_COUNT_SHIFT = 8
_CODES = 0x110000
_entries = np.zeros(_CODES, np.uint16)  # zeros take no memory until they are written
_spelling_starts = np.zeros(_CODES, np.int32)
_spellings = bytearray()  # the symbols of every code point that has more than one
_loading = threading.Lock()

_IDEOGRAPHS = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0x20000, 0x34000))
"""CJK. NFKD maps the compatibility ideographs into these ranges."""
# Scripts that are written without spaces between words.
_UNSPACED = (
    *_IDEOGRAPHS,
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x3040, 0x30A0),  # Hiragana. A run of Katakana is usually one word.
    range(0xF900, 0xFB00),  # compatibility ideographs
    range(0x2F800, 0x2FA20),
)
_ZERO_WIDTH_SPACE = "\u200b"
"""Unicode calls it a format character, but people type it to separate words."""


def _members(page: int, blocks: tuple[range, ...]) -> list[bool]:
    """For each code point of a page, whether it lies in one of the blocks."""
    codes = np.arange(page << 8, (page + 1) << 8)
    inside = [(codes >= block.start) & (codes < block.stop) for block in blocks]
    return [bool(flag) for flag in np.any(inside, axis=0)]


def letters(char: str) -> str:
    """The letters and digits that a code point consists of, without case and accents.

    >>> letters("É"), letters("ﬁ"), letters("-")
    ('e', 'fi', '')
    """
    folded = unicodedata.normalize("NFKD", char).casefold()
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LN")


def separates(char: str) -> bool:
    r"""Whether words end at this code point, given that it has no letters.

    Marks, joiners and direction signs do not end a word; the zero-width space does.

    >>> separates("-"), separates("\N{SOFT HYPHEN}")
    (True, False)
    """
    return unicodedata.category(char) not in {"Mn", "Mc", "Me", "Cf"} or char == _ZERO_WIDTH_SPACE


def stands_alone(char: str) -> bool:
    """Whether a letter is a word by itself, as in scripts that are written without spaces.

    >>> stands_alone("漢"), stands_alone("a")
    (True, False)
    """
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
    """Fill in the entries of 256 code points, except those that another thread has already filled in."""
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
            _entries[code] = entry  # last, because a thread that sees the entry may use the spelling


def entries_of(codes: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """The table entry of each code point; fills in the pages that are missing.

    >>> [hex(entry) for entry in entries_of(np.array([ord("A"), ord("-")], np.uint32)).tolist()]
    ['0x8161', '0xa000']
    """
    entries = _entries[codes]
    if not entries.all():
        for page in np.unique(codes[entries == 0] >> 8).tolist():
            _load(page)
        entries = _entries[codes]
    return entries


def counts_of(entries: NDArray[np.uint16]) -> U8:
    """The number of symbols of each entry.

    >>> counts_of(entries_of(np.array([ord("A"), ord("-"), ord("ﬁ")], np.uint32))).tolist()
    [1, 0, 2]
    """
    return ((entries & COUNT) >> _COUNT_SHIFT).astype(np.uint8)


def spelled(codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: U8, begins: I64) -> U8:
    """The symbols of code points, end to end.

    `counts` and `begins` say how many symbols each code point has, and where they begin in the result.
    """
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
