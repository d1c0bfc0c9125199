"""Group numbers that occur repeatedly, and add up a count and a weight for each group.

In: numbers, and a count and a weight for each. Out: the distinct numbers and their sums. Must never know what
the numbers mean.
"""

import numpy as np

from docindex.kernels.arrays import F64, I64, are_first

# A table with a place for every number from the least to the greatest is faster than sorting as long as it
# has at most this many places for each number given: 300,000 numbers below 100,000 take 0.6 ms instead of 4.
_PLACES = 16


def tally(numbers: I64, counts: I64 | None, weights: I64 | F64) -> tuple[I64, I64, I64]:
    """The distinct numbers, ascending, and for each the sum of its counts and the sum of its weights.

    Every count must be at least 1; None stands for 1 each. Weights are whole numbers. Sums are exact up to
    2^53, whatever the order of the numbers.

    >>> [part.tolist() for part in tally(np.array([7, 5, 7]), None, np.array([10, 20, 30]))]
    [[5, 7], [1, 2], [20, 40]]
    """
    if not len(numbers):
        return numbers, numbers, numbers
    first, last = int(numbers.min()), int(numbers.max())
    if last - first < _PLACES * len(numbers):
        places = numbers - first
        count_sums, weight_sums = np.bincount(places, counts), np.bincount(places, weights)
        present = (count_sums > 0).nonzero()[0]
        distinct = present + first
        count_sums, weight_sums = count_sums.take(present), weight_sums.take(present)
    else:
        order = numbers.argsort(kind="stable")
        ordered = numbers.take(order)
        begins = are_first(ordered).nonzero()[0]
        distinct = ordered.take(begins)
        count_sums = (
            np.diff(begins, append=len(order))
            if counts is None
            else np.add.reduceat(counts.take(order), begins)
        )
        weight_sums = np.add.reduceat(weights.take(order), begins)
    return distinct, count_sums.astype(np.int64), weight_sums.astype(np.int64)
