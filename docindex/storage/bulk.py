"""Read whole tables into arrays, for questions about all documents at once.

Takes a connection; returns the sizes of all contents, the contents that several documents have, or the slots
of many contents. Reads each table once. Must never decide which contents are similar.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U32, Bool
from docindex.storage.rows import rows, rows_for, stream

_SIZES = "select id, hashes, symbols, shingles, parts > 0, words_hash from main.content order by id"
_COPIED = "select content from main.document group by content having count(*) > 1"
_KEPT = (
    "select c.id from carray(?) as wanted "
    "cross join main.content as c on c.id = wanted.value where c.parts > 0"
)
_SLOTS_OF_SIZES = "select id, parts, slots from main.content where shingles between ? and ? or parts = 0"
_SLOTS = "select c.id, c.slots from carray(?) as wanted cross join main.content as c on c.id = wanted.value"

# The slots of one content take half a kilobyte.
_ROWS_AT_A_TIME = 1 << 15


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """The sizes of all contents, as arrays in the order of the contents."""

    contents: I64
    """The ids of the contents, ascending."""
    hashes: I64
    """The number of different hashes of each content."""
    symbols: I64
    """The number of symbols of each content."""
    shingles: I64
    """The number of different shingles of each content; an estimate above 2^20."""
    kept: Bool
    """Whether the text of each content is kept."""
    words: I64
    """A number that two contents share if and only if they have the same words."""


def sizes(db: apsw.Connection) -> Sizes:
    """The sizes of all contents."""
    found = rows(db, _SIZES)
    if any(len(row[5]) != 16 for row in found):
        raise CorruptIndex(
            "the hash of a content's words does not have 16 bytes; restore a backup, or index again",
            db.filename,
        )
    halves = np.frombuffer(b"".join(row[5] for row in found), "<u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 0], halves[:, 1]))
    changes = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
    words = np.empty(len(found), np.int64)
    words[order] = np.append(0, np.cumsum(changes))[: len(found)]
    numbers = np.array([row[:5] for row in found], np.int64).reshape(-1, 5)
    contents, hashes, counts, shingles, parts = numbers.T
    return Sizes(contents, hashes, counts, shingles, parts > 0, words)


def copied(db: apsw.Connection) -> I64:
    """The contents that more than one document has, ascending."""
    return np.array([content for (content,) in stream(db, _COPIED)], np.int64)


def kept_among(db: apsw.Connection, contents: I64) -> I64:
    """Those of some ascending contents whose texts are kept, ascending."""
    return np.sort(np.array([content for (content,) in rows_for(db, _KEPT, contents)], np.int64))


class SlotsOfSizes(NamedTuple):
    """Some contents with their slots."""

    contents: I64
    kept: Bool
    """Whether the text of each content is kept."""
    slots: U32


def slots_of_sizes(db: apsw.Connection, least: float, most: float, count: int) -> Iterator[SlotsOfSizes]:
    """The contents with a number of shingles in a range, and all whose texts are not kept, in batches."""
    found = stream(db, _SLOTS_OF_SIZES, (math.ceil(least), math.floor(min(most, 1e18))))
    while some := list(itertools.islice(found, _ROWS_AT_A_TIME)):
        if any(len(row[2]) != 4 * count for row in some):
            raise _without_slots(db, count)
        slots = np.frombuffer(b"".join(row[2] for row in some), "<u4").reshape(-1, count)
        contents, kept = np.array([row[:2] for row in some], np.int64).T
        yield SlotsOfSizes(contents, kept > 0, slots)


def slot_rows(db: apsw.Connection, contents: I64, count: int) -> U32:
    """The slots of some contents, one row for each content. The recipe has `count` slots."""
    slots = np.empty((len(contents), count), np.uint32)
    for begin in range(0, len(contents), _ROWS_AT_A_TIME):
        some = contents[begin : begin + _ROWS_AT_A_TIME]
        found = rows_for(db, _SLOTS, some)
        if len(found) != len(some) or any(len(data) != 4 * count for _, data in found):
            raise _without_slots(db, count)
        data = b"".join(data for _, data in found)
        slots[begin : begin + len(some)] = np.frombuffer(data, "<u4").reshape(-1, count)
    return slots


def _without_slots(db: apsw.Connection, count: int) -> CorruptIndex:
    return CorruptIndex(
        f"a content does not have {count} slots; restore a backup, or index again", db.filename
    )
