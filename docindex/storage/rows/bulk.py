"""Read whole tables into arrays, for questions about all documents at once.

Takes a connection; returns the sizes of all contents, the contents that several documents have, or the slots
of many contents. Reads each table once. Must never decide which contents are similar.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw
import numpy as np

from docindex.arrays.ranges import I64, U16, U64, Bool
from docindex.errors import CorruptIndex
from docindex.storage.other_connection import bound_array
from docindex.storage.rows.slot_bytes import slots_in
from docindex.storage.statements import column_lists, columns, columns_for, rows_for

_SIZES = "select id, symbols, shingles, kept, hashes, words_hash from main.docindex_content order by id"
_SIZES_AMONG = (
    "select c.id, c.symbols, c.shingles, c.kept, c.hashes, c.words_hash from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value"
)
_LINKS = "select content from main.docindex_document"
_LINKS_AMONG = (
    "select document.content from carray(?) as wanted "
    "cross join main.docindex_document as document on document.content = wanted.value"
)
_KEPT = (
    "select c.id from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value where c.kept"
)
_SLOTS_OF_SIZES = (
    "select id, shingles, kept, slots from main.docindex_content where shingles between ? and ? or not kept"
)
_SLOTS_AMONG = (
    "select c.id, c.shingles, c.kept, c.slots from carray(?) as wanted cross join main.docindex_content as c "
    "on c.id = wanted.value where c.shingles between ? and ? or not c.kept"
)
_SLOTS_AFTER = "select id, kept, sum, slots from main.docindex_content where id > ? order by id"
_SLOTS = (
    "select c.id, c.slots from carray(?) as wanted cross join main.docindex_content as c on c.id "
    "= wanted.value"
)

# The slots of one content take a quarter of a kilobyte in memory.
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


def sizes(db: apsw.Connection, among: I64 | None = None) -> Sizes:
    """The sizes of all contents, or only of some, which must ascend."""
    read = columns(db, _SIZES) if among is None else columns_for(db, _SIZES_AMONG, among)
    *found, words_hashes = read or ((),) * 6
    contents, symbols, shingles, kept, hashes = (np.array(column, np.int64) for column in found)
    halves = _halves(db, words_hashes)
    if among is not None and len(contents) != len(among):
        raise CorruptIndex("a content is missing; check() lists all damage", db.filename)
    order = np.lexsort((halves[:, 0], halves[:, 1]))
    changes = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
    words = np.empty(len(contents), np.int64)
    words[order] = np.append(0, np.cumsum(changes))[: len(contents)]
    return Sizes(contents, hashes, symbols, shingles, kept > 0, words)


def copied(db: apsw.Connection, among: I64 | None = None) -> I64:
    """The contents that more than one document has, ascending; of all contents, or only of some."""
    if among is not None:
        (found,) = columns_for(db, _LINKS_AMONG, among) or ((),)
        return _several(np.array(found, np.int64))
    pieces = [np.array(some, np.int64) for (some,) in column_lists(db, _LINKS, most=_ROWS_AT_A_TIME)]
    return _several(np.concatenate([np.empty(0, np.int64), *pieces]))


def _several(contents: I64) -> I64:
    """The numbers that occur more than once, ascending."""
    found, counts = np.unique(contents, return_counts=True)
    several: I64 = found[counts > 1]
    return several


def kept_among(db: apsw.Connection, contents: I64) -> I64:
    """Those of some ascending contents whose texts are kept, ascending."""
    return np.sort(np.array(rows_for(db, _KEPT, contents), np.int64).ravel())


class SlotsOfSizes(NamedTuple):
    """Some contents with their slots."""

    contents: I64
    shingles: I64
    """The number of different shingles of each content."""
    kept: Bool
    """Whether the text of each content is kept."""
    slots: U16


def slots_of_sizes(
    db: apsw.Connection, least: float, most: float, count: int, among: I64 | None = None
) -> Iterator[SlotsOfSizes]:
    """The contents with a number of shingles in a range, and all whose texts are not kept, in batches.

    With `among`, only those of some contents, which must ascend.
    """
    statement, bindings = _SLOTS_OF_SIZES, [math.ceil(least), math.floor(min(most, 1e18))]
    if among is not None:
        if not len(among):
            return  # carray takes no empty array
        statement, bindings = _SLOTS_AMONG, [bound_array(db, among), *bindings]
    for *numbers, data in column_lists(db, statement, bindings, most=_ROWS_AT_A_TIME):
        contents, shingles, kept = (np.array(column, np.int64) for column in numbers)
        yield SlotsOfSizes(contents, shingles, kept > 0, _as_slots(db, data, count))


class SummedSlots(NamedTuple):
    """Some contents with their slots and checksums."""

    contents: I64
    kept: Bool
    """Whether the text of each content is kept."""
    sums: I64
    slots: U16


def slots_after(db: apsw.Connection, content: int, count: int) -> Iterator[SummedSlots]:
    """The contents after a content, ascending, in batches."""
    for *numbers, data in column_lists(db, _SLOTS_AFTER, (content,), most=_ROWS_AT_A_TIME):
        contents, kept, sums = (np.array(column, np.int64) for column in numbers)
        yield SummedSlots(contents, kept > 0, sums, _as_slots(db, data, count))


def content_ids(db: apsw.Connection) -> I64:
    """All contents, ascending."""
    (found,) = columns(db, "select id from main.docindex_content") or ((),)
    return np.sort(np.array(found, np.int64))


def slot_rows(db: apsw.Connection, contents: I64, count: int) -> U16:
    """The slots of some contents, one row for each content. The recipe has `count` slots."""
    slots = np.empty((len(contents), count), np.uint16)
    for begin in range(0, len(contents), _ROWS_AT_A_TIME):
        some = contents[begin : begin + _ROWS_AT_A_TIME]
        found = rows_for(db, _SLOTS, some)
        if len(found) != len(some):
            raise _without_slots(db, count)
        slots[begin : begin + len(some)] = _as_slots(db, [data for _, data in found], count)
    return slots


def _as_slots(db: apsw.Connection, data: Sequence[bytes], count: int) -> U16:
    slots = slots_in(data, count)
    if slots is None:
        raise _without_slots(db, count)
    return slots


def _halves(db: apsw.Connection, words_hashes: Sequence[bytes]) -> U64:
    """The two halves of each hash of words, as numbers."""
    if any(len(words_hash) != 16 for words_hash in words_hashes):
        raise CorruptIndex(
            "the hash of a content's words does not have 16 bytes; restore a backup, or index again",
            db.filename,
        )
    return np.frombuffer(b"".join(words_hashes), "<u8").reshape(-1, 2)


def _without_slots(db: apsw.Connection, count: int) -> CorruptIndex:
    return CorruptIndex(
        f"a content does not have {count} slots; restore a backup, or index again", db.filename
    )
