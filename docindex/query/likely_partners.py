"""Find the contents that may resemble one of a few, so that pairs between two sets read nothing else.

Takes a scope with two sets of documents, and a threshold. Gives the contents of a small set, and their likely
partners in the other one: what `similar` finds for each of them. Must never miss a partner, except with the
probability that `similar` states.
"""

import dataclasses
from typing import Final

import numpy as np

from docindex.kernels.arrays import I64
from docindex.query.estimates import KnownText
from docindex.query.joined_pairs import Threshold
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.similar import resembling
from docindex.storage import documents

FEW: Final = 256
"""A set of at most this many documents is small. For more, the pairs of all texts take less time."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class LikelyPartners:
    """The contents of two sets that may be in a pair between them; each ascends."""

    sides: tuple[I64, I64]

    @property
    def contents(self) -> I64:
        """The contents of both, ascending."""
        return np.union1d(*self.sides)


def likely_partners(scope: Scope, threshold: Threshold) -> LikelyPartners | None:
    """The contents of the small set and their likely partners; None if neither set is small.

    Also None for a containment, by other methods, and if common text is ignored: then all texts are compared.
    """
    is_sought = threshold.measure == "resemblance" and threshold.method == "shingles"
    if scope.between is None or not is_sought or threshold.ignore_above is not None:
        return None
    for side, condition in enumerate(scope.between):
        few, count = documents.contents_of_some(scope.db, condition, FEW + 1)
        if count <= FEW:
            texts = [KnownText(scope, Query(None, content)) for content in few.tolist()]
            likely = np.union1d(few, resembling(scope, texts, threshold.least))
            others = documents.contents_among(scope.db, likely, scope.between[1 - side])
            return LikelyPartners((others, few) if side else (few, others))
    return None
