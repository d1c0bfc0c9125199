"""Chain common runs of two texts that follow each other closely in both.

In: runs as three arrays, ordered by where they begin in the first text. Out: the chain of each run.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from docindex.kernels.arrays import I64

_AT_ONCE = 1 << 14


class _Chain(NamedTuple):
    number: int
    i: int
    """Where its last run begins in the first text."""
    j: int
    end_i: int
    """Where it ends in the first text."""
    end_j: int


def run_chains(i: I64, j: I64, length: I64, gap: int, checkpoint: Callable[[], None]) -> I64:
    """The chain that each run belongs to; chains are numbered from 0 by their first runs.

    A run joins a chain if it begins after the chain's last run in both texts, and at most `gap` symbols
    behind the chain's end in both. (It may overlap the end.) If several chains fit, it joins the one that
    ends last. Takes 2 us a run; `checkpoint` is called between 16,384 runs and the next.

    >>> i, j, length = np.array([0, 12, 40]), np.array([5, 16, 9]), np.array([10, 5, 5])
    >>> run_chains(i, j, length, 3, lambda: None).tolist()
    [0, 0, 1]
    """
    width = gap + 1
    latest: dict[int, _Chain] = {}  # by the end in the second text, divided by `width`
    numbers: list[int] = []
    count = 0
    for begin_i, begin_j, size in zip(i.tolist(), j.tolist(), length.tolist(), strict=True):
        if not len(numbers) % _AT_ONCE:
            checkpoint()
        best = None
        for place in range((begin_j - gap) // width, (begin_j + size) // width + 1):
            chain = latest.get(place)
            if (
                chain is not None
                and chain.i < begin_i <= chain.end_i + gap
                and chain.j < begin_j <= chain.end_j + gap
                and (best is None or chain.end_i > best.end_i)
            ):
                best = chain
        if best is None:
            number, count = count, count + 1
        else:
            number = best.number
            del latest[best.end_j // width]
        joined = _Chain(number, begin_i, begin_j, begin_i + size, begin_j + size)
        latest[joined.end_j // width] = joined
        numbers.append(number)
    return np.array(numbers, np.int64)
