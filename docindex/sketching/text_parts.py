"""Compress a text into the parts that an index stores, and decompress a part.

In: a text, or one part with its codec. Out: the parts of the text, or the UTF-8 of the part. Knows codecs;
must never know the tables that parts are stored in.
"""

import zlib
from collections.abc import Iterator

from docindex.reading.slicing import PIECE_CHARACTERS, slices

RAW, DEFLATED, EXTERNAL = 0, 1, 2

Parts = list[tuple[int, bytes]]
"""The codec and the bytes of each part of a text."""

# A character takes at most four bytes of UTF-8. Data that inflates to more than this is damaged.
_LONGEST = 4 * PIECE_CHARACTERS


def parts_of(text: str) -> Iterator[tuple[int, bytes]]:
    """The parts of a text: at least one, each of at most `PIECE_CHARACTERS`, deflated if that is shorter.

    >>> list(parts_of("short"))
    [(0, b'short')]
    >>> [(codec, len(data) < 200) for codec, data in parts_of("long " * 1000)]
    [(1, True)]
    """
    return map(_part, slices(text))


def source_of(codec: int, data: bytes) -> bytes:
    """The UTF-8 of a part. `ValueError` if `parts_of` cannot have made it.

    >>> source_of(*next(parts_of("long " * 1000))).decode() == "long " * 1000
    True
    """
    if codec == RAW:
        if len(data) > _LONGEST:
            raise ValueError(f"the part has {len(data)} bytes; expected at most {_LONGEST}")
        return data
    if codec != DEFLATED:
        raise ValueError(f"the part has the unknown codec {codec}; expected {RAW} or {DEFLATED}")
    inflate = zlib.decompressobj()
    try:
        source = inflate.decompress(data, _LONGEST)
    except zlib.error as error:
        raise ValueError(f"the part is not valid deflate data: {error}") from error
    if not inflate.eof:
        raise ValueError(f"the deflate data of the part is cut short, or inflates to over {_LONGEST} bytes")
    return source


def _part(piece: str) -> tuple[int, bytes]:
    source = piece.encode("utf-8", "surrogatepass")
    data = zlib.compress(source, 1)
    return (DEFLATED, data) if len(data) < len(source) else (RAW, source)
