"""Measure how much a query shares with other texts: exactly where both are kept, else by estimates.

Takes queries or contents. Of the estimates that the file allows, the one with the smallest standard error of
the containments is given: by the fingerprints, by the slots of the sketches, or by Broder's samples. A small
text inside a large one has hardly an equal slot, but its fingerprints show it. Kept texts are read and
compared in batches.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np

from docindex.arrays.joins import found_in
from docindex.arrays.ranges import I64, U64, starts_of
from docindex.errors import CorruptIndex
from docindex.query.measures import (
    Basis,
    Measures,
    ShareColumns,
    measures_of,
    same_words,
    shares_of_samples,
    shares_of_sets,
    shares_of_slots,
    unit_errors,
)
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.shingling.samples import coarsen, sample_levels
from docindex.storage.rows import bulk, documents, forward_index
from docindex.storage.rows.documents import StoredSketch
from docindex.storage.rows.forward_index import ForwardHashes, HashSet


@dataclasses.dataclass(frozen=True, eq=False)
class KnownText:
    """A text, and what estimates need to know of it; each part is computed when it is first needed."""

    scope: Scope
    query: Query

    @functools.cached_property
    def sketch(self) -> StoredSketch:
        """The sketch, without the fingerprints."""
        return self._of_given[0] if self.query.content is None else self.query.stored_sketch(self.scope)

    @functools.cached_property
    def hashes(self) -> U64:
        """The fingerprint hashes that count."""
        given = self.query.content is None
        return self.scope.ignored.without(self._of_given[1] if given else self.query.hashes(self.scope)[0])

    @functools.cached_property
    def _of_given(self) -> tuple[StoredSketch, U64]:
        """Both for a text that the caller passed, which is read only once."""
        return self.query.sketch_of_given(self.scope)


def estimate(scope: Scope, a: KnownText, b: KnownText) -> Measures:
    """The best estimate of how much two texts share.

    Two texts with the same words share everything. If there is boilerplate, only fingerprints serve, because
    slots and samples are made of the whole text.
    """
    shared = len(np.intersect1d(a.hashes, b.hashes, assume_unique=True))
    sizes = np.array([len(b.hashes)])
    return _estimates(scope, a, [(b.query, b.sketch)], np.array([shared]), sizes)[0]


def estimate_contents(scope: Scope, own: KnownText, contents: I64) -> list[Measures]:
    """The result of `estimate` for a text and each of some contents, which must ascend.

    They should be at most a few thousand: all their sketches are in memory.
    """
    sketches = documents.stored_sketches_of(scope.db, contents, scope.recipe)
    sketches.sort(key=lambda sketch: sketch.content)
    if len(sketches) != len(contents):
        raise CorruptIndex("a content is missing; check() lists all damage", scope.db.filename)
    of = ForwardHashes(scope.db, contents, scope.recipe.window)
    places, _ = forward_index.shared_with(HashSet(own.hashes), of)
    sizes = documents.sizes_of(scope.db, contents).hashes
    sizes = forward_index.sizes_without(scope.ignored.hashes, of, sizes)
    others = [(Query(None, sketch.content), sketch) for sketch in sketches]
    return _estimates(scope, own, others, np.bincount(places, minlength=len(contents)), sizes)


def _estimates(
    scope: Scope, own: KnownText, others: Sequence[tuple[Query, StoredSketch]], shared: I64, sizes: I64
) -> list[Measures]:
    """The best estimates for a text and others, given how many hashes they share, and how many each has."""
    sketches = [own.sketch, *(sketch for _, sketch in others)]
    symbols, shingles = np.array([(each.symbols, each.shingles) for each in sketches], np.int64).T
    errors = unit_errors(symbols, shingles, scope.recipe, scope.ignoring())
    own_sizes = np.full(len(others), len(own.hashes))
    shares = shares_of_sets(shared, own_sizes, sizes, np.maximum(errors[0], errors[1:]))
    ways: list[_Way] = [("fingerprints", shared, shares)]
    if not scope.ignored:
        ways += [_by_slots(sketches, shingles), *_by_samples(scope, sketches, shingles)]
    best = np.argmin([way.error_of_containments for _, _, way in ways], axis=0)
    found = [measures_of(way, count, [basis] * len(others)) for basis, count, way in ways]
    estimates = [found[way][number] for number, way in enumerate(best.tolist())]
    for number, (query, sketch) in enumerate(others):
        if sketch.words_hash == own.sketch.words_hash and scope.recipe.token != "line":
            estimates[number] = same_words(_counting(scope, own, query))
    return estimates


_Way = tuple[Basis, I64, ShareColumns]
"""A basis, how many of its things a text shares with each of the others, and the measures."""


def _counting(scope: Scope, own: KnownText, other: Query) -> int:
    """How many of the shingles of two texts with the same words count: all, if neither text is known."""
    text = (own.query.text(scope.db) or other.text(scope.db)) if scope.ignored else None
    return own.sketch.shingles if text is None else len(scope.shingles_of(text))


def _by_slots(sketches: Sequence[StoredSketch], shingles: I64) -> _Way:
    """The estimates by slots of the first text and each other text."""
    slots = np.array([sketch.slots for sketch in sketches])
    equal = np.count_nonzero(slots[1:] == slots[0], axis=1)
    equal[(shingles[1:] == 0) | (shingles[0] == 0)] = 0
    own_sizes = np.full(len(equal), shingles[0])
    return "slots", equal, shares_of_slots(equal, slots.shape[1], own_sizes, shingles[1:])


def _by_samples(scope: Scope, sketches: Sequence[StoredSketch], shingles: I64) -> list[_Way]:
    """The estimates by the samples that the recipe stores; the samples of two texts have the same modulus."""
    recipe, ways = scope.recipe, []
    if recipe.mod_m:
        own = sketches[0].mod_m
        ways.append(_of_samples([(own, sketch.mod_m) for sketch in sketches[1:]]))
    if recipe.level:
        levels = sample_levels(shingles, recipe.level)
        levels = np.maximum(levels[0], levels[1:]).tolist()
        pairs = zip(sketches[1:], levels, strict=True)
        own = sketches[0].level
        ways.append(_of_samples([(coarsen(own, k), coarsen(sketch.level, k)) for sketch, k in pairs]))
    return ways


def _of_samples(pairs: Sequence[tuple[U64, U64]]) -> _Way:
    counts = [(len(np.intersect1d(a, b, assume_unique=True)), len(a), len(b)) for a, b in pairs]
    shared, of_a, of_b = np.array(counts, np.int64).T
    return "samples", shared, shares_of_samples(shared, of_a, of_b)


# Estimates are made for this many contents at a time: their sketches take a megabyte or two.
_ESTIMATED = 1024


def measure_contents(scope: Scope, own: KnownText, contents: I64) -> Iterator[tuple[int, Measures]]:
    """How much a text shares with each of some contents, which must ascend; in any order."""
    kept = bulk.kept_among(scope.db, contents)
    text = own.query.text(scope.db) if len(kept) else None
    if text is None:
        kept = contents[:0]
    else:
        yield from _exactly(scope, own.query, scope.shingles_of(text), kept)
    estimated = np.setdiff1d(contents, kept, assume_unique=True)
    if not len(estimated):
        return
    for begin in range(0, len(estimated), _ESTIMATED):
        scope.check_cancelled()
        some = estimated[begin : begin + _ESTIMATED]
        yield from zip(some.tolist(), estimate_contents(scope, own, some), strict=True)


def _exactly(scope: Scope, query: Query, shingles: U64, contents: I64) -> Iterator[tuple[int, Measures]]:
    """The exact measures of contents whose texts are kept."""
    alike: set[int] = set()
    done = 0
    for hashes, starts in scope.shingle_sets(contents):
        sizes = np.diff(starts)
        if not len(shingles) or not sizes.all():
            # A text without shingles that count is like another only if both have the same words.
            alike = alike or set(documents.with_words_hash(scope.db, query.words_hash(scope)))
        hits = found_in(shingles, hashes)
        shared = np.diff(starts_of(hits.astype(np.int64))[starts])
        for size, common in zip(sizes.tolist(), shared.tolist(), strict=True):
            content = int(contents[done])
            done += 1
            yield content, _counted(len(shingles), size, common, alike=content in alike)


def _counted(own: int, size: int, shared: int, *, alike: bool) -> Measures:
    if not (own and size):
        return same_words(0) if alike else Measures(0.0, 0.0, 0.0, 0, "shingles")
    return Measures(shared / own, shared / size, shared / (own + size - shared), shared, "shingles")
