"""Chain common runs of two texts, or group pairs of positions, that lie close together in both texts.

In: runs as three arrays, ordered by where they begin in the first text, or pairs (seeds) as two arrays. Out:
the number of each run's chain, or of each pair's group.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from docindex.kernels.arrays import I64


def seed_clusters(i: I64, j: I64, gap: int, checkpoint: Callable[[], None]) -> I64:
    """The group of each pair, numbered from 0: in a group no neighbours, in either sequence, are far apart.

    All pairs begin as one group. A group is split where two neighbouring positions of one sequence have more
    than `gap` positions between them. That is repeated for both sequences in turn, until no group can be
    split. Each turn takes a sort; a few turns are enough. `checkpoint` is called before each.

    >>> seed_clusters(np.array([0, 1, 9, 10]), np.array([5, 6, 0, 30]), 3, lambda: None).tolist()
    [0, 0, 1, 2]
    """
    groups = np.zeros(len(i), np.int64)
    count, unchanged = 1, 0
    positions = (i, j)
    turn = 0
    while unchanged < 2 and len(i):
        checkpoint()
        where = positions[turn % 2]
        order = np.lexsort((where, groups))
        ordered, group = where[order], groups[order]
        begins = (np.diff(ordered) > gap + 1) | (np.diff(group) > 0)
        groups = np.empty_like(groups)
        groups[order] = np.concatenate([[0], np.cumsum(begins)])
        now = int(begins.sum()) + 1
        unchanged = unchanged + 1 if now == count else 0
        count, turn = now, turn + 1
    return groups


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
