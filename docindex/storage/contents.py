"""Documents and their contents in, rows out, and back: everything but the inverted index.

The one room that writes the tables `document`, `content`, `fingerprint`, `feature`, `sample` and
`text`. Must run inside a transaction that its caller opened.
"""

import dataclasses
import itertools
import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import numpy as np
import xxhash

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U64, union
from docindex.kernels.feature_hashes import features
from docindex.kernels.packing import unpacked
from docindex.reading.slicing import slices
from docindex.recipe import Recipe
from docindex.sketching.sketcher import sketch_batches
from docindex.sketching.sketches import HASH_BYTES, HASH_SHIFT, Sketches
from docindex.sketching.text_parts import Parts, parts_of, source_of
from docindex.storage.batch_rows import PART_BITS, SLOT_BYTES, Columns, gap_type
from docindex.storage.rows import counter, row_sum, rows, stream, value

_PARTS = "id between ? and ?"


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """What the index knows of one document; its text is asked for by `Index.text`."""

    key: str
    id: int
    """Stays with the key as long as the document is there; what other tables may point to."""
    meta: Any
    """What the host stored beside the text, or None."""
    added_at: float
    """When this text came under this key: seconds since 1970, UTC."""
    content: int
    """Documents with the same text have the same content."""
    characters: int
    symbols: int
    fingerprints: int
    shingles: int
    simhash: int
    """64 bits, 0 to 2^64 - 1."""


