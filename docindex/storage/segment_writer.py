"""Write the inverted index: store postings as a new segment, and merge segments.

Each commit adds one segment. Segments of similar size are merged into one, a bounded number of postings in
each commit. A merge moves keys from its sources into its target, one range of hashes after the other, so
that at any time every key lies in exactly one segment and readers need not know about the merge. It drops
the keys of contents that no longer exist.

Takes a connection that is inside a transaction of the caller, and must never commit.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import apsw
import numpy as np

from docindex.kernels.arrays import I64, U64
from docindex.kernels.packing import packed
from docindex.storage.contents import NewPostings
from docindex.storage.rows import rows, value
from docindex.storage.segments import (
    KEYS_IN_MEMORY,
    KEYS_PER_BLOCK,
    MAX_BLOCK_BITS,
    MAX_SEGMENT,
    POSTING_HASH_BITS,
    SEGMENT_COLUMNS,
    PostingArrays,
    Segment,
    all_segments,
    blocks_of,
    damaged_segments,
    postings_in,
    sources_of,
)

_BLOCK = KEYS_PER_BLOCK

# A merge begins when this many segments are of similar size, that is, equal to within this factor.
_FANOUT = 4
# All segments with fewer postings count as similar.
_LEAST = 4096

# How many postings a commit merges in addition to storing its own: a multiple of its own, so that merging
# keeps up (each posting is merged once for each time the index grows by the factor `_FANOUT`), and at least
# a fixed number.
_MERGED_PER_POSTING = 12
_MERGED_AT_LEAST = 1 << 15

_NEW_COLUMNS = SEGMENT_COLUMNS[1:]  # SQLite chooses the id
_INSERT_SEGMENT = (
    f"insert into main.segment ({', '.join(_NEW_COLUMNS)}) values ({', '.join('?' * len(_NEW_COLUMNS))})"
)
_INSERT_BLOCK = "insert into main.posting (id, keys) values (?, ?)"


def add_postings(db: apsw.Connection, postings: NewPostings) -> None:
    """Store postings as one segment, then merge a bounded number of older ones. Overwrites the hashes."""
    size = len(postings.hashes)
    if size:
        first, last = int(postings.contents[0]), int(postings.contents[-1])
        layout = Segment(0, first, last, POSTING_HASH_BITS, 0, 0, None, None)
        # The hashes are changed in place: those of one long document may take a hundred megabytes.
        keys = postings.hashes
        keys >>= np.uint64(64 - layout.hash_bits)
        keys <<= np.uint64(layout.local_bits)
        if last > first:
            keys |= np.repeat((postings.contents - first).astype(np.uint64), postings.counts)
        keys.sort()
        repeats = int(np.count_nonzero(keys[1:] == keys[:-1]))
        _write(db, _create(db, first, last, POSTING_HASH_BITS, size - repeats, moved=None), keys)
    merge(db, max(_MERGED_AT_LEAST, _MERGED_PER_POSTING * size))


def merge(db: apsw.Connection, budget: int, *, everything: bool = False) -> bool:
    """Merge about `budget` postings; returns False if there is nothing to merge.

    With `everything`, all segments are merged into one, and a single segment is rewritten if it has postings
    of dead contents.
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
        # The smallest merge goes first: it removes the most segments for the work.
        target = min(under_way, key=lambda segment: segment.postings)
        budget -= _move(db, target, sources_of(segments, target), min(budget, KEYS_IN_MEMORY))
        merged = True
    return merged


def _similar(segments: Iterable[Segment]) -> list[Segment]:
    """The smallest segments of similar size of which there are enough to merge; empty if there are not."""
    levels: dict[int, list[Segment]] = {}
    for segment in segments:
        if segment.target is None and segment.moved is None:
            size = max(segment.postings, _LEAST) / _LEAST
            levels.setdefault(math.floor(math.log(size, _FANOUT)), []).append(segment)
    return next((levels[level] for level in sorted(levels) if len(levels[level]) >= _FANOUT), [])


def _all_if_worthwhile(db: apsw.Connection, segments: list[Segment]) -> list[Segment]:
    # A content that was removed before the oldest segment was made is in no segment.
    db.execute("delete from main.dead where segment < ?", (segments[0].id if segments else 1 << 62,))
    in_segments = "select 1 from main.dead where segment <= ? limit 1"
    dead = value(db, in_segments, (segments[-1].id,)) if segments else None
    return segments if len(segments) > 1 or dead else []


