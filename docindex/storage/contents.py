"""Read documents, their contents, texts and fingerprints.

Texts and documents are verified against their hashes and checksums. Must never write.
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import apsw
import numpy as np
import xxhash

from docindex.argument_checks import shown
from docindex.errors import CorruptIndex
from docindex.kernels.arrays import I64, U64, union
from docindex.reading.slicing import slices
from docindex.sketching.sketches import HASH_SHIFT
from docindex.sketching.text_parts import EXTERNAL, source_of
from docindex.storage import app_tables, tallies
from docindex.storage.batch_rows import LONGEST_PART, PART_BITS, are_all_parts
from docindex.storage.fingerprint_bytes import gaps_in, hashes_in
from docindex.storage.halved_sums import damaged_documents, damaged_fingerprints
from docindex.storage.other_connection import bound_array
from docindex.storage.rows import rows, rows_for, stream, value
from docindex.storage.tables import CONTENT, DOCUMENT, FINGERPRINT, ContentRow, DocumentRow
from docindex.storage.traits import having_hash
from docindex.storage.values import encodes

PARTS = "id between ? and ?"
"""The condition that a row of `fingerprint` or `text` belongs to a content; `part_ids` gives its bindings."""


class _ReadsText:
    """Holds a function that is no field, so that neither pickle nor `asdict` meets it."""

    __slots__ = ("_read_text",)
    _read_text: Callable[[], str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Document(_ReadsText):
    """The facts about one document. They are plain data; `text` reads the text from the index.

    - `key`, `id`, `meta`: its key; its id, to which your own tables may refer; the value stored with it
    - `added_at`: when the present text was stored, in seconds since 1970, UTC
    - `content`: the id of the text; documents with the same text have the same content
    - `characters`, `symbols`, `fingerprints`, `shingles`: how many the text has (different shingles)
    - `simhash`: 64 bits, 0 to 2^64 - 1
    """

    key: str
    id: int
    """The id stays the same as long as the document is in the index. Your own tables may refer to it."""
    meta: Any
    """The value that was stored with the text, or None."""
    added_at: float
    """When the present text was stored: seconds since 1970, UTC."""
    content: int
    """The id of the content. Documents with the same text have the same content."""
    characters: int
    symbols: int
    fingerprints: int
    shingles: int
    simhash: int
    """64 bits, 0 to 2^64 - 1."""

    @property
    def text(self) -> str | None:
        """The text that the document had when it was looked up, or None if it is not kept.

        Reads it from the index, which must be open. `KeyError` if the document was removed, or has got
        another text; `ValueError` for a copy of a `Document`.
        """
        try:
            read = self._read_text
        except AttributeError:
            raise ValueError(
                "this document is a copy, which does not know its index; use index.text(document.key)"
            ) from None
        return read()


def with_text(document: Document, read: Callable[[], str | None]) -> Document:
    """The same document, whose `text` this function reads from now on."""
    object.__setattr__(document, "_read_text", read)
    return document


def text_hash(text: str) -> bytes:
    """The xxh3-128 of a text in UTF-8, computed without a second copy of a long text."""
    hasher = xxhash.xxh3_128()
    for piece in slices(text):
        hasher.update(piece.encode("utf-8", "surrogatepass"))
    return hasher.digest()


def known(db: apsw.Connection, hashes: Iterable[bytes]) -> dict[bytes, int]:
    """The content of each text hash that the file knows."""
    wanted = set(hashes)
    found = rows_for(db, _HASHES, having_hash(db, wanted))
    return {hash_: content for hash_, content in found if hash_ in wanted}


_HASHES = (
    "select c.hash, c.id from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value"
)


_GET = f"{DOCUMENT.select} where key = ?"
_LINK = "select id, key, content, sum from main.docindex_document"
_FROM_KEY = f"{_LINK} where key >= ? order by key limit 1"
ENDS = {
    column: f"select * from ({_LINK} order by {column} limit 1) "
    f"union all select * from ({_LINK} order by {column} desc limit 1)"
    for column in ("id", "key", "content")
}
"""For some columns of `document`, a statement for the documents with the smallest and the largest value."""
_BEFORE_KEY_AND_ENDS = (
    f"select * from ({_LINK} where key < ? order by key desc limit 1) union all {ENDS['key']}"
)


def get(db: apsw.Connection, key: str) -> Document | None:
    """A document, or None for an unknown key."""
    found = rows(db, _GET, (key,))
    if not found:
        link_of(db, key)  # verifies that it is missing
        return None
    row = DOCUMENT.checked(found[0])
    if row is None:
        raise damaged_document(db, found[0][0], found[0][1])
    content = content_row(db, row.content)
    return Document(
        key=row.key,
        id=row.id,
        meta=meta_of(db, row),
        added_at=row.added_at / 1_000_000,
        content=row.content,
        characters=content.characters,
        symbols=content.symbols,
        fingerprints=content.fingerprints,
        shingles=content.shingles,
        simhash=content.simhash % (1 << 64),
    )


def content_row(db: apsw.Connection, content: int) -> ContentRow:
    """The row of a content, verified."""
    found = rows(db, f"{CONTENT.select} where id = ?", (content,))
    row = CONTENT.checked(found[0]) if found else None
    if row is None:
        raise damaged_content(db, content)
    return row


def damaged_content(db: apsw.Connection, content: int) -> CorruptIndex:
    """The error for a content that is missing, or does not match its checksum."""
    return CorruptIndex(
        f"content {content} is missing or damaged; restore a backup, or index again", db.filename
    )


def damaged_document(db: apsw.Connection, number: int, key: str) -> CorruptIndex:
    """The error for a document that does not match its checksum."""
    return CorruptIndex(f"document {number} ({shown(key)}) is damaged; add it again", db.filename)


def count(db: apsw.Connection) -> int:
    """The number of documents."""
    found = int(value(db, "select count(*) from main.docindex_document"))
    if found != tallies.stored(db, "document").rows:
        raise tallies.other_rows(db, "document")
    return found


def links_from(db: apsw.Connection, key: str, limit: int, *, including: bool = True) -> list[tuple[int, str]]:
    """The ids and keys of up to `limit` documents from a key on, or after it, in the order of the keys."""
    statement = f"{_LINK} where key {'>=' if including else '>'} ? order by key limit ?"
    return [row[:2] for row in intact_documents(db, rows(db, statement, (key, limit)))]


def keys_around(db: apsw.Connection, key: str, count: int) -> list[str]:
    """Up to `count` keys before a key, and as many from the key on."""
    before = f"{_LINK} where key < ? order by key desc limit ?"
    found = intact_documents(db, rows(db, before, (key, count)))
    return [row[1] for row in found] + [link[1] for link in links_from(db, key, count)]


def intact_documents(db: apsw.Connection, found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows of id, key, content and sum, which are verified."""
    if found:
        refuse_damaged(db, *zip(*found, strict=True))
    return found


