"""Write the inverted index: store postings as a new segment, and merge segments.

Each commit adds one segment of each kind. Segments of a kind and of similar size are merged into one, a
bounded number of postings in each commit. A merge moves keys from its sources into its target, one range of
hashes after another. So each key is always in exactly one segment, and readers need not know about the merge.
A merge deletes the keys of removed contents.

Takes a connection that is inside the caller's transaction, and must never commit.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import apsw
import numpy as np
import xxhash

from docindex.arrays.ranges import I64, U64, are_first
from docindex.arrays.sorted_blocks import packed_blocks
from docindex.storage.postings.lookup import dead
from docindex.storage.postings.segments import (
    BAND_HASH_BITS,
    BANDS,
    FINGERPRINTS,
    KEYS_IN_MEMORY,
    KEYS_PER_BLOCK,
    KINDS,
    MAX_BAND_BLOCK_BITS,
    MAX_BLOCK_BITS,
    POSTING_HASH_BITS,
    SEGMENT_COLUMNS,
    TRAITS,
    NewPostings,
    Postings,
    Segment,
    all_segments,
    blocks_of,
    sources_of,
)
from docindex.storage.statements import counter, value
from docindex.storage.values import signed

_BLOCK = KEYS_PER_BLOCK

# A merge begins when this many segments have similar sizes: sizes that differ by less than this factor.
_FANOUT = 4
# All segments with fewer postings count as similar.
_LEAST = 4096
# Large segments are merged when there are twice as many, so that each posting is moved less often while an
# index grows to a million notes.
_MANY = 8
_LARGE = 1 << 16

# How many older postings a commit merges: a multiple of its own postings, and at least a fixed number. So
# merging keeps up: each posting is merged once for each time that the index grows by the factor `_FANOUT`.
_MERGED_PER_POSTING = 12
_MERGED_AT_LEAST = 1 << 15

# When `add_many` has made several commits, it ends with a merge of its segments, and of smaller ones. They
# have at most this many times the postings that it added. That takes 0.06 us for a posting, a thirteenth of
# the time of adding it without its text; a search in one segment takes 0.63 of the time of one in three.
_MERGED_PER_ADDED = 2

# How many postings one commit merges at most. It takes half a second: a crash loses at most that work.
MERGED_AT_A_TIME = 4_000_000
MERGE_LOG_BYTES = 8 * MERGED_AT_A_TIME
"""About how much such a commit writes to the log: a posting takes six bytes or so."""

# A block may be nearly empty, and its bitmap then takes a hundred bytes for a key: so blocks are counted.
_PACKED_AT_A_TIME = 1 << 12

_INSERT_SEGMENT = (
    f"insert into main.docindex_segment ({', '.join(SEGMENT_COLUMNS)}, sum) values "
    f"({', '.join('?' * len(SEGMENT_COLUMNS))}, ?)"
)
_CHANGE_SEGMENT = _INSERT_SEGMENT.replace("insert", "replace", 1)
_INSERT_BLOCK = "insert into main.docindex_posting (id, keys, sum) values (?, ?, ?)"
_FORGET_DEAD = "delete from main.docindex_dead where segment < ?"


def add_postings(db: apsw.Connection, new: NewPostings) -> int:
    """Store postings as new segments, then merge some older postings. Overwrites the given hashes.

    Returns how many more postings should be merged, in further transactions.
    """
    size = sum(len(postings.hashes) for postings in new)
    _add_segment(db, FINGERPRINTS, new.fingerprints, POSTING_HASH_BITS)
    _add_segment(db, TRAITS, new.traits, POSTING_HASH_BITS)
    _add_segment(db, BANDS, new.bands, BAND_HASH_BITS)
    budget = max(_MERGED_AT_LEAST, _MERGED_PER_POSTING * size)
    merge_postings(db, min(budget, MERGED_AT_A_TIME))
    return max(0, budget - MERGED_AT_A_TIME)


def _add_segment(db: apsw.Connection, kind: int, postings: Postings, hash_bits: int) -> None:
    if not len(postings.hashes):
        return
    first, last = int(postings.contents[0]), int(postings.contents[-1])
    layout = Segment(0, kind, first, last, hash_bits, 0, 0, None, None)
    # Change the hashes in place: the hashes of a long document may take a hundred megabytes.
    keys = postings.hashes
    keys >>= np.uint64(64 - layout.hash_bits)
    keys <<= np.uint64(layout.local_bits)
    if last > first:
        keys |= np.repeat((postings.contents - first).astype(np.uint64), postings.counts)
    keys.sort()
    repeats = int(np.count_nonzero(keys[1:] == keys[:-1]))
    segment = _create(db, dataclasses.replace(layout, postings=len(keys) - repeats))
    _write(db, segment, keys, range(1 << segment.block_bits))


def merge_postings(db: apsw.Connection, budget: int, *, everything: bool = False) -> bool:
    """Merge about `budget` postings. Returns False if there is nothing to merge.

    With ``everything=True``, merges all segments of a kind into one, and rewrites a single segment if it may
    have postings of dead contents.
    """
    merged = False
    while budget > 0:
        segments = all_segments(db)
        under_way = [segment for segment in segments if segment.moved is not None]
        if not everything:
            # Small merges begin even while a large one is under way, or small segments would pile up.
            sources = _similar(segments)
        elif under_way:
            sources = []
        else:
            sources = _all_if_worthwhile(db, segments)
        if sources:
            _begin_merge(db, sources)
            continue
        if not under_way:
            break
        # Work on the smallest merge first: it removes the most segments for the least work.
        target = min(under_way, key=lambda segment: segment.postings)
        budget -= _move(db, target, sources_of(segments, target), min(budget, KEYS_IN_MEMORY))
        merged = True
    return merged


def begin_merge_of_added(db: apsw.Connection, newest: int) -> int:
    """Begin to merge the segments of contents above an id, and others that are small beside them.

    If a small enough merge is under way, begins nothing of its kind, because that merge comes first. Returns
    how many postings `merge_postings` should move.
    """
    segments = [each for each in all_segments(db) if each.target is None]
    return sum(_merge_added(db, newest, [each for each in segments if each.kind == kind]) for kind in KINDS)


def _merge_added(db: apsw.Connection, newest: int, segments: list[Segment]) -> int:
    """The same for the segments of a kind."""
    limit = _MERGED_PER_ADDED * sum(
        segment.possible_postings * _share_above(newest, segment) for segment in segments
    )
    under_way = sum(
        each.possible_postings for each in segments if each.moved is not None and each.postings <= limit
    )
    if under_way:
        return under_way
    segments = [segment for segment in segments if segment.moved is None]
    segments.sort(key=lambda segment: segment.postings)
    totals = itertools.accumulate(segment.postings for segment in segments)
    sources = [segment for segment, total in zip(segments, totals, strict=True) if total <= limit]
    if len(sources) < 2:
        return 0
    _begin_merge(db, sources)
    return sum(segment.possible_postings for segment in sources)


def _share_above(newest: int, segment: Segment) -> float:
    """The share of a segment's contents that are above an id."""
    return max(0, segment.last - max(newest, segment.first - 1)) / (segment.last - segment.first + 1)


