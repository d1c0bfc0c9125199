"""Contents in, the documents that have them out; and an SQL condition of the host's on documents.

Must never write.
"""

import dataclasses
from typing import Any

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U32, U64
from docindex.recipe import Recipe
from docindex.storage import adhoc
from docindex.storage.adhoc import Where
from docindex.storage.rows import rows, rows_for

_OF = (
    "select document.content, document.key, document.id from carray(?) as wanted "
    "cross join document on document.content = wanted.value"
)
_SIZES = "select c.hashes from carray(?) as wanted cross join content as c on c.id = wanted.value"
_OUTLINES = (
    "select c.id, c.shingles, c.symbols_hash, c.simhash, c.slots from carray(?) as wanted "
    "join content as c on c.id = wanted.value"
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What is known of a content but for its fingerprints."""

    content: int
    shingles: int
    symbols_hash: bytes
    simhash: int
    slots: U32


def documents_of(
    db: apsw.Connection, contents: I64, where: Where | None = None
) -> list[tuple[int, str, int]]:
    """The documents that have one of some contents and fulfil a condition: content, key, id."""
    if where is None or not len(contents):
        return rows_for(db, _OF, contents)
    return _fulfilling(db, _OF, where, (apsw.carray(contents),))


def contents_of(db: apsw.Connection, where: Where) -> I64:
    """The contents of all documents that fulfil a condition, ascending."""
    found = _fulfilling(db, "select distinct content from document", where)
    return np.sort(np.array([content for (content,) in found], np.int64))


def _fulfilling(
    db: apsw.Connection, statement: str, where: Where, before: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """The rows of a statement on `document` that fulfil a condition; else `ValueError`."""
    condition, bindings = adhoc.checked_condition(db, where)
    try:
        with adhoc.only_reading(db) as cursor:
            return cursor.execute(f"{statement} where ({condition}\n)", (*before, *bindings)).fetchall()
    except adhoc.SLIPS as error:
        raise ValueError(f"the condition {condition!r} does not work: {error}") from error


def of_symbols(db: apsw.Connection, symbols_hash: bytes) -> list[int]:
    """The contents with these symbols."""
    return [row[0] for row in rows(db, "select id from content where symbols_hash = ?", (symbols_hash,))]


def sizes_of(db: apsw.Connection, contents: I64) -> I64:
    """How many different hashes each of some ascending contents has."""
    found = rows_for(db, _SIZES, contents)
    if len(found) != len(contents):
        raise CorruptIndex("a content is not there; see what check() says", db.filename)
    return np.array([hashes for (hashes,) in found], np.int64)


def outlines_of(db: apsw.Connection, contents: I64, recipe: Recipe) -> list[Outline]:
    """The sketches of some contents, but for their fingerprints."""
    found = []
    for content, shingles, symbols_hash, simhash, slots in rows_for(db, _OUTLINES, contents):
        if len(slots) != 4 * recipe.slots:
            raise CorruptIndex(f"content {content} has not {recipe.slots} slots; index again", db.filename)
        outline = Outline(
            content,
            shingles,
            symbols_hash,
            simhash % (1 << 64),
            np.frombuffer(slots, "<u4").astype(np.uint32),
        )
        found.append(outline)
    return found


def sharing_features(db: apsw.Connection, features: U64, least: int) -> list[int]:
    """The contents that have so many of some features, in ascending order."""
    sharing = (
        "select f.content from carray(?) as wanted join feature as f on f.value = wanted.value "
        "group by f.content having count(*) >= ?"
    )
    values = np.unique(features).view(np.int64)
    return sorted(content for (content,) in rows_for(db, sharing, values, (least,)))
