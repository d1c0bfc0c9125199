"""Pack ascending numbers in blocks, each in little more space than information theory asks for: Elias-Fano.

In: numbers, divided into blocks. Out: the bytes of each block, or the numbers again. A number takes some
whole low bytes. Its high bits, which ascend slowly, are a bitmap: bit ``high + place`` is set for the number
at this place of its block. So 256 numbers of 30 bits take 3.16 bytes each; the limit is 2.9, and whole bytes
would be 4.

The module also packs numbers into whole bytes: little-endian on every machine.
"""

from collections.abc import Sequence

import numpy as np

from docindex.arrays.ranges import I64, U64, ranges, starts_of


def packed(numbers: U64, width: int) -> bytes:
    r"""The lowest `width` bytes of each number, end to end.

    >>> packed(np.array([1, 256], np.uint64), 2)
    b'\x01\x00\x00\x01'
    """
    octets = numbers.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    return octets[:, :width].tobytes()


def unpacked(data: bytes, width: int) -> U64:
    r"""The numbers that `packed` was given. The length of `data` must be a multiple of `width`.

    >>> unpacked(b"\x01\x00\x00\x01", 2).tolist()
    [1, 256]
    """
    # Read eight bytes at each place and mask the bytes of the next numbers. This takes a tenth of the time of
    # copying only the right bytes.
    overlapping = np.ndarray(len(data) // width, "<u8", data + bytes(8 - width), strides=(width,))
    mask = (1 << 8 * width) - 1
    return overlapping.astype(np.uint64, copy=False) & np.uint64(mask)


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
    counts, sizes = _sizes_of(blocks, width, high_bits)
    ends = (width * counts).tolist()
    lows = unpacked(b"".join([block[:end] for block, end in zip(blocks, ends, strict=True)]), width)
    bitmaps = b"".join([block[end:] for block, end in zip(blocks, ends, strict=True)])
    marks = np.unpackbits(np.frombuffer(bitmaps, np.uint8), bitorder="little").view(np.bool_).nonzero()[0]
    if len(marks) != len(lows):
        raise ValueError(_OTHER_MARKS)
    # In place: each further array of this size would cost as much as the arithmetic.
    marks -= np.arange(len(marks))
    marks -= np.repeat(8 * starts_of(sizes)[:-1] - starts_of(counts)[:-1], counts)
    highs = marks.view(np.uint64)  # a mark before its block becomes a large number
    if highs.max(initial=0) >> np.uint64(high_bits):
        raise ValueError("a bitmap has a mark outside of its block")
    highs <<= np.uint64(8 * width)
    lows |= highs
    return lows, counts


def found_in_blocks(
    blocks: Sequence[bytes], bits: int, of: I64, least: U64, most: U64
) -> tuple[I64, U64, int]:
    """The numbers in ranges, without the other numbers of their blocks. `ValueError` for impossible bytes.

    Range i is from `least` to `most`, both included, in the block ``of[i]``. Returns the places of the
    ranges, the numbers found, ordered by range, and how many numbers the blocks have. Takes a third of the
    time of `unpacked_blocks`: the bits 0 of a bitmap say where each value of the high bits begins, so only
    the low bytes of a few numbers are read.

    >>> blocks = [bytes.fromhex("010205"), b"", bytes.fromhex("0701")]
    >>> places, numbers, size = found_in_blocks(
    ...     blocks, 9, np.array([0, 1, 2]), np.array([2, 0, 0], np.uint64), np.array([300, 9, 9], np.uint64))
    >>> places.tolist(), numbers.tolist(), size
    ([0, 2], [258, 7], 3)
    """
    width, high_bits = _layout(bits)
    counts, sizes = _sizes_of(blocks, width, high_bits)
    before, firsts, ends = starts_of(counts), 8 * starts_of(sizes), (width * counts).tolist()
    bitmaps = b"".join([block[end:] for block, end in zip(blocks, ends, strict=True)])
    gaps = np.unpackbits(~np.frombuffer(bitmaps, np.uint8), bitorder="little").view(np.bool_).nonzero()[0]
    total = int(before[-1])
    if len(gaps) != 8 * len(bitmaps) - total:
        raise ValueError(_OTHER_MARKS)
    shift = np.uint64(8 * width)
    high = (least >> shift).view(np.int64)
    last = (most >> shift).view(np.int64)
    places = counts.take(of).nonzero()[0]
    if len(places) < len(of) or (high != last).any():
        spans = (last - high + 1)[places]
        high, places = ranges(high[places], spans), np.repeat(places, spans)
        of, least, most = of[places], least[places], most[places]
    # The numbers with the high bits h stand between the bits 0 before and behind them: numbers h - 1 and h.
    begin, first = before.take(of), firsts.take(of)
    at = first - begin + high
    high_first = first + high
    first = np.where(high > 0, gaps.take(at - 1, mode="clip") + 1, first)
    lengths = gaps.take(at) - first
    first -= high_first
    if len(of) and ((first < 0) | (lengths < 0) | (first + lengths > counts.take(of))).any():
        raise ValueError(_OTHER_MARKS)
    octets = b"".join([*blocks, bytes(8)])
    overlapping = np.ndarray(len(octets) - 7, "<u8", octets, strides=(1,))
    # Each array of all numbers costs a pass: `repeat` takes a third of the time of an index.
    begin = firsts.take(of) // 8 + width * (begin + first)
    offsets = (begin - width * starts_of(lengths)[:-1]).repeat(lengths)
    offsets += width * np.arange(len(offsets))
    numbers = overlapping[offsets].astype(np.uint64, copy=False)
    numbers &= np.uint64((1 << 8 * width) - 1)
    numbers |= (high.view(np.uint64) << shift).repeat(lengths)
    inside = (numbers >= least.repeat(lengths)) & (numbers <= most.repeat(lengths))
    return places.repeat(lengths)[inside], numbers[inside], total


_OTHER_MARKS = "a bitmap does not have a mark for each number"


def _sizes_of(blocks: Sequence[bytes], width: int, high_bits: int) -> tuple[I64, I64]:
    """How many numbers each block has, and how many bytes its bitmap has."""
    lengths = np.fromiter(map(len, blocks), np.int64, len(blocks))
    counts = np.maximum((8 * lengths - (1 << high_bits)) // (8 * width + 1), 0)
    sizes = _bitmap_sizes(counts, high_bits)
    if (width * counts + sizes != lengths).any():
        raise ValueError("a block has an impossible length")
    return counts, sizes


def _layout(bits: int) -> tuple[int, int]:
    """How many low bytes and how many high bits a number has."""
    width = max(1, (bits - _LEAST_HIGH_BITS) // 8)
    return width, max(0, bits - 8 * width)


def _bitmap_sizes(counts: I64, high_bits: int) -> I64:
    """The bytes of the bitmap of each block. A block without numbers has no bytes at all."""
    return np.where(counts, (counts + (1 << high_bits) + 7) // 8, 0)