def _begin_merge(db: apsw.Connection, sources: Sequence[Segment]) -> None:
    first, last = min(source.first for source in sources), max(source.last for source in sources)
    target = _create(
        db,
        first,
        last,
        min(64 - (last - first).bit_length(), *(source.hash_bits for source in sources)),
        sum(source.postings for source in sources),
        moved=0,
    )
    db.executemany(
        "update main.segment set target = ? where id = ?", [(target.id, source.id) for source in sources]
    )


def _move(db: apsw.Connection, target: Segment, sources: Sequence[Segment], budget: int) -> int:
    """Move the next range of hashes into a target; returns how many postings it had, at least 1."""
    # A range ends where a block ends in each of the segments. (A target has at least as many blocks as its
    # sources, except sources that have lost most of their postings since they were made.)
    bits = min(segment.block_bits for segment in (target, *sources))
    begin = target.moved or 0
    share = max(1, budget * (1 << bits) // max(1, target.postings))
    end = min(begin + share, 1 << bits)
    hashes, contents = [], []
    for source in sources:
        finer = source.block_bits - bits
        first, last = begin << finer, end << finer
        found = postings_in(source, blocks_of(db, source, first, last))
        hashes.append(found.hashes)
        contents.append(found.contents)
        db.execute("delete from main.posting where id >= ? and id < ?", (source.row(first), source.row(last)))
    moved = PostingArrays(np.concatenate(hashes), np.concatenate(contents))
    alive = ~np.isin(moved.contents, _dead_in(db, target))
    keys = np.sort(target.keys(PostingArrays(moved.hashes[alive], moved.contents[alive])))
    _write(db, target, keys)
    complete = end == 1 << bits
    db.execute(
        "update main.segment set moved = ?, postings = postings - ? where id = ?",
        (None if complete else end, len(moved.hashes) - len(keys), target.id),
    )
    if complete:
        db.execute("delete from main.segment where target = ?", (target.id,))
        # A content that was removed before the oldest segment was made has no postings left.
        db.execute("delete from main.dead where segment < (select min(id) from main.segment)")
    return max(1, len(moved.hashes))


def _dead_in(db: apsw.Connection, segment: Segment) -> I64:
    found = rows(
        db, "select content from main.dead where content between ? and ?", (segment.first, segment.last)
    )
    return np.array([content for (content,) in found], np.int64)


def _create(
    db: apsw.Connection, first: int, last: int, hash_bits: int, postings: int, *, moved: int | None
) -> Segment:
    """Insert the row of a segment. Its number of blocks follows from its number of postings."""
    block_bits = max(0, min(math.ceil(math.log2(max(1, postings) / _BLOCK)), hash_bits, MAX_BLOCK_BITS))
    row = (first, last, hash_bits, block_bits, postings, None, moved)
    db.execute(_INSERT_SEGMENT, row)
    number = db.last_insert_rowid()
    if number > MAX_SEGMENT:
        damaged_segments(f"segment {number} has a number that cannot be", db.filename)
    return Segment(number, *row)


def _write(db: apsw.Connection, segment: Segment, keys: U64) -> None:
    """Store ascending keys as rows, one for each block that has any. Repeated keys are stored once."""
    begin = 0
    while begin < len(keys):
        end = begin + KEYS_IN_MEMORY
        if end < len(keys):  # end where the last whole block ends
            last_block = int(keys[end]) >> segment.stored_bits
            end = int(np.searchsorted(keys, np.uint64(last_block << segment.stored_bits)))
            if end <= begin:  # one block has all of them; `_create` makes no such segment
                end = len(keys)
        db.executemany(_INSERT_BLOCK, _block_rows(segment, keys[begin:end]))
        begin = end


def _block_rows(segment: Segment, keys: U64) -> Iterator[tuple[int, bytes]]:
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    # Where all 64 bits are stored, numpy shifts by 64 bits to 0, which is the only block.
    blocks = (keys >> np.uint64(segment.stored_bits)).astype(np.int64)
    begins = np.flatnonzero(np.diff(blocks, prepend=-1))
    data = packed(keys & np.uint64((1 << segment.stored_bits) - 1), segment.width)
    borders = (np.append(begins, len(keys)) * segment.width).tolist()
    for block, (begin, end) in zip(blocks[begins].tolist(), itertools.pairwise(borders), strict=True):
        yield segment.row(block), data[begin:end]
