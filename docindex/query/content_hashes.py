"""Count the hashes that contents share with a query, and sample their other hashes.

In: contents, and the hashes of a query with their weights. Out: for each content the numbers of shared and of
all hashes, the sum of the weights of the shared ones, and its smallest other hashes. The hashes of very long
contents are read in pieces. Must never know a key.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from docindex.kernels.arrays import F64, I64, U64, ranges, starts_of, union
from docindex.query.scope import Scope
from docindex.storage import documents, forward_index
from docindex.storage.forward_index import ForwardHashes, HashSet

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
