"""Queries in, the documents with nearly their simhash out. Must never say how much text they share."""

import dataclasses
import numbers
from collections.abc import Callable, Sequence

import apsw
import numpy as np

from docindex.kernels.hamming import as_bits
from docindex.query.resolve import Id, resolve
from docindex.recipe import Recipe
from docindex.storage import simhash_index
from docindex.storage.documents import documents_of
from docindex.storage.user_sql import Where


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbour:
    """A document whose simhash is near that of a query."""

    key: str
    id: int
    distance: int
    """In how many of 64 bits the two differ."""


def near_many(
    db: apsw.Connection,
    queries: Sequence[str | int],
    recipe: Recipe,
    distance: int,
    where: Where | None,
    check_cancelled: Callable[[], None],
) -> list[list[Neighbour]]:
    """For each query the documents within a distance, the nearest first, then by their keys."""
    simhashes: list[int] = []
    for query in queries:
        check_cancelled()
        if isinstance(query, numbers.Integral) and not isinstance(query, (bool, Id)):
            simhashes.append(int(query))
        else:
            simhashes.append(resolve(db, query).stored_sketch(db, recipe).simhash)
    places, contents, distances = simhash_index.find_near(db, as_bits(simhashes), distance, check_cancelled)
    found: list[list[Neighbour]] = [[] for _ in simhashes]
    keys: dict[int, list[tuple[str, int]]] = {}
    for content, key, number in documents_of(db, np.unique(contents), where):
        keys.setdefault(content, []).append((key, number))
    for place, content, apart in zip(places.tolist(), contents.tolist(), distances.tolist(), strict=True):
        found[place] += [Neighbour(key, number, apart) for key, number in keys.get(content, ())]
    for neighbours in found:
        neighbours.sort(key=lambda neighbour: (neighbour.distance, neighbour.key))
    return found
