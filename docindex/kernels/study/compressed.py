"""A sorted array of 64-bit numbers in; the same numbers in few bytes out, to be read whole or in part.

Manku et al. (section 3.2) code each number by its XOR with the one before: a Huffman code for the place of
the highest bit that differs, then the bits below it. Here it is the *gap* to the one before: a Huffman code
for its length in bits, then the bits below its highest. Where a carry runs through many bits (0111 to 1000)
the XOR is long and the gap is short, so that gaps never lose here. Bytes per number, for 2^20 of them:

    numbers                                gaps, here   XOR, the paper   Elias-Fano
    random                                       5.73             6.00         5.75
    groups of 8, 0 to 3 bits flipped             4.46             4.63         5.75
    groups of 64, 0 to 3 bits flipped            3.55             3.67         5.75
    groups of 8, all equal                       0.92             0.92         5.75

The bound for random numbers is 5.68; Elias-Fano is given without the index a search in it needs. Fewer than
500 random numbers take more bytes here than they do plain. It costs 20 ns a number to compress, 40 to 60 to
read all, and 60 to 100 us to read a part, where a search in the plain array takes a few.

Must never be needed to find something: it only trades time for memory.
"""

import dataclasses
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

import numpy as np

from docindex.kernels.arrays import CHUNK, I64, U8, U64, starts_of

# How many numbers are coded one relative to the other, after one that is stored as it is: a power of two that
# divides CHUNK. Half as many cost .04 bytes a number more, as each block has three 64-bit numbers of its own,
# and a part is read 15 % faster; twice as many save .02 bytes, and a part takes a quarter longer.
BLOCK = 512

# How many bits lie below the highest of a gap, for each length it can have: 0 to 64.
_TAIL_WIDTHS = np.maximum(np.arange(65) - 1, 0)

# No length is taken for rarer than 2^-10 of all, so that no Huffman code is longer than 16 bits (the bound is
# the logarithm of 1/frequency to the base 1.618) and all can be looked up in one table. It costs no more than
# .01 bits a number on the data above.
_RAREST = 10


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """Sorted numbers as two streams of bits: the codes of the gaps' lengths, and the bits below the highest.

    As all the codes of a block lie together, they can be found without a loop over the block's numbers.

    >>> numbers = compress(np.array([3, 5, 5, 2**64 - 1], np.uint64))
    >>> numbers.values().tolist()
    [3, 5, 5, 18446744073709551615]
    """

    count: int
    firsts: U64  # the first number of each block, as it is
    lengths: U8  # which length a code stands for: indexed by the next bits of the stream
    code_widths: U8  # how many of these bits are the code, by length
    codes: U64
    code_starts: I64  # in which bit of the stream each block begins, and where the last one ends
    tails: U64
    tail_starts: I64

    @property
    def nbytes(self) -> int:
        """How many bytes the arrays take together.

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
        """The numbers whose leading `length` bits are `prefix`, ascending; reads only the blocks they lie in.

        >>> compress(np.array([1, 1 << 63, (1 << 63) + 5], np.uint64)).part(0b10, 2).tolist()
        [9223372036854775808, 9223372036854775813]
        """
        if not (0 <= length <= 64 and 0 <= prefix < 1 << length):
            raise ValueError(
                f"prefix {prefix} of {length} bits: expected 0 to 64 bits, and a prefix that fits"
            )
        low = np.uint64(prefix << (64 - length))
        high = low | np.uint64((1 << (64 - length)) - 1)
        # Numbers equal to a block's first may also end the block before.
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
        """The numbers of some blocks, a row for each."""
        # A code is read at every bit, as if one began there: the true ones are met by jumping from a block's
        # first. Doubling the jumps makes that nine rounds for 512 codes.
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
    """The values, which must be ascending, in few bytes; equal ones may follow each other.

    Works on `CHUNK` of them at a time. A ValueError where they are not ascending.

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
    """Pieces with a block in each row, and the number of the first block; the last one is filled up."""
    for begin in range(0, len(values), CHUNK):
        piece = values[begin : begin + CHUNK]
        # Filled up with its last number again: a gap of no bits is a code like any other.
        yield begin // BLOCK, np.pad(piece, (0, -len(piece) % BLOCK), "edge").reshape(-1, BLOCK)


def _lengths(numbers: U64) -> I64:
    """How many bits each number has.

    >>> _lengths(np.array([0, 1, 2, 2**64 - 1], np.uint64)).tolist()
    [0, 1, 2, 64]
    """
    # Not through a floating-point logarithm: it takes 2^54 - 1 for 2^54.
    filled = numbers.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> np.uint64(shift)
    return np.bitwise_count(filled).astype(np.int64)


def _huffman(counts: I64) -> tuple[U64, I64]:
    """For each symbol a code, to be read from its lowest bit up, and its width; of no bits if it is alone.

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
        # Later merges are nearer to the root of the tree, so their bits go below.
        codes[zeros + ones] <<= np.uint64(1)
        codes[ones] |= np.uint64(1)
        widths[zeros + ones] += 1
        heappush(heap, (rare + common, zeros + ones))
    return codes, widths


def _lookup(symbols: I64, codes: U64, widths: I64) -> U8:
    """For all that the next bits of a stream can be, the symbol whose code they begin with."""
    table = np.zeros(1 << int(widths.max()), np.uint8)
    for symbol in symbols.tolist():
        table[int(codes[symbol]) :: 1 << int(widths[symbol])] = symbol
    return table


def _words(bits: int) -> U64:
    # One word more than the bits need: a field is read from the word it begins in and the next.
    return np.zeros(bits // 64 + 2, np.uint64)


def _write(words: U64, begin: int, fields: U64, widths: I64) -> I64:
    """Where each field begins, laid end to end from bit `begin` on, and where the last one ends."""
    begins = begin + starts_of(widths)
    at, shift = begins[:-1] >> 6, (begins[:-1] & 63).astype(np.uint64)
    # Fields do not overlap, so adding them sets their bits; unlike `|=` it may name a word twice.
    np.add.at(words, at, fields << shift)
    np.add.at(words, at + 1, fields >> np.uint64(1) >> (np.uint64(63) - shift))
    return begins


def _read(words: U64, begins: I64, widths: I64) -> U64:
    """The fields of up to 63 bits that begin in these bits."""
    at, shift = begins >> 6, (begins & 63).astype(np.uint64)
    fields: U64 = words[at] >> shift
    # In two steps, as nobody promises what a shift by 64 gives.
    fields |= words[at + 1] << np.uint64(1) << (np.uint64(63) - shift)
    fields &= (np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1)
    return fields
