"""Find the contents whose simhash differs from a given one in at most a few bits.

A simhash has 64 bits, which are divided into three blocks. If two simhashes differ in d bits, there is a
block in which they differ in at most d / 3 bits. So for each block, all values that differ from the query's
block in few bits are looked up in an index on that block, and the simhashes found are compared in full. If
that is more work than reading all simhashes, all are read. In both cases the result is exactly the contents
within the distance.

Takes simhashes and a distance; returns contents and their distances as arrays. Runs inside the caller's
transaction. Must never read a row of `content`, which is long: the indexes hold everything that is needed.
Must never trust that a column holds integers.
"""

import functools
import itertools
import math
import operator
from array import array
from collections.abc import Callable, Iterator

import apsw
import numpy as np
from numpy.typing import ArrayLike

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U64
from docindex.kernels.hamming import as_bits
from docindex.kernels.sorted_tables import SortedTables
from docindex.kernels.table_design import TableDesign, useful_designs
from docindex.storage import tallies
from docindex.storage.other_connection import bound_array
from docindex.storage.rows import Bindings, value

# Where each block begins, counted from the highest bit, and how many bits it has. Each block has an index on
# the simhash rotated left until the block leads, so that the index is in the order of the block's values.
# Alternatives, measured with a million contents:
#
#   one index for each of        bytes a content   us an insert    ms a look-up at distance 3      6      8
#   1 block of 22 bits, rotated         19                 5               0.50           30
#   2 blocks, rotated                   37                12               0.05            0.73   3.1
#   3 blocks, rotated                   56                18               0.05            0.19   0.46
#   3 blocks, (block, simhash)          69                20               0.05            0.21   0.48
#   4 blocks, rotated                   74                24               0.06            0.31   0.94
#
# For a million documents of 1.5 KB, without their texts, three indexes make the file 2.4% larger and adding
# documents 10% slower.
_BLOCKS = ((0, 22), (22, 21), (43, 21))

# Costs in units of 0.2 us, the time that reading one row in order takes. Among a million contents, looking up
# one value costs 3 (on average it finds half a row), and starting a statement costs 55.
_PROBE = 3
_STATEMENT = 55
_NEVER = 1 << 62  # more contents than a file can have

# Costs in memory, in nanoseconds. With tables: to sort a value into a table, to look up a query in a table,
# and to compare a candidate. Without tables: to compare a query with a value, and to start a query.
_SORTED, _LOOKED_UP, _CANDIDATE = 30, 105, 4.5
_PAIR, _QUERY = 0.5, 5000

# How many values all tables together may hold at a time. Each takes 12 bytes. A million contents fit in one
# piece up to distance 4.
_IN_TABLES = 1 << 24
_AT_ONCE = 1 << 20  # rows read at a time where no tables are built

_ALL = "select id, simhash from main.docindex_content"
_COUNT = "select count(*) from (select 1 from main.docindex_content limit ?)"


def near_simhashes(
    db: apsw.Connection,
    simhashes: ArrayLike,
    distance: int,
    check_cancelled: Callable[[], None] = lambda: None,
) -> tuple[I64, I64, I64]:
    """Find all contents within a distance of simhashes, as three arrays.

    The arrays hold the place of the simhash in `simhashes`, the content, and the distance. They are ordered
    by place, then by distance, then by content. `ValueError` for a distance below 0 or above 63.

    One simhash among a million contents takes 0.2 ms up to distance 5 and 0.6 ms at distance 8. Beyond 20 all
    simhashes are read, which takes 0.2 s. A million simhashes among a million contents take 1.4 s at distance
    3 and 8 s at distance 6. Apart from the result, memory stays at
    200 MB, whatever their number.
    """
    if not 0 <= operator.index(distance) < 64:
        raise ValueError(f"a distance of {distance}: expected 0 to 63, the number of bits that may differ")
    queries = as_bits(simhashes)
    enough = _min_contents(len(queries), distance)
    count = value(db, _COUNT, (enough,))
    found = _by_lookup(db, queries, distance) if count == enough else _by_scan(db, queries, distance, count)
    parts = [np.empty((3, 0), np.int64)]
    for part in found:
        check_cancelled()
        parts.append(part)
    places, contents, distances = np.concatenate(parts, axis=1)
    order = np.lexsort((contents, distances, places))
    return places[order], contents[order], distances[order]


