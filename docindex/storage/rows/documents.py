"""Find documents by their contents, by their ids, or by an SQL condition of the host.

Takes contents, ids or conditions; returns documents, contents or stored sketches. Must never write.
"""

import dataclasses
from typing import Any, NamedTuple

import apsw
import numpy as np

from docindex.arrays.ranges import I64, U16, U64
from docindex.errors import CorruptIndex
from docindex.frontends.extracted import PART_MARK
from docindex.minhash.slots import features as features_of
from docindex.recipe import Recipe
from docindex.storage.file import user_sql
from docindex.storage.file.user_sql import Where
from docindex.storage.other_connection import bound_array
from docindex.storage.rows import contents as traits
from docindex.storage.rows.contents import damaged_content
from docindex.storage.rows.document_lookup import damaged_document, link_of, meta_of
from docindex.storage.rows.slot_bytes import slots_in
from docindex.storage.statements import Bindings, columns_for, rows, rows_for
from docindex.storage.tables import CONTENT, DOCUMENT, SAMPLE, ContentRow
from docindex.storage.values import can_be_stored

_NO_SAMPLE = np.empty(0, np.uint64)

_SAMPLES = f"{SAMPLE.select} where content in (select value from carray(?) as wanted)"
_OF = (
    "select document.content, document.key, document.id from carray(?) as wanted "
    "cross join main.docindex_document as document on document.content = wanted.value"
)
_DOCUMENTS = "select document.content from main.docindex_document as document"
_SIZES = (
    "select c.hashes, c.symbols, c.shingles from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value"
)
_CONTENTS = f"{CONTENT.select} where id in (select value from carray(?) as wanted)"
_IS_KEY = "select 1 from main.docindex_document where key = ?"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StoredSketch:
    """The sketch of a content without its fingerprints."""

    content: int
    symbols: int
    shingles: int
    words_hash: bytes
    simhash: int
    slots: U16
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
    found = _fulfilling(db, "select distinct content from main.docindex_document as document", where)
    return np.sort(np.array([content for (content,) in found], np.int64))


def contents_of_some(db: apsw.Connection, where: Where, most: int) -> tuple[I64, int]:
    """The contents of up to `most` documents that meet a condition, ascending; and how many documents."""
    found = _fulfilling(db, _DOCUMENTS, where, limit=most)
    return np.unique(np.array(found, np.int64)), len(found)


def contents_among(db: apsw.Connection, contents: I64, where: Where) -> I64:
    """Those of some contents that a document has which meets a condition, ascending."""
    return np.unique(np.array([content for content, _, _ in documents_of(db, contents, where)], np.int64))


def _fulfilling(
    db: apsw.Connection, statement: str, where: Where, before: Bindings = (), limit: int = -1
) -> list[tuple[Any, ...]]:
    """The rows of a statement on `document` that meet a condition; `ValueError` if the condition fails.

    With `limit`, only so many of them.
    """
    condition, bindings = user_sql.checked_condition(db, where)
    try:
        with user_sql.cursor_for_condition(db) as cursor:
            statement = f"{statement} where ({condition}\n) limit ?"
            return rows(db, statement, (*before, *bindings, limit), cursor)
    except user_sql.SLIPS as error:
        raise ValueError(f"the condition {condition!r} does not work: {error}") from error


def with_words_hash(db: apsw.Connection, words_hash: bytes) -> list[int]:
    """The contents whose words have this hash."""
    found = _content_rows(db, traits.having_words(db, [words_hash]))
    return [row.id for row in found if row.words_hash == words_hash]


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """A document in a list of all documents."""

    id: int
    key: str
    content: int
    meta: Any
    added_at: int
    """When the document got its present text: microseconds since 1970, UTC."""


def listed(db: apsw.Connection, after: int, limit: int, source: str | None = None) -> list[Listed]:
    """Up to `limit` documents after an id, in the order of their ids; with `source`, those of that table."""
    if source is None:
        return _listed(db, "id > ? order by id limit ?", (after, limit))
    return _listed(db, f"id > ? and {_OF_SOURCE} order by id limit ?", (after, source, limit))


_OF_SOURCE = "exists (select 1 from main.docindex_sourced as s where s.document = id and s.source = ?)"


def listed_as(db: apsw.Connection, number: int) -> list[Listed]:
    """The document with an id, in a list; an empty list if there is no such document."""
    return _listed(db, "id = ?", (number,))


def _listed(db: apsw.Connection, condition: str, bindings: Bindings) -> list[Listed]:
    listed = []
    for found in rows(db, f"{DOCUMENT.select} where {condition}", bindings):
        row = DOCUMENT.checked(found)
        if row is None:
            raise damaged_document(db, found[0], found[1])
        listed.append(Listed(row.id, row.key, row.content, meta_of(db, row), row.added_at))
    return listed


