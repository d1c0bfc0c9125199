"""List fingerprints: the document, the position and the hash of each.

Takes a document, a hash, both, or neither for all fingerprints. Shows the 48 bits of a hash that the file
keeps, as a number that is not negative. Must never read a text.
"""

from collections.abc import Iterator

import numpy as np

from docindex.query.scope import Scope, ScopeOpener
from docindex.sketching.sketches import HASH_SHIFT
from docindex.storage import contents, documents, postings

SHIFT = HASH_SHIFT
"""How many low bits of a hash are dropped before it is shown."""

_DOCUMENTS_AT_A_TIME = 1000

FingerprintPosition = tuple[int, int, int]
"""The id of a document, a position in symbols, and a hash."""


def fingerprint_positions(
    open_scope: ScopeOpener, *, document: int | None = None, hash_: int | None = None
) -> Iterator[FingerprintPosition]:
    """The positions of fingerprints: of one document, of one hash, of one hash in one document, or all.

    Reads one document or hash in each transaction, so that no transaction stays open while the caller works.
    """
    if document is None and hash_ is None:
        for number in _documents(open_scope):
            yield from fingerprint_positions(open_scope, document=number)
        return
    with open_scope() as scope:
        found = _of_hash(scope, hash_ or 0) if document is None else _in_document(scope, document)
    yield from (position for position in found if hash_ is None or position[2] == hash_)


def _documents(open_scope: ScopeOpener) -> Iterator[int]:
    """The ids of all documents, a thousand in each transaction."""
    last = 0
    while True:
        with open_scope() as scope:
            some = documents.listed(scope.db, last, _DOCUMENTS_AT_A_TIME)
        if not some:
            return
        yield from (document.id for document in some)
        last = some[-1].id


def _in_document(scope: Scope, document: int) -> list[FingerprintPosition]:
    """The fingerprints of a document in the order of their positions; empty if there is no such document."""
    link = documents.link_with_id(scope.db, document)
    if link is None:
        return []
    hashes, positions = contents.fingerprints_of(scope.db, link[1], scope.recipe.window)
    shown = (hashes >> HASH_SHIFT).tolist()
    return [(document, position, hash_) for position, hash_ in zip(positions.tolist(), shown, strict=True)]


def _of_hash(scope: Scope, shown: int) -> list[FingerprintPosition]:
    """The positions of a hash, ordered by document, then by position."""
    if not 0 <= shown < 1 << 64 - int(HASH_SHIFT):
        return []
    wanted = np.array([shown], np.uint64) << HASH_SHIFT
    # The inverted index may name contents that have only the high bits of the hash, or that were removed. The
    # first kind adds no position below; the second kind has no document.
    found = [np.empty(0, np.int64), *(some for _, some in postings.look_up(scope.db, wanted))]
    places = []
    for content, _, document in scope.documents_of(np.unique(np.concatenate(found))):
        hashes, positions = contents.fingerprints_of(scope.db, content, scope.recipe.window)
        places += [(document, position, shown) for position in positions[hashes == wanted[0]].tolist()]
    return sorted(places)