def _similar(segments: Iterable[Segment]) -> list[Segment]:
    """The smallest segments of a kind and of similar size if they are enough to merge; else an empty list."""
    levels: dict[tuple[int, int], list[Segment]] = {}
    for segment in segments:
        if segment.target is None and segment.moved is None:
            size = max(segment.postings, _LEAST) / _LEAST
            levels.setdefault((math.floor(math.log(size, _FANOUT)), segment.kind), []).append(segment)
    enough = (levels[level] for level in sorted(levels) if len(levels[level]) >= _fanout(levels[level]))
    return next(enough, [])


def _fanout(segments: Sequence[Segment]) -> int:
    """How many segments of this similar size are enough to merge."""
    return _FANOUT if min(segment.postings for segment in segments) < _LARGE else _MANY


def _all_if_worthwhile(db: apsw.Connection, segments: list[Segment]) -> list[Segment]:
    # If a content was removed before the oldest segment was made, it is in no segment.
    _forget_dead(db, segments[0].id if segments else 1 << 62)
    for kind in KINDS:
        own = [segment for segment in segments if segment.kind == kind]
        if len(own) > 1 or (own and value(db, _IN_SEGMENTS, (own[0].id, segments[-1].id))):
            return own
    return []


_IN_SEGMENTS = "select 1 from main.docindex_dead where segment between ? and ? limit 1"


def _begin_merge(db: apsw.Connection, sources: Sequence[Segment]) -> None:
    first, last = min(source.first for source in sources), max(source.last for source in sources)
    hash_bits = min(64 - (last - first).bit_length(), *(source.hash_bits for source in sources))
    postings = sum(source.possible_postings for source in sources)
    target = _create(db, Segment(0, sources[0].kind, first, last, hash_bits, 0, postings, None, 0))
    _change(db, [dataclasses.replace(source, target=target.id) for source in sources])


