"""A document or a hash in, where it has fingerprints out: hash, document and position of each.

A hash is shown as the 48 bits that the file keeps of it, a positive number. Must never look at a text.
"""

import apsw
import numpy as np

from docindex.recipe import Recipe
from docindex.sketching.sketches import HASH_SHIFT
from docindex.storage import contents, documents, postings, segments
from docindex.storage.documents import content_with_id, documents_of

SHIFT = HASH_SHIFT
"""What is left out of a hash where it is shown."""

FingerprintPosition = tuple[int, int, int]
"""A document's id, a position in symbols, a hash."""


def in_document(db: apsw.Connection, document: int, recipe: Recipe) -> list[FingerprintPosition]:
    """The fingerprints of a document in the order of their positions; none if it is not there."""
    content = content_with_id(db, document)
    return [] if content is None else _in_content(db, document, content, recipe)


def of_hash(db: apsw.Connection, shown: int, recipe: Recipe) -> list[FingerprintPosition]:
    """Where a hash is a fingerprint, by document, then by position."""
    if not 0 <= shown < 1 << 64 - int(HASH_SHIFT):
        return []
    wanted = np.array([shown], np.uint64) << HASH_SHIFT
    # What is found in vain, by half a hash or in a content that is gone, has no such place, or no document.
    found = [np.empty(0, np.int64), *(some for _, some in postings.look_up(db, wanted))]
    places = []
    for content, _, document in documents_of(db, np.unique(np.concatenate(found))):
        hashes, positions = contents.fingerprints_of(db, content, recipe.window)
        places += [(document, position, shown) for position in positions[hashes == wanted[0]].tolist()]
    return sorted(places)


def approximate_counts(db: apsw.Connection) -> tuple[int, int]:
    """About how many documents there are, and how many fingerprints."""
    return documents.greatest(db), sum(segment.postings for segment in segments.all_segments(db))


def _in_content(
    db: apsw.Connection, document: int, content: int, recipe: Recipe
) -> list[FingerprintPosition]:
    hashes, positions = contents.fingerprints_of(db, content, recipe.window)
    shown = (hashes >> HASH_SHIFT).tolist()
    return [(document, position, one) for position, one in zip(positions.tolist(), shown, strict=True)]
