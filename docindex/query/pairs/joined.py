"""Hold the pairs of texts that reach a threshold, and compute the measures of each pair.

A *node* is a content, or several contents with the same words, whose measures are 1 by every method. Pairs
of nodes are columns of numbers, 13 bytes for each pair. Must never know a key.
"""

import dataclasses
from typing import Literal, Self, get_args

import numpy as np

from docindex import arguments
from docindex.arrays.ranges import F64, I64, U8, U32, Bool
from docindex.query.measures import Basis, ShareColumns, shares_of_sets, shares_of_slots

Method = Literal["shingles", "fingerprints", "slots", "features"]
Measure = Literal["resemblance", "containment"]

METHODS: tuple[Method, ...] = get_args(Method)

# Scores are computed for this many pairs at a time, because all measures of all pairs would take more memory.
_SCORED = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Which pairs are wanted, and how they are counted."""

    measure: Measure
    least: float
    """The minimum resemblance of a pair, or the minimum of the larger one of its two containments."""
    method: Method = "shingles"
    ignore_above: int | None = None
    """Shingles or hashes that more than this many contents have are not counted. None counts all, unless
    there are too many pairs to count; see `join_pairs`."""

    def score(self, shares: ShareColumns) -> F64:
        """The numbers that must reach the threshold: by these, pairs are ordered."""
        if self.measure == "resemblance":
            return shares.resemblance
        return np.maximum(shares.containment, shares.reverse_containment)

    def reached_by(self, shares: ShareColumns) -> Bool:
        """Which pairs reach the threshold."""
        reached: Bool = self.score(shares) >= self.least
        return reached

    def checked(self) -> Self:
        """The threshold with plain numbers.

        `TypeError` or `ValueError` if it is out of range or the method is unknown.
        """
        least = arguments.share(f"min_{self.measure}", self.least, above_zero=True)
        method = arguments.choice("method", self.method, METHODS)
        if self.measure == "containment" and method in ("slots", "features"):
            raise ValueError(
                f'method="{method}" estimates a resemblance only; use min_resemblance, or another method'
            )
        ignore_above = self.ignore_above
        if ignore_above is not None:
            ignore_above = arguments.whole_number("ignore_above", ignore_above)
            if method not in ("shingles", "fingerprints"):
                raise ValueError(
                    f'method="{method}" cannot ignore common text; leave ignore_above out, or use '
                    'method="shingles" or "fingerprints"'
                )
        return dataclasses.replace(self, least=least, method=method, ignore_above=ignore_above)


SHINGLES, SLOTS, FINGERPRINTS = range(3)
"""The codes of the bases in the column `JoinedPairs.basis`."""

BASES: tuple[Basis, ...] = ("shingles", "slots", "fingerprints")
"""The basis of each code."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JoinedPairs:
    """Pairs of nodes. A pair of a node with itself stands for the pairs among the documents of that node."""

    a: U32
    b: U32
    common: U32
    """How many shingles, slots or hashes the two nodes have in common."""
    basis: U8
    """The code of the basis in which each pair was counted."""
    sizes: I64
    """For each basis, a row with the size of each node: shingles that count, shingles, hashes that count.

    The first and the last row are known only for nodes in a pair of that basis."""
    unit_errors: F64
    """The result of `measures.unit_errors` for each node."""
    starts: I64
    contents: I64
    """The contents of all nodes, end to end; `starts` says where those of each node begin."""
    slots: int
    """How many slots a sketch has."""
    ignore_above: int | None
    """The shingles or hashes that more contents have were not counted; None if all were counted."""
    set_aside: int
    """How many different shingles or hashes were not counted because too many contents have them."""

    def __len__(self) -> int:
        return len(self.a)

    def only(self, which: I64) -> "JoinedPairs":
        """The pairs with these numbers."""
        return dataclasses.replace(
            self, a=self.a[which], b=self.b[which], common=self.common[which], basis=self.basis[which]
        )

    def scores(self, threshold: Threshold) -> F64:
        """The score of each pair."""
        scores = np.empty(len(self))
        for begin in range(0, len(self), _SCORED):
            some = self.only(np.arange(begin, min(begin + _SCORED, len(self))))
            scores[begin : begin + _SCORED] = threshold.score(some.numbers())
        return scores

    def numbers(self) -> ShareColumns:
        """The measures of each pair, by the basis of the pair."""
        present = np.flatnonzero(np.bincount(self.basis, minlength=len(BASES)))
        if len(present) == 1:
            return self._numbers(int(present[0]))
        columns = np.zeros((6, len(self)))
        for code in present.tolist():
            which = np.flatnonzero(self.basis == code)
            numbers = self.only(which).numbers()
            columns[:, which] = [*numbers.shares, *numbers.errors]
        return ShareColumns(*columns)

    def _numbers(self, code: int) -> ShareColumns:
        """The measures of pairs that all have the same basis."""
        size_a, size_b = self.sizes[code, self.a], self.sizes[code, self.b]
        common = self.common.astype(np.int64)
        if code == SLOTS:
            numbers = shares_of_slots(common, self.slots, size_a, size_b)
        else:
            errors = np.maximum(self.unit_errors[self.a], self.unit_errors[self.b])
            numbers = shares_of_sets(common, size_a, size_b, errors if code == FINGERPRINTS else None)
        same = self.a == self.b
        return numbers.with_wholes(same) if same.any() else numbers
