"""Find the contents whose simhash differs from a given one in at most a few bits.

A simhash has 64 bits, which are divided into three bands. If two simhashes differ in d bits, there is a band
in which they differ in at most d / 3 bits. So for each band, all values that differ from the query's band in
few bits are looked up in the inverted index, and the simhashes of the contents found are compared in full. If
that is more work than reading all simhashes, all are read. In both cases the result is exactly the contents
within the distance.

Takes simhashes and a distance; returns contents and their distances as arrays. Runs inside the caller's
transaction. Must never read the rows of many contents, which are long, for a look-up.
Must never trust that a column holds integers.
"""

import functools
import itertools
import math
import operator
from array import array
from collections.abc import Callable, Iterator
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import ArrayLike

from docindex.arrays.ranges import I64, U64, are_first
from docindex.errors import CorruptIndex
from docindex.simhashing.bits import as_bits
from docindex.simhashing.hamming_tables import SortedTables
from docindex.simhashing.table_design import TableDesign, useful_designs
from docindex.storage import tallies
from docindex.storage.postings.lookup import dead, look_up_bands
from docindex.storage.statements import columns_for

# For each band, how many bits of a simhash are above it, and how many bits it has. With 300,000 notes, the
# postings of the bands take 21 bytes for each note, and 1.4 us to add. Three SQL indexes, on the simhash and
# on two expressions of it, take 54 bytes and 6 us, and more in a larger file: each row changes three pages at
# random. But a question takes 0.1 ms less.
_BANDS = ((0, 22), (22, 21), (43, 21))
_ABOVE = np.array([above for above, _ in _BANDS], np.uint64)
_NUMBER_BITS = 2  # of the number of a band, at the head of its hash
_NUMBERS = np.arange(len(_BANDS)).astype(np.uint64) << np.uint64(64 - _NUMBER_BITS)

# Costs in units of 0.35 us, the time that reading one simhash in order takes. Looking up one of many values
# costs about 1, because a block often has several of them; and starting costs 150.
_VALUE = 1
_START = 150
_NEVER = 1 << 62  # more contents than a file can have

# Costs in memory, in nanoseconds. With tables: to sort a value into a table, to look up a query in a table,
# and to compare a candidate. Without tables: to compare a query with a value, and to start a query.
_SORTED, _LOOKED_UP, _CANDIDATE = 30, 105, 4.5
_PAIR, _QUERY = 0.5, 5000

# How many values all tables together may hold at a time. Each takes 12 bytes. A million contents fit in one
# piece up to distance 4.
_IN_TABLES = 1 << 24
_AT_ONCE = 1 << 20  # rows read at a time where no tables are built
_LOOKED_UP_AT_ONCE = 1 << 16  # values of bands

_ALL = "select id, simhash from main.docindex_content"
_SIMHASHES = (
    "select c.simhash from carray(?) as wanted cross join main.docindex_content as c on c.id = wanted.value"
)


def near_simhashes(
    db: apsw.Connection,
    simhashes: ArrayLike,
    distance: int,
    check_cancelled: Callable[[], None] = lambda: None,
) -> tuple[I64, I64, I64]:
    """Find all contents within a distance of simhashes, as three arrays.

    The arrays hold the place of the simhash in `simhashes`, the content, and the distance. They are ordered
    by place, then by distance, then by content. `ValueError` for a distance below 0 or above 63.

    One simhash among 300,000 contents takes 0.25 ms up to distance 5 and 1 ms at distance 8. From about 20 on
    all simhashes are read, which takes 0.1 s. 5,000 simhashes take 0.4 s. Apart from the result, memory stays
    at 200 MB, whatever their number.
    """
    if not 0 <= operator.index(distance) < 64:
        raise ValueError(f"a distance of {distance}: expected 0 to 63, the number of bits that may differ")
    queries = as_bits(simhashes)
    count = tallies.stored(db, "content").rows
    found = (
        _by_lookup(db, queries, distance)
        if count >= _min_contents(len(queries), distance)
        else _by_scan(db, queries, distance, count)
    )
    parts = [np.empty((3, 0), np.int64)]
    for part in found:
        check_cancelled()
        parts.append(part)
    places, contents, distances = np.concatenate(parts, axis=1)
    order = np.lexsort((contents, distances, places))
    # A look-up finds a content by each of its bands.
    order = order[are_first(contents[order]) | are_first(places[order])]
    return places[order], contents[order], distances[order]


