"""Compute the simhash of weighted features, as Charikar and Manku et al. define it.

In: the hashes of each document's features, and a weight for each. Out: 64 bits for each document. For study:
an index gives all features the same weight, through `bit_counts`, and must never use this.
"""

import numpy as np

from docindex.kernels.arrays import F64, I64, U64
from docindex.kernels.simhash_bits import bit_counts, simhashes_of

_BITS = 64


def simhash_of_features(hashes: U64, starts: I64, weights: F64 | None = None) -> U64:
    """The simhash of each document, from the mixed hashes of its features; without weights, each weighs 1.

    A feature that occurs twice counts twice. Weights may be negative.

    >>> simhash_of_features(np.array([5, 4, 1], np.uint64), np.array([0, 3])).tolist()
    [5]
    >>> weights = np.array([1.0, 1.0, 3.0])
    >>> simhash_of_features(np.array([5, 4, 2], np.uint64), np.array([0, 3]), weights).tolist()
    [2]
    """
    if weights is None:
        return simhashes_of(2 * bit_counts(hashes, starts) - np.diff(starts)[:, None])
    balance = np.zeros((len(starts) - 1, _BITS))
    filled = np.flatnonzero(np.diff(starts))
    for bit in range(_BITS):
        has = (hashes >> np.uint64(bit)) & np.uint64(1)
        balance[filled, bit] = np.add.reduceat(np.where(has, weights, -weights), starts[filled])
    return simhashes_of(balance)
