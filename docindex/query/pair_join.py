"""An index and a threshold in, all pairs of its texts that reach it out, as numbers.

What stands for a text here is a *node*: a content, or several of the same symbols, which are alike
whatever is counted. Must never know a key.
"""

import dataclasses
from collections.abc import Iterator
from typing import Literal

import apsw
import numpy as np
from numpy.typing import NDArray

from docindex.kernels.arrays import F64, I64, U32, U64, Bool, owners, ranges, starts_of
from docindex.kernels.feature_hashes import features
from docindex.kernels.joins import starts_of_runs
from docindex.kernels.minhash import EMPTY_SLOT, estimate_resemblance
from docindex.query.candidates import CheckCancelled, Groups, Needs, candidates
from docindex.query.overlap import FingerprintOverlap
from docindex.recipe import Recipe
from docindex.storage import bulk

Method = Literal["fingerprints", "sketches", "features"]
Measure = Literal["resemblance", "containment"]

# Products of shares and sizes are rounded; so much less is asked for, and the exact numbers decide.
_ROUNDING = 1e-9

# Pairs whose numbers are worked out at a time, where one of them is kept.
_SCORED = 1 << 20

# Rows of slots that are compared at a time: half a kilobyte each, and there are two.
_COMPARED = 1 << 14


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Threshold:
    """What pairs are wanted, and what counts."""

    measure: Measure
    """Of containment, that of the one in the other which is larger."""
    least: float
    method: Method = "fingerprints"
    ignored: U64 = dataclasses.field(default_factory=lambda: np.empty(0, np.uint64))
    """Hashes that do not count, ascending, as they are stored."""
    ignore_above: int | None = None
    """Hashes that more contents have do not count, either."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PairNumbers:
    """What some pairs have in common."""

    resemblance: F64
    containment: F64
    """Of the first in the second."""
    reverse_containment: F64
    """Of the second in the first."""
    shared: I64
    error: F64
    """Of the resemblance."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JoinedPairs:
    """Pairs of nodes. A node that is paired with itself says that all its documents are the same text."""

    a: U32
    b: U32
    common: U32
    """How many hashes, or slots, both have."""
    sizes: I64
    """How many hashes that count each node has, or how many shingles; 0 where nobody asked."""
    starts: I64
    contents: I64
    """The contents of each node, end to end, and where each node's begin."""
    slots: int | None
    """How many slots there are; None where fingerprints were counted."""
    set_aside: int
    """How many different hashes too many contents have."""

    def __len__(self) -> int:
        return len(self.a)

    def only(self, which: I64) -> "JoinedPairs":
        """Some of the pairs."""
        return dataclasses.replace(self, a=self.a[which], b=self.b[which], common=self.common[which])

    def scores(self, measure: Measure) -> F64:
        """What each pair is measured by: of containment the larger one."""
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
        """What each pair has in common."""
        size_a, size_b, common = self.sizes[self.a], self.sizes[self.b], self.common.astype(np.int64)
        same = self.a == self.b
        if self.slots is None:
            shared, error = common, np.zeros(len(self))
            resemblance = _share(common, size_a + size_b - common)
        else:
            # For each number of equal slots, what sketches with so many say.
            ones = np.ones((self.slots + 1, self.slots), np.uint32)
            estimates, errors = estimate_resemblance(
                np.tri(self.slots + 1, self.slots, -1, dtype=np.uint32), ones
            )
            resemblance, error = estimates[common], np.where(same, 0.0, errors[common])
            inter = np.minimum(
                resemblance / (1 + resemblance) * (size_a + size_b), np.minimum(size_a, size_b)
            )
            shared = np.where(same, size_a, np.rint(inter).astype(np.int64))
        inter = shared if self.slots is None else inter
        return PairNumbers(
            np.where(same, 1.0, resemblance),
            np.where(same, 1.0, _share(inter, size_a)),
            np.where(same, 1.0, _share(inter, size_b)),
            shared,
            error,
        )


