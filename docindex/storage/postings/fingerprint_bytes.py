"""Write fingerprints as the bytes that the table `fingerprint` holds, and read those of many rows at once.

Winnowing selects the smallest of the hashes in a window, 47 bits long. So the selected hashes are small: with
a window of w, the highest log2(w) bits are nearly always 0. A fingerprint takes 48 bits, the gap before it
and the low bits of its hash; the few high bits follow in unary, two bits or so. With all bits of the hash and
a byte for the gap it took 56 bits.

The hashes that the other modules know are mixed, so that their bits are even. Takes and returns arrays. Must
never lose a bit that an index compares.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from docindex.arrays.ranges import I64, U16, U64, mix, starts_of, unmix
from docindex.arrays.sorted_blocks import packed, unpacked
from docindex.sketching.sketches import HASH_SHIFT
from docindex.winnowing.selection import HASH_BITS

NUMBER_BYTES = 6
"""The bytes of a fingerprint without the high bits of its hash."""


def low_bits(window: int) -> int:
    """How many low bits of a hash stand behind the gap, which is at most the window.

    >>> low_bits(36), low_bits(1), low_bits(65_535)
    (42, 47, 32)
    """
    return 8 * NUMBER_BYTES - window.bit_length()


def fingerprint_bytes(hashes: U64, gaps: U16, borders: I64, window: int) -> tuple[list[bytes], list[bytes]]:
    """The numbers and the high bits of the fingerprints of each row; the rows begin and end at `borders`.

    >>> hashes, gaps = mix(np.array([7, 1 << 43], np.uint64)), np.array([1, 2], np.uint16)
    >>> numbers, highs = fingerprint_bytes(hashes, gaps, np.array([0, 2, 2]), 36)
    >>> [data.hex() for data in numbers + highs]
    ['070000000004000000000008', '', '09', '']
    """
    selected = unmix(hashes)
    if len(selected) and selected.max() >> np.uint64(HASH_BITS):
        raise ValueError("a hash is not one that winnowing selects")
    low = np.uint64(low_bits(window))
    numbers = gaps.astype(np.uint64) << low | selected & ((np.uint64(1) << low) - np.uint64(1))
    # In unary: as many bits 0 as the number says, and a bit 1. Each row begins with a new byte.
    ends = starts_of((selected >> low).astype(np.int64) + 1)
    sizes = -(-np.diff(ends[borders]) // 8)
    begins = starts_of(sizes)
    bits = np.zeros(8 * begins[-1], np.uint8)
    moved = 8 * begins[:-1] - ends[borders[:-1]]
    bits[ends[1:] - 1 + np.repeat(moved, np.diff(borders))] = 1
    high = np.packbits(bits, bitorder="little").tobytes()
    return _cut(packed(numbers, NUMBER_BYTES), borders * NUMBER_BYTES), _cut(high, begins)


def _cut(data: bytes, borders: I64) -> list[bytes]:
    return [data[begin:end] for begin, end in itertools.pairwise(borders.tolist())]


def hashes_in(numbers: Sequence[bytes], highs: Sequence[bytes], window: int) -> U64:
    """The hashes in some rows, end to end; their low 16 bits are 0.

    `ValueError` for bytes that `fingerprint_bytes` does not make.
    """
    hashes = _hashes(_numbers(numbers), numbers, highs, window)
    hashes &= _STORED
    return hashes


def fingerprints_in(numbers: Sequence[bytes], highs: Sequence[bytes], window: int) -> tuple[U64, I64]:
    """The same, and the distance of each fingerprint from the one before."""
    hashes, gaps = whole_fingerprints_in(numbers, highs, window)
    hashes &= _STORED
    return hashes, gaps


def whole_fingerprints_in(numbers: Sequence[bytes], highs: Sequence[bytes], window: int) -> tuple[U64, I64]:
    """The same with all 64 bits of the hashes, as sketching made them."""
    found = _numbers(numbers)
    gaps = (found >> np.uint64(low_bits(window))).view(np.int64)
    return _hashes(found, numbers, highs, window), gaps


def _numbers(rows: Sequence[bytes]) -> U64:
    data = b"".join(rows)
    if len(data) % NUMBER_BYTES:
        raise ValueError("a row does not have whole fingerprints")
    return unpacked(data, NUMBER_BYTES)


def _hashes(found: U64, numbers: Sequence[bytes], highs: Sequence[bytes], window: int) -> U64:
    low = low_bits(window)
    selected = _unary(numbers, highs)
    selected <<= np.uint64(low)
    selected |= found & np.uint64((1 << low) - 1)
    return mix(selected)


_STORED = np.uint64((1 << 64) - 1 >> int(HASH_SHIFT) << int(HASH_SHIFT))


def _unary(numbers: Sequence[bytes], highs: Sequence[bytes]) -> U64:
    """The number in unary for each fingerprint."""
    counts = np.fromiter(map(len, numbers), np.int64, len(numbers)) // NUMBER_BYTES
    bits = 8 * np.fromiter(map(len, highs), np.int64, len(highs))
    places = np.unpackbits(np.frombuffer(b"".join(highs), np.uint8), bitorder="little")
    ones = places.view(np.bool_).nonzero()[0]  # of bool: five times as fast as of numbers
    ends, until = counts.cumsum(), bits.cumsum()
    if not counts.all():
        filled = counts > 0
        if bits[~filled].any():
            raise ValueError(_UNEQUAL)
        counts, bits, ends, until = counts[filled], bits[filled], ends[filled], until[filled]
    firsts, begins = ends - counts, until - bits
    if len(ones) != (ends[-1] if len(ends) else 0) or (
        len(ends) and ((ones[firsts] < begins).any() or (ones[ends - 1] >= until).any())
    ):
        raise ValueError(_UNEQUAL)
    before = np.empty_like(ones)
    before[1:] = ones[:-1]
    before[firsts] = begins - 1
    ones -= before
    ones -= 1
    return ones.view(np.uint64)


_UNEQUAL = "a row does not have the high bits of each fingerprint"
