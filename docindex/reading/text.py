"""Plain text in, a `Reading` out: symbols, and where words and lines begin among them.

A symbol is one byte. ASCII letters stand for themselves in lower case, digits as they are.
Any other code point is taken through NFKD and casefold, and of the result only letters and
numbers are kept: what is ASCII then stands for itself, what is not becomes
``0x80 | (code & 0x7f)``; an ideograph becomes two symbols, for it says more than a letter.
So "É" is "e", and a text composed or decomposed reads the same.

A word is what stands between separators. Marks, joiners and direction signs are no
separators: they do not split a word. Letters of scripts written without spaces are words
by themselves.

Must never be asked for more than one document's offsets at a time: those cost eight bytes a
symbol, and only a person who wants to see a passage needs them.
"""

import dataclasses
import itertools
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from docindex.kernels.arrays import I64, U8, ranges, starts_of

PART = 1 << 19
"""Characters of a long text that are read at a time; batches of short ones are cut to the same size."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """A batch of texts as symbols."""

    symbols: U8
    starts: I64
    """Where each text begins in `symbols`, and the end."""
    words: I64
    """Where words begin in `symbols`, ascending."""
    lines: I64
    """Where lines with a symbol in them begin in `symbols`, ascending."""


def read(texts: Sequence[str]) -> Reading:
    """The symbols of some texts, end to end.

    >>> reading = read(["Ada's Éclair", "", "2 ﬁelds"])
    >>> reading.symbols.tobytes(), reading.starts.tolist(), reading.words.tolist()
    (b'adaseclair2fields', [0, 10, 10, 17], [0, 3, 4, 10, 11])
    """
    groups = itertools.groupby(texts, str.isascii)
    readings = [_read_ascii(list(group)) if plain else _read_any(list(group)) for plain, group in groups]
    return readings[0] if len(readings) == 1 else _joined(readings)


def slices(text: str) -> Iterator[str]:
    """The text in pieces of at most `PART` characters, so that a long one need not be read at once.

    A piece ends with a line, or else with a word, so that tokens stay whole; only where one of them
    fills half a piece is it cut. A text of one piece is not copied.

    >>> list(slices("short"))
    ['short']
    """
    begin = 0
    while len(text) - begin > PART:
        end = begin + PART
        for separator in ("\n", " "):
            found = text.rfind(separator, begin + PART // 2, end)
            if found >= 0:
                end = found + 1
                break
        yield text[begin:end]
        begin = end
    yield text[begin:]


def offsets(text: str, positions: I64) -> I64:
    """Where in the original text the symbols at some ascending positions stand.

    >>> offsets("A b, ﬁ", np.array([0, 1, 2, 3])).tolist()
    [0, 2, 5, 5]
    """
    found = [np.empty(0, np.int64)]
    read_so_far = 0
    for begin in range(0, len(text), PART):
        origins = _origins(text[begin : begin + PART])
        first, last = np.searchsorted(positions, [read_so_far, read_so_far + len(origins)])
        found.append(origins[positions[first:last] - read_so_far] + begin)
        read_so_far += len(origins)
    return np.concatenate(found)


def lines_and_columns(text: str, offsets: I64) -> tuple[I64, I64]:
    r"""The line and the column of each of some offsets, both counted from 1, as editors do.

    A line ends with a line feed, a carriage return, or both.

    >>> [array.tolist() for array in lines_and_columns("one\r\ntwo", np.array([0, 5, 7]))]
    [[1, 2, 2], [1, 1, 3]]
    """
    ends = [np.zeros(1, np.int64)]
    for begin in range(0, len(text), PART):
        codes = _codes(text[begin : begin + PART + 1])  # one more, to see what follows a carriage return
        following = np.append(codes[1:], 0)
        breaks = (codes == _FEED) | ((codes == _RETURN) & (following != _FEED))
        ends.append(np.flatnonzero(breaks[:PART]) + begin + 1)
    line_starts = np.concatenate(ends)
    lines = np.searchsorted(line_starts, offsets, "right")
    return lines, offsets - line_starts[lines - 1] + 1


def _joined(readings: list[Reading]) -> Reading:
    """Several batches as one."""
    shifts = starts_of(np.array([len(reading.symbols) for reading in readings], np.int64))

    def all_of(name: str, end: int | None = None) -> I64:
        arrays = [
            getattr(reading, name)[:end] + shift for reading, shift in zip(readings, shifts, strict=False)
        ]
        return np.concatenate(arrays) if arrays else np.empty(0, np.int64)

    return Reading(
        symbols=np.concatenate([np.empty(0, np.uint8), *(reading.symbols for reading in readings)]),
        starts=np.append(all_of("starts", -1), shifts[-1]),
        words=all_of("words"),
        lines=all_of("lines"),
    )


# The byte-only path: what `bytes.translate` needs to know of ASCII.
_KEPT = bytes(code for code in range(128) if chr(code).isalnum())
_LOWER = bytes(range(256)).lower()
_DROPPED = bytes(set(range(256)) - set(_KEPT))
_IS_KEPT = bytes(code in _KEPT for code in range(256))


def _read_ascii(texts: list[str]) -> Reading:
    source = "\n".join(texts).encode("ascii")
    kept = np.zeros(len(source) + 2, bool)
    kept[1:-1] = np.frombuffer(source.translate(_IS_KEPT), bool)
    edges = np.flatnonzero(kept[1:] != kept[:-1])
    begins, ends = edges[::2], edges[1::2]
    words = starts_of(ends - begins)

    def symbols_before(places: I64) -> I64:
        # Exact because every place asked about stands outside words or where one begins.
        before: I64 = words[np.searchsorted(begins, places)]
        return before

    text_begins = starts_of(np.array([len(text) + 1 for text in texts], np.int64))
    codes = np.frombuffer(source, np.uint8)
    breaks = np.flatnonzero((codes == _FEED) | (codes == _RETURN))
    return Reading(
        symbols=np.frombuffer(source.translate(_LOWER, _DROPPED), np.uint8),
        starts=symbols_before(text_begins),
        words=words[:-1],
        lines=_line_starts(symbols_before(np.append(0, breaks)), words[-1]),
    )


# The path for all of Unicode: one 16-bit entry for each code point, read from Python's tables a
# page of 256 at a time when a text first needs it. Zeros cost no memory until they are written.
_FIRST = 0x00FF  # the first symbol
_COUNT = 0x1F00  # how many symbols: 18 at most, for U+FDFA
_SEPARATES = 0x2000
_ALONE = 0x4000
_LOADED = 0x8000
_COUNT_SHIFT = 8
_CODES = 0x110000
_entries = np.zeros(_CODES, np.uint16)
_spelling_starts = np.zeros(_CODES, np.int32)
_spellings = bytearray()  # the symbols of every code point that has more than one

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
_FEED, _RETURN = ord("\n"), ord("\r")


def _codes(text: str) -> NDArray[np.uint32]:
    """Code points, lone surrogates too: they are read as separators, not refused."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _spell(char: str) -> bytes:
    """The symbols of one code point."""
    symbols = bytearray()
    for letter in unicodedata.normalize("NFKD", char).casefold():
        code = ord(letter)
        if unicodedata.category(letter)[0] not in "LN":
            continue
        symbols.append(code if code < 0x80 else 0x80 | (code & 0x7F))
        if any(code in block for block in _IDEOGRAPHS):
            symbols.append(0x80 | (code >> 7 & 0x7F))
    return bytes(symbols)