def join_pairs(
    db: apsw.Connection,
    recipe: Recipe,
    wanted: Threshold,
    chosen: I64 | None,
    check_cancelled: CheckCancelled,
) -> JoinedPairs:
    """All pairs that reach the threshold, of all contents or of the chosen ones, ascending.

    By fingerprints exact and complete: 5.6 million of 6,283 contents take 0.9 s for resemblance 0.5.
    Memory for a hundred numbers or so of each content and 12 bytes a pair; of all else for a bounded
    stretch. By sketches all pairs whose estimate reaches the threshold, by features those of them that
    pass the filter; both hold the slots of all contents in memory.
    """
    sizes = bulk.sizes(db)
    places = np.arange(len(sizes.contents))
    if chosen is not None:
        places = places[np.isin(sizes.contents, chosen)]
    # Those of the same symbols together, the oldest first.
    order = places[np.argsort(sizes.symbols[places], kind="stable")]
    class_starts = starts_of_runs(sizes.symbols[order].astype(np.uint64))
    copied = np.isin(sizes.contents[order], bulk.copied(db))
    several = np.diff(starts_of(copied.astype(np.int64))[class_starts]) > 0
    several |= np.diff(class_starts) > 1
    check_cancelled()
    if wanted.method == "fingerprints":
        return _by_fingerprints(
            db, wanted, sizes, order, class_starts, np.flatnonzero(several), check_cancelled
        )
    return _by_slots(db, recipe, wanted, sizes, order, class_starts, np.flatnonzero(several), check_cancelled)


def _by_fingerprints(
    db: apsw.Connection,
    wanted: Threshold,
    sizes: bulk.Sizes,
    order: I64,
    starts: I64,
    several: I64,
    check_cancelled: CheckCancelled,
) -> JoinedPairs:
    # The classes by their first content, which stands for all of them.
    firsts = np.sort(order[starts[:-1]])
    node_of = np.empty(len(sizes.contents), np.int64)
    node_of[order[starts[:-1]]] = np.arange(len(starts) - 1)
    nodes = node_of[firsts]
    source = FingerprintOverlap(
        db, sizes.contents, sizes.contents[firsts], wanted.ignored, wanted.ignore_above, check_cancelled
    )

    def needs_of(counts: I64) -> Needs:
        # A content may have more hashes than postings: such as begin alike.
        slack = np.maximum(sizes.hashes[firsts] - source.postings, 0)
        return (_resembling if wanted.measure == "resemblance" else _containing)(counts, slack, wanted.least)

    counted = np.zeros(len(nodes), np.int64)
    found: list[tuple[U32, U32, U32]] = []
    for a, b in candidates(source, needs_of, check_cancelled):
        for part, shared, size_a, size_b in source.exactly(a, b):
            if wanted.measure == "resemblance":
                reached = _share(shared, size_a + size_b - shared)
            else:
                reached = _share(shared, np.minimum(size_a, size_b))
            kept = np.flatnonzero(reached >= wanted.least)
            own, other = a[part][kept], b[part][kept]
            counted[nodes[own]], counted[nodes[other]] = size_a[kept], size_b[kept]
            found.append(_narrow(nodes[own], nodes[other], shared[kept]))
    ranks = np.empty(len(nodes), np.int64)
    ranks[nodes] = np.arange(len(nodes))
    at = np.sort(ranks[several])
    counted[nodes[at]] = source.sizes(at)
    found.append(_narrow(several, several, counted[several]))
    return _joined(found, counted, starts, sizes.contents[order], None, len(source.set_aside))


