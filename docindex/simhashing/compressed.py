"""Compress a sorted array of 64-bit numbers, to be read whole or in part.

In: ascending numbers. Out: a `Compressed`. Must never be needed to find something: it only trades time for
memory.

Manku et al. (section 3.2) code each number as its XOR with the number before: a Huffman code for the position
of the highest bit that differs, then the bits below it. This module codes the *gap* to the number before:
a Huffman code for the length of the gap in bits, then its other bits. Where a carry runs through
many bits (0111 to 1000), the XOR is long and the gap is short. So gaps are never worse in this table, which
gives the bytes per number for 2^20 numbers:

    numbers                                gaps, here   XOR, the paper   Elias-Fano
    random                                       5.73             6.00         5.75
    groups of 8, 0 to 3 bits flipped             4.46             4.63         5.75
    groups of 64, 0 to 3 bits flipped            3.55             3.67         5.75
    groups of 8, all equal                       0.92             0.92         5.75

The bound for random numbers is 5.68. Elias-Fano is listed without the index that a search in it needs. Fewer
than 500 random numbers take more bytes compressed than plain. Compressing takes 20 ns for each number, and
reading everything takes 40 to 60 ns for each. Reading a part takes 60 to 100 us; a search in the plain array
takes a few microseconds.
"""

import dataclasses
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

import numpy as np

from docindex.arrays.ranges import CHUNK, I64, U8, U64, starts_of

# How many numbers make a block: the first is stored plain, the others as gaps. A power of two that divides
# CHUNK. With half as many, each number costs 0.04 bytes more, because each block has three 64-bit numbers of
# its own, and a part is read 15% faster. With twice as many, each number costs 0.02 bytes less, and reading
# a part takes a quarter longer.
BLOCK = 512

# How many bits a gap has below its highest bit, for each possible length from 0 to 64.
_TAIL_WIDTHS = np.maximum(np.arange(65) - 1, 0)

# Every length counts as at least 2^-10 of all lengths. So no Huffman code is longer than 16 bits (the bound
# is the logarithm of 1/frequency to the base 1.618), and one table holds all codes. On the data above this
# costs at most 0.01 bits for each number.
_RAREST = 10


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """Sorted numbers as two streams of bits: the codes of the gaps' lengths, and the gaps' lower bits.

    All codes of a block are together, so they can be found without a loop over the numbers of the block.

    >>> numbers = compress(np.array([3, 5, 5, 2**64 - 1], np.uint64))
    >>> numbers.values().tolist()
    [3, 5, 5, 18446744073709551615]
    """

    count: int
    firsts: U64  # the first number of each block, plain
    lengths: U8  # the length that a code stands for, indexed by the next bits of the stream
    code_widths: U8  # how many of these bits belong to the code, indexed by length
    codes: U64
    code_starts: I64  # the bit of the stream where each block begins, and at the end where the last one ends
    tails: U64
    tail_starts: I64

    @property
    def nbytes(self) -> int:
        """The size of all arrays together.

        >>> numbers = np.arange(1 << 17, dtype=np.uint64) << np.uint64(20)
        >>> numbers.nbytes, compress(numbers).nbytes
        (1048576, 333298)
        """
        parts = (getattr(self, field.name) for field in dataclasses.fields(self))
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    def values(self) -> U64:
        """All the numbers, ascending."""
        return self._blocks(0, len(self.firsts))

    def part(self, prefix: int, length: int) -> U64:
        """The numbers whose leading `length` bits are `prefix`, ascending; reads only the blocks they are in.

        >>> compress(np.array([1, 1 << 63, (1 << 63) + 5], np.uint64)).part(0b10, 2).tolist()
        [9223372036854775808, 9223372036854775813]
        """
        if not (0 <= length <= 64 and 0 <= prefix < 1 << length):
            raise ValueError(
                f"prefix {prefix} of {length} bits: expected 0 to 64 bits, and a prefix that fits in them"
            )
        low = np.uint64(prefix << (64 - length))
        high = low | np.uint64((1 << (64 - length)) - 1)
        # Numbers that equal the first of a block may also be at the end of the block before.
        first = max(int(np.searchsorted(self.firsts, low)) - 1, 0)
        values = self._blocks(first, int(np.searchsorted(self.firsts, high, "right")))
        return values[np.searchsorted(values, low) : np.searchsorted(values, high, "right")]

    def _blocks(self, first: int, stop: int) -> U64:
        values = np.empty((stop - first, BLOCK), np.uint64)
        step = CHUNK // BLOCK
        for begin in range(first, stop, step):
            end = min(begin + step, stop)
            values[begin - first : end - first] = self._grid(begin, end)
        return values.ravel()[: self.count - first * BLOCK]

    def _grid(self, first: int, stop: int) -> U64:
        """The numbers of some blocks, one row for each block."""
        # Read a code at every bit, as if a code began there. To find the real codes, start at the first code
        # of a block and jump from code to code. Doubling the jumps takes nine rounds for 512 codes.
        start, end = int(self.code_starts[first]), int(self.code_starts[stop])
        longest = len(self.lengths).bit_length() - 1
        lengths = self.lengths[_read(self.codes, np.arange(start, end + 1), np.array(longest))]
        jumps = np.minimum(np.arange(len(lengths)) + self.code_widths[lengths], len(lengths) - 1)
        at = (self.code_starts[first:stop] - start)[:, None]
        while at.shape[1] < BLOCK:
            at = np.hstack((at, jumps[at]))
            jumps = jumps[jumps]
        lengths = lengths[at[:, : BLOCK - 1]]

        widths = _TAIL_WIDTHS[lengths]
        begins = np.cumsum(widths, axis=1) - widths + self.tail_starts[first:stop, None]
        highest = (lengths > 0).astype(np.uint64) << widths.astype(np.uint64)
        gaps = _read(self.tails, begins, widths) | highest
        return np.cumsum(np.column_stack((self.firsts[first:stop], gaps)), axis=1)


