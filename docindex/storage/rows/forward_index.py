"""Read the forward index: which of many contents have which fingerprint hashes.

Takes contents and hashes; returns pairs of a content and a hash as arrays. Only the 48 bits of a hash that
the file stores are compared. Must never write.
"""

from collections.abc import Iterator

import apsw
import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import I64, U16, U64, ranges, starts_of, union
from docindex.errors import CorruptIndex
from docindex.sketching.sketches import HASH_SHIFT
from docindex.storage.other_connection import bound_array
from docindex.storage.postings.fingerprint_bytes import NUMBER_BYTES, hashes_in
from docindex.storage.rows.batch_rows import LONGEST_PART, PART_BITS, are_all_parts
from docindex.storage.statements import column_lists
from docindex.storage.tables import first_changed

_PARTS = (
    "select f.id, f.numbers, f.highs, f.sum from carray(?) as wanted "
    "cross join main.docindex_fingerprint as f on f.id between wanted.value and "
    f"wanted.value + {(1 << PART_BITS) - 1}"
)
_ROWS_AT_A_TIME = 8192  # at most 6 MB of hashes
_HASH_BITS = np.uint64(64) - HASH_SHIFT
_FEW = 1024  # to make a table takes as long as so many binary searches
_LAST = np.uint64((1 << 64) - 1)
_NO_HASHES = np.array([_LAST])  # its low 16 bits are not 0


class ForwardHashes:
    """The hashes of some contents, in pieces: places of contents, and their hashes.

    A question may read them several times. If they are one piece, they are read from the file only once.
    """

    def __init__(self, db: apsw.Connection, contents: I64, window: int) -> None:
        """`contents` must be ascending; `window` is that of the recipe."""
        self._db = db
        self._window = window
        self.contents = contents
        self._only_piece: tuple[I64, U64] | None = None

    def __iter__(self) -> Iterator[tuple[I64, U64]]:
        if self._only_piece is not None:
            yield self._only_piece
        elif len(self.contents):
            pieces = 0
            for piece in hashes_of(self._db, self.contents, self._window):
                pieces += 1
                yield piece
            if pieces == 1:
                self._only_piece = piece


class HashSet:
    """Some ascending hashes, and a table that gives the place of a hash for its low 16 stored bits.

    A binary search of all hashes of many contents would take three times as long.

    >>> wanted = HashSet(np.array([3 << 16, 7 << 16], np.uint64))
    >>> [part.tolist() for part in wanted.find(np.array([7 << 16, 5 << 16], np.uint64))]
    [[0], [1]]
    >>> [part.tolist() for part in HashSet(np.empty(0, np.uint64)).find(wanted.hashes)]
    [[], []]
    """

    def __init__(self, hashes: U64) -> None:
        self.hashes = hashes
        # One place more than there are hashes: for low bits that several hashes have.
        self._padded = np.concatenate((hashes, _NO_HASHES))
        self._places: NDArray[np.int16 | np.int32] | None = None
        """For each value of the low bits, the place of its hash; made when many hashes are sought."""
        self._has_twins = False

    def find(self, hashes: U64) -> tuple[I64, I64]:
        """The places of the hashes that are in the set, ascending, and the place of each in the set."""
        if len(hashes) < _FEW and self._places is None:
            found = self.hashes.searchsorted(hashes)
            places = (self._padded.take(found) == hashes).nonzero()[0]
            return places, found.take(places)
        at = self._table().take(_low_bits(hashes))
        equal = self._padded.take(at) == hashes
        if self._has_twins:
            twins = (at == len(self.hashes)).nonzero()[0]
            sought = hashes.take(twins)
            at[twins] = found = self.hashes.searchsorted(sought)
            equal[twins] = self._padded.take(found) == sought
        places = equal.nonzero()[0]
        return places, at.take(places).astype(np.int64)

    def _table(self) -> NDArray[np.int16 | np.int32]:
        if self._places is None:
            size, low = len(self.hashes), _low_bits(self.hashes)
            self._places = np.zeros(1 << 16, np.int16 if size < 1 << 15 else np.int32)
            places = np.arange(size)
            self._places[low] = places
            twins = low[self._places.take(low) != places]
            self._places[twins] = size
            self._has_twins = len(twins) > 0
        return self._places


def shared_with(wanted: HashSet, of: ForwardHashes) -> tuple[I64, I64]:
    """Find which of some hashes the contents `of` have.

    Returns two arrays: the places of the contents, and the places of their hashes in `wanted`. They are
    ordered by content, then by hash. Each pair comes once, even if the content has the hash several times.
    """
    pairs, size = [np.empty(0, np.uint64)], max(len(wanted.hashes), 1)
    for owner, hashes in of:
        places, at = wanted.find(hashes)
        pairs.append((owner.take(places) * size + at).view(np.uint64))
    places, found = np.divmod(union(*pairs).view(np.int64), size)
    return places, found


