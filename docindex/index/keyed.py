"""Look up, describe, rename and remove the documents of an index by their keys or ids.

Takes the store of an index, or a connection inside one of its transactions, and keys from callers; passes
checked keys to storage. Where a key is expected, a `docindex.Id` is as good. A key that no document has is a
`docindex.UnknownKey`, which is a `KeyError`. Must never contain SQL.
"""

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator

import numpy as np

from docindex.arguments import many, shown
from docindex.errors import UnknownKey
from docindex.query.resolve import Id, unknown
from docindex.storage.file.connection import Connection, Store
from docindex.storage.followed import rows
from docindex.storage.rows import content_writer, contents, document_lookup, document_removal, documents
from docindex.storage.rows.document_lookup import Document
from docindex.storage.values import can_be_stored

_KEYS_AT_A_TIME = 1000
# A key in the table and in its index, and the pages around it that change with it.
_LOG_BYTES_A_KEY = 500
# A document that is removed changes its own pages, and pages of five indexes that others change too.
_LOG_BYTES_A_DOCUMENT = 10_000


def known_key(db: Connection, key: object) -> str | None:
    """The key of the document with a key or an id, or None."""
    if isinstance(key, Id):
        link = documents.link_with_id(db, int.__index__(key))
        return None if link is None else link[0]
    if not isinstance(key, str) or not can_be_stored(plain := str.__str__(key)):
        return None
    return None if document_lookup.link_of(db, plain) is None else plain


def document_of(db: Connection, key: object) -> Document:
    """The document with a key or an id; `UnknownKey` if it is unknown."""
    known = known_key(db, key) if isinstance(key, Id) else key
    if isinstance(known, str) and can_be_stored(plain := str.__str__(known)):
        document = document_lookup.get(db, plain)
        if document is not None:
            return document
    raise unknown(db, key)


def document_now(store: Store, key: object) -> Document:
    """The document with a key or an id, whose text can be read later."""
    with store.reading() as db:
        document = document_of(db, key)
    return document_lookup.with_text(
        document, functools.partial(_text_then, store, document.key, document.content)
    )


def _text_then(store: Store, key: str, content: int) -> str | None:
    """The text that a document had when it was looked up."""
    with store.reading() as db:
        if not contents.is_there(db, content):
            raise UnknownKey(f"{shown(key)} was removed, or has another text now; look it up again", key)
        return contents.text_of(db, content)


def each_key(store: Store, prefix: str) -> Iterator[str]:
    """The keys with a prefix in ascending order, read in several transactions."""
    last, including = prefix, True
    while True:
        with store.reading() as db:
            links, is_end = _links_from(db, last, prefix, including=including)
        yield from (key for _, key in links)
        if is_end:
            return
        last, including = links[-1][1], False


def remove_keys(store: Store, keys: Iterable[str | Id]) -> int:
    """Remove the documents with some keys in one transaction, and return their number."""
    given, count = many("keys", keys), 0
    log_bytes = _LOG_BYTES_A_DOCUMENT * operator.length_hint(keys)
    before = store.cancels()
    with store.writing(log_bytes=log_bytes) as db:
        while some := list(itertools.islice(given, document_removal.REMOVED_AT_A_TIME)):
            store.refuse_cancelled(before)
            ids, repeated = _different_ids(db, some)
            document_removal.remove_documents(db, ids)
            if repeated:
                raise unknown(db, repeated[0])
            count += len(ids)
    return count


def _different_ids(db: Connection, keys: list[str | Id]) -> tuple[list[int], list[str | Id]]:
    """The ids of the documents with some keys or ids, and the keys that name one of them once more.

    `UnknownKey` for the first key that no document has; `ValueError` for a row of a followed table.
    """
    numbers = [int.__index__(key) for key in keys if isinstance(key, Id)]
    possible = [number for number in numbers if -(1 << 63) <= number < 1 << 63]
    plain = {str.__str__(key) for key in keys if isinstance(key, str)}
    by_key = document_removal.with_keys(db, [key for key in plain if can_be_stored(key)])
    by_id = document_removal.with_ids(db, np.unique(np.array(possible, np.int64)))
    found: dict[int, str] = {}
    repeated = []
    for key in keys:
        if isinstance(key, Id):
            document = by_id.get(int.__index__(key))
        else:
            document = by_key.get(str.__str__(key)) if isinstance(key, str) else None
        if document is None:
            known_key(db, key)  # verifies that it is missing
            raise unknown(db, key)
        if document.id in found:
            repeated.append(key)
        found[document.id] = document.key
    rows.refuse_rows(db, found.values())
    return list(found), repeated


def rename_document(db: Connection, old: str | Id, new: str) -> None:
    """Give a document another key."""
    known = known_key(db, old)
    if known != new and document_lookup.link_of(db, new) is not None:
        raise _taken(new)
    if known is None:
        raise unknown(db, old)
    rows.refuse_rows(db, [known])
    content_writer.rename(db, known, new)


def rename_keys(store: Store, old: str, new: str) -> int:
    """Put `new` in the place of the prefix `old` in all keys that have it, and return how many these are."""
    log_bytes = _LOG_BYTES_A_KEY * sum(1 for _ in each_key(store, old))
    with store.writing(log_bytes=log_bytes) as db:
        found, is_end = _links_from(db, old, old)
        while not is_end:
            more, is_end = _links_from(db, found[-1][1], old, including=False)
            found += more
        if old == new:
            return len(found)
        rows.refuse_rows(db, [key for _, key in found])
        renamed = [(number, f"{new}{key[len(old) :]}") for number, key in found]
        moving = {key for _, key in found}
        for _, key in renamed:
            if key not in moving and document_lookup.link_of(db, key) is not None:
                raise _taken(key)
        # If keys get longer, a new key can be the old one of a document with a longer key, which must get
        # out of the way first.
        renamed.sort(key=lambda link: len(link[1]), reverse=len(new) > len(old))
        for begin in range(0, len(renamed), _KEYS_AT_A_TIME):
            content_writer.rename_many(db, renamed[begin : begin + _KEYS_AT_A_TIME])
        return len(renamed)


def _links_from(
    db: Connection, key: str, prefix: str, *, including: bool = True
) -> tuple[list[tuple[int, str]], bool]:
    """Some ids and keys with a prefix, from a key on or after it; and whether there are no more."""
    links = document_lookup.links_from(db, key, _KEYS_AT_A_TIME, including=including)
    if links and not links[-1][1].startswith(prefix):  # else all do, because they are in order
        links = [link for link in links if link[1].startswith(prefix)]
    return links, len(links) < _KEYS_AT_A_TIME


def _taken(key: str) -> ValueError:
    return ValueError(f"a document with the key {shown(key)} exists already; remove or rename it first")
