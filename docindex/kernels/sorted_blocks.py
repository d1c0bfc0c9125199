"""Pack ascending numbers in blocks, each in little more space than information theory asks for: Elias-Fano.

In: numbers, divided into blocks. Out: the bytes of each block, or the numbers again. A number takes some
whole low bytes. Its high bits, which ascend slowly, are a bitmap: bit ``high + place`` is set for the number
at this place of its block. So 256 numbers of 30 bits take 3.16 bytes each; the limit is 2.9, and whole bytes
would be 4.
"""

from collections.abc import Sequence

import numpy as np

from docindex.kernels.arrays import I64, U64, starts_of
from docindex.kernels.packing import packed, unpacked

# The bitmap of a block takes n + 2^high bits. With 3 to 10 high bits, a block of 128 to 256 numbers is within
# a sixth of the smallest size that whole low bytes allow.
_LEAST_HIGH_BITS = 3


def packed_blocks(numbers: U64, counts: I64, bits: int) -> list[bytes]:
    """The bytes of each block. `counts` says how many numbers it has. They ascend, and have `bits` bits.

    >>> [block.hex() for block in packed_blocks(np.array([1, 258, 7], np.uint64), np.array([2, 0, 1]), 9)]
    ['010205', '', '0701']
    """
    width, high_bits = _layout(bits)
    sizes = _bitmap_sizes(counts, high_bits)
    begins, bitmap_begins = starts_of(counts), starts_of(sizes)
    places = (numbers >> np.uint64(8 * width)).view(np.int64)
    places += np.arange(len(numbers))
    places += np.repeat(8 * bitmap_begins[:-1] - begins[:-1], counts)
    marks = np.zeros(8 * bitmap_begins[-1], np.bool_)
    marks[places] = True
    lows, bitmaps = packed(numbers, width), np.packbits(marks, bitorder="little").tobytes()
    ends = zip((width * begins).tolist(), bitmap_begins.tolist(), strict=True)
    blocks, (low, bitmap) = [], next(ends)
    for next_low, next_bitmap in ends:
        blocks.append(lows[low:next_low] + bitmaps[bitmap:next_bitmap])
        low, bitmap = next_low, next_bitmap
    return blocks


def unpacked_blocks(blocks: Sequence[bytes], bits: int) -> tuple[U64, I64]:
    """The numbers in some blocks, end to end, and how many each block has. `ValueError` for other bytes.

    >>> numbers, counts = unpacked_blocks([bytes.fromhex("010205"), b"", bytes.fromhex("0701")], 9)
    >>> numbers.tolist(), counts.tolist()
    ([1, 258, 7], [2, 0, 1])
    """
    width, high_bits = _layout(bits)
    lengths = np.fromiter(map(len, blocks), np.int64, len(blocks))
    counts = np.maximum((8 * lengths - (1 << high_bits)) // (8 * width + 1), 0)
    sizes = _bitmap_sizes(counts, high_bits)
    if (width * counts + sizes != lengths).any():
        raise ValueError("a block has an impossible length")
    ends = (width * counts).tolist()
    lows = unpacked(b"".join([block[:end] for block, end in zip(blocks, ends, strict=True)]), width)
    bitmaps = b"".join([block[end:] for block, end in zip(blocks, ends, strict=True)])
    marks = np.flatnonzero(np.unpackbits(np.frombuffer(bitmaps, np.uint8), bitorder="little").view(np.bool_))
    if len(marks) != len(lows):
        raise ValueError("a bitmap does not have a mark for each number")
    # In place: each further array of this size would cost as much as the arithmetic.
    marks -= np.arange(len(marks))
    marks -= np.repeat(8 * starts_of(sizes)[:-1] - starts_of(counts)[:-1], counts)
    highs = marks.view(np.uint64)  # a mark before its block becomes a large number
    if highs.max(initial=0) >> np.uint64(high_bits):
        raise ValueError("a bitmap has a mark outside of its block")
    highs <<= np.uint64(8 * width)
    lows |= highs
    return lows, counts


def _layout(bits: int) -> tuple[int, int]:
    """How many low bytes and how many high bits a number has."""
    width = max(1, (bits - _LEAST_HIGH_BITS) // 8)
    return width, max(0, bits - 8 * width)


def _bitmap_sizes(counts: I64, high_bits: int) -> I64:
    """The bytes of the bitmap of each block. A block without numbers has no bytes at all."""
    return np.where(counts, (counts + (1 << high_bits) + 7) // 8, 0)
