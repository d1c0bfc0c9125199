"""Find the longest passage of many pairs of contents, to order pairs by it.

In: pairs of contents, most wanted first. Out: a length for each. Texts are read pair by pair, and those read
last are kept in memory. Must never align more pairs than `MOST_ALIGNED`, or hold more than a bounded number
of texts.
"""

import collections
from typing import Final

import numpy as np

from docindex.kernels.arrays import I64
from docindex.query.passages import Comparable, comparable, passage_runs
from docindex.query.scope import Scope
from docindex.storage import bulk
from docindex.storage.contents import text_of

MOST_ALIGNED: Final = 10_000
"""How many pairs are aligned at most. To align two texts of 7 KB takes about a millisecond."""

# Texts with about so many symbols stay in memory, at two or three bytes for each symbol.
_HELD = 1 << 24

UNKNOWN: Final = -1
"""The length of a pair that was not aligned."""


def longest_passages(scope: Scope, a: I64, b: I64) -> I64:
    """The length of the longest passage of each pair of contents, or `UNKNOWN` if a text is not kept.

    Of more than `MOST_ALIGNED` pairs of kept texts, the others are `UNKNOWN` too.
    """
    lengths = np.full(len(a), UNKNOWN)
    kept = bulk.kept_among(scope.db, np.union1d(a, b))
    both = np.flatnonzero(np.isin(a, kept) & np.isin(b, kept))[:MOST_ALIGNED]
    texts = _Texts(scope)
    # Pairs with the same text come one after the other, so that it is read once.
    for pair in both[np.lexsort((b[both], a[both]))].tolist():
        scope.check_cancelled()
        _, _, own = passage_runs(texts.of(int(a[pair])), texts.of(int(b[pair])), scope.recipe)
        lengths[pair] = own.max(initial=0)
    return lengths


class _Texts:
    """The texts of contents, of which those used last are in memory."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._held: collections.OrderedDict[int, Comparable] = collections.OrderedDict()
        self._symbols = 0

    def of(self, content: int) -> Comparable:
        """The text of a content, which must be kept."""
        if content in self._held:
            self._held.move_to_end(content)
            return self._held[content]
        text = text_of(self._scope.db, content)
        assert text is not None
        found = comparable(text, self._scope.recipe, self._scope.ignored.hashes)
        self._held[content] = found
        self._symbols += len(found.symbols)
        while self._symbols > _HELD and len(self._held) > 1:
            _, oldest = self._held.popitem(last=False)
            self._symbols -= len(oldest.symbols)
        return found
