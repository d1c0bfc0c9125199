"""Two queries in, all that can be said of the two texts out. Must never look for a third."""

import dataclasses

import apsw

from docindex.query.measures import Measures, by_shingles, by_slots
from docindex.query.passages import Passage, align
from docindex.query.resolve import Query
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set
from docindex.storage.templates import Ignored


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Measures):
    """What two texts, `a` and `b`, share: `containment` of a in b, `reverse_containment` of b in a."""

    passages: tuple[Passage, ...]
    """The passages in common, as half-open ranges: `query_start` and `query_end` in a, `start`, `end` in b.

    Without any where a text is not kept: then the numbers are estimates, see `basis`.
    """
    query_coverage: float
    """The share of a's symbols that lie in a passage."""
    coverage: float
    """The share of b's symbols that do."""

    @property
    def longest(self) -> Passage | None:
        """The longest passage, or None."""
        return max(self.passages, key=lambda passage: passage.length, default=None)


def measured(db: apsw.Connection, a: Query, b: Query, recipe: Recipe, ignored: Ignored) -> Measures:
    """How much two texts share: exact by shingles where both are there, estimated by their slots if not."""
    return _measured(db, a, b, a.text(db), b.text(db), recipe, ignored)


def compare(db: apsw.Connection, a: Query, b: Query, recipe: Recipe, ignored: Ignored) -> Comparison:
    """The same with the passages, which there are none of where a text is not kept."""
    text_a, text_b = a.text(db), b.text(db)
    measures = _measured(db, a, b, text_a, text_b, recipe, ignored)
    alike = a.symbols_hash(db, recipe) == b.symbols_hash(db, recipe)
    if text_a is None or text_b is None:
        passages, coverages = [], (float(alike), float(alike))
    else:
        alignment = align(text_a, text_b, recipe)
        passages = alignment.passages
        # Texts too short for a passage are still all there is of their like.
        coverages = (1.0, 1.0) if alike else (alignment.query_coverage, alignment.coverage)
    return Comparison(
        **dataclasses.asdict(measures),
        passages=tuple(passages),
        query_coverage=coverages[0],
        coverage=coverages[1],
    )


def _measured(
    db: apsw.Connection,
    a: Query,
    b: Query,
    text_a: str | None,
    text_b: str | None,
    recipe: Recipe,
    ignored: Ignored,
) -> Measures:
    if text_a is None or text_b is None:
        of_a, of_b = a.stored_sketch(db, recipe), b.stored_sketch(db, recipe)
        alike = of_a.symbols_hash == of_b.symbols_hash
        return by_slots(of_a.slots, of_b.slots, of_a.shingles, of_b.shingles, alike=alike)
    of_texts = [ignored.shingles_without(shingle_set(text, recipe)) for text in (text_a, text_b)]
    # Only of texts without shingles that count it matters whether they are the same.
    alike = not all(map(len, of_texts)) and a.symbols_hash(db, recipe) == b.symbols_hash(db, recipe)
    return by_shingles(*of_texts, alike=alike)
