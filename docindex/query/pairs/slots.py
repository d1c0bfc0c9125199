"""Find the pairs of nodes that have slots or features of their sketches in common.

Takes the nodes of a scope; gives pairs and how many equal slots each has. Holds the slots of all nodes in
memory. Must never miss a pair that has as many equal slots as it needs.
"""

import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from docindex.arrays.joins import Limits, starts_of_runs
from docindex.arrays.ranges import I64, U16, U64, Bool
from docindex.minhash.bands import Bands, band_numbers, certain_bands, likely_bands
from docindex.minhash.slots import EMPTY_SLOT, features, fewest_equal_slots
from docindex.query.pairs.candidates import (
    CrowdLabels,
    Groups,
    GroupSource,
    Needs,
    candidates,
    candidates_between,
)
from docindex.query.pairs.nodes import Nodes
from docindex.query.scope import Scope
from docindex.storage.rows import bulk

# The number of pairs whose slots are compared at a time. A pair has two rows of 256 bytes each, and 2^14
# pairs, which no cache holds, took three times as long.
_COMPARED = 1 << 12
# The number of pairs in a batch.
_PAIRS = 1 << 16

# At least this many columns of slots lie in one line of a cache: to read them together takes a quarter of the
# time.
_COLUMNS = 32
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)

EqualSlots = Iterator[tuple[I64, I64, I64]]
"""Batches of pairs of nodes, a and b, and the number of equal slots of each pair."""

CrowdFinder = Callable[[I64, U16], I64]
"""Gives the crowd of each node; takes the nodes that may be in one, ascending, and their slots."""


class SlotPairs:
    """The slots of all nodes, and the pairs that have some of them in common."""

    def __init__(self, scope: Scope, nodes: Nodes) -> None:
        self._features = scope.recipe.features
        self._check_cancelled = scope.check_cancelled
        self._sides = nodes.sides
        self._slots = bulk.slot_rows(scope.db, nodes.representatives, scope.recipe.slots)

    def equal(self, a: I64, b: I64) -> I64:
        """The number of equal slots of each pair."""
        found = np.empty(len(a), np.int64)
        for begin in range(0, len(a), _COMPARED):
            some, others = a[begin : begin + _COMPARED], b[begin : begin + _COMPARED]
            # `take` needs half the time of an index, and this sum half the time of `count_nonzero`.
            same = self._slots.take(some, axis=0) == self._slots.take(others, axis=0)
            found[begin : begin + _COMPARED] = same.view(np.uint8).sum(axis=1, dtype=np.uint16)
        found[self._slots[a, 0] == EMPTY_SLOT] = 0  # the text has no shingle, and so no slot
        return found

    def with_equal_slots(self, least: int) -> EqualSlots:
        """All pairs with at least this many equal slots, which must be 1 or more."""
        return self._sharing(certain_bands(self._slots.shape[1], least), least)

    def with_resemblance(self, least: float, crowds_of: CrowdFinder | None = None) -> EqualSlots:
        """The pairs with as many equal slots as texts of this resemblance have, see `fewest_equal_slots`.

        A pair of texts with at least this resemblance is missed with a probability of two times
        `minhash.MISSED`. With `crowds_of`, pairs of two members of one crowd are left out.
        """
        count = self._slots.shape[1]
        bands = likely_bands(count, least)
        if bands is None:
            raise ValueError(f"no bands find pairs of resemblance {least} by {count} slots")
        if crowds_of is None:
            return self._sharing(bands, fewest_equal_slots(count, least))

        def labels(large: I64) -> I64:
            # A text that resembles a crowd shares most bands with it, and these are large groups.
            often = np.flatnonzero(large >= max(1, len(bands.members) * least**bands.width / 2))
            return crowds_of(often, self._slots[often])

        return self._sharing(bands, fewest_equal_slots(count, least), labels)

    def _sharing(self, bands: Bands, least: int, crowds_of: CrowdLabels | None = None) -> EqualSlots:
        """The pairs that share enough bands and have enough equal slots."""
        table = _BandTable(self._slots, bands)
        for a, b, equal in self._pairs(table, bands.shared, crowds_of):
            enough = equal >= least
            yield a[enough], b[enough], equal[enough]

    def passing_features(self) -> EqualSlots:
        """The pairs that pass the feature filter of the recipe."""
        k, s, r = self._features
        table = EqualFeatures(features(self._slots, k, s), self._slots[:, 0] == EMPTY_SLOT)
        for a, b, equal in self._pairs(table, r):
            enough = table.common(a, b) >= r
            yield a[enough], b[enough], equal[enough]

    def _pairs(
        self,
        table: GroupSource,
        least: int,
        crowds_of: CrowdLabels | None = None,
    ) -> EqualSlots:
        """The pairs that have at least `least` groups in common."""
        of_each = np.full(table.count, least)
        limits = Limits(np.zeros_like(of_each))
        needs = Needs(
            np.arange(table.count), of_each, of_each, limits, lambda early, _: np.full(len(early), least)
        )
        return self._compared(table, needs, crowds_of)

    def _compared(self, table: GroupSource, needs: Needs, crowds_of: CrowdLabels | None = None) -> EqualSlots:
        """The pairs that have as many groups in common as they need."""
        if crowds_of is None:
            found = candidates_between(table, self._sides, lambda _: needs, self._check_cancelled)
        else:
            found = candidates(table, lambda _: needs, self._check_cancelled, crowds_of)
        for a, b in found:
            for begin in range(0, len(a), _PAIRS):
                self._check_cancelled()
                some, others = a[begin : begin + _PAIRS], b[begin : begin + _PAIRS]
                yield some, others, self.equal(some, others)