def _move(db: apsw.Connection, target: Segment, sources: Sequence[Segment], budget: int) -> int:
    """Move the next range of hashes into a target. Returns how many postings it had, at least 1."""
    # A range ends where a block ends in every segment. (A target usually has at least as many blocks as each
    # of its sources. It has fewer if a source has lost most of its postings.)
    bits = min(segment.block_bits for segment in (target, *sources))
    begin = target.moved or 0
    share = max(1, budget * (1 << bits) // max(1, target.postings))
    end = min(begin + share, 1 << bits)
    gone, size, pieces = _dead_in(db, target), 0, []
    for source in sources:
        finer = source.block_bits - bits
        first, last = begin << finer, end << finer
        found = blocks_of(db, source, first, last)
        size += len(found)
        if len(gone):
            found = found[~np.isin(source.contents(found), gone)]
        pieces.append(target.keys_from(source, found))
        db.execute(
            "delete from main.docindex_posting where id >= ? and id < ?",
            (source.row(first), source.row(last)),
        )
    keys = np.concatenate(pieces)
    keys.sort()
    finer = target.block_bits - bits
    _write(db, target, keys, range(begin << finer, end << finer))
    complete = end == 1 << bits
    dropped = size - len(keys)
    after = dataclasses.replace(target, moved=None if complete else end, postings=target.postings - dropped)
    _change(db, [after])
    if complete:
        db.executemany("delete from main.docindex_segment where id = ?", [(source.id,) for source in sources])
        # If a content was removed before the oldest segment was made, it has no postings left.
        _forget_dead(db, min(segment.id for segment in all_segments(db)))
    return max(1, size)


def _dead_in(db: apsw.Connection, segment: Segment) -> I64:
    gone = dead(db)
    return gone[(gone >= segment.first) & (gone <= segment.last)]


def _forget_dead(db: apsw.Connection, oldest: int) -> None:
    """Delete the rows of those contents that were removed before the segment `oldest` was made."""
    db.execute(_FORGET_DEAD, (oldest,))


def _change(db: apsw.Connection, segments: Iterable[Segment]) -> None:
    """Replace the rows of some segments."""
    db.executemany(_CHANGE_SEGMENT, [segment.row_values for segment in segments])


def _create(db: apsw.Connection, layout: Segment) -> Segment:
    """Insert the row of a segment, and choose its id, and its number of blocks by that of its postings."""
    blocks = math.ceil(math.log2(max(1, layout.postings) / _BLOCK))
    most = MAX_BAND_BLOCK_BITS if layout.kind == BANDS else MAX_BLOCK_BITS
    block_bits = max(0, min(blocks, layout.hash_bits, most))
    segment = dataclasses.replace(layout, id=counter(db, "segment") + 1, block_bits=block_bits)
    db.execute(_INSERT_SEGMENT, segment.row_values)
    return segment


def _write(db: apsw.Connection, segment: Segment, keys: U64, blocks: range) -> None:
    """Store ascending keys in the rows of some blocks, also of those without keys.

    Repeated keys are stored once.
    """
    begin, first = 0, blocks.start
    while first < blocks.stop:
        end, last = len(keys), blocks.stop
        if end > begin + KEYS_IN_MEMORY:  # end where the last whole block ends
            whole = int(keys[begin + KEYS_IN_MEMORY]) >> segment.stored_bits
            if whole > first:  # else all of them are in one block; `_create` makes no such segment
                end, last = int(np.searchsorted(keys, np.uint64(whole << segment.stored_bits))), whole
        db.executemany(_INSERT_BLOCK, _block_rows(segment, keys[begin:end], range(first, last)))
        begin, first = end, last


def _block_rows(segment: Segment, keys: U64, blocks: range) -> Iterator[tuple[int, bytes, int]]:
    keys = keys[are_first(keys)]
    # If all 64 bits are stored, numpy's shift by 64 bits gives 0, which is the only block.
    of_keys = (keys >> np.uint64(segment.stored_bits)).astype(np.int64)
    keys &= np.uint64((1 << segment.stored_bits) - 1)
    for begin in range(blocks.start, blocks.stop, _PACKED_AT_A_TIME):
        some = range(begin, min(begin + _PACKED_AT_A_TIME, blocks.stop))
        borders = np.searchsorted(of_keys, np.arange(some.start, some.stop + 1))
        own = keys[borders[0] : borders[-1]]
        for block, data in zip(some, packed_blocks(own, np.diff(borders), segment.stored_bits), strict=True):
            row = segment.row(block)
            yield row, data, signed(xxhash.xxh3_64_intdigest(data, row))