def compress(values: U64) -> Compressed:
    """Compress ascending values, which may repeat.

    Works on `CHUNK` values at a time. Raises `ValueError` if a value is below the one before it.

    >>> compress(np.zeros(1_000_000, np.uint64)).nbytes < 50_000
    True
    """
    if falls := np.flatnonzero(values[1:] < values[:-1])[:1].tolist():
        raise ValueError(
            f"value {falls[0] + 1} is below the one before it: compress() needs ascending values"
        )
    counts = np.zeros(len(_TAIL_WIDTHS), np.int64)
    for _, grid in _grids(values):
        counts += np.bincount(_lengths(np.diff(grid)).ravel(), minlength=len(counts))
    codes, code_widths = _huffman(counts)

    blocks = -(-len(values) // BLOCK)
    code_starts, tail_starts = np.zeros((2, blocks + 1), np.int64)
    code_words, tail_words = _words(int(counts @ code_widths)), _words(int(counts @ _TAIL_WIDTHS))
    for first, grid in _grids(values):
        gaps = np.diff(grid).ravel()
        lengths = _lengths(gaps)
        widths = _TAIL_WIDTHS[lengths]
        gaps &= (np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1)
        here = slice(first, first + len(grid) + 1)
        begins = _write(code_words, code_starts[first], codes[lengths], code_widths[lengths])
        code_starts[here] = begins[:: BLOCK - 1]
        tail_starts[here] = _write(tail_words, tail_starts[first], gaps, widths)[:: BLOCK - 1]
    return Compressed(
        count=len(values),
        firsts=values[::BLOCK].copy(),
        lengths=_lookup(np.flatnonzero(counts), codes, code_widths),
        code_widths=code_widths.astype(np.uint8),
        codes=code_words,
        code_starts=code_starts,
        tails=tail_words,
        tail_starts=tail_starts,
    )


def _grids(values: U64) -> Iterator[tuple[int, U64]]:
    """Pieces of the values with a block in each row, and the number of the first block of each piece."""
    for begin in range(0, len(values), CHUNK):
        piece = values[begin : begin + CHUNK]
        # Repeat the last number to fill the last block: a gap of no bits has a code like any other.
        yield begin // BLOCK, np.pad(piece, (0, -len(piece) % BLOCK), "edge").reshape(-1, BLOCK)


def _lengths(numbers: U64) -> I64:
    """The bit length of each number.

    >>> _lengths(np.array([0, 1, 2, 2**64 - 1], np.uint64)).tolist()
    [0, 1, 2, 64]
    """
    # A floating-point logarithm would not do: it takes 2^54 - 1 for 2^54.
    filled = numbers.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> np.uint64(shift)
    return np.bitwise_count(filled).astype(np.int64)


def _huffman(counts: I64) -> tuple[U64, I64]:
    """For each symbol a code, to be read from its lowest bit, and its width; a single symbol needs no bits.

    >>> codes, widths = _huffman(np.array([5, 0, 1, 2]))
    >>> [f"{code:0{width}b}" for code, width in zip(codes.tolist(), widths.tolist()) if width]
    ['1', '00', '10']
    """
    codes, widths = np.zeros(len(counts), np.uint64), np.zeros(len(counts), np.int64)
    least = int(counts.sum()) >> _RAREST
    heap = [(max(count, least), [symbol]) for symbol, count in enumerate(counts.tolist()) if count]
    heapify(heap)
    while len(heap) > 1:
        (rare, zeros), (common, ones) = heappop(heap), heappop(heap)
        # Later merges are nearer to the root of the tree, so their bits are lower.
        codes[zeros + ones] <<= np.uint64(1)
        codes[ones] |= np.uint64(1)
        widths[zeros + ones] += 1
        heappush(heap, (rare + common, zeros + ones))
    return codes, widths


def _lookup(symbols: I64, codes: U64, widths: I64) -> U8:
    """For all possible next bits of a stream, the symbol whose code they start with."""
    table = np.zeros(1 << int(widths.max()), np.uint8)
    for symbol in symbols.tolist():
        table[int(codes[symbol]) :: 1 << int(widths[symbol])] = symbol
    return table


def _words(bits: int) -> U64:
    # One more word than the bits need: a field is read from the word it begins in and the next word.
    return np.zeros(bits // 64 + 2, np.uint64)


def _write(words: U64, begin: int, fields: U64, widths: I64) -> I64:
    """Write fields end to end from bit `begin`; returns where each begins, and where the last one ends."""
    begins = begin + starts_of(widths)
    at, shift = begins[:-1] >> 6, (begins[:-1] & 63).astype(np.uint64)
    # Fields do not overlap, so addition sets their bits. Unlike `|=`, it works if a word occurs twice.
    np.add.at(words, at, fields << shift)
    np.add.at(words, at + 1, fields >> np.uint64(1) >> (np.uint64(63) - shift))
    return begins


def _read(words: U64, begins: I64, widths: I64) -> U64:
    """The fields of up to 63 bits that begin in these bits."""
    at, shift = begins >> 6, (begins & 63).astype(np.uint64)
    fields: U64 = words[at] >> shift
    # In two steps, because the result of a shift by 64 is undefined.
    fields |= words[at + 1] << np.uint64(1) << (np.uint64(63) - shift)
    fields &= (np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1)
    return fields
