"""Put contents with the same words into nodes, and collect the pairs of nodes that a join finds.

Takes a scope; gives nodes and, in the end, `JoinedPairs`. Must never decide which pairs are wanted.

Also finds the contents that may resemble one of a few, so that pairs between a small set and a large one read
nothing else: what `similar` finds for each of the few. Must never miss one, except with the probability that
`similar` states.
"""

import dataclasses
from typing import Final

import numpy as np

from docindex.kernels.arrays import F64, I64, U8, U32, Bool, starts_of
from docindex.kernels.joins import starts_of_runs
from docindex.query.estimates import KnownText
from docindex.query.joined_pairs import BASES, SLOTS, JoinedPairs, Threshold
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.similar import resembling
from docindex.storage import bulk, documents

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
