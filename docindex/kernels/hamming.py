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
