"""Estimate how much two texts share if one of them is not kept, from what the index stores of each.

Takes two queries. Of the estimates that the file allows, the one with the smallest standard error of the
containments is given: by the slots of the sketches, by the fingerprints, or by Broder's samples. A small text
inside a large one has hardly an equal slot, but its fingerprints show it. Must never read a text that is kept
by neither side.
"""

import numpy as np

from docindex.kernels.samples import coarsen, sample_levels
from docindex.query.measures import Measures, by_fingerprints, by_samples, by_slots, same_words
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.storage.documents import StoredSketch


def estimate(scope: Scope, a: Query, b: Query) -> Measures:
    """The best estimate of how much two texts share.

    Two texts with the same words share everything. If there is boilerplate, only fingerprints serve, because
    slots and samples are made of the whole text.
    """
    of_a, of_b = a.stored_sketch(scope), b.stored_sketch(scope)
    if of_a.words_hash == of_b.words_hash and scope.recipe.token != "line":
        return same_words(_counting(scope, a, b, of_a.shingles))
    found = [by_fingerprints(*(scope.ignored.without(query.hashes(scope)[0]) for query in (a, b)))]
    if not scope.ignored:
        found.append(by_slots(of_a.slots, of_b.slots, of_a.shingles, of_b.shingles))
        found += _by_samples(scope, of_a, of_b)
    return min(found, key=lambda each: each.containment_error + each.reverse_containment_error)


def _counting(scope: Scope, a: Query, b: Query, shingles: int) -> int:
    """How many of the shingles of two texts with the same words count: all, if neither text is known."""
    text = (a.text(scope.db) or b.text(scope.db)) if scope.ignored else None
    return shingles if text is None else len(scope.shingles_of(text))


def _by_samples(scope: Scope, a: StoredSketch, b: StoredSketch) -> list[Measures]:
    """The estimates by the samples that the recipe stores; both texts have the same modulus."""
    recipe = scope.recipe
    found = []
    if recipe.mod_m:
        found.append(by_samples(a.mod_m, b.mod_m))
    if recipe.level:
        sizes = np.array([a.shingles, b.shingles])
        level = int(sample_levels(sizes, recipe.level).max())
        found.append(by_samples(*(coarsen(values, level) for values in (a.level, b.level))))
    return found
