"""A query in, the documents that share fingerprints with it out, best first.

Candidates come from the inverted index, numbers from the forward index: what is said of a document
is exact, even if only a part of the query was looked up and so fewer documents are found. (To estimate
from that part costs the same, and errs: what a larger window selects are the smallest hashes, which
survive an edit nearby more often. Estimates were 0.05 to 0.08 too high, at a standard error of 0.01 to 0.03.)
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Literal

import apsw
import numpy as np

from docindex.kernels.arrays import F64, I64, U64, Bool
from docindex.kernels.group_sums import tally
from docindex.query import argument_checks
from docindex.query.measures import Measures
from docindex.query.passages import Passage
from docindex.query.resolve import Query
from docindex.recipe import Recipe
from docindex.storage import documents, forward_index, postings
from docindex.storage.templates import Ignored
from docindex.storage.user_sql import Where

Rank = Literal["rarity", "count", "containment"]

# A hash that `df` contents have weighs 1/df. As whole numbers, whose sum is the same in any order.
_ONE = 1 << 32

# Hits that are kept from counting how many have each hash; beyond it they are read a second time.
_KEPT = 1 << 22

LARGEST_WINDOW = 65_535
"""Larger ones no recipe has, either."""

_ROUNDING = 1e-6  # what is meant to be a whole number of hashes may be computed as a little more

_ALL_AT_ONCE = 1024  # documents looked at in one go where all are wanted


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Match(Measures):
    """A document that shares something with what was asked: `containment` is the share of the query."""

    key: str
    id: int
    score: float
    """What answers are ordered by."""
    _passages: Callable[[], list[Passage]] = dataclasses.field(repr=False, compare=False)

    def passages(self) -> list[Passage]:
        """The passages that the query and the document have in common, as half-open ranges of both texts.

        `TextNotKept` where a text is not in the index any more, or never was.
        """
        return self._passages()


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What `search` was asked for, beside the query."""

    window: int | None = None
    budget: int | None = None
    min_containment: float = 0.0
    min_shared: int = 1
    min_resemblance: float = 0.0
    limit: int | None = 20
    where: Where | None = None
    rank: Rank = "rarity"
    ignore_above: int | None = None

    def check(self, recipe: Recipe) -> None:
        """`TypeError` or `ValueError` for what cannot be asked."""
        if self.window is not None:
            argument_checks.whole("window", self.window, most=LARGEST_WINDOW)
            if self.window < recipe.window:
                raise ValueError(
                    f"window={self.window} is finer than the index, which has the window {recipe.window}; "
                    f"ask with {recipe.window} or more, or make an index with a smaller window"
                )
        for name in ("budget", "limit", "ignore_above"):
            if getattr(self, name) is not None:
                argument_checks.whole(name, getattr(self, name))
        argument_checks.whole("min_shared", self.min_shared, least=0)
        argument_checks.share("min_containment", self.min_containment)
        argument_checks.share("min_resemblance", self.min_resemblance)
        if self.rank not in ("rarity", "count", "containment"):
            raise ValueError(f'rank must be "rarity", "count" or "containment", not {self.rank!r}')


PassageFinder = Callable[[int], list[Passage]]
"""Gives the passages that a content has in common with the query."""


def search(
    db: apsw.Connection,
    query: Query,
    recipe: Recipe,
    ignored: Ignored,
    wanted: Wanted,
    passages_with: PassageFinder,
    check_cancelled: Callable[[], None],
) -> list[Match]:
    """The documents that share fingerprints with a query, by their score, then by their key."""
    asking = _asking(db, query, recipe, ignored, wanted)
    if not len(asking.hashes):
        return same_symbols(db, query, recipe, wanted, passages_with)
    candidates = _candidates(db, asking, check_cancelled)
    enough = candidates.counts >= asking.least(wanted)
    order = candidates.scores if wanted.rank == "rarity" else candidates.counts
    best: list[Match] = []
    for some in _best_first(db, candidates.contents[enough], order[enough], wanted):
        check_cancelled()
        if wanted.limit is not None and len(best) >= wanted.limit:
            # What the inverted index promises, the forward index may take back: rarely, but then the
            # next one may be better.
            best.sort(key=_order)
            del best[wanted.limit :]
            if _order(best[-1]) <= (-_score(some[0].promised, wanted), some[0].key):
                break
        best += _matches(db, some, asking, candidates.weights, ignored, wanted, passages_with)
    best.sort(key=_order)
    return best[: wanted.limit]


