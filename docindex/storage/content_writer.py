"""Write documents and their contents: everything except the inverted index.

The only module that writes the tables `document`, `content`, `fingerprint`, `feature`, `sample` and `text`.
Its functions run inside a transaction that the caller has begun. Must never make a sketch.
"""

import dataclasses
import time
from collections.abc import Iterable, Iterator, Sequence

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U64
from docindex.kernels.feature_hashes import features
from docindex.recipe import Recipe
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts, parts_of
from docindex.storage.batch_rows import PART_BITS, SLOT_BYTES, BatchRows
from docindex.storage.contents import PARTS, damaged_document, part_ids
from docindex.storage.other_connection import bound_array
from docindex.storage.rows import counter, row_sum, rows, rows_for, value
from docindex.storage.tables import CONTENT, DOCUMENT, FINGERPRINT, SAMPLE, DocumentRow

_WITHOUT_TEXT = f"{CONTENT.select} where id in (select value from carray(?) as wanted) and parts = 0"
_STORED = f"{DOCUMENT.select} where key in (select value from carray(?) as wanted)"


@dataclasses.dataclass(slots=True)
class Incoming:
    """A document to store."""

    key: str
    text: str
    meta: str | None
    """JSON, or None."""
    hash: bytes
    """The `text_hash` of its text."""
    sketches: Sketches | None = None
    """The batch in which its text was sketched; None if the index knows the text."""
    number: int = 0
    """The place of the text in that batch."""
    parts: Parts | None = None
    """The text as the parts to store, or None if they are not made yet."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NewPostings:
    """The hashes of new contents, for the inverted index, which may overwrite them."""

    hashes: U64
    """The hashes of all contents, end to end."""
    contents: I64
    """The contents, ascending."""
    counts: I64
    """The number of hashes of each content."""


def put_documents(
    db: apsw.Connection,
    incoming: Sequence[Incoming],
    contents_of: dict[bytes, int],
    recipe: Recipe,
    *,
    store_text: bool,
) -> NewPostings:
    """Store new documents, and new texts or meta under existing keys. Returns the postings of new contents.

    The keys must all be different. `contents_of` is the result of `known` for their texts; a text that is not
    in it must come with its sketches. An unchanged document is not written. Contents that no document has any
    longer are removed.
    """
    new: dict[bytes, Incoming] = {}
    for document in incoming:
        if document.hash not in contents_of and (document.hash not in new or document.sketches is not None):
            new[document.hash] = document
    first = counter(db, "content") + 1
    numbers = range(first, first + len(new))
    ids = contents_of | dict(zip(new, numbers, strict=True))
    texts = _put_texts(db, dict(zip(numbers, new.values(), strict=True))) if store_text else {}
    postings = _put_contents(db, list(new.values()), numbers, texts, recipe)
    if store_text:
        _add_missing_texts(db, {ids[each.hash]: each for each in incoming if each.hash in contents_of})
    replaced = _put_documents(db, incoming, ids)
    drop_unused(db, replaced, recipe)
    return postings


def remove_document(db: apsw.Connection, key: str, recipe: Recipe) -> bool:
    """Remove a document, and its content if no other document has it. Returns False for an unknown key."""
    content = value(db, "delete from main.document where key = ? returning content", (key,))
    if content is None:
        return False
    drop_unused(db, [content], recipe)
    return True


def rename(db: apsw.Connection, old: str, new: str) -> bool:
    """Give a document another key. Returns False if no document has the old key."""
    found = rows(db, "select id, meta from main.document where key = ?", (old,))
    for number, meta in found:
        relabel(db, number, new, meta)
    return bool(found)


def relabel(db: apsw.Connection, number: int, key: str, meta: str | None) -> None:
    """Replace the key and the meta of the document with an id."""
    for found in rows(db, f"{DOCUMENT.select} where id = ?", (number,)):
        checked = DOCUMENT.checked(found)
        if checked is None:  # a new checksum would hide the damage
            raise damaged_document(db, number, found[1])
        row = checked._replace(key=key, meta=meta)
        db.execute(
            "update main.document set key = ?, meta = ?, sum = ? where id = ?",
            (key, meta, row_sum(*row), number),
        )


def drop_unused(db: apsw.Connection, contents: Iterable[int], recipe: Recipe) -> None:
    """Remove the given contents that no document has. Their postings stay until a merge deletes them."""
    k, s, _ = recipe.features
    newest = counter(db, "segment")
    for content in set(contents):
        if value(db, "select 1 from main.document where content = ? limit 1", (content,)):
            continue
        found = rows(db, "select slots, fingerprints from main.content where id = ?", (content,))
        if not found or len(found[0][0]) != SLOT_BYTES * recipe.slots:
            raise CorruptIndex(
                f"content {content} is missing, or does not have {recipe.slots} slots; index again",
                db.filename,
            )
        slots = np.frombuffer(found[0][0], "<u4").reshape(1, -1)
        values = features(slots, k, s)[0].view(np.int64).tolist()
        db.executemany(
            "delete from main.feature where value = ? and content = ?",
            [(feature, content) for feature in values],
        )
        for table in ("fingerprint", "text"):
            db.execute(f"delete from main.{table} where {PARTS}", part_ids(content))
        db.execute("delete from main.sample where content = ?", (content,))
        db.execute("delete from main.content where id = ?", (content,))
        if found[0][1]:
            db.execute("insert into main.dead (content, segment) values (?, ?)", (content, newest))


_Source = tuple[BatchRows, Incoming, int]
"""The rows of a batch, a document in it, and the content that it gets."""


def _put_contents(
    db: apsw.Connection,
    new: Sequence[Incoming],
    numbers: Sequence[int],
    texts: dict[int, int],
    recipe: Recipe,
) -> NewPostings:
    """Store new contents, which get some numbers; `texts` has the number of stored parts of their texts."""
    batches: dict[int, BatchRows] = {}
    sources: list[_Source] = []
    for document, content in zip(new, numbers, strict=True):
        if document.sketches is None:
            raise ValueError(
                f"the text of {document.key!r} is new to the index, but its sketches are missing"
            )
        batch = id(document.sketches)
        if batch not in batches:
            batches[batch] = BatchRows(document.sketches, recipe)
        sources.append((batches[batch], document, content))
    rows_of_contents = (
        batch.content(document.number, content, document.hash, len(document.text), texts.get(content, 0))
        for batch, document, content in sources
    )
    db.executemany(CONTENT.insert, CONTENT.with_sums(rows_of_contents))
    if recipe.min_s or recipe.mod_m or recipe.level:
        samples = (batch.sample(document.number, content) for batch, document, content in sources)
        db.executemany(SAMPLE.insert, SAMPLE.with_sums(samples))
    fingerprints = (
        row for batch, document, content in sources for row in batch.fingerprints(document.number, content)
    )
    db.executemany(FINGERPRINT.insert, FINGERPRINT.with_sums(fingerprints))
    if sources:
        values = np.concatenate([batch.sketches.features[document.number] for batch, document, _ in sources])
        _put_features(db, values, np.repeat(np.array(numbers, np.int64), recipe.features[0]))
    return _new_postings(sources, numbers)


def _put_features(db: apsw.Connection, values: U64, contents: I64) -> None:
    # Insert in the order of the table, which is faster. Equal features of a content are stored once.
    order = np.argsort(values)
    pairs = zip(values[order].view(np.int64).tolist(), contents[order].tolist(), strict=True)
    db.executemany("insert or ignore into main.feature (value, content) values (?, ?)", pairs)


def _new_postings(sources: Sequence[_Source], numbers: Sequence[int]) -> NewPostings:
    hashes = [batch.hashes(document.number) for batch, document, _ in sources]
    for _, document, _ in sources:
        document.sketches = None  # free the sketches of a long document: sorting needs the memory
    whole = len(hashes) == 1 and hashes[0].flags.writeable
    together = hashes[0] if whole else np.concatenate([np.empty(0, np.uint64), *hashes])
    return NewPostings(
        together, np.array(numbers, np.int64), np.array([len(own) for own in hashes], np.int64)
    )


def _put_texts(db: apsw.Connection, documents: dict[int, Incoming]) -> dict[int, int]:
    """Store the texts of contents, and return the number of parts of each."""
    counts = dict.fromkeys(documents, 0)

    def parts() -> Iterator[tuple[int, int, bytes]]:
        # A part is made when it is stored: all parts of a long text together take too much memory.
        for content, document in documents.items():
            for codec, data in document.parts or parts_of(document.text):
                yield content << PART_BITS | counts[content], codec, data
                counts[content] += 1

    db.executemany("insert into main.text (id, codec, data) values (?, ?, ?)", parts())
    return counts


def _add_missing_texts(db: apsw.Connection, documents: dict[int, Incoming]) -> None:
    """Store the texts of those known contents that were added without their text."""
    found = rows_for(db, _WITHOUT_TEXT, np.array(list(documents), np.int64))
    for columns in found:
        if not CONTENT.is_intact(columns):  # a new checksum would hide the damage
            raise CorruptIndex(f"content {columns[0]} is damaged; index again", db.filename)
    without = [CONTENT.made(columns) for columns in found]
    counts = _put_texts(db, {row.id: documents[row.id] for row in without})
    db.executemany(
        "update main.content set parts = ?, sum = ? where id = ?",
        ((counts[row.id], row_sum(*row._replace(parts=counts[row.id])), row.id) for row in without),
    )


def _put_documents(
    db: apsw.Connection, incoming: Sequence[Incoming], contents_of: dict[bytes, int]
) -> list[int]:
    """Write the documents that changed, and return the contents whose documents got other texts."""
    now = time.time_ns() // 1000
    found = rows(db, _STORED, (bound_array(db, tuple(document.key for document in incoming)),))
    stored = {row.key: row for row in map(DOCUMENT.made, found)}
    next_id = counter(db, "document") + 1
    added, changed, replaced = [], [], []
    for document in incoming:
        content = contents_of[document.hash]
        row = stored.get(document.key)
        if row is None:
            row = DocumentRow(next_id, document.key, content, document.meta, now)
            next_id += 1
            added.append(row)
            continue
        if row.content != content:
            replaced.append(row.content)
            row = row._replace(added_at=now)
        if (row.content, row.meta) != (content, document.meta):
            row = row._replace(content=content, meta=document.meta)
            changed.append((content, row.meta, row.added_at, row_sum(*row), row.id))
    db.executemany(DOCUMENT.insert, DOCUMENT.with_sums(added))
    db.executemany(
        "update main.document set content = ?, meta = ?, added_at = ?, sum = ? where id = ?", changed
    )
    return replaced
