"""Find the pairs of nodes that have slots or features of their sketches in common.

Takes the nodes of a scope; gives pairs and how many equal slots each has. Holds the slots of all nodes in
memory. Must never miss a pair that has as many equal slots as it needs.
"""

from collections.abc import Callable, Iterator

import numpy as np

from docindex.kernels.arrays import I64, U32, U64, Bool
from docindex.kernels.feature_hashes import features
from docindex.kernels.joins import starts_of_runs
from docindex.kernels.minhash import EMPTY_SLOT
from docindex.query.candidates import CrowdLabels, Groups, Needs, candidates
from docindex.query.pair_needs import rounded_up
from docindex.query.pair_nodes import Nodes
from docindex.query.scope import Scope
from docindex.storage import bulk

# The number of pairs whose slots are compared at a time. A pair has two rows of half a kilobyte each.
_COMPARED = 1 << 14

# So many columns of slots lie in one line of a cache: to read them together takes a quarter of the time.
_COLUMNS = 16
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)

EqualSlots = Iterator[tuple[I64, I64, I64]]
"""Batches of pairs of nodes, a and b, and the number of equal slots of each pair."""


class SlotPairs:
    """The slots of all nodes, and the pairs that have some of them in common."""

    def __init__(self, scope: Scope, nodes: Nodes) -> None:
        self._features = scope.recipe.features
        self._check_cancelled = scope.check_cancelled
        self._shingles = nodes.shingles
        self._slots = bulk.slot_rows(scope.db, nodes.representatives, scope.recipe.slots)

    def equal(self, a: I64, b: I64) -> I64:
        """The number of equal slots of each pair."""
        found = np.empty(len(a), np.int64)
        for begin in range(0, len(a), _COMPARED):
            some, others = a[begin : begin + _COMPARED], b[begin : begin + _COMPARED]
            same = (self._slots[some] == self._slots[others]) & (self._slots[some] != EMPTY_SLOT)
            found[begin : begin + _COMPARED] = np.count_nonzero(same, axis=1)
        return found

    def with_equal_slots(self, least: int, crowds_of: CrowdLabels | None = None) -> EqualSlots:
        """The pairs with at least this many equal slots, which must be 1 or more.

        `crowds_of` is passed to `candidates`.
        """
        for a, b, equal in self._pairs(
            self._slot_table(), least, lambda early, _: np.full(len(early), least), crowds_of
        ):
            enough = equal >= least
            yield a[enough], b[enough], equal[enough]

    def with_containment(self, least: float) -> EqualSlots:
        """The pairs whose estimated containment may reach a threshold, in the smaller text."""
        count = self._slots.shape[1]

        def of_pairs(early: I64, late: I64) -> I64:
            # Texts of resemblance r have r / (1 + r) of the sum of their sizes in common.
            of_a, of_b = self._shingles[early], self._shingles[late]
            part = least * np.minimum(of_a, of_b) / (of_a + of_b)
            return np.maximum(1, rounded_up(count * part / (1 - part)))

        return self._pairs(self._slot_table(), 1, of_pairs)

    def passing_features(self) -> EqualSlots:
        """The pairs that pass the feature filter of the recipe."""
        k, s, r = self._features
        table = EqualColumns(features(self._slots, k, s), self._slots[:, :1] == EMPTY_SLOT)
        for a, b, equal in self._pairs(table, r, lambda early, _: np.full(len(early), r)):
            enough = table.common(a, b) >= r
            yield a[enough], b[enough], equal[enough]

    def _slot_table(self) -> "EqualColumns":
        return EqualColumns(self._slots, self._slots == EMPTY_SLOT)

    def _pairs(
        self,
        table: "EqualColumns",
        least: int,
        of_pairs: Callable[[I64, I64], I64],
        crowds_of: CrowdLabels | None = None,
    ) -> EqualSlots:
        of_each = np.full(table.count, least)
        needs = Needs(np.arange(table.count), of_each, of_each, np.zeros_like(of_each), of_pairs)
        for a, b in candidates(table, lambda _: needs, self._check_cancelled, crowds_of):
            for begin in range(0, len(a), _COMPARED):
                self._check_cancelled()
                some, others = a[begin : begin + _COMPARED], b[begin : begin + _COMPARED]
                yield some, others, self.equal(some, others)


class EqualColumns:
    """A table with a row for each node: a `GroupSource`.

    Nodes with the same value in a column are a group.
    """

    def __init__(self, table: U32 | U64, empty: Bool) -> None:
        self._table = table
        self._empty = np.broadcast_to(empty, table.shape)

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self._table)

    def common(self, a: I64, b: I64) -> I64:
        """In how many columns each pair has the same value."""
        return np.asarray(np.count_nonzero(self._table[a] == self._table[b], axis=1))

    def groups(self) -> Iterator[Groups]:
        """The groups of each column."""
        for begin in range(0, self._table.shape[1], _COLUMNS):
            part = slice(begin, begin + _COLUMNS)
            table, empty = (np.ascontiguousarray(of[:, part].T) for of in (self._table, self._empty))
            for column, is_empty in zip(table, empty, strict=True):
                values, members = _sorted_column(column, np.flatnonzero(~is_empty))
                yield np.diff(starts_of_runs(values)), members


def _sorted_column(column: U32 | U64, rows: I64) -> tuple[U64, I64]:
    """The values of some rows of a column, ascending, and the rows."""
    if column.dtype == np.uint64:
        rows = rows[np.argsort(column[rows], kind="stable")]
        return column[rows].astype(np.uint64, copy=False), rows
    # To sort numbers takes half the time of `argsort`.
    keys = column[rows].astype(np.uint64) << _HALF | rows.astype(np.uint64)
    keys.sort()
    return keys >> _HALF, (keys & _LOW_HALF).astype(np.int64)
