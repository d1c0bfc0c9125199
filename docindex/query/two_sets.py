"""Find the smaller one of two sets of documents, without reading the larger one.

Takes a scope with the conditions of two sets; gives the contents of the set that is much smaller, and the
contents that a question between the sets has to read. Both conditions are asked for the same number of
documents, and for more of them until one set has no more. Must never decide which contents are alike.
"""

import dataclasses
from typing import Final

import numpy as np

from docindex.kernels.arrays import I64
from docindex.query.scope import Scope
from docindex.storage import documents

MUCH_SMALLER: Final = 4
"""A set is much smaller than another one if the other has this many times its shingles, or its documents."""

# So many documents of each set are asked for at first, and then so many times as many. A set with more than
# `_LARGE` documents is not small.
_AT_FIRST = 1 << 10
_MORE = 4
_LARGE = 1 << 16


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SmallSet:
    """The smaller one of two sets, and which of the two it is."""

    is_first: bool
    contents: I64
    """The contents of its documents, ascending."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class LikelyPartners:
    """The smaller one of two sets, and those contents of the other set that may be in a pair."""

    small: SmallSet
    others: I64
    """Those contents of the other set, ascending. Some may be in the small set, too."""

    @property
    def contents(self) -> I64:
        """The contents of both, ascending."""
        return np.union1d(self.small.contents, self.others)

    @property
    def sides(self) -> tuple[I64, I64]:
        """The contents of the first set, and those of the second set."""
        sides = self.small.contents, self.others
        return sides if self.small.is_first else sides[::-1]


def small_set(scope: Scope) -> SmallSet | None:
    """The set that is much smaller than the other one; None if neither is."""
    assert scope.between is not None
    most = _AT_FIRST
    while most <= _LARGE:
        for is_first, condition in zip((True, False), scope.between, strict=True):
            contents, count = documents.contents_of_some(scope.db, condition, most)
            if count < most:
                other = scope.between[is_first]
                _, others = documents.contents_of_some(scope.db, other, MUCH_SMALLER * count + 1)
                return SmallSet(is_first, contents) if others > MUCH_SMALLER * count else None
        most *= _MORE
    return None
