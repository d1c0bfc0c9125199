"""Estimate how much two texts share if one of them is not kept, from what the index stores of each.

Takes two queries. Of the estimates that the file allows, the one with the smallest standard error of the
containments is given: by the slots of the sketches, by the fingerprints, or by Broder's samples. A small text
inside a large one has hardly an equal slot, but its fingerprints show it. Must never be asked
if both texts are kept: then they are counted.
"""

import dataclasses

import numpy as np

from docindex.kernels.arrays import U64
from docindex.kernels.samples import coarsen, sample_levels
from docindex.query.measures import Measures, by_fingerprints, by_samples, by_slots, same_words, unit_errors
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.storage.documents import StoredSketch


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KnownText:
    """A text, and what estimates need to know of it."""

    query: Query
    sketch: StoredSketch
    hashes: U64
    """The fingerprint hashes that count."""


def known_text(scope: Scope, query: Query) -> KnownText:
    """What estimates need to know of the text of a query."""
    hashes, _ = query.hashes(scope)
    return KnownText(query, query.stored_sketch(scope), scope.ignored.without(hashes))


def estimate(scope: Scope, a: KnownText, b: KnownText) -> Measures:
    """The best estimate of how much two texts share.

    Two texts with the same words share everything. If there is boilerplate, only fingerprints serve, because
    slots and samples are made of the whole text.
    """
    of_a, of_b = a.sketch, b.sketch
    if of_a.words_hash == of_b.words_hash and scope.recipe.token != "line":
        return same_words(_counting(scope, a, b))
    symbols, shingles = np.array([(each.symbols, each.shingles) for each in (of_a, of_b)], np.int64).T
    errors = unit_errors(symbols, shingles, scope.recipe, scope.ignoring())
    found = [by_fingerprints(a.hashes, b.hashes, errors)]
    if not scope.ignored:
        found.append(by_slots(of_a.slots, of_b.slots, of_a.shingles, of_b.shingles))
        found += _by_samples(scope, of_a, of_b)
    return min(found, key=lambda each: each.containment_error + each.reverse_containment_error)


def _counting(scope: Scope, a: KnownText, b: KnownText) -> int:
    """How many of the shingles of two texts with the same words count: all, if neither text is known."""
    text = (a.query.text(scope.db) or b.query.text(scope.db)) if scope.ignored else None
    return a.sketch.shingles if text is None else len(scope.shingles_of(text))


def _by_samples(scope: Scope, a: StoredSketch, b: StoredSketch) -> list[Measures]:
    """The estimates by the samples that the recipe stores; both texts have the same modulus."""
    recipe = scope.recipe
    pairs = []
    if recipe.mod_m:
        pairs.append((a.mod_m, b.mod_m))
    if recipe.level:
        sizes = np.array([a.shingles, b.shingles])
        level = int(sample_levels(sizes, recipe.level).max())
        pairs.append((coarsen(a.level, level), coarsen(b.level, level)))
    # An empty sample says nothing about its text.
    return [by_samples(own, other) for own, other in pairs if len(own) and len(other)]