class _BandTable:
    """The bands of all nodes: a `GroupSource`. Nodes with the same band are a group."""

    def __init__(self, slots: U16, bands: Bands) -> None:
        self._slots = slots
        self._bands = bands

    @property
    def count(self) -> int:
        """The number of nodes."""
        return len(self._slots)

    def groups(self) -> Iterator[Groups]:
        """The groups of two or more nodes of each band."""
        for bands in self._close_together():
            first, last = bands[0][0], bands[-1][-1] + 1
            columns = np.ascontiguousarray(self._slots[:, first:last].T)
            for band in bands:
                numbers, empty = band_numbers(columns[[slot - first for slot in band]])
                # To sort numbers takes half the time of `argsort`.
                keys = numbers.astype(np.uint64) << _HALF | self._rows
                if empty.any():
                    keys = keys[~empty]
                keys.sort()
                # Most bands belong to one text. Without these, the first pass takes a quarter less time.
                same = keys[1:] >> _HALF == keys[:-1] >> _HALF
                several = np.zeros(len(keys), bool)
                several[1:] |= same
                several[:-1] |= same
                keys = keys[several]
                yield np.diff(starts_of_runs(keys >> _HALF)), (keys & _LOW_HALF).astype(np.int64)

    def _close_together(self) -> Iterator[list[tuple[int, ...]]]:
        """The bands, in lists whose slots are read together."""
        for _, bands in itertools.groupby(self._bands.members, lambda band: band[0] // _COLUMNS):
            yield list(bands)

    @functools.cached_property
    def _rows(self) -> U64:
        return np.arange(len(self._slots), dtype=np.uint64)


class EqualFeatures:
    """A table of features with a row for each node: a `GroupSource`.

    Nodes with the same value in a column are a group.
    """

    def __init__(self, table: U64, empty: Bool) -> None:
        self._table = table
        self._rows = np.flatnonzero(~empty)

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self._table)

    def common(self, a: I64, b: I64) -> I64:
        """In how many columns each pair has the same value."""
        return np.asarray(np.count_nonzero(self._table[a] == self._table[b], axis=1))

    def groups(self) -> Iterator[Groups]:
        """The groups of each column."""
        for column in np.ascontiguousarray(self._table.T):
            rows = self._rows[np.argsort(column[self._rows], kind="stable")]
            yield np.diff(starts_of_runs(column[rows])), rows