def same_symbols(
    db: apsw.Connection, query: Query, recipe: Recipe, wanted: Wanted, passages_with: PassageFinder
) -> list[Match]:
    """For a query of which nothing counts: the documents with the very same symbols, which are its like."""
    contents = documents.of_symbols(db, query.symbols_hash(db, recipe))
    same = documents.documents_of(db, np.array(contents, np.int64), wanted.where)
    matches = [
        Match(
            key=key,
            id=number,
            score=0.0,
            containment=1.0,
            reverse_containment=1.0,
            resemblance=1.0,
            shared=0,
            basis="fingerprints",
            _passages=functools.partial(passages_with, content),
        )
        for content, key, number in same
    ]
    return sorted(matches, key=_order)[: wanted.limit]


def candidates_of(
    db: apsw.Connection, query: Query, recipe: Recipe, ignored: Ignored, check_cancelled: Callable[[], None]
) -> list[int]:
    """The contents that may share a fingerprint with a query."""
    found: list[int] = _candidates(
        db, _asking(db, query, recipe, ignored, Wanted()), check_cancelled
    ).contents.tolist()
    return found


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Asking:
    """The hashes of a query that count, ascending."""

    hashes: U64
    looked_up: Bool
    """Which of them are looked up; all, but for a coarse search or one on a budget."""

    def least(self, wanted: Wanted) -> float:
        """How many of those looked up a document must have to be looked at."""
        size = int(np.count_nonzero(self.looked_up))
        share = size * wanted.min_containment
        if size == len(self.hashes):
            return max(share - _ROUNDING, wanted.min_shared)
        # Of those wanted, not one in 30,000 has four standard errors less in what is looked up.
        return share - 4 * math.sqrt(share * (1 - wanted.min_containment))


def _asking(db: apsw.Connection, query: Query, recipe: Recipe, ignored: Ignored, wanted: Wanted) -> _Asking:
    hashes, coarse = map(ignored.without, query.hashes(db, recipe, wanted.window))
    if wanted.ignore_above is not None and len(hashes):
        common = _common(db, hashes, wanted.ignore_above)
        hashes, coarse = (some[~np.isin(some, common)] for some in (hashes, coarse))
    # The smallest: as good as drawn by lot, and the same in every text. (If nothing is left of what a
    # larger window selects, all that there is.)
    part = (coarse if len(coarse) else hashes)[: wanted.budget]
    looked_up = np.zeros(len(hashes), bool)
    looked_up[np.searchsorted(hashes, part)] = True  # what a larger window selects, a smaller one does
    return _Asking(hashes, looked_up)


def _common(db: apsw.Connection, hashes: U64, ignore_above: int) -> U64:
    """Those of some ascending hashes that more living contents have."""
    gone, having = postings.dead(db), np.zeros(len(hashes), np.int64)
    for which, found in postings.look_up(db, hashes):
        having += np.bincount(which[~np.isin(found, gone)], minlength=len(hashes))
    return hashes[having > ignore_above]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """What the inverted index says: more may be promised than is true, never less."""

    contents: I64
    counts: I64
    scores: I64
    weights: I64
    """What each hash of the query weighs; nothing if it was not looked up."""


def _candidates(db: apsw.Connection, asking: _Asking, check_cancelled: Callable[[], None]) -> _Candidates:
    gone, hashes = postings.dead(db), asking.hashes[asking.looked_up]

    def hits() -> Iterator[tuple[I64, I64]]:
        for which, found in postings.look_up(db, hashes):
            check_cancelled()
            if len(gone):
                alive = ~np.isin(found, gone)
                which, found = which[alive], found[alive]
            yield which, found

    having = np.zeros(len(hashes), np.int64)
    kept, size = [], 0
    for which, found in hits():
        having += np.bincount(which, minlength=len(hashes))
        size += len(which)
        if size <= _KEPT:
            kept.append((which, found))
    weights = _ONE // np.maximum(having, 1)
    total = (np.empty(0, np.int64),) * 3
    for which, found in kept if size <= _KEPT else hits():
        more = tally(found, np.ones_like(found), weights[which])
        total = tally(*map(np.concatenate, zip(total, more, strict=True))) if len(total[0]) else more
    of_all = np.zeros(len(asking.hashes), np.int64)
    of_all[asking.looked_up] = weights
    return _Candidates(*total, of_all)


