"""Count the fingerprints that contents share with a query, and compute their scores.

In: the hashes of a query with their weights, and contents. Out: a score and numbers for each content, both
from the forward index; only the weights of hashes come from the inverted index. The hashes of very long
contents are read in pieces. Must never know a key.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Self

import numpy as np

from docindex.arrays.ranges import F64, I64, U64, Bool, ranges, starts_of, union
from docindex.query.measures import Measures, measures_of, shares_of_sets, unit_errors
from docindex.query.scope import Scope
from docindex.query.search.hash_lookup import Candidates, QueryHashes, frequencies, hashes_above
from docindex.query.search.options import SearchOptions
from docindex.query.search.ranking import LEAST_MEAN, SAMPLE, scores_of, weights_of
from docindex.storage.rows import documents, forward_index
from docindex.storage.rows.forward_index import ForwardHashes, HashSet

# Up to this many hashes of contents are read together: 2 MB.
_AT_ONCE = 1 << 18


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CountedHashes:
    """What the hashes of some contents have in common with a query. Each field has an entry for a content."""

    shared: I64
    """How many of the query's hashes each content has."""
    weights: I64 | F64
    """The sum of the weights of these hashes."""
    sizes: I64
    """How many hashes that count each content has."""
    sampled: I64
    """How many other hashes of each content are in the sample."""
    sample: U64
    """The smallest other hashes of each content that count, end to end."""


class HashCounter:
    """Counts the hashes of contents for one query."""

    def __init__(self, scope: Scope, asked: U64, weights: I64, not_counting: Callable[[U64], U64]) -> None:
        """`asked` are the hashes of the query that count, ascending, and `weights` are theirs.

        `not_counting` gives those of some hashes that do not count, and perhaps others; ascending.
        """
        self._scope = scope
        self._asked = HashSet(asked)
        self._weights = weights.astype(np.float64)
        self._not_counting = not_counting

    def counted(self, contents: I64, most: int) -> CountedHashes:
        """Count the hashes of ascending contents, of which a sample has at most `most`."""
        scope = self._scope
        sizes = documents.sizes_of(scope.db, contents).hashes
        if int(sizes.sum()) > _AT_ONCE:
            return self._counted_in_pieces(contents, sizes, most)
        hashes, starts = forward_index.distinct_hashes_of(scope.db, contents, scope.recipe.window)
        owners = np.arange(len(contents)).repeat(np.diff(starts))
        places, found = self._asked.find(hashes)
        of = owners.take(places)
        shared = np.bincount(of, minlength=len(contents))
        # Sums of whole numbers below 2^53 are exact in floating point too.
        weights = np.bincount(of, self._weights.take(found), minlength=len(contents))
        are_others = np.ones(len(hashes), bool)
        are_others[places] = False
        sizes = np.diff(starts)
        without = self._not_counting(hashes)
        if len(without):
            dropped, _ = HashSet(without).find(hashes)
            are_others[dropped] = False
            sizes -= np.bincount(owners.take(dropped), minlength=len(contents))
        others = are_others.nonzero()[0]
        counts = sizes - shared
        sampled = np.minimum(counts, most)
        sample = hashes.take(others.take(ranges(starts_of(counts)[:-1], sampled)))
        return CountedHashes(shared, weights, sizes, sampled, sample)

    def _counted_in_pieces(self, contents: I64, sizes: I64, most: int) -> CountedHashes:
        """The same if the contents are so long that their hashes should not be in memory together."""
        of = ForwardHashes(self._scope.db, contents, self._scope.recipe.window)
        places, found = forward_index.shared_with(self._asked, of)
        shared = np.bincount(places, minlength=len(contents))
        weights = np.bincount(places, self._weights.take(found), minlength=len(contents))
        without = union(*(self._not_counting(hashes) for _, hashes in of))
        sizes = forward_index.sizes_without(without, of, sizes)
        if not most:
            return CountedHashes(shared, weights, sizes, np.zeros_like(sizes), without[:0])
        dropped = HashSet(union(self._asked.hashes, without)) if len(without) else self._asked
        owners, sample = forward_index.smallest_without(dropped, of, sizes - shared, most)
        return CountedHashes(shared, weights, sizes, np.bincount(owners, minlength=len(contents)), sample)


