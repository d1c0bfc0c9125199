"""Count the fingerprints that contents share with a query, and compute their scores.

In: the hashes of a query with their weights, and contents. Out: a score and numbers for each content, both
from the forward index; only the weights of hashes come from the inverted index. Must never know a key.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Self

import numpy as np

from docindex.kernels.arrays import F64, I64, U64, Bool, union
from docindex.query.hash_lookup import Candidates, QueryHashes, frequencies, hashes_above
from docindex.query.measures import Measures, measures_of, shares_of_sets, unit_errors
from docindex.query.ranking import LEAST_MEAN, SAMPLE, scores_of, weights_of
from docindex.query.scope import Scope
from docindex.query.search_options import SearchOptions
from docindex.storage import documents, forward_index
from docindex.storage.documents import ContentSizes
from docindex.storage.forward_index import ForwardHashes, HashSet

# The highest possible scores are computed for this many contents at a time, and at first for fewer: the
# scores of the first batch then tell how many more are needed. Each costs a row.
_BOUNDS_AT_ONCE = 256
_FIRST_BOUNDS = 32
# The first batch has at least this many contents; each other has twice as many as the one before.
_FIRST_BATCH = 24

_NO_SIZES = np.empty((len(ContentSizes._fields), 0), np.int64)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Contents with their scores, and what their measures are computed from."""

    contents: I64
    scores: F64
    counts: I64
    """How many hashes that count each content shares with the query, and how many it has; two rows."""
    units: I64
    """How many symbols and how many shingles each content has; two rows."""

    @classmethod
    def of(cls, pieces: Sequence[Self]) -> Self:
        """The contents of all pieces."""
        if len(pieces) == 1:
            return pieces[0]
        columns = ((each.contents, each.scores, each.counts, each.units) for each in pieces)
        return cls(*(np.concatenate(column, axis=-1) for column in zip(*columns, strict=True)))

    def only(self, which: Bool) -> Self:
        """Some of the contents."""
        if which.all():
            return self
        contents, scores = self.contents[which], self.scores[which]
        return type(self)(contents, scores, self.counts[:, which], self.units[:, which])


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores contents for one query."""

    scope: Scope
    asked: QueryHashes
    weights: I64
    """The weight of each hash of the query; 0 if the hash was not looked up."""
    options: SearchOptions
    _known: list[tuple[I64, I64]] = dataclasses.field(default_factory=list)
    """The contents whose sizes were read, ascending, and a row for each column of `ContentSizes`."""

    def promising(self, candidates: Candidates, lowest: Callable[[], float]) -> Iterator[I64]:
        """Yield contents in ascending batches until no other content can have a score of `lowest()` or more.

        Contents with too few hashes to reach the minimums are left out.
        """
        enough = (candidates.counts >= self.asked.least(self.options)).nonzero()[0]
        order = enough[np.argsort(-candidates.sums[enough], kind="stable")]
        limit, begin = self.options.limit, 0
        size = _BOUNDS_AT_ONCE if limit is None else min(max(limit, _FIRST_BATCH), _BOUNDS_AT_ONCE)
        at_once = max(size, _FIRST_BOUNDS)
        waiting, bounds = candidates.contents[:0], np.empty(0)
        while begin < len(order) or len(waiting):
            least = lowest()
            some = order[begin : begin + at_once]
            if least > 0 and len(some):
                # No score is higher than without the content's other hashes, and this needs no row.
                highest = scores_of(candidates.sums[some], self._whole, np.zeros(len(some)))
                some = some[: np.count_nonzero(highest >= least)]
            if len(some):
                begin, at_once = begin + len(some), _BOUNDS_AT_ONCE
                contents = candidates.contents[some]
                of_some = self._bounds(contents, candidates.sums[some], candidates.counts[some])
                waiting, bounds = np.concatenate([waiting, contents]), np.concatenate([bounds, of_some])
            likely = (bounds >= least).nonzero()[0]
            if len(likely):
                likely = likely[np.argsort(-bounds[likely], kind="stable")]
                yield np.sort(waiting[likely[:size]])
            elif not len(some):
                break
            waiting, bounds = waiting[likely[size:]], bounds[likely[size:]]
            size = min(2 * size, _BOUNDS_AT_ONCE)

    def _bounds(self, contents: I64, sums: I64, counts: I64) -> F64:
        """The highest score that each content can have."""
        others = np.zeros(len(contents))
        # Without the boilerplate and common hashes, a content may have fewer others than its size tells.
        if (
            self.options.rank == "likeness"
            and not len(self.scope.ignored.hashes)
            and not self.options.ignore_above
        ):
            order = np.argsort(contents)
            sizes = np.empty_like(contents)
            sizes[order] = self._sizes_of(contents[order]).hashes
            shared = counts if self.asked.looked_up.all() else len(self.asked.counting)
            others = self.asked.share * (np.maximum(sizes - shared, 0) * float(LEAST_MEAN))
        return scores_of(sums, self._whole, others)

    @property
    def _whole(self) -> int:
        """The weight of the looked-up hashes of the query."""
        return int(self.weights.sum())

    def scored(self, contents: I64) -> Scored:
        """The scores of some contents, which must ascend."""
        scope, asked, size = self.scope, HashSet(self.asked.counting), len(contents)
        of = ForwardHashes(scope.db, contents, scope.recipe.window)
        places, hits = forward_index.shared_with(asked, of)
        shared = np.bincount(places, minlength=size)
        not_counting = self._not_counting(of)
        stored = self._sizes_of(contents)
        sizes = forward_index.sizes_without(not_counting, of, stored.hashes)
        others = np.zeros(size)
        if self.options.rank == "likeness":
            # If only a part of the query is looked up, as large a part of the document is weighed.
            without = HashSet(union(asked.hashes, not_counting)) if len(not_counting) else asked
            others = self.asked.share * self._weight_of_others(of, sizes - shared, without)
        # Sums of whole numbers below 2^53 are exact in floating point too.
        weight = np.bincount(places, self.weights[hits], minlength=size)
        scores = scores_of(weight, self._whole, others)
        counts, units = np.array([shared, sizes]), np.array([stored.symbols, stored.shingles])
        return Scored(contents, scores, counts, units)

    def measures(self, scored: Scored) -> dict[int, Measures]:
        """The measures of contents by fingerprints."""
        scope, (shared, sizes), size = self.scope, scored.counts, len(scored.contents)
        symbols, shingles = scored.units
        errors = unit_errors(symbols, shingles, scope.recipe, scope.ignoring(self.options.ignore_above))
        shares = shares_of_sets(shared, np.full(size, len(self.asked.counting)), sizes, errors)
        found = measures_of(shares, shared, itertools.repeat("fingerprints", size))
        return dict(zip(scored.contents.tolist(), found, strict=True))

    def _not_counting(self, of: ForwardHashes) -> U64:
        """The hashes of the contents that are not counted; also some that none of them has."""
        most = self.options.ignore_above
        if most is None:
            return self.scope.ignored.hashes
        own = union(*(hashes for _, hashes in of))
        return union(self.scope.ignored.hashes, hashes_above(self.scope, own, most))

    def _sizes_of(self, contents: I64) -> ContentSizes:
        """The sizes of contents, which must ascend. Each is read only once."""
        if not len(contents):
            return ContentSizes(*_NO_SIZES)
        known, sizes = self._known.pop() if self._known else (contents[:0], _NO_SIZES)
        at = known.searchsorted(contents)
        new = contents[known.take(at, mode="clip") != contents] if len(known) else contents
        if len(new):
            of_new = np.array(documents.sizes_of(self.scope.db, new))
            if not len(known):
                known, sizes = new, of_new
            else:
                known, sizes = np.concatenate([known, new]), np.concatenate([sizes, of_new], axis=1)
                order = np.argsort(known)
                known, sizes = known[order], sizes[:, order]
            at = known.searchsorted(contents)
        self._known.append((known, sizes))
        return ContentSizes(*sizes[:, at])

    def _weight_of_others(self, of: ForwardHashes, others: I64, without: HashSet) -> F64:
        """For each content, the weight of its hashes that the query does not have; estimated from a sample.

        `others` is the number of these hashes, which are not in `without`.
        """
        places, hashes = forward_index.smallest_without(without, of, others, SAMPLE)
        distinct = union(hashes)
        weights = weights_of(frequencies(self.scope, distinct), self.options.rank)
        weights = weights[distinct.searchsorted(hashes)]
        sums = np.bincount(places, weights, minlength=len(others))
        counts = np.bincount(places, minlength=len(others))
        means: F64 = np.maximum(sums / np.maximum(counts, 1), LEAST_MEAN)
        return others * means
