"""Find the documents that share fingerprints with a query, best first.

Candidates come from the inverted index, and their numbers from the forward index. If only a part of the
query's hashes is looked up, documents may be missed, but the numbers of a match are still exact. Must never
estimate a number from that part: it costs the same, and the estimates were 0.05 to 0.08 too high, at a
standard error of 0.01 to 0.03. A larger window selects the smallest hashes, and these survive an edit nearby
more often.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from docindex.kernels.arrays import F64, I64, U64, Bool
from docindex.kernels.group_sums import tally
from docindex.query.measures import Measures
from docindex.query.passages import Passage
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.search_options import SearchOptions
from docindex.storage import documents, forward_index, postings

# A hash that n contents have weighs 1/n, in units of 2^-32: a sum of whole numbers is the same in any order.
_ONE = 1 << 32

# Up to this many hits of the first pass are kept in memory. If there are more, all are read a second time.
_KEPT = 1 << 22

_ROUNDING = 1e-6  # a share times a size that should be a whole number may come out a little larger

_ALL_AT_ONCE = 1024  # the first batch of candidates if the number of answers has no limit


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Match(Measures):
    """A document that shares text with a query. `containment` is the share of the query in the document."""

    key: str
    id: int
    score: float
    """The number by which matches are ordered, the largest first."""
    _passages: Callable[[], list[Passage]] = dataclasses.field(repr=False, compare=False)

    def passages(self) -> list[Passage]:
        """The passages that the query and the document have in common, as half-open ranges of both texts.

        `TextNotKept` if one of the two texts was not kept, or was removed from the index.
        """
        return self._passages()


PassageFinder = Callable[[int], list[Passage]]
"""Gives the passages that a content has in common with the query."""


def find_matches(
    scope: Scope, query: Query, options: SearchOptions, passages_with: PassageFinder
) -> list[Match]:
    """The documents that share fingerprints with a query, ordered by score, then by key."""
    hashes = _query_hashes(scope, query, options)
    if not len(hashes.counting):
        return _same_words(scope, query, options, passages_with)
    candidates = _candidates(scope, hashes)
    enough = candidates.counts >= hashes.least(options)
    promised = candidates.scores if options.rank == "rarity" else candidates.counts
    best: list[Match] = []
    for batch in _best_first(scope, candidates.contents[enough], promised[enough], options.limit):
        scope.check_cancelled()
        if options.limit is not None and len(best) >= options.limit:
            # The forward index may lower a score that the inverted index promised. That is rare, but then
            # the next candidate may be better.
            best.sort(key=_order)
            del best[options.limit :]
            if _order(best[-1]) <= (-_score(batch[0].promised, options), batch[0].key):
                break
        scored = _score_batch(scope, batch, hashes, candidates.weights, options)
        best += _matches(batch, scored, passages_with)
    best.sort(key=_order)
    return best[: options.limit]


def match_of(
    measures: Measures, document: tuple[str, int], score: float, passages: Callable[[], list[Passage]]
) -> Match:
    """A match with these measures; `document` is its key and id."""
    key, number = document
    return Match(
        containment=measures.containment,
        reverse_containment=measures.reverse_containment,
        resemblance=measures.resemblance,
        shared=measures.shared,
        basis=measures.basis,
        containment_error=measures.containment_error,
        reverse_containment_error=measures.reverse_containment_error,
        resemblance_error=measures.resemblance_error,
        key=key,
        id=number,
        score=score,
        _passages=passages,
    )


def candidates_of(scope: Scope, query: Query) -> list[int]:
    """The contents that may share a fingerprint with a query."""
    found: list[int] = _candidates(scope, _query_hashes(scope, query, SearchOptions())).contents.tolist()
    return found


def _same_words(
    scope: Scope, query: Query, options: SearchOptions, passages_with: PassageFinder
) -> list[Match]:
    """The matches of a query without hashes that count: the documents that have exactly its words."""
    contents = documents.with_words_hash(scope.db, query.words_hash(scope))
    whole = Measures(
        containment=1.0, reverse_containment=1.0, resemblance=1.0, shared=0, basis="fingerprints"
    )
    matches = [
        match_of(whole, (key, number), 0.0, functools.partial(passages_with, content))
        for content, key, number in scope.documents_of(np.array(contents, np.int64))
    ]
    return sorted(matches, key=_order)[: options.limit]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _QueryHashes:
    """The hashes of a query that are counted, and whether they are looked up."""

    counting: U64
    """Ascending, without hashes of the boilerplate and hashes that too many contents have."""
    looked_up: Bool
    """Whether each hash is looked up. All are, unless the search has a larger window or a budget."""

    def least(self, options: SearchOptions) -> float:
        """The number of looked-up hashes that a candidate must have."""
        size = int(np.count_nonzero(self.looked_up))
        share = size * options.min_containment
        if size == len(self.counting):
            return max(share - _ROUNDING, options.min_shared)
        # Among 30,000 documents that have enough, one has four standard errors less in the looked-up part.
        return share - 4 * math.sqrt(share * (1 - options.min_containment))


def _query_hashes(scope: Scope, query: Query, options: SearchOptions) -> _QueryHashes:
    hashes, coarse = map(scope.ignored.without, query.hashes(scope, options.window))
    if options.ignore_above is not None and len(hashes):
        common = _common(scope, hashes, options.ignore_above)
        hashes, coarse = (some[~np.isin(some, common)] for some in (hashes, coarse))
    # Take the smallest hashes: they are as good as a random sample, and the same in every text. If the larger
    # window selects only hashes that do not count, look up all that count.
    part = (coarse if len(coarse) else hashes)[: options.budget]
    looked_up = np.zeros(len(hashes), bool)
    looked_up[np.searchsorted(hashes, part)] = True  # a smaller window selects all that a larger one does
    return _QueryHashes(hashes, looked_up)


def _common(scope: Scope, hashes: U64, ignore_above: int) -> U64:
    """The hashes that more than `ignore_above` contents have; `hashes` must ascend."""
    removed, having = postings.dead(scope.db), np.zeros(len(hashes), np.int64)
    for which, found in postings.look_up(scope.db, hashes):
        having += np.bincount(which[~np.isin(found, removed)], minlength=len(hashes))
    return hashes[having > ignore_above]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Contents from the inverted index. Their counts and scores may be too high, but never too low."""

    contents: I64
    counts: I64
    scores: I64
    weights: I64
    """The weight of each hash of the query; 0 if the hash was not looked up."""


