"""Find the crowds among the nodes of a pair join, and collect the pairs that connect them.

Takes the nodes and shingle sets of a join; gives the crowd of each node for `candidates`, which then leaves
out the pairs inside a crowd. See `crowds` for why that changes no connected cluster.
"""

import numpy as np

from docindex.kernels.arrays import I64, U16
from docindex.kernels.minhash import fewest_equal_slots
from docindex.query.candidates import LARGE, CrowdLabels
from docindex.query.crowds import find_crowds
from docindex.query.joined_pairs import SHINGLES, Threshold
from docindex.query.measures import shares_of_sets
from docindex.query.pair_nodes import CollectedPairs, Nodes
from docindex.query.scope import Scope
from docindex.query.shared_counts import SetSource, count_shared
from docindex.query.shingle_sets import ShingleSets
from docindex.storage import bulk


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
