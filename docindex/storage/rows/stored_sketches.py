"""Read whole documents of a file with their sketches, batch by batch: for export, and to merge files.

Gives the same sketches, bit for bit, as sketching the texts again. Every row is verified against its
checksum. Must never write, and must never sketch a text.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import apsw
import numpy as np
import xxhash

from docindex.arrays.ranges import I64, U64, starts_of
from docindex.errors import CorruptIndex
from docindex.minhash.slots import features
from docindex.reading.slicing import PIECE_CHARACTERS
from docindex.recipe import Recipe
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts, source_of
from docindex.storage.other_connection import bound_array
from docindex.storage.postings.fingerprint_bytes import NUMBER_BYTES, whole_fingerprints_in
from docindex.storage.rows.batch_rows import FINGERPRINTS_A_PART, PART_BITS, are_all_parts, only
from docindex.storage.rows.contents import TEXT_HASH_BYTES, damaged_content
from docindex.storage.rows.document_lookup import damaged_document
from docindex.storage.rows.slot_bytes import slots_in
from docindex.storage.statements import columns_for, rows, rows_for
from docindex.storage.tables import DOCUMENT, SAMPLE, ContentRow, DocumentRow, first_changed

_DOCUMENTS = f"{DOCUMENT.select} where id > ? order by id limit ?"
_DOCUMENTS_AT_A_TIME = 4096
_CONTENT_OF = (
    "select d.id, d.content from carray(?) as wanted "
    "cross join main.docindex_document as d on d.id = wanted.value"
)
_WITH_KEYS = (
    "select d.key, d.id, c.hash, d.meta from carray(?) as wanted "
    "cross join main.docindex_document as d on d.key = wanted.value "
    "cross join main.docindex_content as c on c.id = d.content"
)
_TEXTS = (
    "select c.id, c.hash, c.characters from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value"
)
_ROWS_AT_A_TIME = 1 << 16
_HASHES_AFTER = "select hash, id from main.docindex_content where id > ?"
_LENGTHS = (
    "select c.id, c.characters from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value"
)
_CONTENTS = (
    f"select {', '.join(f'c.{name}' for name in (*ContentRow._fields, 'sum'))} from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value"
)
_PARTS = (
    "cross join main.docindex_{} as p on p.id between wanted.value << "
    f"{PART_BITS} and (wanted.value + 1 << {PART_BITS}) - 1"
)
_FINGERPRINTS = (
    f"select p.id, p.numbers, p.highs, p.sum from carray(?) as wanted {_PARTS.format('fingerprint')}"
)
_TEXT_PARTS = f"select p.id, p.codec, p.data from carray(?) as wanted {_PARTS.format('text')}"
_SAMPLES = (
    "select s.content, s.min_s, s.mod_m, s.level, s.sum from carray(?) as wanted "
    "cross join main.docindex_sample as s on s.content = wanted.value"
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class StoredContents:
    """Some contents with their sketches."""

    ids: I64
    """The contents, ascending."""
    hashes: Sequence[bytes]
    """The hash of each text."""
    characters: Sequence[int]
    """The length of each text in code points."""
    kept: I64
    """Those contents whose texts are kept."""
    sketches: Sketches

    def of(self, contents: I64) -> tuple[list[bytes], list[int], Sketches]:
        """The hashes, lengths and sketches of some of these contents, in any order, also repeated."""
        places = np.searchsorted(self.ids, contents)
        hashes = [self.hashes[place] for place in places.tolist()]
        return hashes, [self.characters[place] for place in places.tolist()], only(self.sketches, places)


def document_batches(db: apsw.Connection, after: int, recipe: Recipe) -> list[list[DocumentRow]]:
    """The next documents after an id, in the order of their ids: batches whose texts fit in memory.

    An empty list if there are no more.
    """
    found = rows(db, _DOCUMENTS, (after, _DOCUMENTS_AT_A_TIME))
    if not found:
        return []
    columns = list(zip(*found, strict=True))
    if (place := first_changed(columns)) is not None:
        raise damaged_document(db, *found[place][:2])
    documents = [DOCUMENT.made(row) for row in found]
    of = np.array(columns[DocumentRow._fields.index("content")], np.int64)
    contents, places = np.unique(of, return_inverse=True)
    known, lengths = columns_for(db, _LENGTHS, contents) or ((), ())
    if known != tuple(contents.tolist()):
        raise damaged_content(db, int(np.setdiff1d(contents, np.array(known, np.int64))[0]))
    weights = np.maximum(np.array(lengths, np.int64), 0)[places] + recipe.slots
    ends = np.flatnonzero(np.diff(weights.cumsum() // PIECE_CHARACTERS)) + 1
    borders = itertools.pairwise([0, *ends.tolist(), len(documents)])
    return [documents[begin:end] for begin, end in borders]


def still_there(db: apsw.Connection, documents: list[DocumentRow]) -> list[DocumentRow]:
    """Those of some documents that still have the same text."""
    ids = np.array([document.id for document in documents], np.int64)
    now = dict(rows_for(db, _CONTENT_OF, ids))
    return [document for document in documents if now.get(document.id) == document.content]


def contents_with_sketches(db: apsw.Connection, contents: I64, recipe: Recipe) -> StoredContents:
    """Some contents, which must ascend, with their sketches."""
    columns = columns_for(db, _CONTENTS, contents) or [()] * (len(ContentRow._fields) + 1)
    column = dict(zip(ContentRow._fields, columns, strict=False))
    ids = np.array(column["id"], np.int64)
    if not np.array_equal(ids, contents):
        raise damaged_content(db, int(np.setdiff1d(contents, ids)[0]))
    if (place := first_changed(columns)) is not None:
        raise damaged_content(db, int(ids[place]))
    slots = slots_in(column["slots"], recipe.slots)
    if slots is None or {*map(len, column["hash"]), *map(len, column["words_hash"])} - {TEXT_HASH_BYTES}:
        raise damaged_content(db, int(ids[0]))
    hashes, gaps, counts = _fingerprints(db, ids, recipe)
    differing = counts != np.array(column["fingerprints"], np.int64)
    if differing.any():
        raise _damaged_fingerprints(db, int(ids[differing][0]))
    samples = _samples(db, ids, recipe)
    sketches = Sketches(
        recipe=recipe,
        symbols=np.array(column["symbols"], np.int64),
        hashes=hashes,
        gaps=gaps.astype(np.uint16),
        starts=starts_of(counts),
        different=np.array(column["hashes"], np.int64),
        shingles=np.array(column["shingles"], np.int64),
        slots=slots,
        features=features(slots, *recipe.features[:2]),
        simhashes=np.array(column["simhash"], np.int64).view(np.uint64),
        words_hashes=list(column["words_hash"]),
        min_s=samples[0],
        mod_m=samples[1],
        level=samples[2],
    )
    kept = ids[np.array(column["kept"], bool)]
    return StoredContents(ids, column["hash"], column["characters"], kept, sketches)


def stored_texts(db: apsw.Connection, contents: I64) -> dict[int, tuple[bytes, int]]:
    """The hashes and lengths of the texts of some contents."""
    found = {number: (hash_, size) for number, hash_, size in rows_for(db, _TEXTS, contents)}
    for content in contents.tolist():
        if content not in found:
            raise damaged_content(db, content)
    return found


def texts_after(db: apsw.Connection, content: int) -> dict[bytes, int]:
    """The contents after a content, by the hashes of their texts."""
    return dict(rows(db, _HASHES_AFTER, (content,)))


class StoredDocument(NamedTuple):
    """What a file has under a key."""

    id: int
    hash: bytes
    """The `text_hash` of its text."""
    meta: str | None


def stored_documents(db: apsw.Connection, keys: Sequence[str]) -> dict[str, StoredDocument]:
    """The documents with some keys, by their keys. Only for a file that this process has just written."""
    found = rows(db, _WITH_KEYS, (bound_array(db, tuple(keys)),)) if keys else []
    return {key: StoredDocument(*columns) for key, *columns in found}


def text_parts_of(db: apsw.Connection, stored: StoredContents) -> dict[int, Parts]:
    """The parts of the texts of those contents whose texts are kept, as they are stored.

    Each text is checked against its hash.
    """
    parts: dict[int, Parts] = {content: [] for content in stored.kept.tolist()}
    for number, codec, data in rows_for(db, _TEXT_PARTS, stored.kept):
        parts[number >> PART_BITS].append((codec, data))
    hashes = dict(zip(stored.ids.tolist(), stored.hashes, strict=True))
    for content, some in parts.items():
        if not some or _hash_of(some) != hashes[content]:
            raise CorruptIndex(
                f"the text of content {content} is damaged; restore a backup, or add it again", db.filename
            )
    return parts


def _hash_of(parts: Parts) -> bytes | None:
    """The hash of the text in some parts; None if they are damaged."""
    try:
        if len(parts) == 1:
            return xxhash.xxh3_128_digest(source_of(*parts[0]))
        hasher = xxhash.xxh3_128()
        for part in parts:
            hasher.update(source_of(*part))
    except ValueError:
        return None
    return hasher.digest()


def _fingerprints(db: apsw.Connection, contents: I64, recipe: Recipe) -> tuple[U64, I64, I64]:
    """The hashes and gaps of some contents, end to end, and how many fingerprints each content has."""
    columns = columns_for(db, _FINGERPRINTS, contents) or [()] * 4
    ids, numbers, highs, _ = columns
    if (place := first_changed(columns)) is not None:
        raise _damaged_fingerprints(db, ids[place] >> PART_BITS)
    sizes = np.fromiter(map(len, numbers), np.int64, len(numbers))
    if not are_all_parts(contents, ids, sizes):
        raise CorruptIndex("fingerprints are missing; check() lists all damage", db.filename)
    try:
        hashes, gaps = whole_fingerprints_in(numbers, highs, recipe.window)
    except ValueError as error:
        raise _damaged_fingerprints(db, ids[0] >> PART_BITS) from error
    ends = np.flatnonzero(sizes != FINGERPRINTS_A_PART * NUMBER_BYTES)  # each content ends with such a row
    return hashes, gaps, np.diff((sizes // NUMBER_BYTES).cumsum()[ends], prepend=0)


def _samples(db: apsw.Connection, contents: I64, recipe: Recipe) -> list[tuple[U64, I64]]:
    """The samples of some contents: the values end to end, and where each content's begin."""
    if not (recipe.min_s or recipe.mod_m or recipe.level):
        return [(np.empty(0, np.uint64), np.zeros(len(contents) + 1, np.int64)) for _ in range(3)]
    found = rows_for(db, _SAMPLES, contents)
    if [row[0] for row in found] != contents.tolist():
        raise CorruptIndex("samples are missing; check() lists all damage", db.filename)
    for row in found:
        if not SAMPLE.is_intact(row) or any(len(values) % 8 for values in row[1:4]):
            raise CorruptIndex(f"the samples of content {row[0]} are damaged; add it again", db.filename)
    samples = []
    for column in range(1, 4):
        values = [row[column] for row in found]
        lengths = np.fromiter(map(len, values), np.int64, len(values)) // 8
        samples.append((np.frombuffer(b"".join(values), "<u8").astype(np.uint64), starts_of(lengths)))
    return samples


def _damaged_fingerprints(db: apsw.Connection, content: int) -> CorruptIndex:
    return CorruptIndex(f"the fingerprints of content {content} are damaged; add it again", db.filename)