@dataclasses.dataclass(slots=True)
class Incoming:
    """A document on its way in."""

    key: str
    text: str
    meta: str | None
    hash: bytes
    sketches: Sketches | None = None
    """The batch in which its text was sketched, if the index did not know it; and which one it is there."""
    number: int = 0
    parts: Parts | None = None
    """Its text as it is stored, if that has been made already."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NewPostings:
    """What the inverted index must take in: hashes of some contents, end to end, which it may overwrite."""

    hashes: U64
    contents: I64
    """The contents, ascending."""
    counts: I64
    """How many hashes each has."""


def text_hash(text: str) -> bytes:
    """The xxh3-128 of a text in UTF-8, without a second copy of a long one."""
    hasher = xxhash.xxh3_128()
    for piece in slices(text):
        hasher.update(piece.encode("utf-8", "surrogatepass"))
    return hasher.digest()


def known(db: apsw.Connection, hashes: Iterable[bytes], reading: str) -> dict[bytes, int]:
    """Those of some text hashes that the file has, and their contents."""
    wanted = tuple(set(hashes))
    if not wanted:
        return {}
    found = rows(
        db,
        "select c.hash, c.id from carray(?) as wanted join main.content as c on c.hash = wanted.value "
        "where c.reading = ?",
        (apsw.carray(wanted), reading),
    )
    return dict(found)


def put(
    db: apsw.Connection, incoming: Sequence[Incoming], recipe: Recipe, *, store_text: bool
) -> NewPostings:
    """Store documents: new ones, other texts under known keys, other meta; the rest costs nothing.

    A text that `known` does not have should come with its sketch; one that somebody has removed since
    it was asked for is sketched here. Gives the postings of the new contents. Contents that no
    document has any more are dropped.
    """
    incoming = list({document.key: document for document in incoming}.values())  # of one key the last
    ids = known(db, (document.hash for document in incoming), recipe.reading)
    new: dict[bytes, Incoming] = {}
    for document in incoming:
        if document.hash not in ids and (document.hash not in new or document.sketches is not None):
            new[document.hash] = document
    first = counter(db, "content") + 1
    numbers = range(first, first + len(new))
    ids.update(zip(new, numbers, strict=True))
    postings = _put_contents(db, list(new.values()), numbers, recipe)
    if store_text:
        _put_texts(db, {ids[document.hash]: document for document in incoming})
    replaced = _put_documents(db, incoming, ids)
    drop_unused(db, replaced, recipe)
    return postings


def remove(db: apsw.Connection, key: str, recipe: Recipe) -> bool:
    """Forget a document, and its content if no other has it; False if the key is not there."""
    content = value(db, "delete from main.document where key = ? returning content", (key,))
    if content is None:
        return False
    drop_unused(db, [content], recipe)
    return True


def rename(db: apsw.Connection, old: str, new: str) -> bool:
    """Give a document another key; False if the old one is not there."""
    found = rows(db, "select id, meta from main.document where key = ?", (old,))
    for number, meta in found:
        relabel(db, number, new, meta)
    return bool(found)


def relabel(db: apsw.Connection, number: int, key: str, meta: str | None) -> None:
    """Give the document with an id this key and meta."""
    found = rows(db, "select content, added_at from main.document where id = ?", (number,))
    for content, added_at in found:
        db.execute(
            "update main.document set key = ?, meta = ?, sum = ? where id = ?",
            (key, meta, row_sum(number, key, content, meta, added_at), number),
        )


def drop_unused(db: apsw.Connection, contents: Iterable[int], recipe: Recipe) -> None:
    """Forget those of some contents that no document has. Their postings stay until a merge meets them."""
    k, s, _ = recipe.features
    newest = counter(db, "segment")
    for content in set(contents):
        if value(db, "select 1 from main.document where content = ? limit 1", (content,)):
            continue
        found = rows(db, "select slots, fingerprints from main.content where id = ?", (content,))
        if not found or len(found[0][0]) != SLOT_BYTES * recipe.slots:
            raise CorruptIndex(
                f"content {content} has no slots, or not {recipe.slots}; index again", db.filename
            )
        slots = np.frombuffer(found[0][0], "<u4").reshape(1, -1)
        values = features(slots, k, s)[0].view(np.int64).tolist()
        db.executemany(
            "delete from main.feature where value = ? and content = ?",
            [(feature, content) for feature in values],
        )
        for table in ("fingerprint", "text"):
            db.execute(f"delete from main.{table} where {_PARTS}", _parts(content))
        db.execute("delete from main.sample where content = ?", (content,))
        db.execute("delete from main.content where id = ?", (content,))
        if found[0][1]:
            db.execute("insert into main.dead values (?, ?)", (content, newest))


def get(db: apsw.Connection, key: str) -> Document | None:
    """A document, or None."""
    found = rows(
        db,
        "select d.key, d.id, d.meta, d.added_at, d.content, d.sum, c.characters, c.symbols, c.fingerprints, "
        "c.shingles, c.simhash from main.document as d join main.content as c on c.id = d.content "
        "where d.key = ?",
        (key,),
    )
    if not found:
        return None
    stored_key, number, meta, added_at, content, stored_sum, *sizes = found[0]
    if row_sum(number, stored_key, content, meta, added_at) != stored_sum:
        raise CorruptIndex(f"document {number} ({stored_key!r}) is damaged; add it again", db.filename)
    characters, symbols, fingerprints, shingles, simhash = sizes
    return Document(
        key=stored_key,
        id=number,
        meta=from_json(meta),
        added_at=added_at / 1_000_000,
        content=content,
        characters=characters,
        symbols=symbols,
        fingerprints=fingerprints,
        shingles=shingles,
        simhash=simhash % (1 << 64),
    )


def count(db: apsw.Connection) -> int:
    """How many documents there are."""
    return int(value(db, "select count(*) from main.document"))


def keys_after(db: apsw.Connection, key: str | None, limit: int) -> list[str]:
    """The next keys behind one, in their order; from the first for None."""
    after, bound = ("", (limit,)) if key is None else ("where key > ?2", (limit, key))
    return [row[0] for row in rows(db, f"select key from main.document {after} order by key limit ?1", bound)]


def text_of(db: apsw.Connection, content: int) -> str | None:
    """A content's text, or None where it is not kept; checked against the hash it came in with."""
    pieces = []
    hasher = xxhash.xxh3_128()
    for codec, data in stream(
        db, f"select codec, data from main.text where {_PARTS} order by id", _parts(content)
    ):
        try:
            source = source_of(codec, data)
            hasher.update(source)
            pieces.append(source.decode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise _damaged_text(db, content) from error
    found = rows(db, "select hash, parts from main.content where id = ?", (content,))
    if not found or len(pieces) != found[0][1] or (pieces and hasher.digest() != found[0][0]):
        raise _damaged_text(db, content)
    return "".join(pieces) if pieces else None


def fingerprints_of(db: apsw.Connection, content: int, window: int) -> tuple[U64, I64]:
    """A content's fingerprints: hashes of which the low 16 bits are 0, and positions in symbols."""
    found = rows(db, f"select hashes, gaps from main.fingerprint where {_PARTS} order by id", _parts(content))
    hashes, gaps = b"".join(row[0] for row in found), b"".join(row[1] for row in found)
    if (
        not found
        or len(hashes) * gap_type(window).itemsize != len(gaps) * HASH_BYTES
        or len(hashes) % HASH_BYTES
    ):
        raise CorruptIndex(f"the fingerprints of content {content} are damaged; add it again", db.filename)
    positions = np.cumsum(np.frombuffer(gaps, gap_type(window)), dtype=np.int64)
    return unpacked(hashes, HASH_BYTES) << HASH_SHIFT, positions


def as_stored(hashes: U64) -> U64:
    """The different ones among some hashes, ascending, without the bits that are not stored."""
    return union(hashes & ~((np.uint64(1) << HASH_SHIFT) - np.uint64(1)))


def content_of(db: apsw.Connection, key: str) -> int | None:
    """The content of a document, or None where there is none of this key."""
    found: int | None = value(db, "select content from main.document where key = ?", (key,))
    return found


def is_there(db: apsw.Connection, content: int) -> bool:
    """Whether a document still has a content."""
    return value(db, "select 1 from main.content where id = ?", (content,)) is not None


def symbols_hash_of(db: apsw.Connection, content: int) -> bytes:
    """The hash of a content's symbols."""
    found = value(db, "select symbols_hash from main.content where id = ?", (content,))
    if found is None:
        raise CorruptIndex(f"content {content} is not there; see what check() says", db.filename)
    return bytes(found)


def to_json(meta: Any) -> str | None:
    """What a host stores beside a text, as text; `TypeError` or `ValueError` for what JSON cannot say."""
    return None if meta is None else json.dumps(meta, allow_nan=False, separators=(",", ":"))


def from_json(meta: str | None) -> Any:
    """The opposite."""
    return None if meta is None else json.loads(meta)


def _parts(content: int) -> tuple[int, int]:
    """The first and the last id that parts of a content may have."""
    return content << PART_BITS, (content + 1 << PART_BITS) - 1


def _damaged_text(db: apsw.Connection, content: int) -> CorruptIndex:
    return CorruptIndex(
        f"the text of content {content} is damaged; restore a backup, or add it again", db.filename
    )


def _put_contents(
    db: apsw.Connection, new: Sequence[Incoming], numbers: Sequence[int], recipe: Recipe
) -> NewPostings:
    columns: dict[int, Columns] = {}
    for document in new:
        if document.sketches is None:
            (document.sketches,) = sketch_batches([document.text], recipe)
        if id(document.sketches) not in columns:
            columns[id(document.sketches)] = Columns(document.sketches, recipe)
    sources = [(columns[id(d.sketches)], d, content) for d, content in zip(new, numbers, strict=True)]
    db.executemany(
        f"insert into main.content values ({', '.join('?' * 13)})",
        (
            source.content(document.number, content, document.hash, len(document.text), recipe)
            for source, document, content in sources
        ),
    )
    if recipe.min_s or recipe.mod_m or recipe.level:
        db.executemany(
            "insert into main.sample values (?, ?, ?, ?, ?)",
            (source.sample(document.number, content) for source, document, content in sources),
        )
    db.executemany(
        "insert into main.fingerprint values (?, ?, ?, ?)",
        itertools.chain.from_iterable(
            source.forward(document.number, content) for source, document, content in sources
        ),
    )
    if sources:
        values = np.concatenate(
            [source.sketches.features[document.number] for source, document, _ in sources]
        )
        _put_features(db, values, np.repeat(np.array(numbers, np.int64), recipe.features[0]))
    hashes = [source.hashes(document.number) for source, document, _ in sources]
    for document in new:
        document.sketches = None  # of a long document that is a lot of memory, which sorting needs
    whole = len(hashes) == 1 and hashes[0].flags.writeable
    together = hashes[0] if whole else np.concatenate([np.empty(0, np.uint64), *hashes])
    return NewPostings(
        together, np.array(numbers, np.int64), np.array([len(own) for own in hashes], np.int64)
    )


def _put_features(db: apsw.Connection, values: U64, contents: I64) -> None:
    # In the order of the tree they go into; equal features of one content are one row.
    order = np.argsort(values)
    rows = zip(values[order].view(np.int64).tolist(), contents[order].tolist(), strict=True)
    db.executemany("insert or ignore into main.feature values (?, ?)", rows)


def _put_texts(db: apsw.Connection, documents: dict[int, Incoming]) -> None:
    wanted = apsw.carray(np.array(list(documents), np.int64))
    without = rows(
        db,
        "select c.id, c.hash, c.reading, c.symbols_hash, c.characters, c.symbols, c.shingles, "
        "c.fingerprints, c.hashes, c.simhash, c.slots from carray(?) as wanted "
        "join main.content as c on c.id = wanted.value where c.parts = 0",
        (wanted,),
    )
    for row in sorted(without):
        content = row[0]
        count = 0
        # One by one: all parts of a long text together are a lot of memory.
        for part in documents[content].parts or parts_of(documents[content].text):
            db.execute("insert into main.text values (?, ?, ?)", (content << PART_BITS | count, *part))
            count += 1
        db.execute(
            "update main.content set parts = ?, sum = ? where id = ?", (count, row_sum(*row, count), content)
        )


def _put_documents(db: apsw.Connection, incoming: Sequence[Incoming], ids: dict[bytes, int]) -> list[int]:
    """Write what changed; gives the contents that documents had before."""
    now = time.time_ns() // 1000
    found = rows(
        db,
        "select d.key, d.id, d.content, d.meta, d.added_at from carray(?) as wanted "
        "join main.document as d on d.key = wanted.value",
        (apsw.carray(tuple(document.key for document in incoming)),),
    )
    stored = {key: rest for key, *rest in found}
    next_id = counter(db, "document") + 1
    added, changed, replaced = [], [], []
    for document in incoming:
        content = ids[document.hash]
        if document.key not in stored:
            row = (next_id, document.key, content, document.meta, now)
            next_id += 1
            added.append((*row, row_sum(*row)))
            continue
        number, old_content, old_meta, added_at = stored[document.key]
        same = old_content == content
        if (old_content, old_meta) != (content, document.meta):
            row = (number, document.key, content, document.meta, added_at if same else now)
            changed.append((*row[2:], row_sum(*row), number))
        if not same:
            replaced.append(old_content)
    db.executemany("insert into main.document values (?, ?, ?, ?, ?, ?)", added)
    db.executemany(
        "update main.document set content = ?, meta = ?, added_at = ?, sum = ? where id = ?", changed
    )
    return replaced
