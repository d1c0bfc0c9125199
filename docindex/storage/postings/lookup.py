"""Look up hashes in the inverted index: which contents have them.

Takes sorted hashes, and yields pairs of a hash and a content that has it; or yields all postings in the order
of their hashes. Only the high bits of hashes are compared, so each result is a candidate that the caller must
confirm. Results may include removed contents that are still in a segment: see `dead`.

During a merge each key is in exactly one segment, so these functions treat sources and targets like any other
segment. They run inside the caller's transaction, and must never write.
"""

from collections.abc import Iterator
from typing import NamedTuple

import apsw
import numpy as np

from docindex.arrays.ranges import I64, U64, are_first
from docindex.storage.postings.segments import (
    BANDS,
    FINGERPRINTS,
    KEYS_IN_MEMORY,
    POSTING_HASH_BITS,
    TRAITS,
    FoundKeys,
    PostingArrays,
    Segment,
    blocks_of,
    keys_with,
    postings_in,
    segments_of,
)
from docindex.storage.statements import columns

_DEAD = "select content from main.docindex_dead order by content"

# This many hashes are looked up first. If many contents have the same text, one block may hold a million
# keys.
_FIRST_HASHES = 1024


class ExistingContents:
    """Looks up hashes of existing contents, any number of times in one read transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._segments = segments_of(db, FINGERPRINTS)
        self._removed = dead(db)

    def look_up(self, hashes: U64) -> Iterator[tuple[I64, I64]]:
        """Like `look_up`, without removed contents."""
        for places, contents in _look_up(self._db, self._segments, hashes):
            if len(self._removed):
                exist = ~np.isin(contents, self._removed)
                places, contents = places[exist], contents[exist]
            yield places, contents


def look_up(db: apsw.Connection, hashes: U64) -> Iterator[tuple[I64, I64]]:
    """Look up sorted hashes. Yields pairs of arrays: places in `hashes`, and contents that have them.

    Hashes are compared by their high bits only. The result comes in pieces of about 2^20 postings, because it
    may be larger than memory for hashes that most texts have.
    """
    return _look_up(db, segments_of(db, FINGERPRINTS), hashes)


def look_up_traits(db: apsw.Connection, traits: U64) -> Iterator[tuple[I64, I64]]:
    """The same for sorted hashes of traits."""
    return _look_up(db, segments_of(db, TRAITS), traits)


class FoundBands(NamedTuple):
    """Bands of some contents."""

    places: I64
    """The place of the range in which each hash is."""
    contents: I64
    hashes: U64
    stored: np.uint64
    """The bits of the hashes that are stored; the others are not known."""


def look_up_bands(db: apsw.Connection, least: U64, most: U64) -> Iterator[FoundBands]:
    """Look up the hashes of bands in ranges, in pieces. Each range has the same highest 23 bits."""
    for segment in segments_of(db, BANDS):
        others = np.uint64(64 - segment.hash_bits)
        for begin, found in _found(db, segment, least >> others, most >> others):
            places = found.places + begin
            # The keys lack the number of the block, which the range has.
            hashes = least[places] | found.keys >> np.uint64(segment.local_bits) << others
            yield FoundBands(places, found.contents, hashes, ~np.uint64(0) << others)


def _look_up(db: apsw.Connection, segments: list[Segment], hashes: U64) -> Iterator[tuple[I64, I64]]:
    for segment in segments:
        prefixes = hashes >> np.uint64(64 - segment.hash_bits)
        for begin, found in _found(db, segment, prefixes, prefixes):
            yield found.places + begin, found.contents


def _found(db: apsw.Connection, segment: Segment, first: U64, last: U64) -> Iterator[tuple[int, FoundKeys]]:
    """The keys with hash bits in ranges, in pieces, each with the place of its first range."""
    begin, at_once = 0, _FIRST_HASHES
    while begin < len(first):
        end = begin + at_once
        found = keys_with(db, segment, first[begin:end], last[begin:end])
        yield begin, found
        # Next, look up as many hashes as read 2^20 keys if the blocks are as full as the previous blocks.
        at_once = max(1, min(8 * at_once, at_once * KEYS_IN_MEMORY // (found.read + 1)))
        begin = end


def by_hash(db: apsw.Connection) -> tuple[int, Iterator[PostingArrays]]:
    """The number of bits of a hash, and all postings (also of dead contents) by hash, then by content.

    The postings come in pieces of about 2^20. All postings of a hash are in the same piece, which may
    therefore be larger.
    """
    segments = segments_of(db, FINGERPRINTS)
    first = min((segment.first for segment in segments), default=0)
    local_bits = (max((segment.last for segment in segments), default=0) - first).bit_length()
    bits = min([POSTING_HASH_BITS, 64 - local_bits, *(segment.hash_bits for segment in segments)])

    def pieces() -> Iterator[PostingArrays]:
        total = sum(segment.possible_postings for segment in segments if segment.target is None)
        parts_bits = (total // KEYS_IN_MEMORY).bit_length()
        for part in range(1 << parts_bits):
            found = [_part(db, segment, part, parts_bits) for segment in segments]
            found = [some for some in found if len(some.hashes)]
            if len(found) == 1 and all(segment.hash_bits == bits for segment in segments):
                yield found[0]
            elif found:
                keys = np.concatenate(
                    [
                        (some.hashes >> np.uint64(64 - bits) << np.uint64(local_bits))
                        | (some.contents - first).astype(np.uint64)
                        for some in found
                    ]
                )
                keys.sort()
                # Two hashes may have become equal, because hashes are cut to the same number of bits.
                keys = keys[are_first(keys)]
                local = (keys & np.uint64((1 << local_bits) - 1)).astype(np.int64)
                yield PostingArrays(keys >> np.uint64(local_bits) << np.uint64(64 - bits), local + first)

    return bits, pieces()


def _part(db: apsw.Connection, segment: Segment, part: int, parts_bits: int) -> PostingArrays:
    """The postings of a segment whose hashes begin with the number `part`, which has `parts_bits` bits."""
    finer = segment.block_bits - parts_bits
    if finer >= 0:
        return postings_in(segment, blocks_of(db, segment, part << finer, (part + 1) << finer))
    block = part >> -finer  # a small segment, in which one block spans several parts
    found = postings_in(segment, blocks_of(db, segment, block, block + 1))
    ours = found.hashes >> np.uint64(64 - parts_bits) == np.uint64(part)
    return PostingArrays(found.hashes[ours], found.contents[ours])


def document_frequencies(db: apsw.Connection) -> I64:
    """How many existing contents have each hash; the largest number first."""
    gone = dead(db)
    counts = [np.empty(0, np.int64)]
    _, pieces = by_hash(db)
    for some in pieces:
        hashes = some.hashes[~np.isin(some.contents, gone)]
        begins = np.flatnonzero(are_first(hashes))
        counts.append(np.diff(begins, append=len(hashes)))
    return np.sort(np.concatenate(counts))[::-1]


def dead(db: apsw.Connection) -> I64:
    """The contents that were removed but may still have postings, ascending."""
    (found,) = columns(db, _DEAD) or ((),)
    return np.array(found, np.int64)
