"""Choose the few documents that together cover a text, by the fingerprints that they share with it.

Takes the fingerprints of a text, and which of its symbols count. Proposes one content after the other: the
one that shares the fingerprints of most symbols that nothing covers yet. Must never read a text.

Each fingerprint stands for the symbols around it, up to the middle between its neighbours. So a gain is a sum
over hashes, and one pass over the postings computes the gains of all contents.
"""

from collections.abc import Iterator

import numpy as np

from docindex.kernels.arrays import I64, U64, Bool, starts_of, tally
from docindex.query.scope import Scope
from docindex.sketching.sketches import HASH_SHIFT

# Up to this many postings are kept in memory. If there are more, each proposal reads all of them again.
_KEPT = 1 << 22

# The documents of this many contents are looked up first, and of twice as many each time none fulfils the
# condition.
_LOOKED_UP = 16

Proposal = tuple[int, list[tuple[str, int]]]
"""A content, and the keys and ids of its documents, ascending."""


class Covering:
    """The contents that share fingerprints with a text, and what each of them would add."""

    def __init__(self, scope: Scope, hashes: U64, positions: I64, counts: Bool) -> None:
        self._scope = scope
        stored = hashes >> HASH_SHIFT << HASH_SHIFT
        counting = scope.ignored.without(np.unique(stored))
        at = np.minimum(np.searchsorted(counting, stored), max(0, len(counting) - 1))
        which = counting[at] == stored if len(counting) else np.zeros(len(stored), bool)
        self._numbers = at[which]
        self._which = which
        self._stored = counting
        centres = positions + scope.recipe.k // 2
        middles = (centres[1:] + centres[:-1]) // 2
        self._borders = np.concatenate([[0], middles, [len(counts)]])
        self.open = counts.copy()
        """The symbols that count, and that no chosen document covers."""
        self._left_out: set[int] = set()
        self._hits: list[tuple[I64, I64]] | None = None

    def proposals(self, least: int, without: int | None) -> Iterator[Proposal]:
        """Yield contents with documents until no other adds `least` symbols by its fingerprints.

        The caller changes `open` before it asks for the next one. The document `without` is left out.
        """
        while True:
            self._scope.check_cancelled()
            contents, gains = self._gains(least)
            found = self._best(contents, gains, without)
            if found is None:
                return
            self._left_out.add(found[0])
            yield found

    def _gains(self, least: int) -> tuple[I64, I64]:
        """The contents that would add enough symbols, and how many, the most first."""
        before = starts_of(self.open.astype(np.int64))
        cells = np.diff(before[self._borders])
        weights = np.bincount(self._numbers, cells[self._which], len(self._stored)).astype(np.int64)
        total = (np.empty(0, np.int64),) * 3
        for which, found in self._postings(weights):
            more = tally(found, None, weights[which])
            total = tally(*map(np.concatenate, zip(total, more, strict=True))) if len(total[0]) else more
        contents, _, gains = total
        enough = np.flatnonzero(gains >= max(1, least))
        enough = enough[~np.isin(contents[enough], np.array(list(self._left_out), np.int64))]
        order = enough[np.argsort(-gains[enough], kind="stable")]
        return contents[order], gains[order]

    def _postings(self, weights: I64) -> Iterator[tuple[I64, I64]]:
        """The numbers of hashes that still add something, and the contents that have each."""
        if self._hits is not None:
            kept = [(which, found, weights[which] > 0) for which, found in self._hits]
            self._hits = [(which[useful], found[useful]) for which, found, useful in kept]
            yield from self._hits
            return
        useful = np.flatnonzero(weights)
        hits: list[tuple[I64, I64]] | None = []
        held = 0
        for which, found in self._scope.existing.look_up(self._stored[useful]):
            self._scope.check_cancelled()
            held += len(which)
            hits = None if hits is None or held > _KEPT else [*hits, (useful[which], found)]
            yield useful[which], found
        self._hits = hits

    def _best(self, contents: I64, gains: I64, without: int | None) -> Proposal | None:
        """The content with the highest gain that has a document; of several, the one with the first key."""
        begin, size = 0, _LOOKED_UP
        while begin < len(contents):
            # Contents with the same gain are looked up together.
            end = int(np.searchsorted(-gains, -gains[min(begin + size, len(gains)) - 1], "right"))
            documents: dict[int, list[tuple[str, int]]] = {}
            for content, key, number in self._scope.documents_of(np.sort(contents[begin:end])):
                if number != without:
                    documents.setdefault(content, []).append((key, number))
            gain_of = dict(zip(contents[begin:end].tolist(), gains[begin:end].tolist(), strict=True))
            self._left_out.update(content for content in gain_of if content not in documents)
            if documents:
                best = min(documents, key=lambda content: (-gain_of[content], min(documents[content])))
                return best, sorted(documents[best])
            begin, size = end, 2 * size
        return None
