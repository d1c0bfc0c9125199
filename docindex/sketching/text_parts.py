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

# zlib's level 1, measured on files of 10 KB and on notes of 470 characters, in ms and in bytes for each byte:
#     level 1               8.1 ms/MB, 0.375      23 ms/MB, 0.56
#     level 3               9.5 ms/MB, 0.358      24 ms/MB, 0.55
#     level 6               16 ms/MB,  0.334      26 ms/MB, 0.54
#     Huffman codes only    5.3 ms/MB, 0.600      17 ms/MB, 0.65
#     a window of 1 KB      17 ms/MB,  0.447      26 ms/MB, 0.55
# So no setting is both faster and nearly as small. Python 3.14 has zstd; a file that uses it would not be
# readable on Python 3.11, which needs a package for it.
_LEVEL = 1

# A shorter text is stored as it is. Deflating takes 27 ms/MB and saves .43 at 300 bytes, 15 and .57 at 1,000,
# 11 and .62 at 2,000; to index notes without their texts takes 45 ms/MB. An index of notes of 480 characters
# with their texts is built in .69 of the time if they are not deflated, and has 1.26 times the size.
_SHORTEST = 1000

# A character takes at most four bytes of UTF-8. Data that inflates to more than this is damaged.
_LONGEST = 4 * PIECE_CHARACTERS


def parts_of(text: str) -> Iterator[tuple[int, bytes]]:
    """The parts of a text: at least one, each of at most `PIECE_CHARACTERS`, deflated if that is worthwhile.

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
    if len(source) < _SHORTEST:
        return RAW, source
    data = zlib.compress(source, _LEVEL)
    return (DEFLATED, data) if len(data) < len(source) else (RAW, source)
