"""Find all pairs of texts in an index that reach a threshold of resemblance or containment.

Takes a scope and a threshold; gives pairs of nodes, see `joined_pairs`. Must never know a key.

By the method "shingles", a pair of kept texts is counted exactly, and no pair is missed. Candidates come from
the shingles of all texts, or from the slots of their sketches. Slots are cheaper unless texts are short and
the threshold is low: only the texts of candidates are read. They serve if the threshold is a resemblance,
nothing is ignored, and a pair at the threshold is missed by its slots with a probability below 2 * 10^-9
(`SlotPairs.with_resemblance`). Between a small set and a large one, only the `likely_partners` of the small
set take part. Pairs with a text that is not kept are estimated: a resemblance by slots, a containment by
fingerprints. If anything is ignored, only fingerprints serve.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from docindex.arrays.joins import Limits, pair_numbers, split_pairs
from docindex.arrays.ranges import I64, Bool
from docindex.minhash.bands import likely_bands
from docindex.query.measures import rounded_up, shares_of_sets, shares_of_slots, unit_errors
from docindex.query.pairs.candidates import Needs, candidates, candidates_between
from docindex.query.pairs.joined import FINGERPRINTS, SHINGLES, SLOTS, JoinedPairs, Measure, Threshold
from docindex.query.pairs.nodes import CollectedPairs, CrowdPairs, Nodes, likely_partners, nodes_of
from docindex.query.pairs.overlap import FingerprintOverlap
from docindex.query.pairs.shared_counts import SetSource, count_shared, set_sizes
from docindex.query.pairs.shingle_sets import ShingleSets
from docindex.query.pairs.slots import EqualSlots, SlotPairs
from docindex.query.pairs.spilled_numbers import SpilledNumbers
from docindex.query.scope import Scope
from docindex.sketching.incremental import COUNT_ERROR, COUNTED

# Say how many groups a pair must have in common to reach a resemblance or a containment.
#
# Takes the number of groups that each content is in, or bounds of the size of its set; gives the `Needs` for
# `candidates`. The needs may be lower than necessary, but must never be too high: then pairs would be missed.


class SizesOfSets(NamedTuple):
    """What is known of the sizes of some sets."""

    at_least: I64
    slack: I64
    """How many more members each set may have in common with another one than groups."""
    at_most: I64


def needs_of_sets(measure: Measure, sizes: SizesOfSets, least: float) -> Needs:
    """The needs of pairs of sets."""
    if measure == "resemblance":
        return _needs_of_resemblance(sizes, least)
    return _needs_of_containment(sizes.at_least, sizes.slack, least)


def _needs_of_resemblance(sizes: SizesOfSets, least: float) -> Needs:
    """The needs of pairs that have at least `least` of their union in common.

    That is `least` / (1 + `least`) of the sum of both sizes, or more.
    """
    ranks, counts, slack = _by_size(sizes.at_least, sizes.slack)
    largest = np.empty_like(counts)
    largest[ranks] = sizes.at_most
    half = least / (1 + least)
    early = np.maximum(1, rounded_up(2 * half * counts) - slack)  # the late member is not smaller
    late = np.maximum(1, rounded_up(least * counts) - slack)
    # The early set has all that both have in common. Only its largest size tells that it is too small.
    largest = np.maximum.accumulate(largest)
    too_small = np.searchsorted(largest, rounded_up(least * counts) - slack.max(initial=0))
    return Needs(
        ranks,
        early,
        late,
        Limits(np.minimum(too_small, np.arange(len(counts)))),
        lambda a, b: np.maximum(
            1, rounded_up(half * (counts[a] + counts[b])) - np.minimum(slack[a], slack[b])
        ),
    )


def _needs_of_containment(counts: I64, slack: I64, least: float) -> Needs:
    """The needs of pairs that have at least `least` of the smaller member in common."""
    ranks, counts, slack = _by_size(counts, slack)
    return Needs(
        ranks,
        np.maximum(1, rounded_up(least * counts) - slack),
        np.ones_like(counts),
        Limits(np.zeros_like(counts)),
        lambda a, b: np.maximum(1, rounded_up(least * counts[a]) - np.minimum(slack[a], slack[b])),
    )


def _by_size(counts: I64, slack: I64) -> tuple[I64, I64, I64]:
    """The rank of each member by its size; and sizes and slacks by rank."""
    order = np.argsort(counts, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks, counts[order], slack[order]


COMMON = 1000
"""Shingles that more contents have are ignored by default, but only if the pairs are too many otherwise."""

# To sort this many bands takes as long as to join one shingle. Among 280 files of 14,000 characters, the
# pairs of resemblance .5 take 17 ms by 128 slots, and 95 ms by their shingles, for which all texts are read.
# Among 8,000 notes of 70 shingles, both ways take a quarter of a second.
_BANDS_A_SHINGLE = 2
# The pairs are too many if more than this many shingles must be compared, which takes 8 s, and also more
# than this many times the shingles of all texts.
_FEW_COMPARED = 1 << 29
_COMPARED_EACH = 24
# This many likely pairs are read at a time.
_LIKELY = 1 << 20


def join_pairs(scope: Scope, threshold: Threshold, *, connecting: bool = False) -> JoinedPairs:
    """All pairs of nodes that reach the threshold, among the contents of the scope.

    With `connecting`, only enough of them to connect the same nodes: some pairs of nodes that other pairs
    connect are left out, if more than `candidates.LARGE` nodes are connected. Which pairs are left out does
    not depend on the ids of contents.

    The method decides which pairs are found:
    - "shingles": all pairs of kept texts, with exact numbers, and estimates of the others.
    - "fingerprints": all pairs whose shares of fingerprints reach the threshold. The 5.6 million pairs of
      resemblance 0.5 among 6,283 contents take 0.9 s.
    - "slots": all pairs whose estimate by slots reaches the threshold.
    - "features": the pairs of "slots" that also pass the feature filter.

    If `threshold.ignore_above` is None, nothing is ignored, unless the pairs are too many: then `COMMON` is
    the limit. `JoinedPairs.ignore_above` is the limit that was used.

    Takes memory for about a hundred numbers for each content, 13 bytes for each pair, and a bounded amount
    for everything else. Many shingles go to a temporary file.
    """
    # Texts with the same words may have different lines.
    by_words = scope.recipe.token != "line"
    partners = likely_partners(scope, threshold)
    nodes = nodes_of(scope, by_words=by_words, partners=partners)
    scope.check_cancelled()
    contents = len(nodes.sizes.contents)
    ignore_above, by_default = threshold.ignore_above, None
    if ignore_above is None and threshold.method == "shingles" and contents > COMMON:
        by_default = COMMON
    elif ignore_above is not None and contents <= ignore_above:
        threshold = dataclasses.replace(threshold, ignore_above=None)
    try:
        return _joined(scope, nodes, threshold, connecting=connecting, is_limited=by_default is not None)
    except _TooManyPairs:
        if partners is not None:  # all texts must be counted
            nodes = nodes_of(scope, by_words=by_words)
        threshold = dataclasses.replace(threshold, ignore_above=by_default)
        return _joined(scope, nodes, threshold, connecting=connecting, is_limited=False)


def _joined(
    scope: Scope, nodes: Nodes, threshold: Threshold, *, connecting: bool, is_limited: bool
) -> JoinedPairs:
    """The pairs; `_TooManyPairs` if `is_limited` and they are too many."""
    join = _Join(scope, nodes, threshold, connecting=connecting, is_limited=is_limited)
    {
        "shingles": join.by_shingles,
        "fingerprints": join.by_fingerprints,
        "slots": join.by_slots,
        "features": join.by_features,
    }[threshold.method]()
    return join.found.joined(scope.recipe.slots, threshold.ignore_above)


class _TooManyPairs(Exception):
    """To compare the pairs takes more than time in proportion to the texts."""


class _Join:
    """One question for pairs, and the pairs found so far."""

    def __init__(
        self, scope: Scope, nodes: Nodes, threshold: Threshold, *, connecting: bool, is_limited: bool
    ) -> None:
        self._scope = scope
        self._nodes = nodes
        self._threshold = threshold
        most = max(_FEW_COMPARED, _COMPARED_EACH * int(nodes.shingles.sum()))
        self._left = most if is_limited else None
        """How many more shingles may be compared; None if there is no limit."""
        self._ignores = bool(scope.ignored) or threshold.ignore_above is not None
        self._unit_errors = unit_errors(
            nodes.symbols, nodes.shingles, scope.recipe, scope.ignoring(threshold.ignore_above)
        )
        self.found = CollectedPairs(nodes, self._unit_errors)
        self._crowds = CrowdPairs(scope, nodes, threshold, self.found) if connecting else None
        self._counts_found = False
        """Whether `_count` counts the pairs that it finds. `_count_likely` counts them before."""

    def by_shingles(self) -> None:
        """Find the pairs of kept texts exactly, and estimate the others."""
        kept = self._nodes.kept
        if self._slots_serve():
            self._count_likely()
        else:
            self._counts_found = True
            self._count_groups()
        if not kept.all():
            self._estimate_pairs(~kept)
        self.found.add_copies(SHINGLES)

    def _slots_serve(self) -> bool:
        """Whether slots find the likely pairs, and with less work than all shingles."""
        bands = likely_bands(self._scope.recipe.slots, self._threshold.least)
        if self._threshold.measure != "resemblance" or self._ignores or bands is None:
            return False
        work = len(bands.members) * len(self._nodes)
        return work <= _BANDS_A_SHINGLE * int(self._nodes.shingles.sum())

    def by_fingerprints(self) -> None:
        """Find the pairs that share enough fingerprints."""
        nodes = np.arange(len(self._nodes))
        overlap, pairs = self._overlap()
        self._count(FINGERPRINTS, overlap, nodes, pairs)
        self.found.set_aside = len(overlap.set_aside)
        self._set_sizes(FINGERPRINTS, overlap, nodes, self._nodes.several)
        self.found.add_copies(FINGERPRINTS)

    def by_slots(self) -> None:
        """Find the pairs whose estimate by slots reaches the threshold."""
        self._estimate_by_slots(self._likely_by_slots())
        self._add_copies_by_slots()

    def by_features(self) -> None:
        """Find the pairs that pass the feature filter and whose estimate by slots reaches the threshold."""
        self._estimate_by_slots(SlotPairs(self._scope, self._nodes).passing_features())
        self._add_copies_by_slots()

    def _add_copies_by_slots(self) -> None:
        self.found.add_copies(SLOTS, np.full(len(self._nodes.several), self._scope.recipe.slots))

    def _count_likely(self) -> None:
        """Count the shingles of the pairs of kept texts with enough equal slots."""
        kept, sizes, several = self._nodes.kept, self._nodes.shingles, self._nodes.several
        self.found.set_sizes(SHINGLES, several, sizes[several])
        # The stored number of shingles is an estimate if they are many, and it counts the boilerplate.
        large = several[kept[several] & ((sizes[several] > COUNTED) | bool(self._scope.ignored))]
        in_pairs = np.zeros(len(self._nodes), bool)
        in_pairs[large] = True
        with contextlib.closing(SpilledNumbers()) as likely:
            for a, b in self._likely_slot_pairs():
                in_pairs[a] = in_pairs[b] = True
                likely.append(pair_numbers(a, b))
                self._count_compared(np.minimum(sizes[a], sizes[b]))
            nodes = np.flatnonzero(in_pairs)
            contents = self._nodes.representatives[nodes]
            with ShingleSets(self._scope, contents, contents) as sets:
                pairs = (
                    (np.searchsorted(nodes, a), np.searchsorted(nodes, b))
                    for a, b in map(split_pairs, likely.batches(_LIKELY))
                )
                self._count(SHINGLES, sets, nodes, pairs)
                self._set_sizes(SHINGLES, sets, nodes, large)

    def _likely_slot_pairs(self) -> Iterator[tuple[I64, I64]]:
        """The pairs of kept texts with enough equal slots."""
        kept, sizes = self._nodes.kept, self._nodes.shingles
        for a, b, _ in SlotPairs(self._scope, self._nodes).with_resemblance(
            self._threshold.least, self._crowds.by_slots if self._crowds else None
        ):
            smaller, larger = np.minimum(sizes[a], sizes[b]), np.maximum(sizes[a], sizes[b])
            least = self._threshold.least * np.where(larger > COUNTED, 1 - COUNT_ERROR, 1.0)
            which = kept[a] & kept[b] & (smaller >= rounded_up(least * larger))
            yield a[which], b[which]

    def _count_groups(self) -> None:
        """Count the shingles of the pairs of kept texts that have enough shingles in common."""
        kept, living = self._nodes.kept, self._nodes.sizes
        nodes, ignore_above = np.flatnonzero(kept), self._threshold.ignore_above
        contents = self._nodes.representatives[nodes]
        loaded = contents if ignore_above is None else living.contents[living.kept]
        with ShingleSets(self._scope, loaded, contents, ignore_above, grouped=True) as sets:

            def needs_of(counts: I64) -> Needs:
                return self._needs(counts, sets.weights() - sets.postings, counts)

            if self._crowds:
                crowds_of = self._crowds.labels_of(sets, nodes)
                pairs = candidates(sets, needs_of, self._scope.check_cancelled, crowds_of)
            else:
                sides = None if self._nodes.sides is None else self._nodes.sides[nodes]
                pairs = candidates_between(sets, sides, needs_of, self._scope.check_cancelled)
            self._count(SHINGLES, sets, nodes, pairs)
            several = self._nodes.several
            self._set_sizes(SHINGLES, sets, nodes, several[kept[several]])
            self.found.set_aside += len(sets.set_aside)
        without = self._nodes.several[~kept[self._nodes.several]]
        self.found.set_sizes(SHINGLES, without, self._nodes.shingles[without])

    def _overlap(self) -> tuple[FingerprintOverlap, Iterator[tuple[I64, I64]]]:
        """The fingerprints of all nodes, and the pairs that may share enough of them."""
        sizes, firsts, ignore_above = self._nodes.sizes, self._nodes.firsts, self._threshold.ignore_above
        overlap = FingerprintOverlap(self._scope, sizes, firsts, ignore_above)

        def needs_of(counts: I64) -> Needs:
            return self._needs(*overlap.bounds(counts))

        sides = self._nodes.sides
        return overlap, candidates_between(overlap, sides, needs_of, self._scope.check_cancelled)

    def _likely_by_slots(self) -> EqualSlots:
        """The pairs whose estimated resemblance may reach the threshold."""
        least = max(1, int(rounded_up(self._threshold.least * self._scope.recipe.slots)))
        return SlotPairs(self._scope, self._nodes).with_equal_slots(least)

    def _estimate_by_slots(self, pairs: EqualSlots) -> None:
        """Take the pairs whose estimate by slots reaches the threshold."""
        sizes = self._nodes.shingles
        for a, b, equal in pairs:
            shares = shares_of_slots(equal, self._scope.recipe.slots, sizes[a], sizes[b])
            self._add(SLOTS, a, b, equal, self._threshold.reached_by(shares))

    def _estimate_pairs(self, one_of: Bool) -> None:
        """Estimate the pairs with a node in `one_of`: a resemblance by slots, if nothing is ignored."""
        if self._threshold.measure == "resemblance" and not self._ignores:
            with_slots = ((one_of[a] | one_of[b], a, b, equal) for a, b, equal in self._likely_by_slots())
            self._estimate_by_slots((a[which], b[which], equal[which]) for which, a, b, equal in with_slots)
            return
        overlap, pairs = self._overlap()
        wanted = ((a[which], b[which]) for a, b in pairs for which in [one_of[a] | one_of[b]])
        self._counts_found = False
        self._count(FINGERPRINTS, overlap, np.arange(len(self._nodes)), wanted)
        self.found.set_aside += len(overlap.set_aside)

    def _count(self, basis: int, sets: SetSource, nodes: I64, pairs: Iterable[tuple[I64, I64]]) -> None:
        """Take those of some pairs that reach the threshold. A pair is two places in `nodes`."""
        for a, b in pairs:
            for part, shared, of_a, of_b in count_shared(sets, a, b, self._scope.check_cancelled):
                shares = shares_of_sets(shared, of_a, of_b)
                own, other, reached = nodes[a[part]], nodes[b[part]], self._threshold.reached_by(shares)
                self.found.set_sizes(basis, own, of_a)
                self.found.set_sizes(basis, other, of_b)
                self._add(basis, own, other, shared, reached)
                if self._counts_found:
                    self._count_compared(np.minimum(of_a, of_b)[reached])

    def _count_compared(self, sizes: I64) -> None:
        """Count the shingles of pairs; `_TooManyPairs` if these pairs are too many.

        The pairs must not depend on the ids of contents.
        """
        if self._left is not None:
            self._left -= int(sizes.sum())
            if self._left < 0:
                raise _TooManyPairs

    def _set_sizes(self, basis: int, sets: SetSource, nodes: I64, some: I64) -> None:
        """Note the sizes of the sets of some nodes; place p of `sets` is the set of `nodes[p]`."""
        sizes = set_sizes(sets, np.searchsorted(nodes, some), self._scope.check_cancelled)
        self.found.set_sizes(basis, some, sizes)

    def _add(self, basis: int, a: I64, b: I64, common: I64, which: Bool) -> None:
        self.found.add(basis, a[which], b[which], common[which])

    def _needs(self, *sizes: I64) -> Needs:
        return needs_of_sets(self._threshold.measure, SizesOfSets(*sizes), self._threshold.least)