def _load(page: int) -> None:
    """Fill in the entries of 256 code points. Done twice, by two threads, it does no harm."""
    for code in range(page << 8, (page + 1) << 8):
        char = chr(code)
        symbols = _spell(char)
        entry = _LOADED | len(symbols) << _COUNT_SHIFT
        if symbols:
            entry |= symbols[0]
            entry |= _ALONE * any(code in block for block in _UNSPACED)
        elif unicodedata.category(char) not in {"Mn", "Mc", "Me", "Cf"} or char == _ZERO_WIDTH_SPACE:
            entry |= _SEPARATES
        if len(symbols) > 1:
            _spelling_starts[code] = len(_spellings)
            _spellings.extend(symbols)
        _entries[code] = entry


def _entries_of(codes: NDArray[np.uint32]) -> NDArray[np.uint16]:
    entries = _entries[codes]
    if not entries.all():
        for page in np.unique(codes[entries == 0] >> 8).tolist():
            _load(page)
        entries = _entries[codes]
    return entries


def _counts(entries: NDArray[np.uint16]) -> U8:
    """How many symbols each code point has."""
    return ((entries & _COUNT) >> _COUNT_SHIFT).astype(np.uint8)


def _read_any(texts: list[str]) -> Reading:
    codes = _codes("\n".join(texts))
    entries = _entries_of(codes)
    counts = _counts(entries)
    symbols_before = starts_of(counts.astype(np.int64))
    text_begins = starts_of(np.array([len(text) + 1 for text in texts], np.int64))
    text_begins[-1] -= 1
    breaks = np.flatnonzero((codes == _FEED) | (codes == _RETURN))

    solid = np.flatnonzero(entries & (_COUNT | _SEPARATES))  # what neither spells nor separates is not there
    spells = counts[solid] > 0
    alone = (entries[solid] & _ALONE) > 0
    begins_word = spells.copy()
    begins_word[1:] &= ~spells[:-1] | alone[1:] | alone[:-1]
    return Reading(
        symbols=_spelled(codes, entries, counts, symbols_before),
        starts=symbols_before[text_begins],
        words=symbols_before[solid[begins_word]],
        lines=_line_starts(symbols_before[np.append(0, breaks + 1)], symbols_before[-1]),
    )


def _spelled(codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: U8, begins: I64) -> U8:
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


def _line_starts(candidates: I64, size: np.int64) -> I64:
    """The ascending candidates without repeats and without the end: lines that hold a symbol."""
    return candidates[(np.diff(candidates, append=size) > 0)]


def _origins(text: str) -> I64:
    """For each symbol, the offset of the character it came from."""
    if text.isascii():
        return np.flatnonzero(np.frombuffer(text.encode("ascii").translate(_IS_KEPT), bool))
    return np.repeat(np.arange(len(text)), _counts(_entries_of(_codes(text))))
