"""Read the segments of the inverted index: their layout, and the keys in their blocks.

The inverted index says which contents have a hash. It consists of segments; each commit adds one for the
fingerprints, one for the *traits* (see `traits`) and one for the *bands* of simhashes (see `simhash_index`).
A segment is a sorted list of *keys*, one for each *posting* (a hash and a content that has it). A key is the
high bits of the hash, followed by the content's id minus the segment's first content. The keys are divided by
their highest bits into *blocks* of a few hundred keys, and each block is one row of `posting`. These highest
bits are the number of the block. They are the same in all its keys, so they are not stored.

Takes a connection that is inside a transaction; returns segments, their keys, or postings as arrays. Checks
every row: a row that no writer makes raises `CorruptIndex`. Must never write.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, Self

import apsw
import numpy as np
import xxhash

from docindex.arrays.ranges import I64, U64, are_first
from docindex.arrays.sorted_blocks import found_in_blocks, unpacked_blocks
from docindex.errors import CorruptIndex
from docindex.storage.statements import columns, columns_for, row_sum, rows

# A new segment stores this many bits of each hash. With 32 bits, one look-up in 2^32 / postings meets a
# different hash with the same bits: one in 900 with five million postings. That costs one candidate, which
# the forward index then rejects. With 40 bits each posting would take one more byte: the file would grow by
# 4% of the size of the texts, and the answers would be the same.
POSTING_HASH_BITS = 32

# The id of a block's row is a positive number of 63 bits: 31 bits for the segment, and 32 for the block.
MAX_BLOCK_BITS = 31
MAX_SEGMENT = (1 << 31) - 1

MAX_BAND_BLOCK_BITS = 23
"""The same in segments of bands: a look-up of a band, of 2 + 21 bits or more, reads one block."""

# The average block of a new segment has at most this many keys. Each block is a row, which takes 12 bytes
# in addition to its keys; a look-up reads the whole block.
KEYS_PER_BLOCK = 256

FINGERPRINTS, TRAITS, BANDS = KINDS = 0, 1, 2
"""What the hashes of a segment are of."""

BAND_HASH_BITS = 40
"""A new segment of bands stores this many bits of each hash, 16 or 17 of them after the band.

Without those, a look-up at distance 5 among 300,000 notes would read the rows of 19 contents on average, and
a note would take 6 bytes less.
"""

# Reading, merging and writing hold at most this many keys in memory at a time. With the arrays that are
# computed from them, they take 60 MB.
KEYS_IN_MEMORY = 1 << 20

_BLOCKS_AT_A_TIME = 4096

# The segments of a file cannot have more blocks than the file has room for. To ask for its size takes as long
# as a tenth of a small question, and so many blocks are no work.
_FEW_BLOCKS = 1 << 16
_LEAST_ROW = 8  # bytes: a row of a block without keys takes 12 or more

_BLOCK_RANGE = "select id, keys, sum from main.docindex_posting where id >= ? and id < ? order by id"
# Without the id: the sum is computed with it, and so says that each block is the wanted one.
_BLOCKS_BY_ID = (
    "select p.keys, p.sum from carray(?) as wanted cross join main.docindex_posting as p on "
    "p.id = wanted.value"
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Hashes of contents, for the inverted index, which may overwrite them."""

    hashes: U64
    """The hashes of all contents, end to end."""
    contents: I64
    """The contents, ascending."""
    counts: I64
    """The number of hashes of each content."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The postings of all parts."""
        if len(parts) == 1 and len(parts[0].contents) == 1 and parts[0].hashes.flags.writeable:
            return parts[0]  # a long document: a copy would take a hundred megabytes
        arrays = zip(*((part.hashes, part.contents, part.counts) for part in parts), strict=True)
        return cls(*map(np.concatenate, arrays))


class NewPostings(NamedTuple):
    """The postings of new contents."""

    fingerprints: Postings
    traits: Postings
    bands: Postings
    """The bands of the simhashes."""