def refuse_damaged(
    db: apsw.Connection, ids: Sequence[int], keys: Sequence[str], contents: Sequence[int], sums: Sequence[int]
) -> None:
    """`CorruptIndex` if the first columns of a document do not match its checksum."""
    for place in damaged_documents(ids, keys, contents, sums):
        raise damaged_document(db, ids[place], keys[place])


def text_of(db: apsw.Connection, content: int) -> str | None:
    """The text of a content, checked against its hash and its length; None if it is not kept."""
    statement = "select hash, characters, shingles, kept from main.docindex_content where id = ?"
    found = rows(db, statement, (content,))
    stored = stream(
        db, f"select codec, data from main.docindex_text where {PARTS} order by id", part_ids(content)
    )
    if not found:
        raise _damaged_text(db, content)
    ((hash_, characters, shingles, kept),) = found
    is_kept = kept == shingles
    if kept not in (shingles, -1 - shingles) or (not is_kept and any(True for _ in stored)):
        raise _damaged_text(db, content)
    return _joined_text(db, content, (hash_, characters), stored) if is_kept else None


_TEXTS = (
    "select c.id, c.hash, c.characters, t.codec, t.data from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value "
    f"cross join main.docindex_text as t on t.id between c.id << {PART_BITS} and (c.id + 1 << "
    f"{PART_BITS}) - 1"
)


def texts_of(db: apsw.Connection, contents: I64) -> Iterator[str]:
    """The texts of some contents whose texts are kept, in the order of the contents, which must ascend.

    Each text is checked against its hash and its length.
    """
    if not len(contents):
        return  # carray takes no empty array
    wanted = iter(contents.tolist())
    for content, found in itertools.groupby(
        stream(db, _TEXTS, (bound_array(db, contents),)), lambda row: row[0]
    ):
        if content != next(wanted, None):
            break
        first = next(found)
        yield _joined_text(db, content, first[1:3], (row[3:] for row in itertools.chain([first], found)))
    else:
        if (missing := next(wanted, None)) is None:
            return
        content = missing
    raise _damaged_text(db, content)


def _external_text(db: apsw.Connection, content: int, name: bytes, expected: Sequence[Any]) -> str:
    """The text of a content that only a table of the app has; `OutOfDate` if no row has it any longer."""
    source = name.decode("utf-8", "replace")
    for text in app_tables.external_texts(db, content):
        if len(text) == expected[1] and text_hash(text) == expected[0]:
            return text
    raise app_tables.out_of_date(db, source)


