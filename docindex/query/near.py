"""Queries in, the documents with nearly their simhash out. Must never say how much text they share."""

import dataclasses
from collections.abc import Iterable

import apsw
import numpy as np

from docindex.kernels.hamming import as_bits
from docindex.query.asking import asked
from docindex.recipe import Recipe
from docindex.storage import nearby
from docindex.storage.documents import Where, documents_of


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbour:
    """A document whose simhash is near that of a query."""

    key: str
    id: int
    distance: int
    """In how many of 64 bits the two differ."""


def near_many(
    db: apsw.Connection, queries: Iterable[str | int], recipe: Recipe, distance: int, where: Where | None
) -> list[list[Neighbour]]:
    """For each query the documents within a distance, the nearest first, then by their keys."""
    simhashes = [
        query if isinstance(query, int) else asked(db, query).outline(db, recipe).simhash for query in queries
    ]
    places, contents, distances = nearby.near_many(db, as_bits(simhashes), distance)
    found: list[list[Neighbour]] = [[] for _ in simhashes]
    keys: dict[int, list[tuple[str, int]]] = {}
    for content, key, number in documents_of(db, np.unique(contents), where):
        keys.setdefault(content, []).append((key, number))
    for place, content, apart in zip(places.tolist(), contents.tolist(), distances.tolist(), strict=True):
        found[place] += [Neighbour(key, number, apart) for key, number in keys.get(content, ())]
    for neighbours in found:
        neighbours.sort(key=lambda neighbour: (neighbour.distance, neighbour.key))
    return found
