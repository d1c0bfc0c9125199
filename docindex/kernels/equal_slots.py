"""Count the equal slots of each of a few sketches and each of many, without comparing every pair.

In: the slots of both, as `minhash.stored_slots` makes them. Out: the pairs with an equal slot, and how many
each of them has. Two sketches that are not alike share a slot with the probability .0014. So a table says,
for each slot, which of the few have a value, and most of the many need only one look into it.
"""

import numpy as np

from docindex.kernels.arrays import I64, U16, ranges, starts_of
from docindex.kernels.minhash import EMPTY_SLOT

# The number of pairs whose counts are in memory at a time, 8 bytes each.
_PAIRS = 1 << 20
_VALUES = int(EMPTY_SLOT) + 1


def equal_slot_pairs(few: U16, many: U16) -> tuple[I64, I64, I64]:
    """The pairs of a row of `few` and a row of `many` with equal slots, and the number of these; by `many`.

    An empty slot equals no other.

    >>> few, many = np.array([[1, 2], [3, 2]], np.uint16), np.array([[9, 9], [1, 2]], np.uint16)
    >>> [column.tolist() for column in equal_slot_pairs(few, many)]
    [[0, 1], [1, 1], [2, 1]]
    """
    holders = [_Holders(column) for column in few.T]
    found = [np.zeros((3, 0), np.int64)]
    at_once = max(1, _PAIRS // max(1, len(few)))
    for begin in range(0, len(many), at_once):
        columns = np.ascontiguousarray(many[begin : begin + at_once].T)
        hits = [held.hits(column) for held, column in zip(holders, columns, strict=True)]
        counts = np.bincount(np.concatenate([np.empty(0, np.int64), *hits]))
        pairs = counts.nonzero()[0]
        rows, of_few = np.divmod(pairs, max(1, len(few)))
        found.append(np.stack((of_few, rows + begin, counts[pairs])))
    of_few, rows, equal = np.concatenate(found, axis=1)
    return of_few, rows, equal


class _Holders:
    """Which rows of the few have each value in one column."""

    def __init__(self, column: U16) -> None:
        self._count = len(column)
        self._rows = np.argsort(column, kind="stable")
        lengths = np.bincount(column, minlength=_VALUES)
        self._begins = starts_of(lengths)[:-1]
        lengths[EMPTY_SLOT] = 0
        self._lengths = lengths
        self._is_held = lengths > 0

    def hits(self, column: U16) -> I64:
        """A number for each pair with this slot equal: the row of `column` times the few, plus the other."""
        # Bytes that say whether there is a row take a third of the time of the numbers of rows.
        rows = self._is_held.take(column).nonzero()[0]
        values = column.take(rows)
        lengths = self._lengths.take(values)
        own = self._rows.take(ranges(self._begins.take(values), lengths))
        own += (rows * self._count).repeat(lengths)
        return own
