"""List the pairs of a document in one set and a document in another: new against old.

Takes a threshold, and a scope with the conditions of the two sets. A document may be in both sets; it never
makes a pair with itself. Must never form the pairs inside a set: `Nodes.sides` keeps the join from that.
"""

import numpy as np

from docindex.kernels.arrays import I64
from docindex.query.joined_pairs import JoinedPairs, Threshold
from docindex.query.pair_join import join_pairs
from docindex.query.pair_options import PairOptions
from docindex.query.pairs import NamedDocument, Pairs, contents_of_nodes, documents_of_nodes
from docindex.query.scope import Scope, ScopeOpener
from docindex.storage import documents

_FIRST, _SECOND, _BOTH = 1, 2, 3
"""In which set a document is."""


class PairsBetween(Pairs):
    """Pairs of a document of the first set, `a`, and one of the second set, `b`.

    If both documents are in both sets, `a` is the one with the first key.
    """

    def _count(self, scope: Scope, found: JoinedPairs) -> int:
        contents, nodes = contents_of_nodes(found)
        node_of = dict(zip(contents.tolist(), nodes.tolist(), strict=True))
        counts = np.zeros((_BOTH + 1, len(found.starts)), np.int64)
        for content, _, _, side in _documents_of_sides(scope, np.sort(contents)):
            counts[side, node_of[content]] += 1
        both = counts[_BOTH]
        first, second = counts[_FIRST] + both, counts[_SECOND] + both
        a, b = found.a, found.b
        # A pair of two documents that are in both sets is counted once from each side.
        apart = first[a] * second[b] + first[b] * second[a] - both[a] * both[b]
        within = first[a] * second[a] - both[a] - both[a] * (both[a] - 1) // 2
        return int(np.where(a == b, within, apart).sum())

    def _documents(self, scope: Scope, found: JoinedPairs) -> dict[int, list[NamedDocument]]:
        return documents_of_nodes(found, _documents_of_sides(scope, np.sort(contents_of_nodes(found)[0])))

    def _seconds(self, document: NamedDocument, others: list[NamedDocument]) -> list[NamedDocument]:
        side = document[2]
        if side == _SECOND:
            return []
        return [
            other
            for other in others
            if other[2] & _SECOND and other != document and (side & other[2] != _BOTH or other > document)
        ]


def find_pairs_between(open_scope: ScopeOpener, threshold: Threshold, options: PairOptions) -> PairsBetween:
    """All pairs between the two sets of a scope that reach a threshold, or only the first.

    They are the same as those of `find_pairs` with one document in each set.
    """
    with open_scope() as scope:
        chosen = options.chosen(join_pairs(scope, threshold), threshold)
    return PairsBetween(open_scope, *chosen, limit=options.limit)


def _documents_of_sides(scope: Scope, contents: I64) -> list[tuple[int, str, int, int]]:
    """The content, key, id and set of each document that has one of the contents and is in a set."""
    assert scope.between is not None
    found: dict[tuple[int, str, int], int] = {}
    for side, condition in zip((_FIRST, _SECOND), scope.between, strict=True):
        for document in documents.documents_of(scope.db, contents, condition):
            found[document] = found.get(document, 0) | side
    return [(*document, side) for document, side in found.items()]
