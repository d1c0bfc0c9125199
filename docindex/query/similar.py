"""Find the documents that resemble a query as a whole: near-duplicates, counted in shingles.

By the method "shingles", candidates have enough equal slots, and a suitable size. From a resemblance of .65
on, they are looked up in a `slot_index`, which the second question makes. Otherwise the slots of all contents
are read, a microsecond for each text. A document at the threshold has fewer equal slots than a candidate
needs with a probability below 2 * 10^-9. By the method "features", candidates are looked up by their
features, which takes the same time in an index of any size, but misses documents: 1% at a resemblance of
.976, 12% at .95, and 97% at .8. Must never report a candidate that is not measured.
"""

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np

from docindex.arrays.ranges import I64, U16
from docindex.minhash.slots import features, fewest_equal_slots
from docindex.query.estimates import KnownText, measure_contents
from docindex.query.measures import rounded_up
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.search.hash_lookup import QueryHashes, candidates_for
from docindex.query.search.options import SearchOptions
from docindex.query.search.search import EvidenceOf, Match, match_of
from docindex.query.slot_index import fewest_shared
from docindex.sketching.incremental import COUNT_ERROR
from docindex.storage.rows import bulk, documents

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
    own = KnownText(scope, query)
    if method == "features":
        candidates = _sharing_features(scope, own)
    else:
        candidates = resembling(scope, [own], min_resemblance)
    documents_of: dict[int, list[tuple[str, int]]] = {}
    for content, key, number in scope.documents_of(candidates):
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


def _sharing_features(scope: Scope, own: KnownText) -> I64:
    """The contents that pass the feature filter of the recipe together with a query, ascending."""
    k, s, _ = scope.recipe.features
    sketch = own.sketch
    found = documents.sharing_features(scope.db, features(sketch.slots[None, :], k, s)[0], scope.recipe)
    return np.unique(np.array(found + documents.with_words_hash(scope.db, sketch.words_hash), np.int64))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Sought:
    """A text whose likely partners are sought by their slots."""

    slots: U16
    equal: int
    """How many slots of a partner are equal at least."""
    least: float
    most: float
    """The smallest and the largest number of shingles of a partner."""
    among: I64 | None
    """The contents that share enough slots in memory; None if these do not tell."""

    def likely(self, some: bulk.SlotsOfSizes) -> I64:
        """Those of some contents that may be partners."""
        among = slice(None) if self.among is None else np.isin(some.contents, self.among)
        equal = np.count_nonzero(some.slots[among] == self.slots, axis=1)
        partners: I64 = some.contents[among][equal >= self.equal]
        return partners


def resembling(scope: Scope, texts: Sequence[KnownText], min_resemblance: float) -> I64:
    """The contents that may resemble one of some texts, ascending."""
    words = {text.sketch.words_hash for text in texts}
    same_words = itertools.chain.from_iterable(documents.with_words_hash(scope.db, each) for each in words)
    found = [np.fromiter(same_words, np.int64)]
    by_hashes = [text for text in texts if text.query.text(scope.db) is None]
    sought, all_kept = _sought(scope, texts, min_resemblance)
    if sought:
        known = [each.among for each in sought if each.among is not None]
        among = np.unique(np.concatenate(known)) if len(known) == len(sought) else None
        least, most = min(each.least for each in sought), max(each.most for each in sought)
        for some in bulk.slots_of_sizes(scope.db, least, most, scope.recipe.slots, among):
            scope.check_cancelled()
            found += [each.likely(some) for each in sought]
            all_kept &= bool(some.kept.all())
    # The better estimate may be the one by fingerprints.
    for text in by_hashes if all_kept else texts:
        found.append(_with_equal_hashes(scope, text, min_resemblance))
    return np.unique(np.concatenate(found))


def _sought(scope: Scope, texts: Sequence[KnownText], min_resemblance: float) -> tuple[list[_Sought], bool]:
    """What is sought for the texts that have shingles; and whether all texts are kept, as far as is known."""
    ignored, sought, all_kept = len(scope.ignored.shingles), [], True
    for own in texts:
        text = own.query.text(scope.db) if ignored else None
        size = own.sketch.shingles if text is None else len(scope.shingles_of(text))
        if not size:
            continue
        # Slots and sizes include boilerplate. A pair of resemblance r without it, in which a text has `size`
        # shingles, has at least this resemblance with it, because it adds at most `ignored` shingles.
        resemblance = min_resemblance * size / (size + ignored)
        among, are_kept = _sharing_slots(scope, own.sketch.slots, resemblance)
        all_kept &= are_kept
        sought.append(
            _Sought(
                own.sketch.slots,
                fewest_equal_slots(scope.recipe.slots, resemblance),
                min_resemblance * size * (1 - COUNT_ERROR),
                size / min_resemblance * (1 + COUNT_ERROR) + ignored,
                among,
            )
        )
    return sought, all_kept


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
