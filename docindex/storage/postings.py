"""Hashes and contents in, sorted blocks in the file out, and back: the inverted index.

A *key* is the high bits of a fingerprint's hash, then the number of its content counted from
the segment's first. A segment's keys are sorted and cut by their highest bits into blocks of a
few hundred, a row each; the bits that name the block are left out of what it stores.

Each commit adds one segment; segments of like size are merged, a bounded stretch a commit. A
merge moves the keys block by block out of its sources into its target, so that at any time
every key lies in just one of them, and a reader need not know that a merge is under way. Keys of
dead contents are left behind. Must run inside a transaction that its caller opened.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U64, ranges
from docindex.kernels.packing import packed, unpacked
from docindex.storage.contents import NewPostings
from docindex.storage.rows import rows, value

# A hash of 32 bits meets a stranger's once in 2^32 / postings: once in 900 looked-up hashes at five
# million, which costs a candidate that the forward index then refutes. 40 bits, a byte more for each
# posting, make the file 4% of the text larger and no answer better.
HASH_BITS = 32

# A block is one row: its head costs 12 bytes, and a look-up reads all of it.
_BLOCK = 256

_MOST_BLOCK_BITS = 31  # a row's id has room for them

# Segments are merged when there are so many of like size (equal to within this factor).
_FANOUT = 4
_LEAST = 4096  # postings; smaller segments are all of like size

# How many postings a commit may merge beside its own: in proportion to them, so that merging keeps up
# (each posting is merged once for each power of `_FANOUT` the index grows by), and some in any case.
_MERGED_PER_POSTING = 12
_MERGED_AT_LEAST = 1 << 15

# Keys in memory at a time, whatever is being merged or written: with what becomes of them, 60 MB.
_AT_ONCE = 1 << 20

_BLOCKS_AT_A_TIME = 4096

# How many blocks a look-up begins with: where many have the same text, each may have a million keys.
_FIRST_BLOCKS = 512

_COLUMNS = "id, first, last, hash_bits, block_bits, postings, target, moved"
_BLOCKS = "select id, keys from main.posting where id >= ? and id < ? order by id"
_NEXT_BLOCKS = "select id, keys from main.posting where id > ? and id < ? order by id limit ?"
_BLOCKS_BY_ID = "select p.id, p.keys from carray(?) as wanted join main.posting as p on p.id = wanted.value"


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """One row of `segment`, and the layout of keys that follows from it."""

    id: int
    first: int
    last: int
    hash_bits: int
    block_bits: int
    postings: int
    target: int | None
    moved: int | None

    @property
    def local_bits(self) -> int:
        """Bits of a content's number, the low ones of a key."""
        return (self.last - self.first).bit_length()

    @property
    def stored_bits(self) -> int:
        """Bits of a key that are stored: all but those that name the block."""
        return self.hash_bits - self.block_bits + self.local_bits

    @property
    def width(self) -> int:
        """Bytes of a stored key."""
        return max(1, -(-self.stored_bits // 8))

    def row(self, block: int) -> int:
        """The id of a block's row."""
        return (self.id << 32) + block

    def keys(self, found: "PostingArrays") -> U64:
        """The keys of some postings that another segment had."""
        local = (found.contents - self.first).astype(np.uint64)
        return ((found.hashes >> np.uint64(64 - self.hash_bits)) << np.uint64(self.local_bits)) | local


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PostingArrays:
    """Postings as they are read: hashes, of which only the high bits are there, and their contents."""

    hashes: U64
    contents: I64


def add(db: apsw.Connection, postings: NewPostings) -> None:
    """Store some postings as one segment, and merge a bounded stretch of what is there."""
    size = len(postings.hashes)
    if size:
        first, last = int(postings.contents[0]), int(postings.contents[-1])
        layout = Segment(0, first, last, HASH_BITS, 0, 0, None, None)
        # In place, because of one long document there may be a hundred megabytes of hashes.
        keys = postings.hashes
        keys >>= np.uint64(64 - layout.hash_bits)
        keys <<= np.uint64(layout.local_bits)
        if last > first:
            keys |= np.repeat((postings.contents - first).astype(np.uint64), postings.counts)
        keys.sort()
        repeats = int(np.count_nonzero(keys[1:] == keys[:-1]))
        _write(db, _create(db, first, last, HASH_BITS, size - repeats, moved=None), keys)
    merge(db, max(_MERGED_AT_LEAST, _MERGED_PER_POSTING * size))


def merge(db: apsw.Connection, budget: int, *, everything: bool = False) -> bool:
    """Merge some postings, about as many as the budget says; False when there is nothing to merge.

    With `everything`, all segments into one, also a single one that holds keys of dead contents.
    """
    merged = False
    while budget > 0:
        segments = all_segments(db)
        under_way = [segment for segment in segments if segment.moved is not None]
        if not everything:
            sources = _alike(segments)  # also beside a large merge, or small segments would pile up meanwhile
        elif under_way:
            sources = []
        else:
            sources = _all_if_worthwhile(db, segments)
        if sources:
            _begin(db, sources)
            continue
        if not under_way:
            break
        # The smallest first: it frees most segments for the work.
        target = min(under_way, key=lambda segment: segment.postings)
        budget -= _move(db, target, _sources(segments, target), min(budget, _AT_ONCE))
        merged = True
    return merged


def look_up(db: apsw.Connection, hashes: U64) -> Iterator[tuple[I64, I64]]:
    """For sorted hashes, all that match: which hash, and a content that has it (dead ones included).

    Hashes are compared by their high bits only: what is found is a candidate. It comes in pieces, for
    of what everybody has there may be more than memory holds: a piece is cut where it has 2^20 postings.
    """
    for segment in all_segments(db):
        prefixes = hashes >> np.uint64(64 - segment.hash_bits)
        blocks = (prefixes >> np.uint64(segment.hash_bits - segment.block_bits)).astype(np.int64)
        begin, at_once = 0, _FIRST_BLOCKS
        while begin < len(blocks):
            end = int(np.searchsorted(blocks, blocks[min(begin + at_once, len(blocks)) - 1], "right"))
            some = blocks[begin:end]
            wanted = some[np.append(True, some[1:] != some[:-1])] + segment.row(0)
            keys = _decoded(segment, rows(db, _BLOCKS_BY_ID, (apsw.carray(wanted),)), db.filename)
            which, found = _matches(segment, keys, prefixes[begin:end])
            yield which + begin, found
            # As many as have so many keys, if the next are like these.
            begin, at_once = end, max(1, min(8 * at_once, len(wanted) * _AT_ONCE // (len(keys) + 1)))


def _matches(segment: Segment, keys: U64, prefixes: U64) -> tuple[I64, I64]:
    """Which of some sorted prefixes are among some keys, and with what contents."""
    least = prefixes << np.uint64(segment.local_bits)
    begins = np.searchsorted(keys, least)
    counts = np.searchsorted(keys, least | np.uint64((1 << segment.local_bits) - 1), "right") - begins
    return np.repeat(np.arange(len(prefixes)), counts), _contents(segment, keys[ranges(begins, counts)])


def all_segments(db: apsw.Connection) -> list[Segment]:
    """All segments, oldest first; checked, so that no later step meets impossible numbers."""
    segments = {row[0]: Segment(*row) for row in rows(db, f"select {_COLUMNS} from main.segment order by id")}
    for segment in segments.values():
        target = segments.get(segment.target or 0)
        possible = (
            0 < segment.id < 1 << 31
            and 0 <= segment.first <= segment.last
            and 0 <= segment.block_bits <= min(segment.hash_bits, _MOST_BLOCK_BITS)
            and segment.hash_bits + segment.local_bits <= 64
            and 0 <= segment.postings < 1 << 40
            and (
                segment.target is None
                or (target is not None and target.moved is not None and segment.moved is None)
            )
            and (segment.moved is None or 0 <= segment.moved < 1 << segment.block_bits)
        )
        if not possible:
            _damaged(f"segment {segment.id} has impossible numbers", db.filename)
    if any(s.moved is not None and not _sources(segments.values(), s) for s in segments.values()):
        _damaged("a segment is being merged from no others", db.filename)
    return list(segments.values())


def blocks_of(db: apsw.Connection, segment: Segment, first: int, last: int) -> U64:
    """The keys of a segment's blocks from `first` up to `last`, ascending."""
    found = rows(db, _BLOCKS, (segment.row(first), segment.row(last)))
    return _decoded(segment, found, db.filename)


def all_blocks(db: apsw.Connection, segment: Segment) -> Iterator[tuple[U64, int]]:
    """The keys of a segment's blocks in their order, and how many rows they came from, some at a time."""
    last = segment.row(-1)
    while found := rows(db, _NEXT_BLOCKS, (last, segment.row(1 << segment.block_bits), _BLOCKS_AT_A_TIME)):
        yield _decoded(segment, found, db.filename), len(found)
        last = found[-1][0]


def postings_in(segment: Segment, keys: U64) -> PostingArrays:
    """What some keys of a segment stand for; the hashes have their high bits only."""
    hashes = (keys >> np.uint64(segment.local_bits)) << np.uint64(64 - segment.hash_bits)
    return PostingArrays(hashes, _contents(segment, keys))


def _sources(segments: Iterable[Segment], target: Segment) -> list[Segment]:
    return [segment for segment in segments if segment.target == target.id]


def _create(
    db: apsw.Connection, first: int, last: int, hash_bits: int, postings: int, *, moved: int | None
) -> Segment:
    block_bits = max(0, min(math.ceil(math.log2(max(1, postings) / _BLOCK)), hash_bits, _MOST_BLOCK_BITS))
    row = (first, last, hash_bits, block_bits, postings, None, moved)
    db.execute(
        "insert into main.segment (first, last, hash_bits, block_bits, postings, target, moved) "
        "values (?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    number = db.last_insert_rowid()
    if number >= 1 << 31:
        _damaged(f"segment {number} has a number that cannot be", db.filename)
    return Segment(number, *row)


def _write(db: apsw.Connection, segment: Segment, keys: U64) -> None:
    """Store ascending keys, each once, as rows: one for each block that has any."""
    begin = 0
    while begin < len(keys):
        end = begin + _AT_ONCE
        if end < len(keys):  # up to the end of a block
            last_block = int(keys[end]) >> segment.stored_bits
            end = int(np.searchsorted(keys, np.uint64(last_block << segment.stored_bits)))
            if end <= begin:  # all of it one block, which no honest segment has: see `_create`
                end = len(keys)
        db.executemany("insert into main.posting values (?, ?)", _block_rows(segment, keys[begin:end]))
        begin = end


def _block_rows(segment: Segment, keys: U64) -> Iterator[tuple[int, bytes]]:
    keys = keys[np.append(True, keys[1:] != keys[:-1])]
    # (Shifting by all 64 bits gives 0 in numpy, as it should here.)
    blocks = (keys >> np.uint64(segment.stored_bits)).astype(np.int64)
    begins = np.flatnonzero(np.diff(blocks, prepend=-1))
    data = packed(keys & np.uint64((1 << segment.stored_bits) - 1), segment.width)
    borders = (np.append(begins, len(keys)) * segment.width).tolist()
    for block, (begin, end) in zip(blocks[begins].tolist(), itertools.pairwise(borders), strict=True):
        yield segment.row(block), data[begin:end]


def _decoded(segment: Segment, found: Sequence[tuple[int, bytes]], path: str) -> U64:
    """The keys in some rows of a segment, in ascending order; checked."""
    if not found:
        return np.empty(0, np.uint64)
    lengths = np.array([len(data) for _, data in found], np.int64)
    if (lengths % segment.width).any():
        _damaged(f"a block of segment {segment.id} is not a whole number of keys", path)
    keys = unpacked(b"".join(data for _, data in found), segment.width)
    stored_bits = np.uint64(segment.stored_bits)
    if keys.max(initial=0) >> stored_bits:
        _damaged(f"a block of segment {segment.id} has a key too large for it", path)
    blocks = np.array([row for row, _ in found], np.int64) - segment.row(0)
    keys |= np.repeat(blocks.astype(np.uint64), lengths // segment.width) << stored_bits
    if (keys[1:] <= keys[:-1]).any():
        _damaged(f"the keys of segment {segment.id} are out of order", path)
    return keys


def _contents(segment: Segment, keys: U64) -> I64:
    return (keys & np.uint64((1 << segment.local_bits) - 1)).astype(np.int64) + segment.first


def _alike(segments: Iterable[Segment]) -> list[Segment]:
    """Segments of like size, if there are enough of them to be merged: the smallest such."""
    levels: dict[int, list[Segment]] = {}
    for segment in segments:
        if segment.target is None and segment.moved is None:
            size = max(segment.postings, _LEAST) / _LEAST
            levels.setdefault(math.floor(math.log(size, _FANOUT)), []).append(segment)
    return next((levels[level] for level in sorted(levels) if len(levels[level]) >= _FANOUT), [])


def _all_if_worthwhile(db: apsw.Connection, segments: list[Segment]) -> list[Segment]:
    # Whoever died before the oldest segment was made is in none.
    db.execute("delete from main.dead where segment < ?", (segments[0].id if segments else 1 << 62,))
    in_segments = "select 1 from main.dead where segment <= ? limit 1"
    dead = value(db, in_segments, (segments[-1].id,)) if segments else None
    return segments if len(segments) > 1 or dead else []


def _begin(db: apsw.Connection, sources: Sequence[Segment]) -> None:
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
    """Move the next stretch of keys into a target; gives how many there were, at least 1."""
    # Stretches end where a block ends in every one of them. (A target has the more blocks, but for
    # sources that have lost most of their postings since they were made.)
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
    merged = PostingArrays(np.concatenate(hashes), np.concatenate(contents))
    alive = ~np.isin(merged.contents, _dead(db, target))
    keys = np.sort(target.keys(PostingArrays(merged.hashes[alive], merged.contents[alive])))
    _write(db, target, keys)
    dropped = len(merged.hashes) - len(keys)
    moved = None if end == 1 << bits else end
    db.execute(
        "update main.segment set moved = ?, postings = postings - ? where id = ?", (moved, dropped, target.id)
    )
    if moved is None:
        db.execute("delete from main.segment where target = ?", (target.id,))
        # Whoever died before the oldest segment began was left behind by all there are.
        db.execute("delete from main.dead where segment < (select min(id) from main.segment)")
    return max(1, len(merged.hashes))


def dead(db: apsw.Connection) -> I64:
    """Contents that are gone, but may still be found by `look_up`; ascending."""
    return np.array(
        [content for (content,) in rows(db, "select content from main.dead order by content")], np.int64
    )


def _dead(db: apsw.Connection, segment: Segment) -> I64:
    found = rows(
        db, "select content from main.dead where content between ? and ?", (segment.first, segment.last)
    )
    return np.array([content for (content,) in found], np.int64)


def _damaged(what: str, path: str) -> NoReturn:
    raise CorruptIndex(f"{what}; restore a backup, or index again", path)


def by_hash(db: apsw.Connection) -> tuple[int, Iterator[PostingArrays]]:
    """All postings of all segments by hash, then by content, dead ones included; and their hashes' bits.

    They come some 2^20 at a time: equal hashes always together, and so many of a hash as there are.
    """
    segments = all_segments(db)
    first = min((segment.first for segment in segments), default=0)
    local_bits = (max((segment.last for segment in segments), default=0) - first).bit_length()
    bits = min([HASH_BITS, 64 - local_bits, *(segment.hash_bits for segment in segments)])

    def pieces() -> Iterator[PostingArrays]:
        total = sum(segment.postings for segment in segments if segment.target is None)
        parts_bits = (total // _AT_ONCE).bit_length()
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
                # A hash that lost bits may have become equal to another.
                keys = keys[np.append(True, keys[1:] != keys[:-1])]
                local = (keys & np.uint64((1 << local_bits) - 1)).astype(np.int64)
                yield PostingArrays(keys >> np.uint64(local_bits) << np.uint64(64 - bits), local + first)

    return bits, pieces()


def document_frequencies(db: apsw.Connection) -> I64:
    """How many living contents have each hash, the greatest number first."""
    gone = dead(db)
    counts = [np.empty(0, np.int64)]
    _, pieces = by_hash(db)
    for some in pieces:
        hashes = some.hashes[~np.isin(some.contents, gone)]
        begins = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
        counts.append(np.diff(begins, append=len(hashes)))
    return np.sort(np.concatenate(counts))[::-1]


def _part(db: apsw.Connection, segment: Segment, part: int, parts_bits: int) -> PostingArrays:
    """Those postings of a segment whose hashes begin with some bits."""
    finer = segment.block_bits - parts_bits
    if finer >= 0:
        return postings_in(segment, blocks_of(db, segment, part << finer, (part + 1) << finer))
    block = part >> -finer  # a small segment: its block has more than this part
    found = postings_in(segment, blocks_of(db, segment, block, block + 1))
    ours = found.hashes >> np.uint64(64 - parts_bits) == np.uint64(part)
    return PostingArrays(found.hashes[ours], found.contents[ours])