def _min_contents(queries: int, distance: int) -> int:
    """The smallest number of contents for which looking up is no more work than reading all of them."""
    work, share = queries * _START, 0.0
    for (_, width), most in zip(_BANDS, _most_flips(distance), strict=True):
        values = sum(math.comb(width, flipped) for flipped in range(most + 1))
        work += queries * _VALUE * values
        share += queries * values / (1 << width)  # the share of contents that are found and read
    return math.ceil(work / (1 - share)) if share < 1 else _NEVER


def _most_flips(distance: int) -> tuple[int, ...]:
    """For each band, the number of bits in which a value may differ to be looked up; -1 for no look-up.

    If 1 is added to each number, their sum is the distance plus 1. So a simhash that differs in more bits
    than this in every band is beyond the distance. The last bands, which are narrower, get the larger
    numbers.

    >>> _most_flips(3), _most_flips(0)
    ((0, 0, 1), (-1, -1, 0))
    """
    return tuple((distance + 1 + number) // len(_BANDS) - 1 for number in range(len(_BANDS)))


class _Flips(NamedTuple):
    """What to look up for a query."""

    numbers: I64
    """The number of the band of each look-up."""
    flipped: U64
    """The bits to flip in the hash of this band."""
    others: U64
    """The bits of the hash that are not of the band, and may be anything."""


@functools.lru_cache(maxsize=8)
def _flips(distance: int) -> _Flips:
    """All look-ups for a distance, cached because there may be thousands."""
    parts = []
    for number, ((_, width), most) in enumerate(zip(_BANDS, _most_flips(distance), strict=True)):
        flipped = np.zeros(min(1, most + 1), np.uint64)  # no look-up at all if `most` is -1
        others = 64 - _NUMBER_BITS - width
        for bit in range(others, others + width):
            more = flipped[np.bitwise_count(flipped) < most]
            flipped = np.append(flipped, more | np.uint64(1 << bit))
        masks = np.full(len(flipped), (1 << others) - 1, np.uint64)
        parts.append((np.full(len(flipped), number), flipped, masks))
    return _Flips(*map(np.concatenate, zip(*parts, strict=True)))


def bands_of(simhashes: U64) -> U64:
    """The hashes of the bands of some simhashes, a row for each, as the schema defines them.

    >>> [f"{band:016x}" for band in bands_of(np.array([2**63], np.uint64))[0]]
    ['2000000000000000', '4000000000080000', '8000010000000000']
    """
    return _hashes(simhashes[:, None], np.arange(len(_BANDS)))


def _hashes(simhashes: U64, numbers: I64) -> U64:
    """The hash of the band with a number, for each simhash."""
    above = _ABOVE[numbers]
    rotated = simhashes << above | simhashes >> np.uint64(64) - above  # a shift by 64 bits gives 0
    return rotated >> np.uint64(_NUMBER_BITS) | _NUMBERS[numbers]


def _by_lookup(db: apsw.Connection, queries: U64, distance: int) -> Iterator[I64]:
    """Look up the bands of the queries; yields rows of places, contents and distances, perhaps repeated."""
    numbers, flipped, others = _flips(distance)
    at_once = max(1, _LOOKED_UP_AT_ONCE // len(numbers))
    for begin in range(0, len(queries), at_once):
        some = queries[begin : begin + at_once]
        hashes = _hashes(some[:, None], numbers)
        least = ((hashes ^ flipped) & ~others).ravel()
        order = least.argsort()
        least = least[order]
        for found in look_up_bands(db, least, least | others[order % len(numbers)]):
            which = order[found.places]
            # Most contents differ in too many of the stored bits, so their rows need not be read.
            apart = np.bitwise_count((found.hashes ^ hashes.ravel()[which]) & found.stored)
            near = (apart <= distance).nonzero()[0]
            if not len(near):
                continue
            contents = found.contents[near]
            existing, simhashes = _simhashes_of(db, contents)
            contents, places = contents[existing], which[near[existing]] // len(numbers)
            distances = np.bitwise_count(simhashes ^ some[places])
            within = distances <= distance
            yield np.stack((places[within] + begin, contents[within], distances[within]))


def _simhashes_of(db: apsw.Connection, contents: I64) -> tuple[I64 | slice, U64]:
    """The places of those contents that were not removed, and their simhashes."""
    existing: I64 | slice = slice(None)
    found = columns_for(db, _SIMHASHES, contents) or [()]
    if len(found[0]) < len(contents):
        existing = np.flatnonzero(~np.isin(contents, dead(db)))
        found = columns_for(db, _SIMHASHES, contents[existing]) or [()]
        if len(found[0]) < len(existing):
            raise CorruptIndex("a content is missing; check() lists all damage", db.filename)
    return existing, np.array(found[0], np.int64).view(np.uint64)


def _by_scan(db: apsw.Connection, queries: U64, distance: int, count: int) -> Iterator[I64]:
    """Read all simhashes and compare them with the queries; yields the same as `_by_lookup`."""
    design = _cheapest_design(len(queries), count, distance)
    at_once = _AT_ONCE if design is None else max(1, _IN_TABLES // design.tables)
    for contents, simhashes in _all_simhashes(db, at_once):
        if design is not None:
            places, which, distances = SortedTables(simhashes, design).near_many(queries)
            yield np.stack((places, contents[which], distances))
        elif len(queries) <= len(simhashes):
            for place, query in enumerate(queries):
                which, distances = _within(simhashes, query, distance)
                yield np.stack((np.full(len(which), place), contents[which], distances))
        else:
            for content, simhash in zip(contents, simhashes, strict=True):
                places, distances = _within(queries, simhash, distance)
                yield np.stack((places, np.full(len(places), content), distances))


def _within(simhashes: U64, one: np.uint64, distance: int) -> tuple[I64, I64]:
    """The places of the simhashes within a distance of the simhash `one`, and their distances."""
    distances = np.bitwise_count(simhashes ^ one)
    which = np.flatnonzero(distances <= distance)
    return which, distances[which].astype(np.int64)


def _cheapest_design(queries: int, count: int, distance: int) -> TableDesign | None:
    """The cheapest tables for this number of queries and contents; None if using no tables is cheaper."""
    log2 = math.log2(max(1, count))

    def nanoseconds(design: TableDesign | None) -> float:
        if design is None:
            return _PAIR * queries * count + _QUERY * min(queries, count)
        pieces = math.ceil(count * design.tables / _IN_TABLES)
        a_table = _SORTED * count + queries * (_LOOKED_UP * pieces + _CANDIDATE * design.candidates(log2))
        return design.tables * a_table

    # Leave out designs without blocks: they are a single table, in which every value is a candidate.
    return min(
        (None, *(design for design in useful_designs(64, distance, log2) if design.blocks)), key=nanoseconds
    )


def _all_simhashes(db: apsw.Connection, at_once: int) -> Iterator[tuple[I64, U64]]:
    """All contents and their simhashes as arrays, up to `at_once` rows at a time.

    Raises `CorruptIndex` for a value that is not an integer: an `array` refuses all other types. It reads a
    million pairs in 0.2 s and 16 MB. Checking row by row takes 0.5 s; `fetchall` takes 0.2 s and 300 MB
    before any check. If SQLite joins all values into one long text, it takes 0.15 s.
    """
    flat = itertools.chain.from_iterable(db.execute(_ALL))
    while True:
        try:
            some = array("q", itertools.islice(flat, 2 * at_once))
        except (TypeError, UnicodeDecodeError) as error:
            raise CorruptIndex(
                f"in {db.filename} a simhash is not an integer; restore a backup, or index again", db.filename
            ) from error
        if not some:
            return
        pairs = np.frombuffer(some, np.int64).reshape(-1, 2)
        yield pairs[:, 0], pairs[:, 1].view(np.uint64)
