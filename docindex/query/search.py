"""A query in, the documents that share fingerprints with it out, best first.

Candidates come from the inverted index, numbers from the forward index: what is said of a document
is exact, or an estimate with its standard error where only a part of the query was looked up.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Literal

import apsw
import numpy as np

from docindex.kernels.arrays import F64, I64, U64
from docindex.kernels.tally import tally
from docindex.query.asking import Query
from docindex.query.measures import Measures
from docindex.query.passages import Passage
from docindex.recipe import Recipe
from docindex.storage import documents, forward, postings
from docindex.storage.boilerplate import Marked
from docindex.storage.documents import Where

Rank = Literal["rarity", "count", "containment"]

# A hash that `df` contents have weighs 1/df. As whole numbers, whose sum is the same in any order.
_ONE = 1 << 32

# Hits that are kept from counting how many have each hash; beyond it they are read a second time.
_KEPT = 1 << 22

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
    max_documents: int | None = None

    def check(self, recipe: Recipe) -> None:
        """`ValueError` for what cannot be asked."""
        if self.window is not None and operator.index(self.window) < recipe.window:
            raise ValueError(
                f"window={self.window} is finer than the index, which has the window {recipe.window}; "
                f"ask with {recipe.window} or more, or make an index with a smaller window"
            )
        for name in ("budget", "limit", "max_documents", "min_shared"):
            number = getattr(self, name)
            if number is not None and operator.index(number) < (name != "min_shared"):
                raise ValueError(f"{name} must be a whole number of 1 or more, or None, not {number!r}")
        for name in ("min_containment", "min_resemblance"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a share from 0 to 1, not {getattr(self, name)!r}")
        if self.rank not in ("rarity", "count", "containment"):
            raise ValueError(f'rank must be "rarity", "count" or "containment", not {self.rank!r}')


Source = Callable[[int], list[Passage]]
"""Gives the passages that a content has in common with the query."""


def search(
    db: apsw.Connection,
    query: Query,
    recipe: Recipe,
    marked: Marked,
    wanted: Wanted,
    passages_with: Source,
    go_on: Callable[[], None],
) -> list[Match]:
    """The documents that share fingerprints with a query, by their score, then by their key."""
    sample = _sample(db, query, recipe, marked, wanted)
    candidates = _candidates(db, sample.hashes, wanted.max_documents, go_on)
    sample = sample.without(candidates.common)
    if not sample.size:
        return same_symbols(db, query, wanted, passages_with)
    enough = (candidates.counts >= wanted.min_shared) & (
        candidates.counts / sample.size >= wanted.min_containment
    )
    order = candidates.scores if wanted.rank == "rarity" else candidates.counts
    best: list[Match] = []
    for some in _best_first(db, candidates.contents[enough], order[enough], wanted):
        go_on()
        if wanted.limit is not None and len(best) >= wanted.limit:
            # What the inverted index promises, the forward index may take back: rarely, but then the
            # next one may be better.
            best.sort(key=_order)
            del best[wanted.limit :]
            if _order(best[-1]) <= (-_score(some[0].promised, wanted), some[0].key):
                break
        best += _matches(db, some, sample, candidates.weights, marked, wanted, passages_with)
    best.sort(key=_order)
    return best[: wanted.limit]


def same_symbols(db: apsw.Connection, query: Query, wanted: Wanted, passages_with: Source) -> list[Match]:
    """For a query of which nothing counts: the documents with the very same symbols, which are its like."""
    contents = documents.of_symbols(db, query.symbols_hash(db))
    same = documents.documents_of(db, np.array(contents, np.int64), wanted.where)
    matches = [
        Match(
            key=key,
            id=number,
            score=0.0,
            containment=1.0,
            contained=1.0,
            resemblance=1.0,
            shared=0,
            basis="fingerprints",
            _passages=functools.partial(passages_with, content),
        )
        for content, key, number in same
    ]
    return sorted(matches, key=_order)[: wanted.limit]


def candidates_of(
    db: apsw.Connection, query: Query, recipe: Recipe, marked: Marked, go_on: Callable[[], None]
) -> list[int]:
    """The contents that may share a fingerprint with a query."""
    hashes = marked.left_of(query.hashes(db, recipe)[0])
    found: list[int] = _candidates(db, hashes, None, go_on).contents.tolist()
    return found


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """What of a query is looked up."""

    hashes: U64
    whole: float
    """How many hashes the query has in all that count."""
    size: int
    """How many of those that are looked up count."""

    def without(self, common: int) -> "_Sample":
        """The same when so many of the hashes prove too common to count."""
        left = self.size - common
        return _Sample(self.hashes, self.whole * left / max(1, self.size), left)

    def error(self, shared: I64) -> F64:
        """The standard error of the share of the query, when so many of the sample were found."""
        if self.size >= self.whole:
            return np.zeros(len(shared))
        # A binomial with two hits and two misses added, so that it is not 0 when all are found; smaller
        # the more of the whole the sample is.
        likely = (shared + 2) / (self.size + 4)
        rest = (self.whole - self.size) / (self.whole - 1)
        return np.sqrt(likely * (1 - likely) / (self.size + 4) * rest)


def _sample(db: apsw.Connection, query: Query, recipe: Recipe, marked: Marked, wanted: Wanted) -> _Sample:
    whole, hashes = map(marked.left_of, query.hashes(db, recipe, wanted.window))
    hashes = hashes[: wanted.budget]  # the smallest: as good as drawn by lot, and the same in every text
    return _Sample(hashes, len(whole), len(hashes))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """What the inverted index says: more may be promised than is true, never less."""

    contents: I64
    counts: I64
    scores: I64
    weights: I64
    """What each hash of the query weighs."""
    common: int
    """How many hashes of the query more contents have than may."""


def _candidates(
    db: apsw.Connection, hashes: U64, max_documents: int | None, go_on: Callable[[], None]
) -> _Candidates:
    gone = postings.dead(db)

    def hits() -> Iterator[tuple[I64, I64]]:
        for which, found in postings.look_up(db, hashes):
            go_on()
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
    common = having > (np.inf if max_documents is None else max_documents)
    weights = np.where(common, 0, _ONE // np.maximum(having, 1))
    total = (np.empty(0, np.int64),) * 3
    for which, found in kept if size <= _KEPT else hits():
        if common.any():
            counting = ~common[which]
            which, found = which[counting], found[counting]
        more = tally(found, np.ones_like(found), weights[which])
        total = tally(*map(np.concatenate, zip(total, more, strict=True))) if len(total[0]) else more
    return _Candidates(*total, weights, int(np.count_nonzero(common)))


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
    sample: _Sample,
    weights: I64,
    marked: Marked,
    wanted: Wanted,
    passages_with: Source,
) -> Iterator[Match]:
    """Those of some candidates that are wanted, with their numbers."""
    contents = np.array([candidate.content for candidate in some], np.int64)
    of = np.unique(contents)
    at = np.searchsorted(of, contents)
    places, hits = forward.shared_with(db, sample.hashes, of)
    counting = weights[hits] > 0
    places, hits = places[counting], hits[counting]
    counts = np.bincount(places, minlength=len(of))
    numbers = _numbers(sample, counts, _sizes(db, of, marked, wanted.max_documents))
    if wanted.rank == "rarity":
        scores = np.bincount(places, weights[hits], minlength=len(of)) / _ONE
    else:
        scores = counts.astype(np.float64)
    enough = (
        (counts >= max(1, wanted.min_shared))
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


def _numbers(sample: _Sample, shared: I64, sizes: I64) -> dict[str, F64]:
    """Containment, contained and resemblance, and their standard errors, of some contents."""
    error = sample.error(shared)
    both = shared * sample.whole / sample.size
    either = np.maximum(1.0, sample.whole + sizes - both)
    at_least_one = np.maximum(1, sizes)
    return {
        "containment": shared / sample.size,
        "contained": np.minimum(1.0, both / at_least_one),
        "resemblance": np.minimum(1.0, both / either),
        "containment_error": error,
        "contained_error": error * sample.whole / at_least_one,
        "resemblance_error": error * sample.whole * (sample.whole + sizes) / either**2,
    }


def _sizes(db: apsw.Connection, of: I64, marked: Marked, max_documents: int | None) -> I64:
    """How many different hashes some contents have that count."""
    sizes = documents.sizes_of(db, of)
    not_counting = marked.hashes
    if max_documents is not None:
        own = np.unique(np.concatenate([hashes for _, hashes in forward.hashes_of(db, of)]))
        gone = postings.dead(db)
        having = np.zeros(len(own), np.int64)
        for which, found in postings.look_up(db, own):
            having += np.bincount(which[~np.isin(found, gone)], minlength=len(own))
        not_counting = np.union1d(not_counting, own[having > max_documents])
    if not len(not_counting):
        return sizes
    places, _ = forward.shared_with(db, not_counting, of)
    return sizes - np.bincount(places, minlength=len(of))


def _score(score: int, wanted: Wanted) -> float:
    return score / _ONE if wanted.rank == "rarity" else float(score)


def _order(match: Match) -> tuple[float, str]:
    return -match.score, match.key