def _min_contents(queries: int, distance: int) -> int:
    """The smallest number of contents for which looking up is no more work than reading all of them."""
    work, share = 0, 0.0
    for (_, width), most in zip(_BLOCKS, _most_flips(distance), strict=True):
        values = sum(math.comb(width, flipped) for flipped in range(most + 1))
        work += queries * (_PROBE * values + _STATEMENT * (values > 0))
        share += queries * values / (1 << width)  # the share of contents that are found and read
    return math.ceil(work / (1 - share)) if share < 1 else _NEVER


def _most_flips(distance: int) -> tuple[int, ...]:
    """For each block, the number of bits in which a value may differ to be looked up; -1 for no look-up.

    If 1 is added to each number, their sum is the distance plus 1. So a simhash that differs in more bits
    than this in every block is beyond the distance. The last blocks, which are narrower, get the larger
    numbers.

    >>> _most_flips(3), _most_flips(0)
    ((0, 0, 1), (-1, -1, 0))
    """
    return tuple((distance + 1 + number) // len(_BLOCKS) - 1 for number in range(len(_BLOCKS)))


@functools.lru_cache(maxsize=16)
def _flips(width: int, most: int) -> U64:
    """All numbers with at most `most` bits set, all of them among the highest `width` bits; ascending."""
    found = np.zeros(1, np.uint64)
    for bit in range(64 - width, 64):
        found = np.append(found, found[np.bitwise_count(found) < most] | np.uint64(1 << bit))
    found.flags.writeable = False
    return found


def _rotated(turn: int) -> str:
    """A rotated simhash in SQL, as in the schema. The mask removes the sign bits that SQLite shifts in."""
    return f"((simhash << {turn}) | ((simhash >> {64 - turn}) & {(1 << turn) - 1}))" if turn else "simhash"


# `cross join` makes SQLite keep this order of the tables, whatever `analyze` has recorded.
_PROBES = tuple(
    f"select id, {_rotated(turn)} from carray(?) as wanted cross join main.docindex_content "
    f"on {_rotated(turn)} between wanted.value and wanted.value | {(1 << 64 - width) - 1}"
    for turn, width in _BLOCKS
)


def _by_lookup(db: apsw.Connection, queries: U64, distance: int) -> Iterator[I64]:
    """Search the indexes, one query at a time; yields rows of places, contents and distances."""
    for place, query in enumerate(queries.tolist()):
        found = [np.empty((2, 0), np.int64)]
        for (turn, width), most, statement in zip(_BLOCKS, _most_flips(distance), _PROBES, strict=True):
            if most < 0:
                continue
            rotated = (query << turn | query >> 64 - turn) % (1 << 64)
            first = _flips(width, most) ^ np.uint64(rotated >> 64 - width << 64 - width)
            for contents, simhashes in _integer_pairs(
                db, statement, (bound_array(db, first.view(np.int64)),)
            ):
                distances = np.bitwise_count(simhashes ^ np.uint64(rotated))
                within = distances <= distance
                found.append(np.stack((contents[within], distances[within])))
        contents, distances = np.concatenate(found, axis=1)
        contents, at, which = np.unique(contents, return_index=True, return_inverse=True)
        if (distances != distances[at][which]).any():
            raise CorruptIndex(
                f"in {db.filename} the simhash indexes disagree; restore a backup, or index again",
                db.filename,
            )
        yield np.stack((np.full(len(at), place), contents, distances[at]))


def _by_scan(db: apsw.Connection, queries: U64, distance: int, count: int) -> Iterator[I64]:
    """Read all simhashes and compare them with the queries; yields the same as `_by_lookup`."""
    design = _cheapest_design(len(queries), count, distance)
    at_once = _AT_ONCE if design is None else max(1, _IN_TABLES // design.tables)
    read = tallies.NOTHING
    for contents, simhashes in _integer_pairs(db, _ALL, at_once=at_once):
        read = read.plus(tallies.mixed_tally(contents, simhashes.view(np.int64)))
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
    tallies.refuse_other(db, "simhash", read)


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


def _integer_pairs(
    db: apsw.Connection, statement: str, bindings: Bindings = (), at_once: int = _AT_ONCE
) -> Iterator[tuple[I64, U64]]:
    """The rows of a statement as arrays of contents and simhashes, up to `at_once` rows at a time.

    Raises `CorruptIndex` for a value that is not an integer: an `array` refuses all other types. It reads a
    million pairs in 0.2 s and 16 MB. Checking row by row takes 0.5 s; `fetchall` takes 0.2 s and 300 MB
    before any check. If SQLite joins all values into one long text, it takes 0.15 s.
    """
    flat = itertools.chain.from_iterable(db.execute(statement, bindings))
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