@dataclasses.dataclass(frozen=True, slots=True)
class _Candidate:
    """A document that may be among the answers."""

    promised: int
    """Its score or its count, if all is true that the inverted index says."""
    key: str
    id: int
    content: int


def _best_first(
    db: apsw.Connection, contents: I64, promised: I64, wanted: Wanted
) -> Iterator[list[_Candidate]]:
    """Documents by what is promised, then by key, some at a time."""
    step = size = wanted.limit or _ALL_AT_ONCE
    while len(contents):
        # With all that promise as much as the last one: among them the keys decide.
        least = np.partition(promised, -size)[-size] if size < len(promised) else 0
        now = promised >= least
        promises = dict(zip(contents[now].tolist(), promised[now].tolist(), strict=True))
        found = sorted(
            (-promises[content], key, number, content)
            for content, key, number in documents.documents_of(db, contents[now], wanted.where)
        )
        for first in range(0, len(found), step):
            yield [_Candidate(-minus, key, *rest) for minus, key, *rest in found[first : first + step]]
        contents, promised, size = contents[~now], promised[~now], 2 * size


def _matches(
    db: apsw.Connection,
    some: list[_Candidate],
    asking: _Asking,
    weights: I64,
    ignored: Ignored,
    wanted: Wanted,
    passages_with: PassageFinder,
) -> Iterator[Match]:
    """Those of some candidates that are wanted, with their numbers."""
    contents = np.array([candidate.content for candidate in some], np.int64)
    of = np.unique(contents)
    at = np.searchsorted(of, contents)
    places, hits = forward_index.shared_with(db, asking.hashes, of)
    counts = np.bincount(places, minlength=len(of))
    numbers = _numbers(len(asking.hashes), counts, _sizes(db, of, ignored, wanted.ignore_above))
    # Only what was looked up decides the order, for of the rest nobody knows how rare it is.
    if wanted.rank == "rarity":
        scores = np.bincount(places, weights[hits], minlength=len(of)) / _ONE
    else:
        scores = np.bincount(places, weights[hits] > 0, minlength=len(of)).astype(np.float64)
    enough = (
        (counts >= wanted.min_shared)
        & (scores > 0)
        & (numbers["containment"] >= wanted.min_containment)
        & (numbers["resemblance"] >= wanted.min_resemblance)
    )
    columns = {name: column.tolist() for name, column in numbers.items()}
    columns |= {"shared": counts.tolist(), "score": scores.tolist()}
    for candidate, place in zip(some, at.tolist(), strict=True):
        if enough[place]:
            yield Match(
                **{name: column[place] for name, column in columns.items()},
                key=candidate.key,
                id=candidate.id,
                basis="fingerprints",
                _passages=functools.partial(passages_with, candidate.content),
            )


def _numbers(size: int, shared: I64, sizes: I64) -> dict[str, F64]:
    """Containment, contained and resemblance of a query of some size and contents of some sizes."""
    return {
        "containment": shared / size,
        "reverse_containment": shared / np.maximum(1, sizes),
        "resemblance": shared / np.maximum(1, size + sizes - shared),
    }


def _sizes(db: apsw.Connection, of: I64, ignored: Ignored, ignore_above: int | None) -> I64:
    """How many different hashes some contents have that count."""
    sizes = documents.sizes_of(db, of)
    not_counting = ignored.hashes
    if ignore_above is not None:
        own = np.unique(np.concatenate([hashes for _, hashes in forward_index.hashes_of(db, of)]))
        not_counting = np.union1d(not_counting, _common(db, own, ignore_above))
    if not len(not_counting):
        return sizes
    places, _ = forward_index.shared_with(db, not_counting, of)
    return sizes - np.bincount(places, minlength=len(of))


def _score(score: int, wanted: Wanted) -> float:
    return score / _ONE if wanted.rank == "rarity" else float(score)


def _order(match: Match) -> tuple[float, str]:
    return -match.score, match.key
