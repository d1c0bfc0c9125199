"""Look up documents by their keys: their facts, ids and contents, and the documents next to a key.

Every document is verified against its checksum; a key that is missing, by its neighbours. Must never write.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

import apsw

from docindex.arguments import shown
from docindex.errors import CorruptIndex
from docindex.storage import tallies
from docindex.storage.halved_sums import damaged_documents
from docindex.storage.rows.contents import content_row
from docindex.storage.statements import rows
from docindex.storage.tables import DOCUMENT, DocumentRow


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


_META = (
    "select key, true as is_queued, meta from main.docindex_pending where key = ?1 union all "
    "select key, false, meta from main.docindex_document where key = ?1 limit 1"
)


def present_meta(db: apsw.Connection, key: str) -> str | None:
    """The JSON of a document's meta: what the queue says, or else the index. None for an unknown key."""
    for _, is_queued, meta in rows(db, _META, (key,)):
        if not is_queued:
            ((number, *_),) = found = rows(db, _GET, (key,))
            if DOCUMENT.checked(found[0]) is None:
                raise damaged_document(db, number, key)
        return None if meta is None else str(meta)
    return None


def damaged_document(db: apsw.Connection, number: int, key: str) -> CorruptIndex:
    """The error for a document that does not match its checksum."""
    return CorruptIndex(f"document {number} ({shown(key)}) is damaged; add it again", db.filename)


def document_total(db: apsw.Connection) -> int:
    """The number of documents. Two tallies know it; `check()` compares them with the rows."""
    found = tallies.stored(db, "document").rows
    if found != tallies.stored(db, "link").rows:
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


def meta_of(db: apsw.Connection, row: DocumentRow) -> Any:
    """The meta of a document; `CorruptIndex` for a meta that `to_json` cannot have written."""
    try:
        return None if row.meta is None else json.loads(row.meta)
    except (ValueError, RecursionError) as error:
        raise CorruptIndex(
            f"the meta of document {row.id} ({shown(row.key)}) cannot be read as JSON; add it again",
            db.filename,
        ) from error
