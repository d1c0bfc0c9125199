"""Hash the words of a text: two texts have the same hash if and only if they have the same words.

In: readings. Out: 16 bytes for each text. The result must never depend on batches or slices.

If the words of a reading have hashes, these take the place of symbols, and there are no letters.

The hash of a text with words is the xxh3-128 of three such hashes, end to end: of its symbols, of the lengths
of its words in symbols, and of its folded letters that are not ASCII (two of these may share a symbol).
Numbers are unsigned, of 32 bits, little-endian. A text without words has the hash of nothing, of nothing, and
of the code points of its signs: so "---" and "***" differ, and two blank texts do not.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import xxhash

from docindex.arrays.ranges import U8, U32, U64
from docindex.reading import slicing
from docindex.reading.protocol import Reading, SymbolReader

_DIGEST = xxhash.xxh3_128_digest
_NOTHING = _DIGEST(b"")


def words_hashes(texts: list[str], reading: Reading, reader: SymbolReader) -> list[bytes]:
    """The hash of each text of a batch, given their reading."""
    letters, letter_starts = reader.letters(texts)
    starts = reading.starts.tolist()
    # A slice of a memoryview takes half the time of a slice of an array.
    symbols, lengths, others = _told_apart(reading).data, _lengths(reading).data, letters.data
    word_starts = np.searchsorted(reading.words, reading.starts).tolist()
    found = []
    for text, symbol_range, word_range, letter_range in zip(
        texts, _ranges(starts), _ranges(word_starts), _ranges(letter_starts.tolist()), strict=True
    ):
        if symbol_range.start == symbol_range.stop:
            found.append(_combined(_NOTHING, _NOTHING, _DIGEST(reader.signs(text).data)))
            continue
        letter_hash = _DIGEST(others[letter_range]) if letter_range.start < letter_range.stop else _NOTHING
        found.append(_combined(_DIGEST(symbols[symbol_range]), _DIGEST(lengths[word_range]), letter_hash))
    return found


def _ranges(starts: list[int]) -> Iterator[slice]:
    return itertools.starmap(slice, itertools.pairwise(starts))


class WordsHasher:
    """Hashes the words of one text that comes in slices."""

    def __init__(self, reader: SymbolReader) -> None:
        self._reader = reader
        self._symbols, self._lengths, self._letters = (xxhash.xxh3_128() for _ in range(3))
        self._open = 0
        """The length of the last word so far."""

    def add(self, reading: Reading) -> None:
        """Take the next of the `readings` of the text."""
        self._symbols.update(_told_apart(reading).data)
        lengths = _lengths(reading)
        if not len(lengths):
            return
        if reading.continues:
            lengths[0] += self._open
        elif self._open:
            lengths = np.append(np.uint32(self._open), lengths)
        self._lengths.update(lengths[:-1].astype("<u4").data)
        self._open = int(lengths[-1])

    def end(self, text: str) -> bytes:
        """The hash of the whole text."""
        for piece in slicing.slices(text):
            if self._open:
                if not piece.isascii():
                    self._letters.update(self._reader.letters([piece])[0].data)
            else:
                self._letters.update(self._reader.signs(piece).data)
        if self._open:
            self._lengths.update(np.array([self._open], "<u4").data)
        return _combined(self._symbols.digest(), self._lengths.digest(), self._letters.digest())


def _told_apart(reading: Reading) -> U8 | U64:
    """The symbols of a reading; the hashes of its words if these tell words apart, one for each symbol."""
    return reading.symbols if reading.word_hashes is None else reading.word_hashes.astype("<u8", copy=False)


def _lengths(reading: Reading) -> U32:
    """The lengths of the words of a reading."""
    return np.diff(reading.words, append=len(reading.symbols)).astype("<u4")


def _combined(symbols: bytes, lengths: bytes, letters: bytes) -> bytes:
    return _DIGEST(symbols + lengths + letters)
