"""A simhash in, the contents out whose own differs from it in few bits.

The 64 bits are three blocks. Whatever differs from a simhash in d bits differs in few of some block: so all
values that this block can have are looked up, and what lies there is compared whole. Where that is more work
than to read all simhashes, these are read. Either way exactly the contents within the distance are found.

Must never read a row of `content`, which is long, but its indexes alone; nor trust what they hold to be
numbers. Must run inside a transaction that its caller opened.
"""

import functools
import itertools
import math
import operator
from array import array
from collections.abc import Callable, Iterator

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U64
from docindex.kernels.hamming import as_bits
from docindex.kernels.sorted_tables import SortedTables
from docindex.kernels.table_design import TableDesign, useful_designs
from docindex.storage.rows import Bindings, value

# Where each block begins, counted from the highest bit, and how many bits it has. For each there is an index
# on the simhash turned left so that the block leads, hence in the order of its values. The choices, with a
# million contents:
#
#   index for each of            bytes a content   us to insert one   ms at distance 3      6      8
#   1 block of 22 bits, turned          19                 5               0.50           30
#   2 blocks, turned                    37                12               0.05            0.73   3.1
#   3 blocks, turned                    56                18               0.05            0.19   0.46
#   3 blocks, (block, simhash)          69                20               0.05            0.21   0.48
#   4 blocks, turned                    74                24               0.06            0.31   0.94
#
# Of an index of a million documents of 1.5 KB, without their texts, three make the file 2.4% larger and the
# building a tenth slower.
_BLOCKS = ((0, 22), (22, 21), (43, 21))

# Reading a row in order costs 1, that is 0.2 us. Then to look a value up among a million contents costs 3,
# with the half of a row that it finds, and to begin a statement 55.
_PROBE = 3
_STATEMENT = 55
_NEVER = 1 << 62

# In memory, in nanoseconds: to sort a value into a table, to look a query up in it, and to compare a
# candidate there; without tables to compare a query with a value, and to begin with a query.
_SORTED, _LOOKED_UP, _CANDIDATE = 30, 105, 4.5
_PAIR, _QUERY = 0.5, 5000

# How many values there may be in all tables at a time: they take 12 bytes each, and in time a million
# contents at distance 4 and below need no second piece.
_IN_TABLES = 1 << 24
_AT_ONCE = 1 << 20

_ALL = "select id, simhash from main.content"
_COUNT = "select count(*) from (select 1 from main.content limit ?)"


def near(db: apsw.Connection, simhash: int, distance: int) -> tuple[I64, I64]:
    """All contents within a distance of a simhash, and their distances; by distance, then by content.

    Among a million contents 0.1 ms up to distance 4 and 0.6 ms at 8; beyond 20 all simhashes are read, which
    takes 0.2 s. A ValueError for a distance outside 0..63.
    """
    _, contents, distances = near_many(db, as_bits([simhash]), distance)
    return contents, distances


def near_many(
    db: apsw.Connection, simhashes: U64, distance: int, check_cancelled: Callable[[], None] = lambda: None
) -> tuple[I64, I64, I64]:
    """For each of many simhashes the same: its place among them, a content, and their distance.

    By place, then by distance, then by content. A million against a million contents take 1.4 s at
    distance 3, and 8 at 6; beside what is found, 200 MB, however many there are.
    """
    if not 0 <= operator.index(distance) < 64:
        raise ValueError(f"a distance of {distance}: expected 0 to 63, the number of bits that may differ")
    queries = as_bits(simhashes)
    enough = _enough(len(queries), distance)
    count = value(db, _COUNT, (enough,))
    found = _looked_up(db, queries, distance) if count == enough else _compared(db, queries, distance, count)
    parts = [np.empty((3, 0), np.int64)]
    for part in found:
        check_cancelled()  # may raise, to stop
        parts.append(part)
    places, contents, distances = np.concatenate(parts, axis=1)
    order = np.lexsort((contents, distances, places))
    return places[order], contents[order], distances[order]


def _enough(queries: int, distance: int) -> int:
    """How many contents there must be for looking up to be no more work than reading all of them."""
    work, share = 0, 0.0
    for (_, width), most in zip(_BLOCKS, _most_flips(distance), strict=True):
        values = sum(math.comb(width, flipped) for flipped in range(most + 1))
        work += queries * (_PROBE * values + _STATEMENT * (values > 0))
        share += queries * values / (1 << width)  # of the contents: so many are found, and read as well
    return math.ceil(work / (1 - share)) if share < 1 else _NEVER


