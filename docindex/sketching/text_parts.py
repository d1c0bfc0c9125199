"""A text in, the parts that are stored of it out, and back. Pure: knows codecs, not tables."""

import zlib
from collections.abc import Iterator

from docindex.reading.slicing import PART, slices

RAW, DEFLATED = 0, 1

Parts = list[tuple[int, bytes]]
"""Of each part of a text a codec and the text in it."""

# No more than four bytes of UTF-8 for each character of a part: what claims more is damaged.
_LONGEST = 4 * PART


def parts_of(text: str) -> Iterator[tuple[int, bytes]]:
    """A text in parts of so many characters, each deflated if that makes it shorter; one at least.

    >>> list(parts_of("short"))
    [(0, b'short')]
    >>> [(codec, len(data) < 200) for codec, data in parts_of("long " * 1000)]
    [(1, True)]
    """
    return map(_part, slices(text))


def source_of(codec: int, data: bytes) -> bytes:
    """The UTF-8 of a part; `ValueError` for what `parts_of` cannot have made.

    >>> source_of(*next(parts_of("long " * 1000))).decode() == "long " * 1000
    True
    """
    if codec == RAW:
        return data
    inflate = zlib.decompressobj()
    try:
        source = inflate.decompress(data, _LONGEST)
    except zlib.error as error:
        raise ValueError(f"not deflated: {error}") from error
    if codec != DEFLATED or not inflate.eof:
        raise ValueError("no such codec, or longer than a part of a text can be")
    return source


def _part(piece: str) -> tuple[int, bytes]:
    source = piece.encode("utf-8", "surrogatepass")
    data = zlib.compress(source, 1)
    return (DEFLATED, data) if len(data) < len(source) else (RAW, source)
