"""Find which kept texts share shingles with a few of them, for exact pairs between two sets.

Takes contents whose texts are kept, and which of them are few. Gives groups for `candidates`, one for each
shingle of the few; or the nodes of a scope, and gives the likely pairs. The texts of the few are read first;
of the others, only shingles that may be among theirs are kept. Must never hold all shingles of the others.
"""

from collections.abc import Iterator
from typing import Self

import numpy as np

from docindex.kernels.arrays import I64, U64, Bool, union
from docindex.kernels.hash_filter import filter_table
from docindex.kernels.joins import starts_of_runs
from docindex.query.candidates import Groups
from docindex.query.candidates_between import candidates_between
from docindex.query.joined_pairs import Threshold
from docindex.query.pair_needs import SizesOfSets, needs_of_sets
from docindex.query.pair_nodes import Nodes
from docindex.query.scope import Scope
from docindex.query.shingle_sets import SortedPostings
from docindex.query.slot_pairs import SlotPairs
from docindex.sketching.incremental import COUNT_ERROR, COUNTED

_NOTHING = np.empty(0, np.uint64)


def likely_pairs_with_few(scope: Scope, nodes: Nodes, threshold: Threshold) -> Iterator[tuple[I64, I64]]:
    """The pairs of kept texts between a small set and a large one that may share enough shingles."""
    assert nodes.few is not None
    assert nodes.sides is not None
    kept = nodes.kept
    if threshold.measure == "containment" and not scope.ignored:
        near, pairs = SlotPairs(scope, nodes).containments_near_few(threshold.least)
        for a, b, _ in pairs:
            both = kept[a] & kept[b]
            yield a[both], b[both]
        kept = kept & ~near
    places = np.flatnonzero(kept)
    stored = nodes.shingles[places]
    least, most = (
        np.where(stored > COUNTED, (stored * factor).astype(np.int64), stored)
        for factor in (1 - COUNT_ERROR, 1 + COUNT_ERROR)
    )
    least = np.maximum(least - len(scope.ignored.shingles), 0)
    with ShinglesOfFew(scope, nodes.representatives[places], nodes.few[places]) as shingles:
        for a, b in candidates_between(
            shingles,
            nodes.sides[places],
            lambda _: needs_of_sets(
                threshold.measure, SizesOfSets(least, shingles.slack, most), threshold.least
            ),
            scope.check_cancelled,
        ):
            yield places[a], places[b]


class ShinglesOfFew:
    """The shingles of a few contents, and which contents have them: a `GroupSource`.

    A place is an index into `contents`, which ascend; `few` says which of them are few. Shingles of the
    boilerplate are left out. A context manager that frees the memory.
    """

    def __init__(self, scope: Scope, contents: I64, few: Bool) -> None:
        self._check_cancelled = scope.check_cancelled
        self._contents = contents
        self._runs = SortedPostings(len(contents))
        self._sizes = np.zeros(len(contents), np.int64)
        self._postings = np.zeros(len(contents), np.int64)
        self._is_counted = False
        try:
            of_few = union(_NOTHING, *self._load(scope, np.flatnonzero(few)))
            for _ in self._load(scope, np.flatnonzero(~few), filter_table(of_few)):
                pass
        except BaseException:
            self._runs.close()
            raise

    def _load(self, scope: Scope, places: I64, among: Bool | None = None) -> Iterator[U64]:
        """Read the texts of some places, and note their shingles. Yields the shingles of each batch."""
        begin = 0
        for hashes, starts in scope.shingle_sets(self._contents[places], among):
            some = places[begin : begin + len(starts) - 1]
            begin += len(some)
            self._sizes[some] = np.diff(starts)
            self._runs.add(hashes, np.repeat(some, np.diff(starts)))
            yield hashes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runs.close()

    @property
    def count(self) -> int:
        """The number of contents."""
        return len(self._contents)

    @property
    def slack(self) -> I64:
        """How many more shingles each content has than groups that it is in; known after the first pass."""
        return self._sizes - self._postings

    def groups(self) -> Iterator[Groups]:
        """For each shingle, the contents that have it. Only its high bits are compared."""
        for hashes, places in self._runs.postings():
            self._check_cancelled()
            if not self._is_counted:
                self._postings += np.bincount(places, minlength=self.count)
            yield np.diff(starts_of_runs(hashes)), places
        self._is_counted = True