def documents_inside(db: apsw.Connection, file: str) -> list[tuple[int, str]]:
    """The id and key of each document inside a file, which has this key; ascending by key."""
    first, last = f"{file}{PART_MARK}", f"{file}{_AFTER_MARK}"
    return [(number, key) for number, key in rows(db, _INSIDE, (first, last))]


_AFTER_MARK = f"{PART_MARK[:-1]}{chr(ord(PART_MARK[-1]) + 1)}"
# A file of its own may have a name that looks like that of a part.
_INSIDE = (
    "select id, key from main.docindex_document as d where key >= ? and key < ? "
    "and not exists (select 1 from main.docindex_file as f where f.key = d.key) order by key"
)


def id_of(db: apsw.Connection, key: str) -> int | None:
    """The id of the document with a key, or None."""
    link = link_of(db, key)
    return None if link is None else link[0]


def is_key(db: apsw.Connection, text: str) -> bool:
    """Whether a text is the key of a document."""
    return can_be_stored(text) and bool(rows(db, _IS_KEY, (text,)))


def having(db: apsw.Connection, texts: dict[str, bytes]) -> set[str]:
    """The keys whose documents have the expected texts; `texts` maps each key to the hash of its text."""
    found = (
        rows(
            db,
            "select d.key, c.hash from carray(?) as wanted "
            "cross join main.docindex_document as d on d.key = wanted.value "
            "cross join main.docindex_content as c on c.id = d.content",
            (bound_array(db, tuple(texts)),),
        )
        if texts
        else []
    )
    return {key for key, hash_ in found if texts[key] == hash_}


def link_with_id(db: apsw.Connection, number: int) -> tuple[str, int] | None:
    """The key and the content of the document with an id, or None; no document has an id above 63 bits."""
    statement = "select key, content from main.docindex_document where id = ?"
    found = rows(db, statement, (number,)) if -(1 << 63) <= number < 1 << 63 else []
    return (found[0][0], found[0][1]) if found else None


class ContentSizes(NamedTuple):
    """The sizes of some contents."""

    hashes: I64
    """The number of different hashes of each content."""
    symbols: I64
    shingles: I64


def sizes_of(db: apsw.Connection, contents: I64) -> ContentSizes:
    """The sizes of some contents, in their order."""
    found = columns_for(db, _SIZES, contents) or [()] * 3
    if len(found[0]) != len(contents):
        raise CorruptIndex("a content is missing; check() lists all damage", db.filename)
    return ContentSizes(*(np.fromiter(column, np.int64) for column in found))


def stored_sketches_of(db: apsw.Connection, contents: I64, recipe: Recipe) -> list[StoredSketch]:
    """The sketches of some contents, without their fingerprints."""
    found = []
    samples = _samples_of(db, contents) if recipe.mod_m or recipe.level else {}
    for row in _content_rows(db, contents):
        slots = slots_in([row.slots], recipe.slots)
        if slots is None:
            raise CorruptIndex(
                f"content {row.id} does not have {recipe.slots} slots; index again", db.filename
            )
        stored_sketch = StoredSketch(
            row.id,
            row.symbols,
            row.shingles,
            row.words_hash,
            row.simhash % (1 << 64),
            slots[0],
            *samples.get(row.id, (_NO_SAMPLE, _NO_SAMPLE)),
        )
        found.append(stored_sketch)
    return found


def _content_rows(db: apsw.Connection, contents: I64) -> list[ContentRow]:
    """The rows of some contents, verified. A content that does not exist is left out."""
    found = []
    for columns in rows_for(db, _CONTENTS, contents):
        row = CONTENT.checked(columns)
        if row is None:
            raise damaged_content(db, columns[0])
        found.append(row)
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
    if len(found) < len(contents):
        raise CorruptIndex("samples of a content are missing; index again", db.filename)
    return found


def sharing_features(db: apsw.Connection, features: U64, recipe: Recipe) -> list[int]:
    """The contents that pass the feature filter of the recipe with a text, in ascending order.

    `features` are those of the text.
    """
    k, s, r = recipe.features
    wanted = np.unique(features)
    at_most = traits.sharing(db, wanted)
    found = _content_rows(db, np.array([content for content, shared in at_most.items() if shared >= r]))
    slots = slots_in([row.slots for row in found], recipe.slots)
    if slots is None:
        raise CorruptIndex(f"a content does not have {recipe.slots} slots; index again", db.filename)
    shared = np.isin(features_of(slots, k, s), wanted).sum(axis=1)
    return [row.id for row, some in zip(found, shared.tolist(), strict=True) if some >= r]