def _by_slots(
    db: apsw.Connection,
    recipe: Recipe,
    wanted: Threshold,
    sizes: bulk.Sizes,
    order: I64,
    class_starts: I64,
    several: I64,
    check_cancelled: CheckCancelled,
) -> JoinedPairs:
    # Each content is a node, for those of the same symbols may part them into words in other ways; then
    # the classes of several are.
    contents = sizes.contents[order]
    shingles = sizes.shingles[order]
    slots = bulk.stored_slots(db, contents, recipe.slots)
    k, s, r = recipe.features
    source: _Columns
    if wanted.method == "sketches":
        source = _Columns(slots, slots == EMPTY_SLOT)
    else:
        source = _Columns(features(slots, k, s), slots[:, :1] == EMPTY_SLOT)
    needs_nothing = np.ones(len(contents), np.int64)
    if wanted.method == "features":
        least = needs_nothing * r
    elif wanted.measure == "resemblance":
        least = needs_nothing * max(1, int(_ceil(wanted.least * recipe.slots)))
    else:
        least = needs_nothing

    def of_pairs(early: I64, late: I64) -> I64:
        if wanted.method == "features" or wanted.measure == "resemblance":
            return least[early]
        # Of resemblance r, r / (1 + r) of both sizes together are shared.
        smaller = np.minimum(shingles[early], shingles[late])
        part = wanted.least * smaller / (shingles[early] + shingles[late])
        return np.maximum(1, _ceil(recipe.slots * part / (1 - part)))

    needs = Needs(np.arange(len(contents)), least, least, np.zeros_like(least), of_pairs)
    class_of = owners(class_starts)
    found = []
    for a, b in candidates(source, lambda _: needs, check_cancelled):
        for begin in range(0, len(a), _COMPARED):
            check_cancelled()
            own, other = a[begin : begin + _COMPARED], b[begin : begin + _COMPARED]
            kept = class_of[own] != class_of[other]
            if wanted.method == "features":
                kept &= source.common(own, other) >= r
            own, other = own[kept], other[kept]
            found.append(_narrow(own, other, np.count_nonzero(slots[own] == slots[other], axis=1)))
    counts = np.diff(class_starts)[several]
    node_starts = np.concatenate([np.arange(len(contents)), len(contents) + starts_of(counts)])
    new = len(contents) + np.arange(len(several))
    found.append(_narrow(new, new, np.full(len(several), recipe.slots)))
    together = _joined(
        found,
        np.concatenate([shingles, shingles[class_starts[several]]]),
        node_starts,
        np.concatenate([contents, contents[ranges(class_starts[several], counts)]]),
        recipe.slots,
        0,
    )
    return together.only(np.flatnonzero(together.scores(wanted.measure) >= wanted.least))


class _Columns:
    """A table with a row for each content: who has the same in a column is in one group."""

    def __init__(self, table: U32 | U64, empty: Bool) -> None:
        self._table = table
        self._empty = np.broadcast_to(empty, table.shape)

    @property
    def count(self) -> int:
        return len(self._table)

    def common(self, a: I64, b: I64) -> I64:
        """How many columns each pair has in common."""
        return np.asarray(np.count_nonzero(self._table[a] == self._table[b], axis=1))

    def groups(self) -> Iterator[Groups]:
        for column, empty in zip(self._table.T, self._empty.T, strict=True):
            there = np.flatnonzero(~empty)
            members = there[np.argsort(column[there], kind="stable")]
            yield np.diff(starts_of_runs(column[members].astype(np.uint64))), members


def _resembling(counts: I64, slack: I64, least: float) -> Needs:
    """Shared is a share of the union, so `least` / (1 + `least`) of both sizes together, or more."""
    ranks, counts, slack = _by_size(counts, slack)
    half = least / (1 + least)
    early = np.maximum(1, _ceil(2 * half * counts) - slack)  # the other one is not smaller
    late = np.maximum(1, _ceil(least * counts) - slack)
    too_small = np.searchsorted(counts, _ceil(least * counts) - slack.max(initial=0))
    return Needs(
        ranks,
        early,
        late,
        np.minimum(too_small, np.arange(len(counts))),
        lambda a, b: np.maximum(1, _ceil(half * (counts[a] + counts[b])) - np.minimum(slack[a], slack[b])),
    )


def _containing(counts: I64, slack: I64, least: float) -> Needs:
    """Shared is a share of the smaller one."""
    ranks, counts, slack = _by_size(counts, slack)
    return Needs(
        ranks,
        np.maximum(1, _ceil(least * counts) - slack),
        np.ones_like(counts),
        np.zeros_like(counts),
        lambda a, b: np.maximum(1, _ceil(least * counts[a]) - np.minimum(slack[a], slack[b])),
    )


def _by_size(counts: I64, slack: I64) -> tuple[I64, I64, I64]:
    order = np.argsort(counts, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks, counts[order], slack[order]


def _ceil(numbers: NDArray[np.floating] | float) -> I64:
    """The least whole numbers that are not smaller, give or take rounding."""
    return np.ceil(np.asarray(numbers) * (1 - _ROUNDING)).astype(np.int64)


def _share(part: I64 | F64, whole: I64) -> F64:
    """Quotients; 0 of nothing."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _narrow(a: I64, b: I64, common: I64) -> tuple[U32, U32, U32]:
    return a.astype(np.uint32), b.astype(np.uint32), common.astype(np.uint32)


def _joined(
    found: list[tuple[U32, U32, U32]], sizes: I64, starts: I64, contents: I64, slots: int | None, aside: int
) -> JoinedPairs:
    a, b, common = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return JoinedPairs(a, b, common, sizes, starts, contents, slots, aside)
