"""Compare two texts or documents: containment, resemblance and common passages.

Takes two queries. Must never look at a third document.
"""

import dataclasses

from docindex.query.estimates import KnownText, estimate
from docindex.query.measures import Measures, by_shingles
from docindex.query.passages import Passage, align, with_places
from docindex.query.resolve import Query, places_of
from docindex.query.scope import Scope


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Measures):
    """How much two texts, `a` and `b`, have in common, and their common passages.

    The fields of `Measures`, where `containment` is the share of a that is in b; and:

    - `passages`: the common passages; `query_start` and `query_end` in a, `start` and `end` in b
    - `query_coverage`, `coverage`: the share of a's and of b's symbols that lie in passages

    If a text is not kept, there are no passages, and coverage is 0, which says nothing. (It is 1 if both
    texts have the same words.) The measures are then estimates; see `basis`.
    """

    passages: tuple[Passage, ...]
    """The common passages, as half-open ranges: `query_start` and `query_end` in a, `start` and `end` in b.

    Coverage counts these passages only, so a larger `min_length` lowers it. Passages that are `boilerplate`
    are here, but they do not count.
    """
    query_coverage: float
    """The share of a's symbols that lie in a passage, both without boilerplate.

    If a is all boilerplate, this is 1 or 0: whether b has the same words.
    """
    coverage: float
    """The share of b's symbols that lie in a passage, both without boilerplate; 1 or 0 as for a."""

    @property
    def longest(self) -> Passage | None:
        """The longest passage that is not boilerplate, or None if there is no such passage."""
        own = (passage for passage in self.passages if not passage.boilerplate)
        return max(own, key=lambda passage: passage.length, default=None)


def measure_texts(scope: Scope, a: Query, b: Query) -> Measures:
    """How much two texts share: counted in shingles if both texts are kept; otherwise estimated."""
    return _measured(scope, (a, b), (a.text(scope.db), b.text(scope.db)))


def compare_texts(scope: Scope, a: Query, b: Query, min_length: int | None = None) -> Comparison:
    """How much two texts share, and their passages of at least `min_length` symbols, if both are kept."""
    text_a, text_b = a.text(scope.db), b.text(scope.db)
    measures = _measured(scope, (a, b), (text_a, text_b))
    alike = a.words_hash(scope) == b.words_hash(scope)
    if text_a is None or text_b is None:
        passages, coverages = [], (float(alike), float(alike))
    else:
        alignment = align(text_a, text_b, scope.recipe, min_length, scope.ignored.hashes)
        passages = with_places(alignment.passages, places_of(scope.db, a), places_of(scope.db, b))
        # Texts with the same words cover each other, even if they have no passage that counts.
        coverages = (1.0, 1.0) if alike else (alignment.query_coverage, alignment.coverage)
    return Comparison(
        containment=measures.containment,
        reverse_containment=measures.reverse_containment,
        resemblance=measures.resemblance,
        shared=measures.shared,
        basis=measures.basis,
        containment_error=measures.containment_error,
        reverse_containment_error=measures.reverse_containment_error,
        resemblance_error=measures.resemblance_error,
        passages=tuple(passages),
        query_coverage=coverages[0],
        coverage=coverages[1],
    )


def _measured(scope: Scope, queries: tuple[Query, Query], texts: tuple[str | None, str | None]) -> Measures:
    a, b = queries
    text_a, text_b = texts
    if text_a is None or text_b is None:
        return estimate(scope, KnownText(scope, a), KnownText(scope, b))
    of_texts = scope.shingles_of(text_a), scope.shingles_of(text_b)
    # Whether the words are the same matters only if a text has no shingles that count.
    alike = not all(map(len, of_texts)) and a.words_hash(scope) == b.words_hash(scope)
    return by_shingles(*of_texts, alike=alike)
