"""Group pairs of positions, one of each of two sequences, that lie close together in both.

In: pairs (seeds) as two arrays of positions. Out: the number of each pair's group.
"""

from collections.abc import Callable

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
