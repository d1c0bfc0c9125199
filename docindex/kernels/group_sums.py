"""Numbers that occur again and again in; which there are, how often, and a sum for each out.

Must never know what the numbers mean.
"""

import numpy as np

from docindex.kernels.arrays import I64

# Counting in a table of all numbers from the least to the greatest beats sorting while the table has at
# most so many places for each number: 300,000 numbers below 100,000 take 0.6 ms, sorted 4 ms.
_PLACES = 16


def tally(numbers: I64, counts: I64, weights: I64) -> tuple[I64, I64, I64]:
    """The different numbers, ascending, and for each the sum of its counts and that of its weights.

    Sums are exact up to 2^53, in whatever order the numbers come.

    >>> [found.tolist() for found in tally(np.array([7, 5, 7]), np.array([1, 1, 1]), np.array([10, 20, 30]))]
    [[5, 7], [1, 2], [20, 40]]
    """
    if not len(numbers):
        return numbers, counts, weights
    first, last = int(numbers.min()), int(numbers.max())
    if last - first < _PLACES * len(numbers):
        places = numbers - first
        different = None
    else:
        different, places = np.unique(numbers, return_inverse=True)
    count_sums = np.bincount(places, counts)
    weight_sums = np.bincount(places, weights)
    if different is None:
        there = np.flatnonzero(count_sums)
        return there + first, count_sums[there].astype(np.int64), weight_sums[there].astype(np.int64)
    return different, count_sums.astype(np.int64), weight_sums.astype(np.int64)
