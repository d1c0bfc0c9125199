"""Write documents and their contents: everything except the inverted index.

The only module that adds rows to the tables `document`, `content`, `fingerprint`, `sample` and `text`;
`document_removal` deletes them. Its functions run inside a transaction that the caller has begun. Must never
make a sketch.
"""

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw
import numpy as np

from docindex.arguments import shown
from docindex.arrays.ranges import I64
from docindex.recipe import Recipe
from docindex.sketching.text_parts import EXTERNAL, parts_of
from docindex.storage import tallies
from docindex.storage.other_connection import bound_array
from docindex.storage.postings.segments import NO_POSTINGS, NewPostings, Postings
from docindex.storage.postings.simhash_index import bands_of
from docindex.storage.rows import extractions
from docindex.storage.rows.batch_rows import PART_BITS, BatchRows, only
from docindex.storage.rows.contents import damaged_content, traits_of
from docindex.storage.rows.document_lookup import damaged_document
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.statements import counter, row_sum, row_sums, rows, rows_for
from docindex.storage.tables import CONTENT, DOCUMENT, FINGERPRINT, SAMPLE

_WITHOUT_TEXT = f"{CONTENT.select} where id in (select value from carray(?) as wanted) and not kept"
_STORED = f"{DOCUMENT.select} where key in (select value from carray(?) as wanted)"
_WITH_IDS = f"{DOCUMENT.select} where id in (select value from carray(?) as wanted)"


class Written(NamedTuple):
    """What `put_documents` wrote."""

    postings: NewPostings
    """The postings of the new contents."""
    replaced: list[int]
    """The contents of documents that now have another text; perhaps no document has them any longer."""


def put_documents(
    db: apsw.Connection,
    incoming: Sequence[Incoming],
    contents_of: dict[bytes, int],
    recipe: Recipe,
    *,
    store_text: bool,
) -> Written:
    """Store new documents, and new texts or meta under existing keys.

    The keys must all be different. `contents_of` is the result of `known` for their texts; a text that is not
    in it must come with its sketches. An unchanged document is not written.
    """
    new: dict[bytes, Incoming] = {}
    for document in incoming:
        if document.hash in contents_of:
            continue
        # The first that has sketches, so that the ids of contents do not depend on how texts were batched.
        if document.hash not in new or new[document.hash].sketches is None:
            new[document.hash] = document
    if any(document.source is not None or not document.has_text for document in new.values()):
        for document in incoming:
            if document.source is None and document.hash in new and new[document.hash].source is not None:
                new[document.hash].parts = None  # of two documents with this text, one needs it in the index
            if document.has_text and document.hash in new and not new[document.hash].has_text:
                new[document.hash].take_text_of(document)
    first = counter(db, "content") + 1
    sketched_together: dict[int, list[Incoming]] = {}
    for document in new.values():
        sketched_together.setdefault(id(document.sketches), []).append(document)
    groups = list(sketched_together.values())
    added = dict(zip(itertools.count(first), itertools.chain(*groups)))
    ids = contents_of | {document.hash: content for content, document in added.items()}
    if store_text:
        _put_texts(db, {content: document for content, document in added.items() if document.has_text})
    postings = _put_contents(db, groups, first, recipe, kept=store_text)
    if store_text:
        known = [each for each in incoming if each.hash in contents_of and each.has_text]
        _add_missing_texts(db, {ids[each.hash]: each for each in known})
        _copy_external_texts(db, {ids[each.hash]: each for each in known if not each.source})
    replaced = _put_documents(db, incoming, ids)
    _put_extractions(db, incoming)
    return Written(postings, replaced)


def rename(db: apsw.Connection, old: str, new: str) -> bool:
    """Give a document another key. Returns False if no document has the old key."""
    found = rows(db, "select id, meta from main.docindex_document where key = ?", (old,))
    for number, meta in found:
        relabel(db, number, new, meta)
    return bool(found)


def relabel(db: apsw.Connection, number: int, key: str, meta: str | None) -> None:
    """Replace the key and the meta of the document with an id."""
    for found in rows(db, f"{DOCUMENT.select} where id = ?", (number,)):
        checked = DOCUMENT.checked(found)
        if checked is None:  # a new checksum would hide the damage
            raise damaged_document(db, number, found[1])
        *_, sum_ = DOCUMENT.with_sum(checked._replace(key=key, meta=meta))
        db.execute(
            "update main.docindex_document set key = ?, meta = ?, sum = ? where id = ?",
            (key, meta, sum_, number),
        )
        tallies.note(db, "document", added=[sum_], removed=[found[-1]])


