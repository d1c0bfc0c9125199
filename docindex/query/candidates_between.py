"""Find the pairs of contents between two sets that may have enough groups in common.

The same as `candidates`, without the pairs inside a set, and without the groups that lie inside a set: few
groups of many old texts have a new text in them. Must never miss a pair.

A member then counts only the groups that it shares with the other set. All groups of a pair are among these.
So the needs that are computed from the counts are lower than those from all groups, and never too high.
"""

from collections.abc import Callable, Iterator

import numpy as np

from docindex.kernels.arrays import I64
from docindex.kernels.joins import are_alike
from docindex.query.candidates import Groups, GroupSource, Needs, candidates
from docindex.query.scope import CheckCancelled


def candidates_between(
    source: GroupSource,
    sides: I64 | None,
    needs_of: Callable[[I64], Needs],
    check_cancelled: CheckCancelled,
) -> Iterator[tuple[I64, I64]]:
    """The result of `candidates`, without pairs of two members of side 1, or of side 2.

    `sides` has the side of each member, and 0 for a member of both. If it is None, all pairs are found.
    """
    if sides is None:
        return candidates(source, needs_of, check_cancelled)
    return candidates(_GroupsBetween(source, sides), needs_of, check_cancelled, lambda _: sides)


class _GroupsBetween:
    """The groups that have members of both sides: a `GroupSource`."""

    def __init__(self, source: GroupSource, sides: I64) -> None:
        self._source = source
        self._sides = sides

    @property
    def count(self) -> int:
        """The number of possible members."""
        return self._source.count

    def groups(self) -> Iterator[Groups]:
        """All groups with a member of each side, in batches."""
        for sizes, members in self._source.groups():
            between = ~are_alike(sizes, self._sides[members], but=0)
            yield sizes[between], members[np.repeat(between, sizes)]