NO_POSTINGS = Postings(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """One row of the table `segment`, and the layout of its keys.

    The fields are the columns of the table, in their order, and `blocks`.

    >>> segment = Segment(5, FINGERPRINTS, 10, 17, 32, block_bits=4, postings=4000, target=None, moved=None)
    >>> segment.local_bits, segment.stored_bits
    (3, 31)
    """

    id: int
    kind: int
    """FINGERPRINTS, TRAITS or BANDS."""
    first: int
    """The smallest content that its postings may have."""
    last: int
    """The largest content that its postings may have."""
    hash_bits: int
    """How many high bits of a hash its keys have."""
    block_bits: int
    """How many of these bits are the number of the block."""
    postings: int
    """How many keys were put into the segment."""
    target: int | None
    """The id of the segment that this one is being merged into."""
    moved: int | None
    """In the target of an unfinished merge: how many blocks have been moved (see the schema). Else None."""
    blocks: range = range(0)
    """The blocks that have rows. During a merge, each block is in the target or in the sources."""

    @property
    def local_bits(self) -> int:
        """How many low bits of a key are the content's id minus `first`."""
        return (self.last - self.first).bit_length()

    @property
    def stored_bits(self) -> int:
        """How many bits of a key are stored: all except the number of the block."""
        return self.hash_bits - self.block_bits + self.local_bits

    @property
    def possible_postings(self) -> int:
        """How many postings the segment has. A false number is limited to what its blocks can hold.

        Work is sized by this number only: each block has a row.
        """
        return min(self.postings, KEYS_PER_BLOCK << self.block_bits)

    @property
    def row_values(self) -> tuple[Any, ...]:
        """The columns of its row, and their checksum."""
        columns = [getattr(self, column) for column in SEGMENT_COLUMNS]
        return *columns, row_sum(*columns)

    def row(self, block: int) -> int:
        """The id of a block's row in `posting`."""
        return (self.id << 32) + block

    def keys_from(self, source: "Segment", keys: U64) -> U64:
        """The keys of this segment for some keys of another one, whose hashes may have more bits."""
        moved = keys >> np.uint64(source.local_bits + source.hash_bits - self.hash_bits)
        moved <<= np.uint64(self.local_bits)
        local = keys & np.uint64((1 << source.local_bits) - 1)
        local += np.uint64(source.first - self.first)
        moved |= local
        return moved

    def contents(self, keys: U64) -> I64:
        """The content of each key."""
        return (keys & np.uint64((1 << self.local_bits) - 1)).astype(np.int64) + self.first


SEGMENT_COLUMNS = tuple(field.name for field in dataclasses.fields(Segment))[:-1]
_ROWS = f"select {', '.join(SEGMENT_COLUMNS)}, sum from main.docindex_segment order by id"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PostingArrays:
    """Postings as two arrays of equal length. The bits of a hash that are not stored are 0."""

    hashes: U64
    contents: I64


def segments_of(db: apsw.Connection, kind: int) -> list[Segment]:
    """The segments of a kind, the oldest first, verified."""
    return [segment for segment in all_segments(db) if segment.kind == kind]


def all_segments(db: apsw.Connection) -> list[Segment]:
    """All segments, the oldest first. They are verified, so callers can rely on their numbers."""
    found = tuple(rows(db, _ROWS))
    try:
        segments = _verified(found)
    except ValueError as error:
        raise CorruptIndex(f"{error}; restore a backup, or index again", db.filename) from error
    blocks = sum([len(segment.blocks) for segment in segments])
    if blocks > _FEW_BLOCKS and blocks * _LEAST_ROW > db.pragma("page_count") * db.pragma("page_size"):
        damaged_segments(f"the segments have {blocks:,} blocks, more than the file can hold", db.filename)
    return list(segments)


@functools.lru_cache(maxsize=256)
def _verified(found: tuple[tuple[Any, ...], ...]) -> tuple[Segment, ...]:
    """The segments in some rows; `ValueError` if they are not those that were written.

    The rows are the same in most questions, and to verify them takes longer than to read them.
    """
    for row in found:
        if row_sum(*row[:-1]) != row[-1]:
            raise ValueError(f"segment {row[0]} was changed")
    segments = {row[0]: Segment(*row[:-1]) for row in found}
    targets = {segment.target for segment in segments.values()}
    for segment in segments.values():
        if not (_has_possible_layout(segment) and _has_possible_merge(segment, segments)):
            raise ValueError(f"segment {segment.id} has impossible numbers")
        if segment.moved is not None and segment.id not in targets:
            raise ValueError("a segment is the target of a merge that has no sources")
    return tuple(
        dataclasses.replace(segment, blocks=_blocks(segment, segments.values()))
        for segment in segments.values()
    )


def _blocks(segment: Segment, segments: Iterable[Segment]) -> range:
    """The blocks of a segment that have rows."""
    target = next((other for other in segments if other.id == (segment.target or segment.id)), segment)
    if target.moved is None:
        return range(1 << segment.block_bits)
    merging = (target, *sources_of(segments, target))
    moved = target.moved << segment.block_bits - min(each.block_bits for each in merging)
    return range(moved) if target is segment else range(moved, 1 << segment.block_bits)


def _has_possible_layout(segment: Segment) -> bool:
    return (
        0 < segment.id <= MAX_SEGMENT
        and segment.kind in KINDS
        and 0 <= segment.first <= segment.last
        and 0 <= segment.block_bits <= min(segment.hash_bits, MAX_BLOCK_BITS)
        and segment.hash_bits + segment.local_bits <= 64
        and 0 <= segment.postings < 1 << 40
        and (segment.moved is None or 0 <= segment.moved < 1 << segment.block_bits)
    )


def _has_possible_merge(segment: Segment, segments: dict[int, Segment]) -> bool:
    """Whether a segment has no target, or has the target of an unfinished merge and is not a target.

    The keys of the target must have room for those of the segment.
    """
    if segment.target is None:
        return True
    target = segments.get(segment.target)
    return (
        target is not None
        and target.kind == segment.kind
        and target.moved is not None
        and segment.moved is None
        and target.first <= segment.first <= segment.last <= target.last
        and target.hash_bits <= segment.hash_bits
    )


def sources_of(segments: Iterable[Segment], target: Segment) -> list[Segment]:
    """The segments that are being merged into a target."""
    return [segment for segment in segments if segment.target == target.id]


def blocks_of(db: apsw.Connection, segment: Segment, first: int, last: int) -> U64:
    """The keys of a segment's blocks from `first` up to but not including `last`, ascending."""
    found = columns(db, _BLOCK_RANGE, (segment.row(first), segment.row(last)))
    present = segment.blocks
    expected = np.arange(max(first, present.start), min(last, present.stop))
    return _decoded(segment, found, expected + segment.row(0), db.filename)


class FoundKeys(NamedTuple):
    """Those keys of a segment that have some prefixes."""

    places: I64
    """The place of the prefix of each key, ascending."""
    contents: I64
    """The content of each key."""
    keys: U64
    """The keys without the number of their block."""
    read: int
    """How many keys the blocks have that were read."""


def keys_with(db: apsw.Connection, segment: Segment, prefixes: U64, last: U64 | None = None) -> FoundKeys:
    """Look up the keys whose hash bits are one of some ascending prefixes. Reads only their blocks.

    With `last`, each prefix stands for all from it to the one in `last`, which must be of the same block.
    """
    last = prefixes if last is None else last
    low = np.uint64(segment.hash_bits - segment.block_bits)
    blocks = (prefixes >> low).astype(np.int64)
    present, skipped = segment.blocks, 0
    if len(present) < 1 << segment.block_bits:  # during a merge
        skipped, end = np.searchsorted(blocks, (present.start, present.stop)).tolist()
        blocks, prefixes, last = blocks[skipped:end], prefixes[skipped:end], last[skipped:end]
    first = are_first(blocks)
    wanted = blocks[first] + segment.row(0)
    data = _verified_data(segment, columns_for(db, _BLOCKS_BY_ID, wanted), wanted, db.filename)
    local_bits = segment.local_bits
    in_block = np.uint64((1 << int(low)) - 1)
    least = (prefixes & in_block) << np.uint64(local_bits)
    most = (last & in_block) << np.uint64(local_bits) | np.uint64((1 << local_bits) - 1)
    try:
        places, keys, read = found_in_blocks(data, segment.stored_bits, np.cumsum(first) - 1, least, most)
    except ValueError as error:
        damaged_segments(f"segment {segment.id}: {error}", db.filename)
    return FoundKeys(places + skipped, segment.contents(keys), keys, read)


def all_blocks(db: apsw.Connection, segment: Segment) -> Iterator[U64]:
    """Yield the keys of all blocks of a segment, ascending, in pieces."""
    end = 1 << segment.block_bits
    for first in range(0, end, _BLOCKS_AT_A_TIME):
        yield blocks_of(db, segment, first, min(first + _BLOCKS_AT_A_TIME, end))


def postings_in(segment: Segment, keys: U64) -> PostingArrays:
    """The postings that some keys of a segment represent."""
    hashes = (keys >> np.uint64(segment.local_bits)) << np.uint64(64 - segment.hash_bits)
    return PostingArrays(hashes, segment.contents(keys))


def damaged_segments(problem: str, path: str) -> NoReturn:
    """Raise the error for an inverted index that cannot be read."""
    raise CorruptIndex(f"{problem}; restore a backup, or index again", path)


def _decoded(segment: Segment, found: Sequence[tuple[Any, ...]], rows: I64, path: str) -> U64:
    """The keys in some blocks of a segment. Checks that all expected rows are there, and unchanged.

    `found` has the columns id, keys and sum of the rows.
    """
    if found and list(found[0]) != rows.tolist():
        damaged_segments(f"a block of segment {segment.id} is missing", path)
    data = _verified_data(segment, found[1:], rows, path)
    if not data:
        return np.empty(0, np.uint64)
    try:
        keys, counts = unpacked_blocks(data, segment.stored_bits)
    except ValueError as error:
        damaged_segments(f"segment {segment.id}: {error}", path)
    stored_bits = np.uint64(segment.stored_bits)
    if keys.max(initial=0) >> stored_bits:
        damaged_segments(f"a block of segment {segment.id} has a key that is too large", path)
    blocks = (rows - segment.row(0)).astype(np.uint64)
    keys |= np.repeat(blocks, counts) << stored_bits
    if (keys[1:] <= keys[:-1]).any():
        damaged_segments(f"the keys of segment {segment.id} are out of order", path)
    return keys


def _verified_data(
    segment: Segment, found: Sequence[tuple[Any, ...]], rows: I64, path: str
) -> Sequence[bytes]:
    """The column `keys` of rows, given with their sums. Checks that all rows are there, and unchanged."""
    data, sums = found or ((), ())
    if len(data) != len(rows):
        damaged_segments(f"a block of segment {segment.id} is missing", path)
    if b"".join(map(xxhash.xxh3_64_digest, data, rows.tolist())) != np.fromiter(sums, ">i8").tobytes():
        damaged_segments(f"a block of segment {segment.id} was changed", path)
    return data
