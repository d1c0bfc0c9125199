"""Put contents with the same words into nodes, and collect the pairs of nodes that a join finds.

Takes a scope; gives nodes and, in the end, `JoinedPairs`. Must never decide which pairs are wanted.

Also finds the contents that may resemble one of a few, so that pairs between a small set and a large one read
nothing else: what `similar` finds for each of the few. Must never miss one, except with the probability that
`similar` states.
"""

import dataclasses
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from docindex.arrays.joins import components, found_in, pair_numbers, starts_of_runs
from docindex.arrays.ranges import F64, I64, U8, U16, U32, U64, Bool, starts_of
from docindex.minhash.slots import EMPTY_SLOT, fewest_equal_slots
from docindex.query.estimates import KnownText
from docindex.query.measures import shares_of_sets
from docindex.query.pairs.candidates import LARGE, CrowdLabels
from docindex.query.pairs.joined import BASES, SHINGLES, SLOTS, JoinedPairs, Threshold
from docindex.query.pairs.shared_counts import SetSource, count_shared
from docindex.query.pairs.shingle_sets import ShingleSets
from docindex.query.resolve import Query
from docindex.query.scope import CheckCancelled, Scope
from docindex.query.similar import resembling
from docindex.storage.rows import bulk, documents

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


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The contents that take part, grouped into nodes with the same words. The nodes are numbered from 0."""

    sizes: bulk.Sizes
    """The sizes of all contents of the index, or of those that may be in a pair."""
    firsts: I64
    """The place in `sizes` of the content that stands for each node, ascending: a kept text if possible."""
    starts: I64
    contents: I64
    """The contents of all nodes, end to end; `starts` says where those of each node begin."""
    several: I64
    """The nodes with several documents."""
    sides: I64 | None
    """If only pairs between two sets are wanted: 1 for a node with documents in the first set only, 2 for one
    with documents in the second set only, 0 for both. Two nodes make a pair unless both are 1, or both 2."""

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def kept(self) -> Bool:
        """Whether the text of each node is kept."""
        return self.sizes.kept[self.firsts]

    @property
    def symbols(self) -> I64:
        """The number of symbols of each node."""
        return self.sizes.symbols[self.firsts]

    @property
    def shingles(self) -> I64:
        """The number of shingles of each node, with boilerplate."""
        return self.sizes.shingles[self.firsts]

    @property
    def representatives(self) -> I64:
        """The content that stands for each node, ascending."""
        return self.sizes.contents[self.firsts]


def nodes_of(scope: Scope, *, by_words: bool, partners: LikelyPartners | None = None) -> Nodes:
    """The nodes of a scope; with ``by_words=False``, each content is a node of its own.

    With `partners`, only their contents take part; no others are read.
    """
    among = None if partners is None else partners.contents
    sizes = bulk.sizes(scope.db, among)
    places = np.arange(len(sizes.contents))
    chosen = scope.chosen() if partners is None else None
    if chosen is not None:
        places = places[np.isin(sizes.contents, chosen)]
    groups = sizes.words if by_words else np.arange(len(sizes.contents))
    order = places[np.lexsort((places, ~sizes.kept[places], groups[places]))]
    starts = starts_of_runs(groups[order].astype(np.uint64))
    copied = np.isin(sizes.contents[order], bulk.copied(scope.db, among))
    several = np.diff(starts_of(copied.astype(np.int64))[starts]) > 0
    several |= np.diff(starts) > 1
    # Number the nodes in the order of their firsts, because storage reads ascending contents fastest.
    firsts = order[starts[:-1]]
    by_first = np.argsort(firsts)
    counts = np.diff(starts)[by_first]
    node_starts = starts_of(counts)
    members = np.repeat(starts[:-1][by_first] - node_starts[:-1], counts) + np.arange(len(order))
    contents = sizes.contents[order[members]]
    sides = None
    if scope.between is not None:
        sides = _sides(scope.sides if partners is None else partners.sides, contents, node_starts)
    return Nodes(
        sizes,
        firsts[by_first],
        node_starts,
        contents,
        np.flatnonzero(several[by_first]),
        sides,
    )


def _sides(sides: tuple[I64, I64], contents: I64, starts: I64) -> I64:
    """The value of `Nodes.sides`, given the contents of the two sets."""
    in_first, in_second = (
        np.diff(starts_of(np.isin(contents, side).astype(np.int64))[starts]) > 0 for side in sides
    )
    return np.where(in_first & in_second, 0, np.where(in_first, 1, 2))


class CollectedPairs:
    """The pairs that a join has found so far."""

    def __init__(self, nodes: Nodes, unit_errors: F64) -> None:
        self._nodes = nodes
        self._unit_errors = unit_errors
        self._columns: list[tuple[U32, U32, U32, U8]] = []
        self._sizes = np.zeros((len(BASES), len(nodes)), np.int64)
        self._sizes[SLOTS] = nodes.shingles
        self.set_aside = 0
        """How many different shingles or hashes were not counted because too many contents have them."""

    def add(self, basis: int, a: I64, b: I64, common: I64) -> None:
        """Take pairs of nodes, and how much they have in common."""
        numbers = (a.astype(np.uint32), b.astype(np.uint32), common.astype(np.uint32))
        self._columns.append((*numbers, np.full(len(a), basis, np.uint8)))

    def set_sizes(self, basis: int, nodes: I64, sizes: I64) -> None:
        """Note the sizes of some nodes."""
        self._sizes[basis, nodes] = sizes

    def add_copies(self, basis: int, common: I64 | None = None) -> None:
        """Take the pairs among the documents of each node.

        They have all in common: `common`, or the size of the node, which must be known.
        """
        several = self._nodes.several
        self.add(basis, several, several, self._sizes[basis, several] if common is None else common)

    def joined(self, slots: int, ignore_above: int | None) -> JoinedPairs:
        """All pairs; `slots` is how many slots a sketch has."""
        a, b, common, basis = (np.concatenate(column) for column in zip(*self._columns, strict=True))
        return JoinedPairs(
            a=a,
            b=b,
            common=common,
            basis=basis,
            sizes=self._sizes,
            unit_errors=self._unit_errors,
            starts=self._nodes.starts,
            contents=self._nodes.contents,
            slots=slots,
            ignore_above=ignore_above,
            set_aside=self.set_aside,
        )


# Find the crowds among the nodes of a pair join, and collect the pairs that connect them.
#
# Takes the nodes and shingle sets of a join; gives the crowd of each node for `candidates`, which then leaves
# out the pairs inside a crowd. A crowd is many texts that are alike enough to be connected. Ten thousand logs
# of one program are 50 million pairs; here each log is compared with a few others.
#
# Each column of the slots is looked at in turn. Texts with the same slot are a group, and all members of a
# large group are compared with one of them, unless they are connected to it already. Resembling texts share
# most slots, and each column chooses another text to compare with; so a text that resembles many members of a
# crowd soon meets one of them.
#
# To leave out pairs inside a crowd changes no connected component: the ends of each pair that is left out are
# connected anyway. It would change other linkages. A text that should be in a crowd, but was not found to be,
# costs time: its pairs are all compared later.

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
