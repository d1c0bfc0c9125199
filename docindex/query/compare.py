"""Compare two texts or documents: containment, resemblance, common passages and reworded regions.

Takes two queries. Must never look at a third document.
"""

import dataclasses

from docindex.query.estimates import KnownText, estimate
from docindex.query.measures import Measures, by_shingles
from docindex.query.regions.evidence import Evidence, with_places
from docindex.query.regions.passages import Passage, align, default_min_length
from docindex.query.regions.regions import Region
from docindex.query.resolve import Query, places_of
from docindex.query.scope import Scope


class _KnowsRegions(Measures):
    """Measures with values that are no fields, so that neither pickle nor `asdict` meets them."""

    __slots__ = ("_evidence", "_regions")
    _evidence: Evidence | None
    """None if a text is not kept."""
    _regions: tuple[Region, ...]
    """Not set before somebody has asked."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(_KnowsRegions):
    """How much two texts, `a` and `b`, have in common, and their common passages.

    The fields of `Measures`, where `containment` is the share of a that is in b; and:

    - `passages`: the common passages; `query_start` and `query_end` in a, `start` and `end` in b
    - `query_coverage`, `coverage`: the share of a's and of b's symbols that lie in passages

    If a text is not kept, there are no passages, and coverage is 0, which says nothing. (It is 1 if both
    texts have the same words.) The measures are then estimates; see `basis`.

    `regions` is no field: regions are found when you read them.
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

    @property
    def regions(self) -> tuple[Region, ...]:
        """The stretches of a that were made from stretches of b, copied or reworded; see `docindex.Region`.

        `min_length` and `join` make no difference to them. They are found when you read them for the first
        time: that reads the texts from the index, which must be open, and takes about as long as `compare`.
        There are no regions if a text is not kept. `TextNotKept` if a document was removed since;
        `ValueError` for a copy of a comparison.
        """
        try:
            return self._regions
        except AttributeError:
            pass
        try:
            evidence = self._evidence
        except AttributeError:
            raise ValueError(
                "this comparison is a copy (pickled, or made by dataclasses.replace), which does not know "
                "its index; use index.compare(a, b).regions"
            ) from None
        found = () if evidence is None else tuple(evidence.regions())
        object.__setattr__(self, "_regions", found)
        return found


def measure_texts(scope: Scope, a: Query, b: Query) -> Measures:
    """How much two texts share: counted in shingles if both texts are kept; otherwise estimated."""
    return _measured(scope, (a, b), (a.text(scope.db), b.text(scope.db)))


def compare_texts(
    scope: Scope, evidence: Evidence, min_length: int | None = None, join: int = 0
) -> Comparison:
    """How much two texts share, and their passages of at least `min_length` symbols, if both are kept."""
    a, b = evidence.query, evidence.other
    text_a, text_b = a.text(scope.db), b.text(scope.db)
    measures = _measured(scope, (a, b), (text_a, text_b))
    alike = a.words_hash(scope) == b.words_hash(scope)
    if text_a is None or text_b is None:
        passages, coverages = [], (float(alike), float(alike))
        known = None
    else:
        alignment = align(text_a, text_b, scope.recipe, min_length, scope.ignored.hashes, join=join)
        is_default = min_length in (None, default_min_length(scope.recipe)) and not join
        known = dataclasses.replace(evidence, common=tuple(alignment.passages)) if is_default else evidence
        passages = with_places(alignment.passages, places_of(scope.db, a), places_of(scope.db, b))
        # Texts with the same words cover each other, even if they have no passage that counts.
        coverages = (1.0, 1.0) if alike else (alignment.query_coverage, alignment.coverage)
    comparison = Comparison(
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
    object.__setattr__(comparison, "_evidence", known)
    return comparison


def _measured(scope: Scope, queries: tuple[Query, Query], texts: tuple[str | None, str | None]) -> Measures:
    a, b = queries
    text_a, text_b = texts
    if text_a is None or text_b is None:
        return estimate(scope, KnownText(scope, a), KnownText(scope, b))
    of_texts = scope.shingles_of(text_a), scope.shingles_of(text_b)
    # Whether the words are the same matters only if a text has no shingles that count.
    alike = not all(map(len, of_texts)) and a.words_hash(scope) == b.words_hash(scope)
    return by_shingles(*of_texts, alike=alike)
