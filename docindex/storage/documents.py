"""Find documents by their contents, by their ids, or by an SQL condition of the host.

Takes contents, ids or conditions; returns documents, contents or stored sketches. Must never write.
"""

import dataclasses
from typing import Any

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U32, U64
from docindex.recipe import Recipe
from docindex.storage import user_sql
from docindex.storage.contents import damaged_document, meta_of
from docindex.storage.other_connection import bound_array
from docindex.storage.rows import Bindings, counter, rows, rows_for, value
from docindex.storage.tables import DOCUMENT, SAMPLE
from docindex.storage.user_sql import Where

_NO_SAMPLE = np.empty(0, np.uint64)

_SAMPLES = f"{SAMPLE.select} where content in (select value from carray(?) as wanted)"
_OF = (
    "select document.content, document.key, document.id from carray(?) as wanted "
    "cross join main.document on document.content = wanted.value"
)
_SIZES = "select c.hashes from carray(?) as wanted cross join main.content as c on c.id = wanted.value"
_TEXT_SIZES = _SIZES.replace("c.hashes", "c.symbols, c.shingles")
_STORED_SKETCHES = (
    "select c.id, c.symbols, c.shingles, c.words_hash, c.simhash, c.slots from carray(?) as wanted "
    "cross join main.content as c on c.id = wanted.value"
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StoredSketch:
    """The sketch of a content without its fingerprints."""

    content: int
    symbols: int
    shingles: int
    words_hash: bytes
    simhash: int
    slots: U32
    mod_m: U64
    """The MOD_m sample; empty unless the recipe asks for it."""
    level: U64
    """The L_i sample; empty unless the recipe asks for it."""


def documents_of(
    db: apsw.Connection, contents: I64, where: Where | None = None
) -> list[tuple[int, str, int]]:
    """The content, key and id of each document that has one of the contents and meets a condition."""
    if where is None or not len(contents):
        return rows_for(db, _OF, contents)
    return _fulfilling(db, _OF, where, (bound_array(db, contents),))


def contents_of(db: apsw.Connection, where: Where) -> I64:
    """The contents of all documents that meet a condition, ascending."""
    found = _fulfilling(db, "select distinct content from main.document", where)
    return np.sort(np.array([content for (content,) in found], np.int64))


def _fulfilling(
    db: apsw.Connection, statement: str, where: Where, before: Bindings = ()
) -> list[tuple[Any, ...]]:
    """The rows of a statement on `document` that meet a condition; `ValueError` if the condition fails."""
    condition, bindings = user_sql.checked_condition(db, where)
    try:
        with user_sql.cursor_for_condition(db) as cursor:
            return rows(db, f"{statement} where ({condition}\n)", (*before, *bindings), cursor)
    except user_sql.SLIPS as error:
        raise ValueError(f"the condition {condition!r} does not work: {error}") from error


def with_words_hash(db: apsw.Connection, words_hash: bytes) -> list[int]:
    """The contents whose words have this hash."""
    return [row[0] for row in rows(db, "select id from main.content where words_hash = ?", (words_hash,))]


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """A document in a list of all documents."""

    id: int
    key: str
    content: int
    meta: Any


def listed(db: apsw.Connection, after: int, limit: int) -> list[Listed]:
    """Up to `limit` documents after an id, in the order of their ids."""
    return _listed(db, "id > ? order by id limit ?", (after, limit))


def listed_as(db: apsw.Connection, number: int) -> list[Listed]:
    """The document with an id, in a list; an empty list if there is no such document."""
    return _listed(db, "id = ?", (number,))


def _listed(db: apsw.Connection, condition: str, bindings: Bindings) -> list[Listed]:
    listed = []
    for found in rows(db, f"{DOCUMENT.select} where {condition}", bindings):
        row = DOCUMENT.checked(found)
        if row is None:
            raise damaged_document(db, found[0], found[1])
        listed.append(Listed(row.id, row.key, row.content, meta_of(db, row)))
    return listed


def id_of(db: apsw.Connection, key: str) -> int | None:
    """The id of the document with a key, or None."""
    found: int | None = value(db, "select id from main.document where key = ?", (key,))
    return found


def having(db: apsw.Connection, texts: dict[str, bytes]) -> set[str]:
    """The keys whose documents have the expected texts; `texts` maps each key to the hash of its text."""
    found = (
        rows(
            db,
            "select d.key, c.hash from carray(?) as wanted "
            "cross join main.document as d on d.key = wanted.value "
            "cross join main.content as c on c.id = d.content",
            (bound_array(db, tuple(texts)),),
        )
        if texts
        else []
    )
    return {key for key, hash_ in found if texts[key] == hash_}


def greatest(db: apsw.Connection) -> int:
    """The largest id that a document ever had: an estimate of the number of documents."""
    return counter(db, "document")


def content_with_id(db: apsw.Connection, number: int) -> int | None:
    """The content of the document with an id, or None."""
    found: int | None = value(db, "select content from main.document where id = ?", (number,))
    return found


def sizes_of(db: apsw.Connection, contents: I64) -> I64:
    """The number of different hashes of each content; the contents are ascending."""
    found = rows_for(db, _SIZES, contents)
    if len(found) != len(contents):
        raise CorruptIndex("a content is missing; check() lists all damage", db.filename)
    return np.array([hashes for (hashes,) in found], np.int64)


def text_sizes_of(db: apsw.Connection, contents: I64) -> tuple[I64, I64]:
    """The number of symbols and of shingles of each content; the contents are ascending."""
    found = rows_for(db, _TEXT_SIZES, contents)
    if len(found) != len(contents):
        raise CorruptIndex("a content is missing; check() lists all damage", db.filename)
    symbols, shingles = np.array(found, np.int64).reshape(-1, 2).T
    return symbols, shingles


def stored_sketches_of(db: apsw.Connection, contents: I64, recipe: Recipe) -> list[StoredSketch]:
    """The sketches of some contents, without their fingerprints."""
    found = []
    samples = _samples_of(db, contents) if recipe.mod_m or recipe.level else {}
    for content, symbols, shingles, words_hash, simhash, slots in rows_for(db, _STORED_SKETCHES, contents):
        if len(slots) != 4 * recipe.slots:
            raise CorruptIndex(
                f"content {content} does not have {recipe.slots} slots; index again", db.filename
            )
        stored_sketch = StoredSketch(
            content,
            symbols,
            shingles,
            words_hash,
            simhash % (1 << 64),
            np.frombuffer(slots, "<u4").astype(np.uint32),
            *samples.get(content, (_NO_SAMPLE, _NO_SAMPLE)),
        )
        found.append(stored_sketch)
    return found


def _samples_of(db: apsw.Connection, contents: I64) -> dict[int, tuple[U64, U64]]:
    """The MOD_m and the L_i sample of each content."""
    found = {}
    for columns in rows_for(
        db, f"{SAMPLE.select} where content in (select value from carray(?) as wanted)", contents
    ):
        row = SAMPLE.checked(columns)
        if row is None or len(row.mod_m) % 8 or len(row.level) % 8:
            raise CorruptIndex(f"the samples of content {columns[0]} are damaged; index again", db.filename)
        mod_m, level = (np.frombuffer(data, "<u8").astype(np.uint64) for data in (row.mod_m, row.level))
        found[row.content] = mod_m, level
    return found


def sharing_features(db: apsw.Connection, features: U64, least: int) -> list[int]:
    """The contents that have at least `least` of the features, in ascending order."""
    sharing = (
        "select f.content from carray(?) as wanted cross join main.feature as f on f.value = wanted.value "
        "group by f.content having count(*) >= ?"
    )
    values = np.unique(features).view(np.int64)
    return sorted(content for (content,) in rows_for(db, sharing, values, (least,)))
