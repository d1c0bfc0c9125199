"""Hold the pairs of texts that reach a threshold, and compute the measures of each pair.

A *node* is a content, or several contents with the same words, whose measures are 1 by every method. Pairs
of nodes are columns of numbers, 12 bytes for each pair. Must never know a key.
"""

import dataclasses
from typing import Literal

import numpy as np

from docindex.kernels.arrays import F64, I64, U32
from docindex.kernels.minhash import estimate_resemblance
from docindex.query import argument_checks
from docindex.query.measures import EstimatedContainments, estimate_containments

Method = Literal["fingerprints", "slots", "features"]
Measure = Literal["resemblance", "containment"]

METHODS = ("fingerprints", "slots", "features")

# Scores are computed for this many pairs at a time, because all measures of all pairs would take more memory.
_SCORED = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Which pairs are wanted, and how they are counted."""

    measure: Measure
    least: float
    """The minimum resemblance of a pair, or the minimum of the larger one of its two containments."""
    method: Method = "fingerprints"
    ignore_above: int | None = None
    """Hashes that more than this many contents have are not counted."""

    def check(self) -> None:
        """Raise `TypeError` or `ValueError` if the threshold is out of range or the method is unknown."""
        argument_checks.share(f"min_{self.measure}", self.least, above_zero=True)
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")
        if self.ignore_above is not None:
            argument_checks.whole_number("ignore_above", self.ignore_above)
            if self.method != "fingerprints":
                raise ValueError(
                    f'ignore_above is about fingerprints, which method="{self.method}" does not compare; '
                    'leave ignore_above out, or use method="fingerprints"'
                )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PairNumbers:
    """How much the nodes of pairs have in common: the same measures as `Measures`, as columns."""

    containment: F64
    reverse_containment: F64
    resemblance: F64
    shared: I64
    containment_error: F64
    reverse_containment_error: F64
    resemblance_error: F64


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JoinedPairs:
    """Pairs of nodes. A pair of a node with itself stands for the pairs among the documents of that node."""

    a: U32
    b: U32
    common: U32
    """How many hashes, or slots, the two nodes have in common."""
    sizes: I64
    """How many hashes that count, or shingles, each node has. Hashes are counted only for nodes in a pair."""
    starts: I64
    contents: I64
    """The contents of all nodes, end to end; `starts` says where those of each node begin."""
    slots: int | None
    """How many slots a sketch has; None if fingerprints were counted."""
    set_aside: int
    """How many different hashes were not counted because too many contents have them."""

    def __len__(self) -> int:
        return len(self.a)

    def only(self, which: I64) -> "JoinedPairs":
        """The pairs with these numbers."""
        return dataclasses.replace(self, a=self.a[which], b=self.b[which], common=self.common[which])

    def scores(self, measure: Measure) -> F64:
        """The resemblance of each pair, or the larger one of its two containments."""
        scores = np.empty(len(self))
        for begin in range(0, len(self), _SCORED):
            some = self.only(np.arange(begin, min(begin + _SCORED, len(self)))).numbers()
            scores[begin : begin + _SCORED] = (
                some.resemblance
                if measure == "resemblance"
                else np.maximum(some.containment, some.reverse_containment)
            )
        return scores

    def numbers(self) -> PairNumbers:
        """The measures of each pair: exact for fingerprints, estimated for slots."""
        size_a, size_b, common = self.sizes[self.a], self.sizes[self.b], self.common.astype(np.int64)
        same = self.a == self.b
        if self.slots is None:
            resemblance, resemblance_error = quotients(common, size_a + size_b - common), np.zeros(len(self))
            found = EstimatedContainments(
                quotients(common, size_a), quotients(common, size_b), resemblance_error, resemblance_error
            )
        else:
            estimates, errors = _estimates_by_equal_slots(self.slots)
            resemblance, resemblance_error = estimates[common], np.where(same, 0.0, errors[common])
            found = estimate_containments(resemblance, resemblance_error, size_a, size_b)
        return PairNumbers(
            np.where(same, 1.0, found.containment),
            np.where(same, 1.0, found.reverse_containment),
            np.where(same, 1.0, resemblance),
            common,
            found.containment_error,
            found.reverse_containment_error,
            resemblance_error,
        )


def _estimates_by_equal_slots(slots: int) -> tuple[F64, F64]:
    """The estimated resemblance and its standard error, for each number of equal slots."""
    ones = np.ones((slots + 1, slots), np.uint32)
    return estimate_resemblance(np.tri(slots + 1, slots, -1, dtype=np.uint32), ones)


def quotients(part: I64 | F64, whole: I64) -> F64:
    """The quotients of two arrays; 0 where the divisor is 0.

    >>> quotients(np.array([1, 0]), np.array([4, 0])).tolist()
    [0.25, 0.0]
    """
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
