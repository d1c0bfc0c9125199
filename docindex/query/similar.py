"""Find the documents that resemble a query as a whole: near-duplicates, counted in shingles.

By the method "shingles", candidates have enough equal slots, and a suitable size. From a resemblance of .65
on, they are looked up in a `slot_index`, which the second question makes. Otherwise the slots of all contents
are read, a microsecond for each text. A document at the threshold has fewer equal slots than a candidate
needs with a probability below 2 * 10^-9. By the method "features", candidates are looked up by their
features, which takes the same time in an index of any size, but misses documents: 1% at a resemblance of
.976, 12% at .95, and 97% at .8. Must never report a candidate that is not measured.
"""

import functools
from typing import Literal

import numpy as np

from docindex.kernels.arrays import I64, U16
from docindex.kernels.feature_hashes import features
from docindex.kernels.minhash import fewest_equal_slots
from docindex.query.estimates import KnownText
from docindex.query.hash_lookup import QueryHashes, candidates_for
from docindex.query.measured_contents import measure_contents
from docindex.query.pair_needs import rounded_up
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.search import EvidenceOf, Match, match_of
from docindex.query.search_options import SearchOptions
from docindex.query.slot_index import fewest_shared
from docindex.sketching.incremental import COUNT_ERROR
from docindex.storage import bulk, documents

SimilarMethod = Literal["shingles", "features"]
"""How `similar` finds candidates."""


def find_similar(
    scope: Scope,
    query: Query,
    min_resemblance: float,
    evidence_of: EvidenceOf,
    method: SimilarMethod = "shingles",
) -> list[Match]:
    """The documents whose resemblance to the query is at least `min_resemblance`, the most similar first.

    The numbers are exact if both texts are kept; otherwise they are estimates.
    """
    candidates = _sharing_features if method == "features" else _with_equal_slots
    documents_of: dict[int, list[tuple[str, int]]] = {}
    own = KnownText(scope, query)
    for content, key, number in scope.documents_of(candidates(scope, own, min_resemblance)):
        documents_of.setdefault(content, []).append((key, number))
    matches = []
    wanted = np.array(sorted(documents_of), np.int64)
    for content, measures in measure_contents(scope, own, wanted):
        if measures.resemblance >= min_resemblance:
            matches += [
                match_of(
                    measures,
                    (key, number),
                    measures.resemblance,
                    functools.partial(evidence_of, content, number),
                )
                for key, number in documents_of[content]
            ]
    return sorted(matches, key=lambda match: (-match.score, match.key))


def _sharing_features(scope: Scope, own: KnownText, _: float) -> I64:
    """The contents that pass the feature filter of the recipe together with a query, ascending."""
    k, s, _ = scope.recipe.features
    sketch = own.sketch
    found = documents.sharing_features(scope.db, features(sketch.slots[None, :], k, s)[0], scope.recipe)
    return np.unique(np.array(found + documents.with_words_hash(scope.db, sketch.words_hash), np.int64))


def _with_equal_slots(scope: Scope, own: KnownText, min_resemblance: float) -> I64:
    """The contents that may resemble a query, ascending."""
    sketch, text = own.sketch, own.query.text(scope.db)
    found = [np.array(documents.with_words_hash(scope.db, sketch.words_hash), np.int64)]
    ignored = len(scope.ignored.shingles)
    size = len(scope.shingles_of(text)) if ignored and text is not None else sketch.shingles
    estimated = text is None
    if size:
        # Slots and sizes include boilerplate. A pair of resemblance r without it, in which a text has `size`
        # shingles, has at least this resemblance with it, because it adds at most `ignored` shingles.
        resemblance = min_resemblance * size / (size + ignored)
        equal = fewest_equal_slots(scope.recipe.slots, resemblance)
        least = min_resemblance * size * (1 - COUNT_ERROR)
        most = size / min_resemblance * (1 + COUNT_ERROR) + ignored
        among, all_kept = _sharing_slots(scope, sketch.slots, resemblance)
        estimated |= not all_kept
        for some in bulk.slots_of_sizes(scope.db, least, most, scope.recipe.slots, among):
            scope.check_cancelled()
            found.append(some.contents[np.count_nonzero(some.slots == sketch.slots, axis=1) >= equal])
            estimated |= not some.kept.all()
    if estimated:
        # The better estimate may be the one by fingerprints.
        found.append(_with_equal_hashes(scope, own, min_resemblance))
    return np.unique(np.concatenate(found))


def _with_equal_hashes(scope: Scope, own: KnownText, min_resemblance: float) -> I64:
    """The contents that may have this resemblance to a query by their fingerprints, or by their samples."""
    options = SearchOptions(min_containment=min_resemblance)
    asked = QueryHashes(own.hashes, np.ones(len(own.hashes), bool))
    candidates = candidates_for(scope, asked, options.rank)
    if scope.recipe.mod_m or scope.recipe.level:
        return candidates.contents
    # No resemblance is above the containment, and no count is too low: the sizes of the others are not read.
    enough = candidates.counts >= asked.least(options)
    contents, shared = candidates.contents[enough], candidates.counts[enough]
    sizes = documents.sizes_of(scope.db, contents).hashes
    counting = np.maximum(sizes - len(scope.ignored.hashes), shared)
    least = rounded_up(min_resemblance * (len(asked.counting) + counting - shared))
    likely: I64 = contents[shared >= least]
    return likely


def _sharing_slots(scope: Scope, slots: U16, resemblance: float) -> tuple[I64 | None, bool]:
    """The contents that may resemble a query, by the slots in memory; None to read those of all contents.

    Also whether all texts are kept, as far as is known.
    """
    recipe = scope.recipe
    fewest = fewest_shared(recipe.slots, resemblance)
    # Texts with the same words may have different shingles if these are made of lines: see `slot_index`.
    if not fewest or recipe.token == "line":
        return None, True
    known = scope.slot_index.current(scope.db, recipe.slots, scope.check_cancelled)
    return (None, True) if known is None else (known.sharing(slots, fewest), known.all_kept)
