"""Find all pairs of texts in an index that reach a threshold of resemblance or containment.

Takes a scope and a threshold; gives pairs of nodes, see `joined_pairs`. Must never know a key.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from docindex.kernels.arrays import I64, U32, U64, Bool, owners, ranges, starts_of
from docindex.kernels.feature_hashes import features
from docindex.kernels.joins import starts_of_runs
from docindex.kernels.minhash import EMPTY_SLOT
from docindex.query.candidates import Groups, Needs, candidates
from docindex.query.joined_pairs import JoinedPairs, Threshold, quotients
from docindex.query.overlap import FingerprintOverlap
from docindex.query.scope import Scope
from docindex.recipe import Recipe
from docindex.storage import bulk

# The product of a share and a size is rounded, and may be too large. So candidates need this fraction less,
# and then their exact numbers decide.
_ROUNDING = 1e-9

# The number of pairs whose slots are compared at a time. A pair has two rows of half a kilobyte each.
_COMPARED = 1 << 14


def join_pairs(scope: Scope, threshold: Threshold) -> JoinedPairs:
    """All pairs of nodes that reach the threshold, among the contents of the scope.

    The method decides which pairs are found:
    - "fingerprints": all pairs, with exact numbers. The 5.6 million pairs of resemblance 0.5 among 6,283
      contents take 0.9 s. Takes memory for about a hundred numbers for each content, 12 bytes for each pair,
      and a bounded amount for everything else.
    - "slots": all pairs whose estimate reaches the threshold. Holds the slots of all contents in memory.
    - "features": the pairs of "slots" that also pass the filter. Holds the same slots in memory.
    """
    classes = _symbol_classes(scope)
    scope.check_cancelled()
    join = _by_fingerprints if threshold.method == "fingerprints" else _by_slots
    return join(scope, threshold, classes)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _SymbolClasses:
    """The contents that take part, in classes with the same symbols."""

    sizes: bulk.Sizes
    """The sizes of all contents of the index."""
    order: I64
    """Places in `sizes`, class after class; within a class, the oldest content first."""
    starts: I64
    """Where each class begins in `order`; the last entry is the end of the last class."""
    several: I64
    """The classes with several documents."""


def _symbol_classes(scope: Scope) -> _SymbolClasses:
    sizes = bulk.sizes(scope.db)
    places = np.arange(len(sizes.contents))
    chosen = scope.chosen()
    if chosen is not None:
        places = places[np.isin(sizes.contents, chosen)]
    order = places[np.argsort(sizes.symbols[places], kind="stable")]
    starts = starts_of_runs(sizes.symbols[order].astype(np.uint64))
    copied = np.isin(sizes.contents[order], bulk.copied(scope.db))
    several = np.diff(starts_of(copied.astype(np.int64))[starts]) > 0
    several |= np.diff(starts) > 1
    return _SymbolClasses(sizes, order, starts, np.flatnonzero(several))


def _by_fingerprints(scope: Scope, threshold: Threshold, classes: _SymbolClasses) -> JoinedPairs:
    """Each class is a node. Its first content stands for the whole class."""
    sizes, order, starts = classes.sizes, classes.order, classes.starts
    firsts = np.sort(order[starts[:-1]])
    node_of = np.empty(len(sizes.contents), np.int64)
    node_of[order[starts[:-1]]] = np.arange(len(starts) - 1)
    nodes = node_of[firsts]
    overlap = FingerprintOverlap(scope, sizes.contents, sizes.contents[firsts], threshold.ignore_above)

    def needs_of(counts: I64) -> Needs:
        # A content has more hashes than postings if some of its hashes have the same high bits.
        slack = np.maximum(sizes.hashes[firsts] - overlap.postings, 0)
        needs = _needs_of_resemblance if threshold.measure == "resemblance" else _needs_of_containment
        return needs(counts, slack, threshold.least)

    counted = np.zeros(len(nodes), np.int64)
    found: list[_Columns] = []
    for a, b in candidates(overlap, needs_of, scope.check_cancelled):
        for part, shared, size_a, size_b in overlap.exactly(a, b):
            if threshold.measure == "resemblance":
                reached = quotients(shared, size_a + size_b - shared)
            else:
                reached = quotients(shared, np.minimum(size_a, size_b))
            kept = np.flatnonzero(reached >= threshold.least)
            own, other = a[part][kept], b[part][kept]
            counted[nodes[own]], counted[nodes[other]] = size_a[kept], size_b[kept]
            found.append(_columns(nodes[own], nodes[other], shared[kept]))
    several = classes.several
    ranks = np.empty(len(nodes), np.int64)
    ranks[nodes] = np.arange(len(nodes))
    at = np.sort(ranks[several])
    counted[nodes[at]] = overlap.sizes(at)
    found.append(_columns(several, several, counted[several]))
    first, second, common = _concatenated(found)
    return JoinedPairs(
        a=first,
        b=second,
        common=common,
        sizes=counted,
        starts=starts,
        contents=sizes.contents[order],
        slots=None,
        set_aside=len(overlap.set_aside),
    )


def _by_slots(scope: Scope, threshold: Threshold, classes: _SymbolClasses) -> JoinedPairs:
    """Each content is a node: contents with the same symbols may be divided into words in different ways.

    The classes with several documents are nodes too, for the pairs within them.
    """
    slots_of_each = scope.recipe.slots
    contents = classes.sizes.contents[classes.order]
    shingles = classes.sizes.shingles[classes.order]
    slots = bulk.slot_rows(scope.db, contents, slots_of_each)
    table, needs = _groups_of_slots(scope.recipe, threshold, slots, shingles)
    class_of = owners(classes.starts)
    found: list[_Columns] = []
    for a, b in candidates(table, lambda _: needs, scope.check_cancelled):
        for begin in range(0, len(a), _COMPARED):
            scope.check_cancelled()
            own, other = a[begin : begin + _COMPARED], b[begin : begin + _COMPARED]
            kept = class_of[own] != class_of[other]
            if threshold.method == "features":
                kept &= table.common(own, other) >= scope.recipe.features[2]
            own, other = own[kept], other[kept]
            found.append(_columns(own, other, np.count_nonzero(slots[own] == slots[other], axis=1)))
    several, starts = classes.several, classes.starts
    counts = np.diff(starts)[several]
    new = len(contents) + np.arange(len(several))
    found.append(_columns(new, new, np.full(len(several), slots_of_each)))
    first, second, common = _concatenated(found)
    joined = JoinedPairs(
        a=first,
        b=second,
        common=common,
        sizes=np.concatenate([shingles, shingles[starts[several]]]),
        starts=np.concatenate([np.arange(len(contents)), len(contents) + starts_of(counts)]),
        contents=np.concatenate([contents, contents[ranges(starts[several], counts)]]),
        slots=slots_of_each,
        set_aside=0,
    )
    return joined.only(np.flatnonzero(joined.scores(threshold.measure) >= threshold.least))


class _EqualColumns:
    """A table with a row for each content. Contents with the same value in a column are a group."""

    def __init__(self, table: U32 | U64, empty: Bool) -> None:
        self._table = table
        self._empty = np.broadcast_to(empty, table.shape)

    @property
    def count(self) -> int:
        return len(self._table)

    def common(self, a: I64, b: I64) -> I64:
        """In how many columns each pair has the same value."""
        return np.asarray(np.count_nonzero(self._table[a] == self._table[b], axis=1))

    def groups(self) -> Iterator[Groups]:
        for column, empty in zip(self._table.T, self._empty.T, strict=True):
            filled = np.flatnonzero(~empty)
            members = filled[np.argsort(column[filled], kind="stable")]
            yield np.diff(starts_of_runs(column[members].astype(np.uint64))), members


def _groups_of_slots(
    recipe: Recipe, threshold: Threshold, slots: U32, shingles: I64
) -> tuple[_EqualColumns, Needs]:
    """The groups of contents with an equal slot or feature, and how many common groups a pair needs."""
    k, s, r = recipe.features
    if threshold.method == "slots":
        table = _EqualColumns(slots, slots == EMPTY_SLOT)
    else:
        table = _EqualColumns(features(slots, k, s), slots[:, :1] == EMPTY_SLOT)
    least = np.ones(len(shingles), np.int64)
    if threshold.method == "features":
        least *= r
    elif threshold.measure == "resemblance":
        least *= max(1, int(_ceil(threshold.least * recipe.slots)))

    def of_pairs(early: I64, late: I64) -> I64:
        if threshold.method == "features" or threshold.measure == "resemblance":
            return least[early]
        # Texts of resemblance r have r / (1 + r) of the sum of their sizes in common.
        smaller = np.minimum(shingles[early], shingles[late])
        part = threshold.least * smaller / (shingles[early] + shingles[late])
        return np.maximum(1, _ceil(recipe.slots * part / (1 - part)))

    return table, Needs(np.arange(len(shingles)), least, least, np.zeros_like(least), of_pairs)


def _needs_of_resemblance(counts: I64, slack: I64, least: float) -> Needs:
    """The needs of pairs that have at least `least` of their union in common.

    That is `least` / (1 + `least`) of the sum of both sizes, or more.
    """
    ranks, counts, slack = _by_size(counts, slack)
    half = least / (1 + least)
    early = np.maximum(1, _ceil(2 * half * counts) - slack)  # the late member is not smaller
    late = np.maximum(1, _ceil(least * counts) - slack)
    too_small = np.searchsorted(counts, _ceil(least * counts) - slack.max(initial=0))
    return Needs(
        ranks,
        early,
        late,
        np.minimum(too_small, np.arange(len(counts))),
        lambda a, b: np.maximum(1, _ceil(half * (counts[a] + counts[b])) - np.minimum(slack[a], slack[b])),
    )


def _needs_of_containment(counts: I64, slack: I64, least: float) -> Needs:
    """The needs of pairs that have at least `least` of the smaller member in common."""
    ranks, counts, slack = _by_size(counts, slack)
    return Needs(
        ranks,
        np.maximum(1, _ceil(least * counts) - slack),
        np.ones_like(counts),
        np.zeros_like(counts),
        lambda a, b: np.maximum(1, _ceil(least * counts[a]) - np.minimum(slack[a], slack[b])),
    )


def _by_size(counts: I64, slack: I64) -> tuple[I64, I64, I64]:
    """The rank of each member by its size; and sizes and slacks by rank."""
    order = np.argsort(counts, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks, counts[order], slack[order]


def _ceil(numbers: NDArray[np.floating] | float) -> I64:
    """The numbers rounded up to whole numbers, after a reduction by the fraction `_ROUNDING`."""
    return np.ceil(np.asarray(numbers) * (1 - _ROUNDING)).astype(np.int64)


_Columns = tuple[U32, U32, U32]
"""Pairs: a, b, and how much they have in common."""


def _concatenated(parts: list[_Columns]) -> _Columns:
    a, b, common = (np.concatenate(column) for column in zip(*parts, strict=True))
    return a, b, common


def _columns(a: I64, b: I64, common: I64) -> _Columns:
    return a.astype(np.uint32), b.astype(np.uint32), common.astype(np.uint32)