# The highest possible scores are computed for this many contents at a time. Each may cost a row.
_BOUNDS_AT_ONCE = 256
# The lowest score among the answers is guessed from this many contents, or as many as there may be answers.
# So many contents are scored at once.
_GUESSED_FROM = 32
# The first batch has at most this many contents, or as many as there may be answers; each later one may have
# twice as many as the one before.
_FIRST_BATCH = 64


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Contents with their scores, and what their measures are computed from."""

    contents: I64
    scores: F64
    shared: I64
    """How many hashes that count each content shares with the query."""
    sizes: I64
    """How many hashes that count each content has."""

    @classmethod
    def of(cls, pieces: Sequence[Self]) -> Self:
        """The contents of all pieces."""
        if len(pieces) == 1:
            return pieces[0]
        columns = ((each.contents, each.scores, each.shared, each.sizes) for each in pieces)
        return cls(*map(np.concatenate, zip(*columns, strict=True)))

    def only(self, which: Bool) -> Self:
        """Some of the contents."""
        if which.all():
            return self
        return type(self)(self.contents[which], self.scores[which], self.shared[which], self.sizes[which])


class Scorer:
    """Scores contents for one query."""

    def __init__(self, scope: Scope, asked: QueryHashes, weights: I64, options: SearchOptions) -> None:
        """`weights` are those of the hashes of the query; 0 for a hash that was not looked up."""
        self._scope = scope
        self._asked = asked
        self._options = options
        self._counter = HashCounter(scope, asked.counting, weights, self._not_counting)
        self._whole = int(weights.sum())
        """The weight of the looked-up hashes of the query."""
        self._share = asked.share
        self._mean = self._whole / np.count_nonzero(asked.looked_up)
        """The mean weight of these hashes."""

    def promising(self, candidates: Candidates, lowest: Callable[[], float]) -> Iterator[I64]:
        """Yield contents in ascending batches until no other content can have a score of `lowest()` or more.

        This is the pruning by upper bounds that is known as MaxScore (Turtle and Flood, 1995).
        Contents with too few hashes to reach the minimums are left out.
        """
        # The first batch has the contents that may reach a guess of the lowest score. So a search among 7,261
        # files needs 1.4 batches instead of 2.2, for as many contents.
        limit = self._options.limit
        enough = (candidates.counts >= self._asked.least(self._options)).nonzero()[0]
        if len(enough) <= _GUESSED_FROM:
            if len(enough):
                yield candidates.contents[enough]
            return
        # No score is higher than without the content's other hashes, and this needs no row.
        highest = scores_of(candidates.sums, self._whole, np.zeros(1))
        some, left = _largest(highest, enough, max(limit or 0, _GUESSED_FROM))
        waiting, (bounds, guesses) = candidates.contents[some], self._bounds(candidates, some)
        least = _largest_but(guesses, limit)
        ordered, left = _best_first(highest, left, least)
        size = _BOUNDS_AT_ONCE if limit is None else min(max(limit, _FIRST_BATCH), _BOUNDS_AT_ONCE)
        while True:
            some, ordered = ordered[:_BOUNDS_AT_ONCE], ordered[_BOUNDS_AT_ONCE:]
            some = some[: np.count_nonzero(highest[some] >= least)]
            if len(some):
                waiting = np.concatenate([waiting, candidates.contents[some]])
                bounds = np.concatenate([bounds, self._bounds(candidates, some)[0]])
            likely = (bounds >= least).nonzero()[0]
            if len(likely):
                likely = likely[np.argsort(-bounds[likely], kind="stable")[:size]]
                yield np.sort(waiting[likely])
                others = np.ones(len(waiting), bool)
                others[likely] = False
                waiting, bounds = waiting[others], bounds[others]
                size = min(2 * size, _BOUNDS_AT_ONCE)
            elif not len(some) and not len(left):
                return
            least = lowest()
            if len(left):  # if the guess was too high, some of them may have the lowest score
                more, _ = _best_first(highest, left, least)
                ordered, left = np.concatenate([ordered, more]), left[:0]

    def _bounds(self, candidates: Candidates, places: I64) -> tuple[F64, F64]:
        """The highest score that each of some candidates can have, and a guess of its score."""
        sums, others = candidates.sums[places], np.zeros(len(places))
        # Without the boilerplate and common hashes, a content may have fewer others than its size tells.
        if (
            self._options.rank == "likeness"
            and not len(self._scope.ignored.hashes)
            and not self._options.ignore_above
        ):
            contents = candidates.contents[places]
            order = np.argsort(contents)
            sizes = np.empty_like(contents)
            sizes[order] = documents.sizes_of(self._scope.db, contents[order]).hashes
            shared = candidates.counts[places] if self._share == 1 else len(self._asked.counting)
            others = self._share * (np.maximum(sizes - shared, 0) * float(LEAST_MEAN))
        guessed = others * (self._mean / LEAST_MEAN)
        return scores_of(sums, self._whole, others), scores_of(sums, self._whole, guessed)

    def scored(self, contents: I64, least: float) -> Scored:
        """The scores of some contents, which must ascend, without some that are below `least`."""
        if self._options.rank == "excerpt":
            found = self._counter.counted(contents, 0)
            scores = scores_of(found.weights, self._whole, np.zeros(len(contents)))
            return Scored(contents, scores, found.shared, found.sizes)
        found = self._counter.counted(contents, SAMPLE)
        # Many contents have too low a score already if their other hashes weigh nothing.
        likely = self._scores(found, np.zeros(len(found.sample))) >= least
        sought = found.sample[likely.repeat(found.sampled)]
        distinct = union(sought)
        weights = np.zeros(len(found.sample), np.int64)
        counts = frequencies(self._scope, distinct)[distinct.searchsorted(sought)]
        weights[likely.repeat(found.sampled)] = weights_of(counts, self._options.rank)
        return Scored(contents, self._scores(found, weights), found.shared, found.sizes).only(likely)

    def _scores(self, found: CountedHashes, weights: I64 | F64) -> F64:
        """The scores of contents, given the weights of the hashes in their samples."""
        sampled = found.sampled
        owners = np.arange(len(sampled)).repeat(sampled)
        sums = np.bincount(owners, weights, minlength=len(sampled))
        means: F64 = np.maximum(sums / np.maximum(sampled, 1), LEAST_MEAN)
        # If only a part of the query is looked up, as large a part of the document is weighed.
        others: F64 = (found.sizes - found.shared) * means
        return scores_of(found.weights, self._whole, self._share * others)

    def measures(self, scored: Scored) -> dict[int, Measures]:
        """The measures of contents by fingerprints."""
        scope, contents = self._scope, scored.contents
        order = np.argsort(contents)
        sizes = documents.sizes_of(scope.db, contents[order])
        symbols, shingles = np.empty_like(contents), np.empty_like(contents)
        symbols[order], shingles[order] = sizes.symbols, sizes.shingles
        errors = unit_errors(symbols, shingles, scope.recipe, scope.ignoring(self._options.ignore_above))
        asked = np.full(len(contents), len(self._asked.counting))
        shares = shares_of_sets(scored.shared, asked, scored.sizes, errors)
        found = measures_of(shares, scored.shared, itertools.repeat("fingerprints", len(contents)))
        return dict(zip(contents.tolist(), found, strict=True))

    def _not_counting(self, hashes: U64) -> U64:
        """Those of some hashes that are not counted, and others; ascending."""
        most = self._options.ignore_above
        if most is None:
            return self._scope.ignored.hashes
        return union(self._scope.ignored.hashes, hashes_above(self._scope, union(hashes), most))


def _largest(scores: F64, places: I64, count: int) -> tuple[I64, I64]:
    """The `count` places with the largest scores, or all if there are fewer; and the others. In any order."""
    if len(places) <= count:
        return places, places[:0]
    # To sort all of 2,000 candidates would take five times as long.
    order = np.argpartition(-scores[places], count)
    return places[order[:count]], places[order[count:]]


def _best_first(scores: F64, places: I64, least: float) -> tuple[I64, I64]:
    """The places with at least this score, the largest score first; and the other places."""
    reach = scores[places] >= least
    some = places[reach]
    return some[np.argsort(-scores[some], kind="stable")], places[~reach]


def _largest_but(scores: F64, limit: int | None) -> float:
    """The score that `limit` of some scores reach; -1 if there are fewer."""
    return -1.0 if limit is None or len(scores) < limit else float(np.partition(scores, -limit)[-limit])
