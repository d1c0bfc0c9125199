"""Turn a text in any script into a byte stream: symbols, and separators between words.

In: a text. Out: bytes. Bytes from 0x30 that are letters, digits or above 0x7F are symbols (ASCII letters in
either case); all others separate words. Every code point has its own bytes, whatever surrounds it: the stream
of a text is the streams of its slices, end to end. (`voiced` must see them together.)
"""

import numpy as np

from docindex.arrays.ranges import U32
from docindex.reading.code_points import (
    HALF_VOICED,
    LONG,
    VOICED,
    WORD_ENDS,
    Codes,
    long_spellings,
    spellings_of,
)
from docindex.reading.symbol_bytes import narrow_symbols

_CHUNK = 1 << 15
"""Code points handled at a time: their arrays stay in a core's cache. Whole batches take twice as long."""

# If more than one of this many characters is not ASCII, all characters are looked up, not only the odd ones.
_FEW_ODD = 6
# If more than one of this many characters has not exactly one byte, all are written as four bytes each, which
# takes 3 ns for each character. Inserting the bytes of one character takes 600 ns.
_FEW_SPECIAL = 200

_CONFUSING = "".join(map(chr, (VOICED, HALF_VOICED, WORD_ENDS)))
"""Control characters that look like a constant of the stream. A space has the same meaning in a text."""


def codes_of_text(text: str) -> Codes:
    """The code points of a text, in 16 bits each if that suffices. Lone surrogates are allowed.

    >>> codes_of_text("aé").dtype.name, codes_of_text("a🎉").dtype.name
    ('uint16', 'uint32')
    """
    codes = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
    if len(codes) == len(text):
        return codes
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def byte_stream(text: str) -> bytes:
    """The stream of a text, except that voicing marks are not yet part of the letters before.

    >>> byte_stream("Ada's Éclair, ﬁne")
    b'ada s eclair  fine'
    """
    for control in _CONFUSING:
        if control in text:
            text = text.replace(control, " ")
    if text.isascii():
        return text.encode("ascii")
    return b"".join([_spelled(text[begin : begin + _CHUNK]) for begin in range(0, len(text), _CHUNK)])


def voiced(stream: bytes) -> bytes:
    """The stream with each voicing mark (゛ or ゜) made a part of the kana before it.

    >>> voiced(byte_stream("か\u3099")) == byte_stream("が")
    True
    """
    for control, letter in ((VOICED, 0x3099), (HALF_VOICED, 0x309A)):
        mark = bytes([control])
        if mark in stream:
            symbol = narrow_symbols(np.array([letter])).tobytes()
            stream = stream.replace(bytes([WORD_ENDS]) + mark, symbol + bytes([WORD_ENDS]))
            stream = stream.replace(mark, symbol)
    return stream


def _spelled(chunk: str) -> bytes:
    """The stream of a chunk. Many chunks of a text that is not ASCII are."""
    return chunk.encode("ascii") if chunk.isascii() else _spell(codes_of_text(chunk))


def _spell(codes: Codes) -> bytes:
    """The stream of the code points of a chunk."""
    is_odd = codes > 0x7F
    if np.count_nonzero(is_odd) * _FEW_ODD > len(codes):
        return _spell_all(spellings_of(codes))
    odd = np.flatnonzero(is_odd)
    numbers = spellings_of(codes[odd])
    special = (numbers > 0xFF) | (numbers <= LONG)
    if np.count_nonzero(special) * _FEW_SPECIAL > len(codes):
        return _spell_all(spellings_of(codes))
    single = codes.astype(np.uint8)
    single[odd] = numbers
    return _spliced(single.tobytes(), odd[special], numbers[special])


def _spliced(stream: bytes, positions: np.ndarray, numbers: U32) -> bytes:
    """The stream with the byte at each position replaced by a spelling."""
    if not len(positions):
        return stream
    parts = [b""] * (2 * len(positions) + 1)
    begins = [0, *(positions + 1).tolist()]
    ends = [*positions.tolist(), len(stream)]
    parts[::2] = [stream[begin:end] for begin, end in zip(begins, ends, strict=True)]
    parts[1::2] = map(_bytes_of, numbers.tolist())
    return b"".join(parts)


def _bytes_of(number: int) -> bytes:
    if number & 0xFF == LONG:
        return long_spellings()[number >> 8]
    return number.to_bytes(4, "little").replace(b"\0", b"")


def _spell_all(numbers: U32) -> bytes:
    """The stream of spellings, of which many have not exactly one byte."""
    if len(numbers) and numbers.min() > LONG and numbers.max() <= 0xFF:
        return numbers.astype(np.uint8).tobytes()
    long = np.flatnonzero(numbers & 0xFF == LONG)
    replaced = numbers[long]
    numbers[long] = LONG
    stream = numbers.astype("<u4", copy=False).tobytes().translate(None, b"\0")
    if not len(long):
        return stream
    return _spliced(stream, np.flatnonzero(np.frombuffer(stream, np.uint8) == LONG), replaced)
