"""Compute Charikar's simhash of documents: 64 bits for each. Near-duplicates differ in few of them.

In: the mixed hashes of each document's features. Out: bit counts, and the simhash they give. Bit i is 1 if
more features have bit i than lack it; a document without features has the simhash 0. Must never build a
matrix of features x 64.
"""

import numpy as np

from docindex.kernels.arrays import F64, I64, U8, U64, ranges, starts_of

_BITS = 64
# One mask takes bit j of every byte at once: eight counters of eight bits in one number. They cannot overflow
# while at most 255 features are added. This costs 5 ns for each feature; `bincount` of the bytes costs 10 ns,
# and unpacking a feature into 64 numbers costs 30 ns.
_LANES = np.uint64(0x0101010101010101)
_BLOCK = 255


def bit_counts(hashes: U64, starts: I64) -> I64:
    """For each document and each bit, lowest first, the number of its hashes that have the bit.

    An array of documents x 64. For a document that comes in parts, add the counts of its parts.

    >>> bit_counts(np.array([5, 4], np.uint64), np.array([0, 2]))[0, :4].tolist()
    [1, 0, 2, 0]
    """
    sizes = np.diff(starts)
    blocks = -(-sizes // _BLOCK)
    total = np.zeros((len(sizes), _BITS), np.int64)
    if not len(hashes):
        return total
    begins = np.repeat(starts[:-1], blocks) + _BLOCK * ranges(np.zeros_like(blocks), blocks)
    lanes = np.empty((len(begins), 8), "<u8")
    for bit in range(8):
        lanes[:, bit] = np.add.reduceat((hashes >> np.uint64(bit)) & _LANES, begins)
    # Byte b of lane `bit` counts bit 8 * b + `bit`; the transposition puts the bits in ascending order.
    counts = lanes.view(np.uint8).reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, _BITS)
    filled = blocks > 0
    total[filled] = np.add.reduceat(counts, starts_of(blocks)[:-1][filled], axis=0, dtype=np.int64)
    return total


def simhashes_of(balance: I64 | F64) -> U64:
    """The simhash of each document: bit i is 1 where column i is above zero.

    >>> simhashes_of(np.array([[1] + 62 * [0] + [3]])).tolist() == [2**63 + 1]
    True
    """
    bits: U8 = np.packbits(balance > 0, axis=1, bitorder="little")
    return bits.view("<u8").astype(np.uint64).reshape(-1)