def rename_many(db: apsw.Connection, renamed: Sequence[tuple[int, str]]) -> None:
    """Give documents other keys, in this order; each document is given by its id."""
    ids = np.array([number for number, _ in renamed], np.int64)
    stored = {found[0]: found for found in rows_for(db, _WITH_IDS, ids)}
    after = []
    for number, key in renamed:
        checked = DOCUMENT.checked(stored[number])
        if checked is None:  # a new checksum would hide the damage
            raise damaged_document(db, number, stored[number][1])
        after.append(DOCUMENT.with_sum(checked._replace(key=key)))
    db.executemany(
        "update main.docindex_document set key = ?, sum = ? where id = ?",
        [(row[1], row[-1], row[0]) for row in after],
    )
    before, sums = ([row[-1] for row in some] for some in (stored.values(), after))
    tallies.note(db, "document", added=sums, removed=before)


def _put_contents(
    db: apsw.Connection, groups: Sequence[Sequence[Incoming]], first: int, recipe: Recipe, *, kept: bool
) -> NewPostings:
    """Store new contents under ids from `first` on; the texts of a group were sketched together."""
    written = []
    for group in groups:
        contents = np.arange(first, first + len(group))
        first += len(group)
        written.append(_put_group(db, group, contents, recipe, kept=kept))
        for document in group:
            document.sketches = None  # free the sketches of a long document: sorting needs the memory
    if not written:
        return NewPostings(NO_POSTINGS, NO_POSTINGS, NO_POSTINGS)
    return NewPostings(*(Postings.joined(some) for some in zip(*written, strict=True)))


def _put_group(
    db: apsw.Connection, group: Sequence[Incoming], contents: I64, recipe: Recipe, *, kept: bool
) -> NewPostings:
    """Store contents whose texts were sketched together; returns their postings."""
    sketches = group[0].sketches
    if sketches is None:
        raise ValueError(
            f"the text of {shown(group[0].key)} is new to the index, but its sketches are missing"
        )
    sketches = only(sketches, np.array([document.number for document in group], np.int64))
    batch = BatchRows(sketches, contents)
    hashes, characters = [each.hash for each in group], [each.characters for each in group]
    are_kept = np.array([kept and each.has_text for each in group])
    columns, sums = batch.contents(hashes, characters, are_kept)
    db.executemany(CONTENT.insert, zip(*columns, sums, strict=True))
    tallies.note(db, "content", added=sums)
    if recipe.min_s or recipe.mod_m or recipe.level:
        db.executemany(SAMPLE.insert, SAMPLE.with_sums(batch.samples()))
    db.executemany(FINGERPRINT.insert, batch.fingerprints(recipe.window))
    traits = traits_of(sketches.features, hashes, sketches.words_hashes)
    bands = bands_of(sketches.simhashes)
    return NewPostings(
        Postings(sketches.hashes, contents, batch.counts),
        *(
            Postings(some.ravel(), contents, np.full(len(contents), some.shape[1]))
            for some in (traits, bands)
        ),
    )


def _put_texts(db: apsw.Connection, documents: dict[int, Incoming]) -> None:
    """Store the texts of contents."""

    def parts() -> Iterator[tuple[int, int, bytes]]:
        # A part is made when it is stored: all parts of a long text together take too much memory.
        for content, document in documents.items():
            for part, (codec, data) in enumerate(document.parts or parts_of(document.text)):
                yield content << PART_BITS | part, codec, data

    db.executemany("insert into main.docindex_text (id, codec, data) values (?, ?, ?)", parts())


_EXTERNAL_TEXTS = (
    "select t.id from carray(?) as wanted "
    f"cross join main.docindex_text as t on t.id = wanted.value and t.codec = {EXTERNAL}"
)


def _copy_external_texts(db: apsw.Connection, documents: dict[int, Incoming]) -> None:
    """Store those texts of known contents that only a table of the app has."""
    parts = np.array(sorted(documents), np.int64) << PART_BITS
    external = [number for (number,) in rows_for(db, _EXTERNAL_TEXTS, parts)]
    db.executemany("delete from main.docindex_text where id = ?", [(number,) for number in external])
    _put_texts(db, {number >> PART_BITS: documents[number >> PART_BITS] for number in external})