def _candidates(scope: Scope, asked: _QueryHashes) -> _Candidates:
    removed, hashes = postings.dead(scope.db), asked.counting[asked.looked_up]

    def hits() -> Iterator[tuple[I64, I64]]:
        for which, found in postings.look_up(scope.db, hashes):
            scope.check_cancelled()
            if len(removed):
                alive = ~np.isin(found, removed)
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
    all_weights = np.zeros(len(asked.counting), np.int64)
    all_weights[asked.looked_up] = weights
    return _Candidates(*total, all_weights)


@dataclasses.dataclass(frozen=True, slots=True)
class _Candidate:
    """A document that may be a match."""

    promised: int
    """Its score or its count, according to the inverted index; it may be too high."""
    key: str
    id: int
    content: int


def _best_first(scope: Scope, contents: I64, promised: I64, limit: int | None) -> Iterator[list[_Candidate]]:
    """The documents of some contents in batches, ordered by the promised score or count, then by key."""
    step = size = limit or _ALL_AT_ONCE
    while len(contents):
        # Take all that promise as much as the last one, because their keys decide the order.
        least = np.partition(promised, -size)[-size] if size < len(promised) else 0
        now = promised >= least
        promises = dict(zip(contents[now].tolist(), promised[now].tolist(), strict=True))
        found = sorted(
            (-promises[content], key, number, content)
            for content, key, number in scope.documents_of(contents[now])
        )
        for first in range(0, len(found), step):
            yield [_Candidate(-minus, key, *rest) for minus, key, *rest in found[first : first + step]]
        contents, promised, size = contents[~now], promised[~now], 2 * size


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _ScoredContents:
    """The exact numbers of some contents, and which of them meet the thresholds."""

    contents: I64
    containment: F64
    reverse_containment: F64
    resemblance: F64
    shared: I64
    scores: F64
    enough: Bool


def _score_batch(
    scope: Scope, batch: list[_Candidate], asked: _QueryHashes, weights: I64, options: SearchOptions
) -> _ScoredContents:
    """The exact numbers of the contents of some candidates."""
    contents = np.unique(np.array([candidate.content for candidate in batch], np.int64))
    places, hits = forward_index.shared_with(scope.db, asked.counting, contents)
    shared = np.bincount(places, minlength=len(contents))
    # Only hashes that were looked up decide the order: nobody knows how rare the others are.
    if options.rank == "rarity":
        scores = np.bincount(places, weights[hits], minlength=len(contents)) / _ONE
    else:
        scores = np.bincount(places, weights[hits] > 0, minlength=len(contents)).astype(np.float64)
    size, sizes = len(asked.counting), _sizes(scope, contents, options.ignore_above)
    containment = shared / size
    resemblance = shared / np.maximum(1, size + sizes - shared)
    return _ScoredContents(
        contents=contents,
        containment=containment,
        reverse_containment=shared / np.maximum(1, sizes),
        resemblance=resemblance,
        shared=shared,
        scores=scores,
        enough=(
            (shared >= options.min_shared)
            & (scores > 0)
            & (containment >= options.min_containment)
            & (resemblance >= options.min_resemblance)
        ),
    )


def _matches(
    batch: list[_Candidate], scored: _ScoredContents, passages_with: PassageFinder
) -> Iterator[Match]:
    """The candidates that meet the thresholds, as matches."""
    place_of = {content: place for place, content in enumerate(scored.contents.tolist())}
    enough, scores = scored.enough.tolist(), scored.scores.tolist()
    containment, reverse_containment = scored.containment.tolist(), scored.reverse_containment.tolist()
    resemblance, shared = scored.resemblance.tolist(), scored.shared.tolist()
    for candidate in batch:
        place = place_of[candidate.content]
        if enough[place]:
            yield Match(
                containment=containment[place],
                reverse_containment=reverse_containment[place],
                resemblance=resemblance[place],
                shared=shared[place],
                basis="fingerprints",
                key=candidate.key,
                id=candidate.id,
                score=scores[place],
                _passages=functools.partial(passages_with, candidate.content),
            )


def _sizes(scope: Scope, contents: I64, ignore_above: int | None) -> I64:
    """The number of different hashes that count, for each content."""
    sizes = documents.sizes_of(scope.db, contents)
    not_counting = scope.ignored.hashes
    if ignore_above is not None:
        own = np.unique(np.concatenate([hashes for _, hashes in forward_index.hashes_of(scope.db, contents)]))
        not_counting = np.union1d(not_counting, _common(scope, own, ignore_above))
    if not len(not_counting):
        return sizes
    places, _ = forward_index.shared_with(scope.db, not_counting, contents)
    return sizes - np.bincount(places, minlength=len(contents))


def _score(promised: int, options: SearchOptions) -> float:
    return promised / _ONE if options.rank == "rarity" else float(promised)


def _order(match: Match) -> tuple[float, str]:
    return -match.score, match.key
