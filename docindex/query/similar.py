"""Find the documents that resemble a query as a whole: near-duplicates, counted in shingles.

Candidates come from the features, and also from the fingerprints if features may miss too many documents.
Must never report a candidate without verifying it.
"""

import functools
import math

import numpy as np

from docindex.kernels import minhash
from docindex.kernels.arrays import I64, U64
from docindex.kernels.feature_filter import acceptance
from docindex.kernels.feature_hashes import features
from docindex.query.measures import Measures, by_shingles, by_slots
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.search import Match, PassageFinder, candidates_of, match_of
from docindex.storage import contents, documents
from docindex.storage.documents import StoredSketch

RECALL = 0.99
"""If features find at least this share of the documents at the threshold, fingerprints are not looked up."""

# A document whose estimate is this many standard errors below the threshold is not verified. This misses one
# in 30,000 documents whose resemblance is exactly the threshold.
_ERRORS = 4.0


def find_similar(
    scope: Scope, query: Query, min_resemblance: float, passages_with: PassageFinder
) -> list[Match]:
    """The documents whose resemblance to the query is at least `min_resemblance`, the most similar first.

    The numbers are exact if both texts are kept; otherwise they are estimated from the slots.
    """
    sketch = query.stored_sketch(scope)
    text = query.text(scope.db)
    shingles = None if text is None else scope.shingles_of(text)
    documents_of: dict[int, list[tuple[str, int]]] = {}
    for content, key, number in scope.documents_of(_candidates(scope, query, sketch, min_resemblance)):
        documents_of.setdefault(content, []).append((key, number))
    matches = []
    for other in documents.stored_sketches_of(
        scope.db, np.array(sorted(documents_of), np.int64), scope.recipe
    ):
        # Slots include boilerplate. Without it, two texts may be more similar than their slots say.
        if not (len(scope.ignored.shingles) or _likely(sketch, other, min_resemblance)):
            continue
        scope.check_cancelled()
        measures = _measured(scope, sketch, shingles, other)
        if measures.resemblance >= min_resemblance:
            passages = functools.partial(passages_with, other.content)
            matches += [
                match_of(measures, document, measures.resemblance, passages)
                for document in documents_of[other.content]
            ]
    return sorted(matches, key=lambda match: (-match.score, match.key))


def _candidates(scope: Scope, query: Query, sketch: StoredSketch, min_resemblance: float) -> I64:
    """The contents that may resemble a query, ascending."""
    k, s, r = scope.recipe.features
    found = documents.sharing_features(scope.db, features(sketch.slots[None, :], k, s)[0], r)
    found += documents.with_words_hash(scope.db, sketch.words_hash)
    if acceptance(k, s, r, min_resemblance) < RECALL or len(scope.ignored.shingles):
        found += candidates_of(scope, query)
    return np.unique(np.array(found, np.int64))


def _measured(scope: Scope, sketch: StoredSketch, shingles: U64 | None, other: StoredSketch) -> Measures:
    """How much a query shares with a content; `shingles` is None if the query's text is not kept."""
    alike = sketch.words_hash == other.words_hash
    text = None if shingles is None else contents.text_of(scope.db, other.content)
    if shingles is None or text is None:
        return by_slots(sketch.slots, other.slots, sketch.shingles, other.shingles, alike=alike)
    return by_shingles(shingles, scope.shingles_of(text), alike=alike)


def _likely(a: StoredSketch, b: StoredSketch, min_resemblance: float) -> bool:
    """Whether two texts may reach the threshold, judged by their sketches."""
    estimated, _ = minhash.estimate_resemblance(a.slots, b.slots)
    error = math.sqrt(min_resemblance * (1 - min_resemblance) / len(a.slots))
    return bool(estimated >= min_resemblance - _ERRORS * error)
