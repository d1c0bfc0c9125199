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
from docindex.storage import user_sql
from docindex.storage.contents import from_json
from docindex.storage.rows import Bindings, counter, row_sum, rows, rows_for, value
from docindex.storage.user_sql import Where

_OF = (
    "select document.content, document.key, document.id from carray(?) as wanted "
    "cross join main.document on document.content = wanted.value"
)
_LISTED = "select id, key, content, meta, added_at, sum from main.document where "
_SIZES = "select c.hashes from carray(?) as wanted cross join main.content as c on c.id = wanted.value"
_OUTLINES = (
    "select c.id, c.shingles, c.symbols_hash, c.simhash, c.slots from carray(?) as wanted "
    "join main.content as c on c.id = wanted.value"
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StoredSketch:
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
    found = _fulfilling(db, "select distinct content from main.document", where)
    return np.sort(np.array([content for (content,) in found], np.int64))


def _fulfilling(
    db: apsw.Connection, statement: str, where: Where, before: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """The rows of a statement on `document` that fulfil a condition; else `ValueError`."""
    condition, bindings = user_sql.checked_condition(db, where)
    try:
        with user_sql.only_reading(db) as cursor:
            return cursor.execute(f"{statement} where ({condition}\n)", (*before, *bindings)).fetchall()
    except user_sql.SLIPS as error:
        raise ValueError(f"the condition {condition!r} does not work: {error}") from error


def of_symbols(db: apsw.Connection, symbols_hash: bytes) -> list[int]:
    """The contents with these symbols."""
    return [row[0] for row in rows(db, "select id from main.content where symbols_hash = ?", (symbols_hash,))]


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """A document in a list of all."""

    id: int
    key: str
    content: int
    meta: Any


def listed(db: apsw.Connection, after: int, limit: int) -> list[Listed]:
    """The next documents in the order of their ids, behind one."""
    return _listed(db, "id > ? order by id limit ?", (after, limit))


def listed_as(db: apsw.Connection, number: int) -> list[Listed]:
    """The document with an id, if there is one."""
    return _listed(db, "id = ?", (number,))


def _listed(db: apsw.Connection, condition: str, bindings: Bindings) -> list[Listed]:
    found = []
    for *row, stored in rows(db, _LISTED + condition, bindings):
        number, key, content, meta, _ = row
        if row_sum(*row) != stored:
            raise CorruptIndex(f"document {number} ({key!r}) is damaged; add it again", db.filename)
        found.append(Listed(number, key, content, from_json(meta)))
    return found


def id_of(db: apsw.Connection, key: str) -> int | None:
    """The id of the document with a key, or None."""
    found: int | None = value(db, "select id from main.document where key = ?", (key,))
    return found


def having(db: apsw.Connection, texts: dict[str, bytes]) -> set[str]:
    """Those of some keys whose document has the text with the hash that is given for it."""
    found = (
        rows(
            db,
            "select d.key, c.hash from carray(?) as wanted join main.document as d on d.key = wanted.value "
            "join main.content as c on c.id = d.content",
            (apsw.carray(tuple(texts)),),
        )
        if texts
        else []
    )
    return {key for key, hash_ in found if texts[key] == hash_}


def greatest(db: apsw.Connection) -> int:
    """The greatest id that a document ever had: about how many there are."""
    return counter(db, "document")


def content_with_id(db: apsw.Connection, number: int) -> int | None:
    """The content of the document with an id, or None."""
    found: int | None = value(db, "select content from main.document where id = ?", (number,))
    return found


def sizes_of(db: apsw.Connection, contents: I64) -> I64:
    """How many different hashes each of some ascending contents has."""
    found = rows_for(db, _SIZES, contents)
    if len(found) != len(contents):
        raise CorruptIndex("a content is not there; see what check() says", db.filename)
    return np.array([hashes for (hashes,) in found], np.int64)


def stored_sketches_of(db: apsw.Connection, contents: I64, recipe: Recipe) -> list[StoredSketch]:
    """The sketches of some contents, but for their fingerprints."""
    found = []
    for content, shingles, symbols_hash, simhash, slots in rows_for(db, _OUTLINES, contents):
        if len(slots) != 4 * recipe.slots:
            raise CorruptIndex(f"content {content} has not {recipe.slots} slots; index again", db.filename)
        stored_sketch = StoredSketch(
            content,
            shingles,
            symbols_hash,
            simhash % (1 << 64),
            np.frombuffer(slots, "<u4").astype(np.uint32),
        )
        found.append(stored_sketch)
    return found


def sharing_features(db: apsw.Connection, features: U64, least: int) -> list[int]:
    """The contents that have so many of some features, in ascending order."""
    sharing = (
        "select f.content from carray(?) as wanted join main.feature as f on f.value = wanted.value "
        "group by f.content having count(*) >= ?"
    )
    values = np.unique(features).view(np.int64)
    return sorted(content for (content,) in rows_for(db, sharing, values, (least,)))
