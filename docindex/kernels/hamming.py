"""Hamming distance: the number of bits in which two 64-bit fingerprints (simhashes) differ.

In: integers of any type. Out: their bits as unsigned numbers, or distances. Must never know what a
fingerprint stands for.
"""

import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from docindex.kernels.arrays import I64, U64


def as_bits(values: ArrayLike) -> U64:
    """The values as unsigned 64-bit numbers, of the same shape; a negative one is the same bits read signed.

    Arrays of any integer type, or Python numbers from -2^63 to 2^64 - 1: beyond that a ValueError, and a
    TypeError for what is not an integer. Python numbers are read one by one; large sets belong in arrays.

    >>> as_bits([-1, 2**64 - 1, 5]).tolist()
    [18446744073709551615, 18446744073709551615, 5]
    """
    # Left to choose, numpy reads [-1, 2**63] as floating point and rounds both.
    array = values if isinstance(values, np.ndarray) else np.asarray(values, object)
    if array.dtype == object:
        return np.array([_unsigned(value) for value in array.ravel()], np.uint64).reshape(array.shape)
    if array.dtype.kind not in "iu":
        raise TypeError(f"fingerprints are integers, not {array.dtype}")
    return array.astype(np.uint64, copy=False)


def _unsigned(value: SupportsIndex) -> int:
    number = operator.index(value)
    if not -(1 << 63) <= number < 1 << 64:
        raise ValueError(f"{number} does not fit in 64 bits: expected -2^63 to 2^64 - 1")
    return number % (1 << 64)


def hamming_distance(x: ArrayLike, y: ArrayLike) -> I64:
    """In how many bits two fingerprints differ, or two arrays of them, broadcast against each other.

    >>> int(hamming_distance(0b1001, 0b0101)), int(hamming_distance(-1, 2**64 - 1))
    (2, 0)
    >>> hamming_distance([0, 1, -1], 0).tolist()
    [0, 1, 64]
    """
    return np.asarray(np.bitwise_count(as_bits(x) ^ as_bits(y)), np.int64)