def _joined_text(
    db: apsw.Connection, content: int, expected: Sequence[Any], stored: Iterable[tuple[Any, ...]]
) -> str:
    """The text in some parts, given its hash and its length in characters.

    Reads no further than a false part: parts that inflate to more than the length are not kept in memory.
    """
    hash_, characters = expected
    stored = iter(stored)
    first = next(stored, None)
    if first is not None and first[0] == EXTERNAL:
        return _external_text(db, content, first[1], expected)
    stored = itertools.chain([first] if first is not None else [], stored)
    hasher, pieces = xxhash.xxh3_128(), []
    for codec, data in stored:
        try:
            source = source_of(codec, data)
            pieces.append(source.decode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise _damaged_text(db, content) from error
        hasher.update(source)
        characters -= len(pieces[-1])
        if characters < 0:
            break
    if characters or not pieces or hasher.digest() != hash_:  # an empty text has a part, too
        raise _damaged_text(db, content)
    return "".join(pieces)


def fingerprints_of(db: apsw.Connection, content: int, window: int) -> tuple[U64, I64]:
    """The fingerprints of a content: hashes, whose low 16 bits are 0, and positions in symbols."""
    found = rows(db, f"{FINGERPRINT.select} where {PARTS} order by id", part_ids(content))
    ids, numbers, highs, sums = zip(*found, strict=True) if found else ((),) * 4
    lengths = list(map(len, numbers))
    if (
        not are_all_parts([content], ids, lengths)
        or max(lengths) > LONGEST_PART
        or damaged_fingerprints(ids, numbers, highs, sums)
    ):
        raise _damaged_fingerprints(db, content)
    try:
        return hashes_in(numbers, highs, window), np.cumsum(gaps_in(numbers, window))
    except ValueError as error:
        raise _damaged_fingerprints(db, content) from error


def _damaged_fingerprints(db: apsw.Connection, content: int) -> CorruptIndex:
    return CorruptIndex(f"the fingerprints of content {content} are damaged; add it again", db.filename)


def as_stored(hashes: U64) -> U64:
    """The different hashes, ascending, without the bits that are not stored."""
    return union(hashes & ~((np.uint64(1) << HASH_SHIFT) - np.uint64(1)))


def content_of(db: apsw.Connection, key: str) -> int | None:
    """The content of a document, or None for an unknown key."""
    link = link_of(db, key)
    return None if link is None else link[1]


def link_of(db: apsw.Connection, key: str) -> tuple[int, int] | None:
    """The id and the content of a document, or None for an unknown key.

    Verifies the neighbours of an unknown key: a damaged key is most likely one of them, or at an end.
    """
    found = intact_documents(db, rows(db, _FROM_KEY, (key,)))
    if found and found[0][1] == key:
        return found[0][0], found[0][2]
    intact_documents(db, rows(db, _BEFORE_KEY_AND_ENDS, (key,)))
    return None


def refuse_displaced(db: apsw.Connection, column: Literal["id", "content"]) -> None:
    """`CorruptIndex` if the documents with the smallest and the largest value in a column are damaged.

    A damaged value moves its row in the index of the column, where no look-up finds it: most often to an end.
    """
    intact_documents(db, rows(db, ENDS[column]))


def is_there(db: apsw.Connection, content: int) -> bool:
    """Whether a content is in the index."""
    return value(db, "select 1 from main.docindex_content where id = ?", (content,)) is not None


def words_hash_of(db: apsw.Connection, content: int) -> bytes:
    """The hash of a content's words."""
    return content_row(db, content).words_hash


def to_json(meta: Any) -> str | None:
    """The JSON of a document's meta; `TypeError` or `ValueError` for a value that JSON cannot express."""
    if meta is None:
        return None
    written = json.dumps(meta, allow_nan=False, separators=(",", ":"))
    if (depth := _depth(written)) > _DEEPEST:
        raise ValueError(f"it is nested {depth} levels deep; at most {_DEEPEST} levels are allowed")
    if "\\ud" in written and not encodes(json.dumps(meta, ensure_ascii=False)):
        raise ValueError("it has a lone surrogate, which SQL cannot read; replace or escape it")
    return written


# SQLite's JSON functions read 1,000 levels. Python's reader shares its limit of 1,000 with the frames of the
# caller.
_DEEPEST = 500

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])')


def _depth(written: str) -> int:
    """How deep the arrays and objects in JSON are nested. Exact only where it is above `_DEEPEST`."""
    depth = deepest = written.count("[") + written.count("{")
    if depth > _DEEPEST:
        depth = deepest = 0
        for found in _BRACKETS.finditer(written):
            depth += bool(found[1]) - bool(found[2])
            deepest = max(deepest, depth)
    return deepest


def meta_of(db: apsw.Connection, row: DocumentRow) -> Any:
    """The meta of a document; `CorruptIndex` for a meta that `to_json` cannot have written."""
    try:
        return None if row.meta is None else json.loads(row.meta)
    except (ValueError, RecursionError) as error:
        raise CorruptIndex(
            f"the meta of document {row.id} ({shown(row.key)}) cannot be read as JSON; add it again",
            db.filename,
        ) from error


def part_ids(content: int) -> tuple[int, int]:
    """The smallest and the largest id that a part of a content can have."""
    return content << PART_BITS, (content + 1 << PART_BITS) - 1


def _damaged_text(db: apsw.Connection, content: int) -> CorruptIndex:
    return CorruptIndex(
        f"the text of content {content} is damaged; restore a backup, or add it again", db.filename
    )
