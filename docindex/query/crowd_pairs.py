"""Find the crowds among the nodes of a pair join, and collect the pairs that connect them.

Takes the nodes and shingle sets of a join; gives the crowd of each node for `candidates`, which then leaves
out the pairs inside a crowd. A crowd is many texts that are alike enough to be connected. Ten thousand logs
of one program are 50 million pairs; here each log is compared with a few others.

Each column of the slots is looked at in turn. Texts with the same slot are a group, and all members of a
large group are compared with one of them, unless they are connected to it already. Resembling texts share
most slots, and each column chooses another text to compare with; so a text that resembles many members of a
crowd soon meets one of them.

To leave out pairs inside a crowd changes no connected component: the ends of each pair that is left out are
connected anyway. It would change other linkages. A text that should be in a crowd, but was not found to be,
costs time: its pairs are all compared later.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from docindex.kernels.arrays import I64, U16, U64, Bool
from docindex.kernels.joins import components, found_in, pair_numbers, starts_of_runs
from docindex.kernels.minhash import EMPTY_SLOT, fewest_equal_slots
from docindex.query.candidates import LARGE, CrowdLabels
from docindex.query.joined_pairs import SHINGLES, Threshold
from docindex.query.measures import shares_of_sets
from docindex.query.pair_nodes import CollectedPairs, Nodes
from docindex.query.scope import CheckCancelled, Scope
from docindex.query.shared_counts import SetSource, count_shared
from docindex.query.shingle_sets import ShingleSets
from docindex.storage import bulk

# Columns are looked at until this many of them in turn connected nothing more.
_IN_VAIN = 8

Compare = Callable[[I64, I64], I64]
"""How much the texts of each pair have in common, or -1 if they are not alike enough."""


class Crowds(NamedTuple):
    """Texts that are connected, and the pairs that connect them."""

    labels: I64
    """The crowd of each text: 1 and up, or 0 for a text that is in none."""
    a: I64
    b: I64
    common: I64
    """How much the texts of each pair have in common."""


def find_crowds(
    slots: U16, ranks: I64, least: int, compare: Compare, check_cancelled: CheckCancelled
) -> Crowds:
    """The crowds of more than `LARGE` texts among some texts, given by the rows of their slots.

    Only pairs with at least `least` equal slots are compared. `ranks` decide between texts with equal slots.
    The result depends on the slots and the order of the ranks only, not on the order of the rows.
    """
    roots = np.arange(len(slots))
    pairs: list[tuple[I64, I64, I64]] = [(roots[:0], roots[:0], roots[:0])]
    tried: U64 = np.empty(0, np.uint64)
    in_vain, column = 0, 0
    while column < slots.shape[1] and in_vain < _IN_VAIN:
        check_cancelled()
        of_group, others = _stars(slots, ranks, column)
        column += 1
        apart = np.flatnonzero(roots[of_group] != roots[others])
        numbers = pair_numbers(np.minimum(of_group, others)[apart], np.maximum(of_group, others)[apart])
        apart = apart[~found_in(tried, numbers)]
        a, b = others[apart], of_group[apart]
        likely = _equal_slots(slots, a, b) >= least
        a, b = a[likely], b[likely]
        common = compare(a, b)
        reached = common >= 0
        in_vain = 0 if reached.any() else in_vain + 1
        tried = np.concatenate([tried, pair_numbers(np.minimum(a, b), np.maximum(a, b))])
        pairs.append((a[reached], b[reached], common[reached]))
        roots = components(a[reached], b[reached], len(slots), roots)
    labels = _labels(roots)
    a, b, common = (np.concatenate(part) for part in zip(*pairs, strict=True))
    inside = labels[a] > 0
    return Crowds(labels, a[inside], b[inside], common[inside])


def _stars(slots: U16, ranks: I64, column: int) -> tuple[I64, I64]:
    """For each large group of a column, one member repeated, and the other members.

    It is the member with the least slot in the next column: another one for each column.
    """
    own, other = slots[:, column], slots[:, (column + 1) % slots.shape[1]]
    rows = np.flatnonzero(own != EMPTY_SLOT)
    rows = rows[np.argsort(own[rows], kind="stable")]
    starts = starts_of_runs(own[rows].astype(np.uint64))
    rows = rows[np.repeat(np.diff(starts) > LARGE, np.diff(starts))]
    rows = rows[np.lexsort((ranks[rows], other[rows], own[rows]))]
    starts = starts_of_runs(own[rows].astype(np.uint64))
    firsts = np.repeat(rows[starts[:-1]], np.diff(starts))
    return firsts[firsts != rows], rows[firsts != rows]


def _equal_slots(slots: U16, a: I64, b: I64) -> I64:
    """The number of equal slots of each pair."""
    found = np.empty(len(a), np.int64)
    for begin in range(0, len(a), _COMPARED):
        part = slice(begin, begin + _COMPARED)
        found[part] = np.count_nonzero(slots[a[part]] == slots[b[part]], axis=1)
    return found


_COMPARED = 1 << 14


def _labels(roots: I64) -> I64:
    """A number for each component with more than `LARGE` members; 0 for the members of the others."""
    sizes = np.bincount(roots, minlength=len(roots))
    is_large: Bool = sizes > LARGE
    numbers = np.where(is_large, np.cumsum(is_large), 0)
    labels: I64 = numbers[roots] if len(roots) else roots
    return labels


class CrowdPairs:
    """The search for the crowds of a join. The pairs that connect a crowd are added to `found`."""

    def __init__(self, scope: Scope, nodes: Nodes, threshold: Threshold, found: CollectedPairs) -> None:
        self._scope = scope
        self._nodes = nodes
        self._threshold = threshold
        self._found = found

    def by_slots(self, often: I64, slots: U16) -> I64:
        """The crowd of each node, from the slots of the nodes that share many slots with many nodes."""
        labels = np.zeros(len(self._nodes), np.int64)
        kept = self._nodes.kept[often]
        likely = often[kept]
        if len(likely) > LARGE:
            contents = self._nodes.representatives[likely]
            with ShingleSets(self._scope, contents, contents) as sets:
                labels[likely] = self._crowds(sets, np.arange(len(likely)), likely, slots[kept])
        return labels

    def labels_of(self, sets: SetSource, nodes: I64) -> CrowdLabels:
        """Gives the crowd of each place, from the number of its groups that many places are in.

        Place p of `sets` is the set of `nodes[p]`.
        """

        def crowds_of(large: I64) -> I64:
            labels = np.zeros(len(nodes), np.int64)
            likely = np.flatnonzero(large >= np.maximum(1, sets.weights() * self._threshold.least / 2))
            if len(likely) > LARGE:
                contents = self._nodes.representatives[nodes[likely]]
                slots = bulk.slot_rows(self._scope.db, contents, self._scope.recipe.slots)
                labels[likely] = self._crowds(sets, likely, nodes[likely], slots)
            return labels

        return crowds_of

    def _crowds(self, sets: SetSource, places: I64, chosen: I64, slots: U16) -> I64:
        """Add the pairs that connect crowds among some nodes, and return the crowd of each.

        Each of the `chosen` nodes has a place in `sets` and a row of slots.
        """

        def compare(a: I64, b: I64) -> I64:
            found = [np.empty(0, np.int64)]
            for part, shared, of_a, of_b in count_shared(
                sets, places[a], places[b], self._scope.check_cancelled
            ):
                self._found.set_sizes(SHINGLES, chosen[a[part]], of_a)
                self._found.set_sizes(SHINGLES, chosen[b[part]], of_b)
                reached = self._threshold.reached_by(shares_of_sets(shared, of_a, of_b))
                found.append(np.where(reached, shared, -1))
            return np.concatenate(found)

        least = max(1, fewest_equal_slots(self._scope.recipe.slots, self._threshold.least))
        words = self._nodes.sizes.words[self._nodes.firsts[chosen]]
        crowds = find_crowds(slots, words, least, compare, self._scope.check_cancelled)
        self._found.add(SHINGLES, chosen[crowds.a], chosen[crowds.b], crowds.common)
        return crowds.labels
