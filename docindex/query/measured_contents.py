"""Measure how much a query shares with many contents: exactly where texts are kept, else by estimates.

Takes a query and contents; gives the measures of each. Texts are read and compared in batches.
"""

from collections.abc import Iterator

import numpy as np

from docindex.kernels.arrays import I64, U64, starts_of
from docindex.kernels.joins import found_in
from docindex.query.estimates import KnownText, estimate_contents
from docindex.query.measures import Measures, same_words
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.storage import bulk, documents

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
