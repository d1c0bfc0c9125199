"""Look up a query's hashes in the inverted index: which contents have them, and how many contents have each.

In: a query and the options of a search. Out: the hashes that count, and the contents that share one of them,
with the sums of their weights. The inverted index has at most 32 bits of a hash, so a count or a sum may be
too high, but never too low. Must never know a key.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from docindex.arrays.ranges import I64, U64, Bool, tally
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.search.options import Rank, SearchOptions
from docindex.query.search.ranking import weights_of

# Up to this many hits of the first pass are kept in memory. If there are more, all are read a second time.
_KEPT = 1 << 22

_ROUNDING = 1e-6  # a share times a size that should be a whole number may come out a little larger


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class QueryHashes:
    """The hashes of a query that are counted, and whether they are looked up."""

    counting: U64
    """Ascending, without hashes of the boilerplate and hashes that too many contents have."""
    looked_up: Bool
    """Whether each hash is looked up. All are, unless the search has a larger window or a budget."""

    @property
    def share(self) -> float:
        """The share of the hashes that are looked up."""
        return int(np.count_nonzero(self.looked_up)) / len(self.counting)

    def least(self, options: SearchOptions) -> float:
        """The number of looked-up hashes that a candidate must have."""
        if options.exact:
            return 0  # the minimums are for shingles, about which fingerprints give no certainty
        size = int(np.count_nonzero(self.looked_up))
        share = size * options.min_containment
        if size == len(self.counting):
            return max(share - _ROUNDING, options.min_shared)
        # Among 30,000 documents that have enough, one has four standard errors less in the looked-up part.
        return share - 4 * math.sqrt(share * (1 - options.min_containment))


def query_hashes(scope: Scope, query: Query, options: SearchOptions) -> QueryHashes:
    """The hashes of a query that count, and which of them the options tell to look up."""
    hashes, coarse = map(scope.ignored.without, query.hashes(scope, options.window))
    if options.ignore_above is not None and len(hashes):
        common = hashes_above(scope, hashes, options.ignore_above)
        hashes, coarse = (some[~np.isin(some, common)] for some in (hashes, coarse))
    # Take the smallest hashes: they are as good as a random sample, and the same in every text. If the larger
    # window selects only hashes that do not count, look up all that count.
    part = (coarse if len(coarse) else hashes)[: options.budget]
    looked_up = np.zeros(len(hashes), bool)
    looked_up[np.searchsorted(hashes, part)] = True  # a smaller window selects all that a larger one does
    return QueryHashes(hashes, looked_up)


def frequencies(scope: Scope, hashes: U64) -> I64:
    """How many contents have each hash; `hashes` must ascend."""
    having = np.zeros(len(hashes), np.int64)
    for which, _ in _hits(scope, hashes):
        having += np.bincount(which, minlength=len(hashes))
    return having


def _hits(scope: Scope, hashes: U64) -> Iterator[tuple[I64, I64]]:
    """Yield the places of ascending hashes, and the contents that have them, in pieces."""
    for hits in scope.existing.look_up(hashes):
        scope.check_cancelled()
        yield hits


def hashes_above(scope: Scope, hashes: U64, most: int) -> U64:
    """The hashes that more than `most` contents have; `hashes` must ascend."""
    return hashes[frequencies(scope, hashes) > most]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The contents that have looked-up hashes. Their counts and sums may be too high, but never too low."""

    contents: I64
    counts: I64
    """How many of the looked-up hashes each content has."""
    sums: I64
    """The sum of the weights of these hashes."""
    weights: I64
    """The weight of each hash of the query; 0 if the hash was not looked up."""


def candidates_for(scope: Scope, asked: QueryHashes, rank: Rank) -> Candidates:
    """The contents that have one of the looked-up hashes of a query, ascending."""
    hashes = asked.counting[asked.looked_up]
    having = np.zeros(len(hashes), np.int64)
    kept, size = [], 0
    for which, found in _hits(scope, hashes):
        having += np.bincount(which, minlength=len(hashes))
        size += len(which)
        if size <= _KEPT:
            kept.append((which, found))
    weights = weights_of(having, rank)
    total, addends = (np.empty(0, np.int64),) * 3, weights.astype(np.float64)
    for which, found in kept if size <= _KEPT else _hits(scope, hashes):
        more = tally(found, None, addends.take(which))
        total = tally(*map(np.concatenate, zip(total, more, strict=True))) if len(total[0]) else more
    all_weights = np.zeros(len(asked.counting), np.int64)
    all_weights[asked.looked_up] = weights
    return Candidates(*total, all_weights)
