"""A query in, the documents that resemble it out: near-duplicates, counted in shingles.

Candidates by features where these find nearly all, else by fingerprints too; each is verified.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import apsw
import numpy as np

from docindex.kernels import minhash
from docindex.kernels.feature_filter import acceptance
from docindex.kernels.feature_hashes import features
from docindex.query.measures import Measures, by_shingles, by_slots
from docindex.query.passages import Passage
from docindex.query.resolve import Query
from docindex.query.search import Match, PassageFinder, candidates_of
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set
from docindex.storage import contents, documents
from docindex.storage.documents import StoredSketch
from docindex.storage.templates import Ignored
from docindex.storage.user_sql import Where

RECALL = 0.99
"""The filter of features alone is trusted where it lets at least so many of the wanted pass."""

# Who is so many standard errors below what is wanted is not looked at: one in 30,000 at the threshold.
_ERRORS = 4.0


def similar(
    db: apsw.Connection,
    query: Query,
    recipe: Recipe,
    ignored: Ignored,
    min_resemblance: float,
    where: Where | None,
    passages_with: PassageFinder,
    check_cancelled: Callable[[], None],
) -> list[Match]:
    """The documents that resemble the query so much, the most alike first.

    The numbers are exact where both texts are kept, else estimated from the slots.
    """
    stored_sketch = query.stored_sketch(db, recipe)
    k, s, r = recipe.features
    found = documents.sharing_features(db, features(stored_sketch.slots[None, :], k, s)[0], r)
    found += documents.of_symbols(db, stored_sketch.symbols_hash)
    if acceptance(k, s, r, min_resemblance) < RECALL or len(ignored.shingles):
        found += candidates_of(db, query, recipe, ignored, check_cancelled)
    text = query.text(db)
    own = None if text is None else ignored.shingles_without(shingle_set(text, recipe))
    matches = []
    keys: dict[int, list[tuple[str, int]]] = {}
    for content, key, number in documents.documents_of(db, np.unique(np.array(found, np.int64)), where):
        keys.setdefault(content, []).append((key, number))
    for other in documents.stored_sketches_of(db, np.array(sorted(keys), np.int64), recipe):
        if not (len(ignored.shingles) or _likely(stored_sketch, other, min_resemblance)):
            continue
        check_cancelled()
        alike = stored_sketch.symbols_hash == other.symbols_hash
        other_text = None if own is None else contents.text_of(db, other.content)
        if own is None or other_text is None:
            measures = by_slots(
                stored_sketch.slots, other.slots, stored_sketch.shingles, other.shingles, alike=alike
            )
        else:
            rest = ignored.shingles_without(shingle_set(other_text, recipe))
            measures = by_shingles(own, rest, alike=alike)
        if measures.resemblance >= min_resemblance:
            matches += _matches(
                measures, keys[other.content], functools.partial(passages_with, other.content)
            )
    return sorted(matches, key=lambda match: (-match.score, match.key))


def _likely(a: StoredSketch, b: StoredSketch, min_resemblance: float) -> bool:
    """Whether two sketches are such as those of wanted documents are."""
    estimated, _ = minhash.estimate_resemblance(a.slots, b.slots)
    error = math.sqrt(min_resemblance * (1 - min_resemblance) / len(a.slots))
    return bool(estimated >= min_resemblance - _ERRORS * error)


def _matches(
    measures: Measures, found: list[tuple[str, int]], passages: Callable[[], list[Passage]]
) -> list[Match]:
    numbers = dataclasses.asdict(measures)
    return [
        Match(**numbers, key=key, id=number, score=measures.resemblance, _passages=passages)
        for key, number in found
    ]