SET_KEPT = "update main.docindex_content set kept = ?, sum = ? where id = ?"


def _add_missing_texts(db: apsw.Connection, documents: dict[int, Incoming]) -> None:
    """Store the texts of those known contents that were added without their text."""
    found = rows_for(db, _WITHOUT_TEXT, np.array(list(documents), np.int64))
    for columns in found:
        if not CONTENT.is_intact(columns):  # a new checksum would hide the damage
            raise damaged_content(db, columns[0])
    kept = [CONTENT.made(columns)._replace(kept=1) for columns in found]
    _put_texts(db, {row.id: documents[row.id] for row in kept})
    sums = [row_sum(*row) for row in kept]
    db.executemany(SET_KEPT, [(row.kept, sum_, row.id) for row, sum_ in zip(kept, sums, strict=True)])
    tallies.note(db, "content", added=sums, removed=[columns[-1] for columns in found])


def _put_documents(
    db: apsw.Connection, incoming: Sequence[Incoming], contents_of: dict[bytes, int]
) -> list[int]:
    """Write the documents that changed, and return the contents whose documents got other texts."""
    now = time.time_ns() // 1000
    found = rows(db, _STORED, (bound_array(db, tuple(document.key for document in incoming)),))
    stored = {columns[1]: columns for columns in found}
    new = [document for document in incoming if document.key not in stored] if stored else incoming
    here = _insert_documents(db, new, [contents_of[document.hash] for document in new], now)
    before, after, replaced = [], [], []
    for document in incoming if stored else ():
        columns = stored.get(document.key)
        if columns is None:
            continue
        content, row = contents_of[document.hash], DOCUMENT.made(columns)
        if row.content != content:
            replaced.append(row.content)
            row = row._replace(added_at=document.added_at or now)
        meta = row.meta if document.keeps_meta else document.meta
        if (row.content, row.meta) != (content, meta):
            before.append(columns)
            after.append(DOCUMENT.with_sum(row._replace(content=content, meta=meta)))
    db.executemany(
        _PUT_SOURCED,
        [(document.source, document.value, document.key) for document in incoming if document.source],
    )
    db.executemany(
        "update main.docindex_document set content = ?, meta = ?, added_at = ?, sum = ? where id = ?",
        [(content, meta, added_at, sum_, number) for number, _, content, meta, added_at, sum_ in after],
    )
    put, gone = [row[-1] for row in after], [row[-1] for row in before]
    tallies.note(db, "document", added=[*here, *put], removed=gone)
    return replaced


def _insert_documents(
    db: apsw.Connection, new: Sequence[Incoming], contents: Sequence[int], now: int
) -> list[int]:
    """Insert the rows of documents that have these contents, and return their checksums.

    The columns are lists: a tuple for each of 30,000 rows would make Python look for garbage among them.
    """
    ids: list[int] = []
    next_id = counter(db, "document") + 1
    for document in new:
        ids.append(document.id or next_id)
        next_id = max(next_id, ids[-1] + 1)
    keys, metas = [document.key for document in new], [document.meta for document in new]
    added = [document.added_at or now for document in new]
    sums = row_sums((ids, keys, contents, metas, added))
    db.executemany(DOCUMENT.insert, zip(ids, keys, contents, metas, added, sums, strict=True))
    return sums


_PUT_SOURCED = (
    "insert or replace into main.docindex_sourced (document, source, value) "
    "select id, ?, ? from main.docindex_document where key = ?"
)


def _put_extractions(db: apsw.Connection, incoming: Sequence[Incoming]) -> None:
    """Note how the texts of some stored documents were extracted."""
    if not extractions.has_any(db) and all(document.extracted is None for document in incoming):
        return
    keys = bound_array(db, tuple(document.key for document in incoming))
    number_of = dict(rows(db, _IDS, (keys,)))
    extractions.remove(db, number_of.values())
    extractions.put(
        db,
        [
            (number_of[document.key], document.extracted)
            for document in incoming
            if document.extracted is not None
        ],
    )


_IDS = "select key, id from main.docindex_document where key in (select value from carray(?) as wanted)"