def sizes_without(without: U64, of: ForwardHashes, sizes: I64) -> I64:
    """How many different hashes each of the contents `of` has that are not in `without`, which must ascend.

    `sizes` are the numbers of all their different hashes.
    """
    if not len(without):
        return sizes
    places, _ = shared_with(HashSet(without), of)
    return sizes - np.bincount(places, minlength=len(sizes))


def smallest_without(without: HashSet, of: ForwardHashes, others: I64, most: int) -> tuple[I64, U64]:
    """For each of the contents `of`, its `most` smallest different hashes that are not in `without`.

    They must be at most 2^16 contents. `others` tells how many such hashes each of them has. Returns two
    arrays ordered by content, then by hash: the places of the contents, and the hashes.
    """
    # The hashes are spread evenly: below these limits are three times as many as are wanted. To sort only
    # these saves most of the time. Of 12 wanted hashes, one in 10^6 contents has fewer than these.
    spare = 3 * most
    few = others <= spare
    limits = np.where(few, _LAST, (2.0**64 * spare / np.maximum(others, spare + 1)).astype(np.uint64))
    keys = _keys_up_to(limits, without, of)
    counts = np.bincount(_places(keys), minlength=len(others))
    short = (counts < np.minimum(others, most)) & ~few
    if short.any():  # by chance, or because somebody forged hashes
        keys = union(keys, _keys_up_to(np.where(short, _LAST, np.uint64(0)), without, of))
        counts = np.bincount(_places(keys), minlength=len(others))
    first = ranges(starts_of(counts)[:-1], np.minimum(counts, most))
    return _places(keys[first]), keys[first] << HASH_SHIFT


def _keys_up_to(limits: U64, without: HashSet, of: ForwardHashes) -> U64:
    """The distinct hashes of each content up to its limit, without those in `without`, as ascending keys.

    The high 16 bits of a key are the place of the content; the low 48 bits are those of the hash.
    """
    found = [np.empty(0, np.uint64)]
    for owner, hashes in of:
        low = (hashes <= limits.take(owner)).nonzero()[0]
        hashes = hashes.take(low)
        keys = owner.take(low).view(np.uint64) << _HASH_BITS
        keys |= hashes >> HASH_SHIFT
        others = np.ones(len(keys), bool)
        others[without.find(hashes)[0]] = False
        found.append(keys[others])
    return union(*found)


def _places(keys: U64) -> I64:
    return (keys >> _HASH_BITS).astype(np.int64)


def hashes_of(db: apsw.Connection, of: I64, window: int) -> Iterator[tuple[I64, U64]]:
    """Yield the hashes of the contents `of` (ascending) in pieces: places in `of`, and hashes."""
    ids, sizes = [], []
    wanted = (bound_array(db, of << PART_BITS),)
    for columns in column_lists(db, _PARTS, wanted, most=_ROWS_AT_A_TIME):
        parts, data, highs, _ = columns
        if (place := first_changed(columns)) is not None:
            raise _damaged(db, parts[place] >> PART_BITS)
        lengths = np.fromiter(map(len, data), np.int64, len(data))
        ids.append(np.fromiter(parts, np.int64, len(parts)))
        sizes.append(lengths)
        false = lengths > LONGEST_PART
        if false.any():
            raise _damaged(db, parts[np.flatnonzero(false)[0]] >> PART_BITS)
        try:
            hashes = hashes_in(data, highs, window)
        except ValueError as error:
            raise _damaged(db, parts[0] >> PART_BITS) from error
        yield of.searchsorted(ids[-1] >> PART_BITS).repeat(lengths // NUMBER_BYTES), hashes
    if not are_all_parts(of, np.concatenate(ids or [_NONE]), np.concatenate(sizes or [_NONE])):
        raise CorruptIndex("fingerprints are missing; check() lists all damage", db.filename)


_NONE = np.empty(0, np.int64)


def distinct_hashes_of(db: apsw.Connection, of: I64, window: int) -> tuple[U64, I64]:
    """The different hashes of the contents `of`, ascending for each, end to end; where those of each begin.

    `of` must be ascending, and at most 2^16 contents. All hashes are in memory.
    """
    found = [np.empty(0, np.uint64)]
    for owner, hashes in hashes_of(db, of, window):
        found.append(owner.view(np.uint64) << _HASH_BITS | hashes >> HASH_SHIFT)
    keys = union(*found)
    starts = (keys >> _HASH_BITS).searchsorted(np.arange(len(of) + 1, dtype=np.uint64))
    keys <<= HASH_SHIFT
    return keys, starts


def _damaged(db: apsw.Connection, content: int) -> CorruptIndex:
    return CorruptIndex(f"the fingerprints of content {content} are damaged; add it again", db.filename)


def _low_bits(hashes: U64) -> U16:
    # The second of the four parts of a hash: a third of the time of a shift.
    return hashes.astype("<u8", copy=False).view("<u2")[1::4]
