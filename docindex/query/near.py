"""Find the documents whose simhash is near the simhash of a query.

Takes texts, keys, ids or simhash values. Must never say how much text two documents share: simhash values
do not tell that.

Also counts in how many texts of an index each word occurs, for `docindex.simhash(text, idf=...)`. It reads
the kept texts one by one, so that memory stays constant.
"""

import dataclasses
import numbers
import operator
from collections.abc import Iterator, Sequence
from typing import SupportsIndex

import numpy as np

from docindex.query.resolve import Id, resolve
from docindex.query.scope import Scope
from docindex.simhashing.bits import as_bits
from docindex.sketching.single_text import word_hashes
from docindex.sketching.weighted_words import WordWeights, word_weights
from docindex.storage.postings import simhash_index
from docindex.storage.rows import bulk, contents

# Precision/recall by distance, measured by `python -m tests.bench quality simhash` on one half of the pairs;
# the best distances of the other half are 4 and 6. In the first two columns, the pairs with a resemblance of
# at least .8 should be found; in the last, all pairs of releases of a file, of which 40% resemble each other
# less than that.
#
#   distance   Reuters-21578   Django's documentation   Django, files
#       3         .97/.81            .97/.68               .99/.45
#       4         .96/.86            .95/.77               .98/.52
#       5         .93/.91            .90/.85               .94/.59
#       6         .86/.95            .86/.91               .94/.66
#       7         .80/.96            .82/.94               .94/.71
#      11         .34/1.00           .66/1.00              .85/.85
#
# (If every occurrence weighed the same: at 3 bits .87/.88 and .81/.88, at 6 bits .45/.97 and .55/.98.)
DEFAULT_DISTANCE = 5
"""The largest number of bits in which near-duplicates differ, unless the caller gives a distance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbour:
    """A document whose simhash is near the simhash of a query."""

    key: str
    id: int
    distance: int
    """The number of bits, of 64, in which the two simhash values differ."""


def simhash_value(query: SupportsIndex) -> int:
    """A simhash as an unsigned number; `ValueError` if a query has more than 64 bits.

    >>> simhash_value(-1) == 2**64 - 1
    True
    """
    try:
        return int(as_bits(operator.index(query)))
    except ValueError as error:
        raise ValueError(f"a query that is a number must be a simhash value: {error}") from error


def find_near(scope: Scope, queries: Sequence[str | int], distance: int) -> list[list[Neighbour]]:
    """For each query, the documents within a distance, ordered by distance, then by key.

    A whole number that is not an `Id` is a simhash value.
    """
    simhashes: list[int] = []
    for query in queries:
        scope.check_cancelled()
        if isinstance(query, numbers.Integral) and not isinstance(query, (bool, Id)):
            simhashes.append(simhash_value(query))
        else:
            simhashes.append(resolve(scope.db, query).stored_sketch(scope).simhash)
    places, contents, distances = simhash_index.near_simhashes(
        scope.db, np.array(simhashes, np.uint64), distance, scope.check_cancelled
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


def weigh_words(scope: Scope) -> WordWeights:
    """The rarity of the words of the kept texts whose documents fulfil the condition of the scope."""
    chosen = scope.chosen()

    def texts() -> Iterator[str]:
        for content in (bulk.sizes(scope.db).contents if chosen is None else chosen).tolist():
            scope.check_cancelled()
            text = contents.text_of(scope.db, content)
            if text is not None:
                yield text

    return word_weights((word_hashes(text, scope.recipe) for text in texts()), scope.recipe)
