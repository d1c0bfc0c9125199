"""Weighted features in, 64 bits a document out, near for near documents (Charikar's simhash).

Bit i is 1 when the features with bit i weigh more than those without it; a document without
features is 0. Must never see a document as a matrix of features x 64.
"""

import numpy as np

from docindex.kernels.arrays import F64, I64, U8, U64, ranges, starts_of

_BITS = 64
# Bit j of every byte at once: eight counters of eight bits in one number, which adding up to
# 255 features cannot overflow. 5 ns a feature; `bincount` of its bytes takes 10, unpacking it
# into 64 numbers 30.
_LANES = np.uint64(0x0101010101010101)
_BLOCK = 255


def ones(hashes: U64, starts: I64) -> I64:
    """For each document and each bit, lowest first, how many of its hashes have the bit: documents x 64.

    What several parts of a document have adds up.

    >>> ones(np.array([5, 4], np.uint64), np.array([0, 2]))[0, :4].tolist()
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
    # In a number byte b counts bit 8 * b + `bit`; turned, the bits stand in their order.
    counts = lanes.view(np.uint8).reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, _BITS)
    some = blocks > 0
    total[some] = np.add.reduceat(counts, starts_of(blocks)[:-1][some], axis=0, dtype=np.int64)
    return total


def signs(balance: I64 | F64) -> U64:
    """The simhash of each document: bit i is 1 where column i is above zero.

    >>> signs(np.array([[1] + 62 * [0] + [3]])).tolist() == [2**63 + 1]
    True
    """
    bits: U8 = np.packbits(balance > 0, axis=1, bitorder="little")
    return bits.view("<u8").astype(np.uint64).reshape(-1)


def simhash(hashes: U64, starts: I64, weights: F64 | None = None) -> U64:
    """The simhash of each document from the mixed hashes of its features, each with a weight or all alike.

    A feature that comes twice weighs twice. Weights may be negative.

    >>> simhash(np.array([5, 4, 1], np.uint64), np.array([0, 3])).tolist()
    [5]
    >>> simhash(np.array([5, 4, 2], np.uint64), np.array([0, 3]), np.array([1.0, 1.0, 3.0])).tolist()
    [2]
    """
    if weights is None:
        return signs(2 * ones(hashes, starts) - np.diff(starts)[:, None])
    balance = np.zeros((len(starts) - 1, _BITS))
    some = np.flatnonzero(np.diff(starts))
    for bit in range(_BITS):
        has = (hashes >> np.uint64(bit)) & np.uint64(1)
        balance[some, bit] = np.add.reduceat(np.where(has, weights, -weights), starts[some])
    return signs(balance)
