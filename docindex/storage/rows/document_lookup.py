"""Look up documents by their keys: their facts, ids and contents, and the documents next to a key.

A document that is read whole is verified against its checksum. Must never write.
"""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import apsw

from docindex.arguments import shown
from docindex.errors import CorruptIndex
from docindex.storage.rows.contents import content_row
from docindex.storage.statements import rows, value
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
_LINK = "select id, content from main.docindex_document where key = ?"
_LINKS = "select id, key from main.docindex_document where key"


def get(db: apsw.Connection, key: str) -> Document | None:
    """A document, or None for an unknown key."""
    found = rows(db, _GET, (key,))
    if not found:
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
    """The number of documents. Counting a million takes 6 ms at first, and less afterwards."""
    found: int = value(db, "select count(*) from main.docindex_document")
    return found


def links_from(db: apsw.Connection, key: str, limit: int, *, including: bool = True) -> list[tuple[int, str]]:
    """The ids and keys of up to `limit` documents from a key on, or after it, in the order of the keys."""
    return rows(db, f"{_LINKS} {'>=' if including else '>'} ? order by key limit ?", (key, limit))


def keys_around(db: apsw.Connection, key: str, count: int) -> list[str]:
    """Up to `count` keys before a key, and as many from the key on."""
    found = rows(db, f"{_LINKS} < ? order by key desc limit ?", (key, count))
    return [link[1] for link in (*found, *links_from(db, key, count))]


def link_of(db: apsw.Connection, key: str) -> tuple[int, int] | None:
    """The id and the content of a document, or None for an unknown key."""
    found = rows(db, _LINK, (key,))
    return (found[0][0], found[0][1]) if found else None


def meta_of(db: apsw.Connection, row: DocumentRow) -> Any:
    """The meta of a document; `CorruptIndex` for a meta that `to_json` cannot have written."""
    try:
        return None if row.meta is None else json.loads(row.meta)
    except (ValueError, RecursionError) as error:
        raise CorruptIndex(
            f"the meta of document {row.id} ({shown(row.key)}) cannot be read as JSON; add it again",
            db.filename,
        ) from error
