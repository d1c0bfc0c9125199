"""Say which of the pairs that reach a threshold are wanted, and give the scores that order them.

In: pairs of nodes, and a scope for the texts of those that must be aligned. Out: pairs and scores, which sort
in descending order. Must never know a key.
"""

import dataclasses
from typing import Literal, Self, get_args

import numpy as np

from docindex import argument_checks
from docindex.kernels.arrays import F64
from docindex.query.joined_pairs import JoinedPairs, Threshold
from docindex.query.longest_passages import UNKNOWN, longest_passages
from docindex.query.scope import Scope

PairRank = Literal["measure", "shared", "longest"]
"""How pairs are ordered: by the measure of which a minimum is given, by how much they share, or by the length
of their longest passage."""


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

    def chosen(self, scope: Scope, found: JoinedPairs, threshold: Threshold) -> tuple[JoinedPairs, F64]:
        """The pairs that share enough, and their scores."""
        if self.min_shared:
            found = found.only(np.flatnonzero(found.common >= self.min_shared))
        if self.rank == "measure":
            return found, found.scores(threshold)
        shared = found.common.astype(np.float64)
        return found, shared if self.rank == "shared" else _by_longest(scope, found, threshold)


def _by_longest(scope: Scope, found: JoinedPairs, threshold: Threshold) -> F64:
    """The length of the longest passage of each pair; where it is not known, the measure less 2."""
    # Of too many pairs, those that share the most are aligned.
    order = np.argsort(-found.common.astype(np.int64), kind="stable")
    # The first content of a node is kept if any is.
    a, b = (found.contents[found.starts[nodes[order]]] for nodes in (found.a, found.b))
    lengths = np.empty(len(found), np.int64)
    lengths[order] = longest_passages(scope, a, b)
    scores: F64 = np.where(lengths == UNKNOWN, found.scores(threshold) - 2, lengths)
    return scores


ALL_PAIRS = PairOptions()
"""All pairs that reach a threshold, ordered by their measure."""
