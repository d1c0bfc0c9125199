"""Find the documents whose simhash is near the simhash of a query.

Takes texts, keys, ids or simhash values. Must never say how much text two documents share: simhash values
do not tell that.
"""

import dataclasses
import numbers
from collections.abc import Sequence

import numpy as np

from docindex.kernels.hamming import as_bits
from docindex.query.resolve import Id, resolve
from docindex.query.scope import Scope
from docindex.storage import simhash_index


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbour:
    """A document whose simhash is near the simhash of a query."""

    key: str
    id: int
    distance: int
    """The number of bits, of 64, in which the two simhash values differ."""


def find_near(scope: Scope, queries: Sequence[str | int], distance: int) -> list[list[Neighbour]]:
    """For each query, the documents within a distance, ordered by distance, then by key.

    A whole number that is not an `Id` is a simhash value.
    """
    simhashes: list[int] = []
    for query in queries:
        scope.check_cancelled()
        if isinstance(query, numbers.Integral) and not isinstance(query, (bool, Id)):
            simhashes.append(int(query))
        else:
            simhashes.append(resolve(scope.db, query).stored_sketch(scope).simhash)
    places, contents, distances = simhash_index.near_simhashes(
        scope.db, as_bits(simhashes), distance, scope.check_cancelled
    )
    found: list[list[Neighbour]] = [[] for _ in simhashes]
    keys: dict[int, list[tuple[str, int]]] = {}
    for content, key, number in scope.documents_of(np.unique(contents)):
        keys.setdefault(content, []).append((key, number))
    for place, content, apart in zip(places.tolist(), contents.tolist(), distances.tolist(), strict=True):
        found[place] += [Neighbour(key, number, apart) for key, number in keys.get(content, ())]
    for neighbours in found:
        neighbours.sort(key=lambda neighbour: (neighbour.distance, neighbour.key))
    return found