def _most_flips(distance: int) -> tuple[int, ...]:
    """In how many bits each block may differ to be looked up; -1 for not at all.

    One more than each of these together are one more than the distance: so what differs in more bits of every
    block is beyond it. The wider blocks get fewer.

    >>> _most_flips(3), _most_flips(0)
    ((0, 0, 1), (-1, -1, 0))
    """
    return tuple((distance + 1 + number) // len(_BLOCKS) - 1 for number in range(len(_BLOCKS)))


@functools.lru_cache(maxsize=16)
def _flips(width: int, most: int) -> U64:
    """All numbers with at most so many bits, all of them among the highest `width`; ascending."""
    found = np.zeros(1, np.uint64)
    for bit in range(64 - width, 64):
        found = np.append(found, found[np.bitwise_count(found) < most] | np.uint64(1 << bit))
    found.flags.writeable = False
    return found


def _turned(turn: int) -> str:
    """The expression of an index, as the schema has it. (SQLite fills up with the sign, hence the mask.)"""
    return f"((simhash << {turn}) | ((simhash >> {64 - turn}) & {(1 << turn) - 1}))" if turn else "simhash"


# Reading `cross join` SQLite keeps to this order, whatever it was told of the tables' sizes.
_PROBES = tuple(
    f"select id, {_turned(turn)} from carray(?) as wanted cross join main.content "
    f"on {_turned(turn)} between wanted.value and wanted.value | {(1 << 64 - width) - 1}"
    for turn, width in _BLOCKS
)


def _looked_up(db: apsw.Connection, queries: U64, distance: int) -> Iterator[I64]:
    """Query, contents and distances of what the indexes find, a query at a time."""
    for place, query in enumerate(queries.tolist()):
        found = [np.empty((2, 0), np.int64)]
        for (turn, width), most, statement in zip(_BLOCKS, _most_flips(distance), _PROBES, strict=True):
            if most < 0:
                continue
            turned = (query << turn | query >> 64 - turn) % (1 << 64)
            first = _flips(width, most) ^ np.uint64(turned >> 64 - width << 64 - width)
            for contents, simhashes in _numbers(db, statement, (apsw.carray(first.view(np.int64)),)):
                distances = np.bitwise_count(simhashes ^ np.uint64(turned))
                within = distances <= distance
                found.append(np.stack((contents[within], distances[within])))
        contents, distances = np.concatenate(found, axis=1)
        contents, at, which = np.unique(contents, return_index=True, return_inverse=True)
        if (distances != distances[at][which]).any():
            raise CorruptIndex(
                f"in {db.filename} the indexes of simhashes do not agree; restore a backup, or index again",
                db.filename,
            )
        yield np.stack((np.full(len(at), place), contents, distances[at]))


def _compared(db: apsw.Connection, queries: U64, distance: int, count: int) -> Iterator[I64]:
    """Queries, contents and distances, with all simhashes read."""
    design = _design(len(queries), count, distance)
    at_once = _AT_ONCE if design is None else max(1, _IN_TABLES // design.tables)
    for contents, simhashes in _numbers(db, _ALL, at_once=at_once):
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
    """Which of some simhashes are within a distance of one, and theirs."""
    distances = np.bitwise_count(simhashes ^ one)
    which = np.flatnonzero(distances <= distance)
    return which, distances[which].astype(np.int64)


def _design(queries: int, count: int, distance: int) -> TableDesign | None:
    """The tables in which so many queries find what is near among so many contents; None for no tables."""
    log2 = math.log2(max(1, count))

    def nanoseconds(design: TableDesign | None) -> float:
        if design is None:
            return _PAIR * queries * count + _QUERY * min(queries, count)
        pieces = math.ceil(count * design.tables / _IN_TABLES)
        a_table = _SORTED * count + queries * (_LOOKED_UP * pieces + _CANDIDATE * design.candidates(log2))
        return design.tables * a_table

    # (One without blocks is a single table, in which all are candidates.)
    return min(
        (None, *(design for design in useful_designs(64, distance, log2) if design.blocks)), key=nanoseconds
    )


def _numbers(
    db: apsw.Connection, statement: str, bindings: Bindings = (), at_once: int = _AT_ONCE
) -> Iterator[tuple[I64, U64]]:
    """What a statement reads as contents and simhashes, some at a time; anything but whole numbers is damage.

    An `array` refuses all other types, and takes a million pairs in 0.2 s and 16 MB. Rows checked one by one
    take 0.5 s; `fetchall` 0.2 s before any check, and 300 MB; what SQLite can join to one long text 0.15 s.
    """
    flat = itertools.chain.from_iterable(db.execute(statement, bindings))
    while True:
        try:
            some = array("q", itertools.islice(flat, 2 * at_once))
        except (TypeError, UnicodeDecodeError) as error:
            raise CorruptIndex(
                f"in {db.filename} a simhash is no number; restore a backup, or index again", db.filename
            ) from error
        if not some:
            return
        pairs = np.frombuffer(some, np.int64).reshape(-1, 2)
        yield pairs[:, 0], pairs[:, 1].view(np.uint64)
