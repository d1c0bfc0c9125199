"""Say which of the pairs that reach a threshold are wanted, and give the scores that order them.

In: pairs of nodes. Out: pairs and scores, which sort in descending order. Must never know a key.
"""

import dataclasses
from typing import Literal, Self, get_args

import numpy as np

from docindex import argument_checks
from docindex.kernels.arrays import F64
from docindex.query.joined_pairs import JoinedPairs, Threshold

PairRank = Literal["measure", "shared"]
"""How pairs are ordered: by the measure of which a minimum is given, or by how much they share."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """Which of the pairs that reach a threshold are wanted, and in which order."""

    limit: int | None = None
    rank: PairRank = "measure"
    min_shared: int = 0

    def checked(self) -> Self:
        """The options as plain numbers; `TypeError` or `ValueError` if one is wrong."""
        return dataclasses.replace(
            self,
            limit=argument_checks.limit(self.limit),
            rank=argument_checks.choice("rank", self.rank, get_args(PairRank)),
            min_shared=argument_checks.whole_number("min_shared", self.min_shared, least=0),
        )

    def chosen(self, found: JoinedPairs, threshold: Threshold) -> tuple[JoinedPairs, F64]:
        """The pairs that share enough, and their scores."""
        if self.min_shared:
            found = found.only(np.flatnonzero(found.common >= self.min_shared))
        by_measure = self.rank == "measure"
        return found, found.scores(threshold) if by_measure else found.common.astype(np.float64)


ALL_PAIRS = PairOptions()
"""All pairs that reach a threshold, ordered by their measure."""
