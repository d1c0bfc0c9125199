"""Compute Charikar's simhash of documents: 64 bits for each. Near-duplicates differ in few of them.

In: the mixed hashes of each document's features, and a weight for each. Out: sums of weights for each bit,
and the simhash they give. Bit i is 1 if the features that have bit i weigh more than the features that lack
it; a document without features has the simhash 0. All sums are exact, so the order of the features makes no
difference. Must never build a matrix of features x 64.

The Hamming distance of two simhashes is the number of bits in which they differ.
"""

import math
import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from docindex.arrays.ranges import F64, I64, U8, U64, ranges, starts_of


def as_bits(values: ArrayLike) -> U64:
    """The values as unsigned 64-bit numbers, in the same shape. A negative value is its two's complement.

    Takes arrays of any integer type, or Python integers from -2^63 to 2^64 - 1. Raises `ValueError` for
    a greater or smaller number, and `TypeError` for anything that is not an integer. Python integers are read
    one by one, so pass large sets as arrays.

    >>> as_bits([-1, 2**64 - 1, 5]).tolist()
    [18446744073709551615, 18446744073709551615, 5]
    """
    # By default numpy would read [-1, 2**63] as floating-point numbers and round both.
    array = values if isinstance(values, np.ndarray) else np.asarray(values, object)
    if array.dtype == object:
        return np.array([_unsigned(value) for value in array.ravel()], np.uint64).reshape(array.shape)
    if array.dtype.kind not in "iu":
        raise TypeError(f"fingerprints are integers, not {array.dtype}")
    return array.astype(np.uint64, copy=False)


def _unsigned(value: SupportsIndex) -> int:
    number = operator.index(value)
    if not -(1 << 63) <= number < 1 << 64:
        # A number of thousands of digits is no message, and Python refuses to print it.
        found = number if number.bit_length() < 256 else f"a number of {number.bit_length():,} bits"
        raise ValueError(f"{found} does not fit in 64 bits: expected -2^63 to 2^64 - 1")
    return number % (1 << 64)


def hamming_distance(x: ArrayLike, y: ArrayLike) -> I64:
    """The number of bits in which two fingerprints differ; arrays are broadcast against each other.

    >>> int(hamming_distance(0b1001, 0b0101)), int(hamming_distance(-1, 2**64 - 1))
    (2, 0)
    >>> hamming_distance([0, 1, -1], 0).tolist()
    [0, 1, 64]
    """
    return np.asarray(np.bitwise_count(as_bits(x) ^ as_bits(y)), np.int64)


_BITS = 64
# One mask takes bit j of every pair of bytes at once: four sums of 16 bits in one number. Blocks of 512
# weights below 128 cannot overflow them. This costs 10 ns for each feature. Sums of 8 bits, which only equal
# weights allow, cost 5 ns; 64 sums of whole numbers cost 60 ns.
_LANES = np.uint64(0x0001000100010001)
_BLOCK = 512
_DIGIT = 7


def bit_sums(hashes: U64, starts: I64, weights: U64) -> I64:
    """For each document and each bit, lowest first, the sum of the weights of its hashes that have the bit.

    An array of documents x 64. Each sum must be below 2^63. Weights below 128 are the fastest.

    >>> bit_sums(np.array([5, 4], np.uint64), np.array([0, 2]), np.array([10, 1], np.uint64))[0, :4].tolist()
    [10, 0, 11, 0]
    """
    low = weights & np.uint64((1 << _DIGIT) - 1)
    total = _bit_sums(hashes, starts, low)
    if weights.max(initial=0) >> np.uint64(_DIGIT):
        total += bit_sums(hashes, starts, weights >> np.uint64(_DIGIT)) << _DIGIT
    return total


def _bit_sums(hashes: U64, starts: I64, weights: U64) -> I64:
    """The same for weights below 128."""
    sizes = np.diff(starts)
    blocks = -(-sizes // _BLOCK)
    begins = np.repeat(starts[:-1], blocks) + _BLOCK * ranges(np.zeros_like(blocks), blocks)
    lanes, having = np.empty((len(begins), 16), "<u8"), np.empty_like(hashes)
    for bit in range(16):
        np.right_shift(hashes, np.uint64(bit), out=having)
        having &= _LANES
        having *= weights
        lanes[:, bit] = np.add.reduceat(having, begins)
    # Pair p of bytes of lane `bit` is about bit 16 * p + `bit`; the transposition puts the bits in order.
    sums = lanes.view("<u2").reshape(-1, 16, 4).transpose(0, 2, 1).reshape(-1, _BITS)
    return _sums_of_rows(sums, blocks)


def _sums_of_rows(rows: NDArray[np.unsignedinteger], counts: I64) -> I64:
    """The sums of the columns of the next 0, 1 or more rows, for each of the counts."""
    if len(counts) and counts.min() == counts.max() == 1:
        return rows.astype(np.int64)
    total = np.zeros((len(counts), rows.shape[1]), np.int64)
    filled = counts > 0
    if len(rows):
        total[filled] = np.add.reduceat(rows, starts_of(counts)[:-1][filled], axis=0, dtype=np.int64)
    return total


def simhashes_of(hashes: U64, starts: I64, weights: U64) -> U64:
    """The simhash of each document, from the mixed hashes of its features and their weights.

    >>> hashes, weights = np.array([5, 4, 2], np.uint64), np.array([1, 1, 3], np.uint64)
    >>> simhashes_of(hashes, np.array([0, 3]), weights).tolist()
    [2]
    """
    return majority(bit_sums(hashes, starts, weights), weight_sums(starts, weights))


def weight_sums(starts: I64, weights: U64) -> I64:
    """The sum of the weights of each document.

    >>> weight_sums(np.array([0, 2, 2]), np.array([1, 3], np.uint64)).tolist()
    [4, 0]
    """
    return np.diff(starts_of(weights.view(np.int64))[starts])


def majority(sums: I64, totals: I64) -> U64:
    """The simhash of each document, from the sums of its bits and the sum of its weights.

    >>> majority(np.array([[3, 1] + 62 * [0]]), np.array([4])).tolist()
    [1]
    """
    bits: U8 = np.packbits(2 * sums > totals[:, None], axis=1, bitorder="little")
    return bits.view("<u8").astype(np.uint64).reshape(-1)


def simhash_of_features(hashes: U64, weights: F64) -> int:
    """The simhash of one document whose weights are any finite numbers, also negative ones.

    Takes 5 us for each feature, 50 times as long as `simhashes_of`.

    >>> simhash_of_features(np.array([5, 4, 2], np.uint64), np.array([0.1, 0.1, 0.3]))
    2
    """
    simhash = 0
    for bit in range(_BITS):
        has = (hashes >> np.uint64(bit)) & np.uint64(1)
        # `fsum` is exact: the sum of three 0.1 and -0.3 has a sign, whatever the order. So ten equal copies
        # of a list of features in ten orders give one simhash, which `np.sum` does not promise.
        balance = math.fsum(np.where(has, weights, -weights).tolist())
        simhash |= (balance > 0) << bit
    return simhash
