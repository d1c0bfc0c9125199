"""Look up, describe, rename and remove the documents of an index by their keys or ids.

The part of `docindex.Index` that needs no text. Takes keys from callers, and passes checked keys to storage.
Must never contain SQL.
"""

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from docindex.arguments import many, shown
from docindex.errors import UnknownKey
from docindex.index.items import checked_key, meta_to_json
from docindex.index.reader import IndexReader
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


class KeyedDocuments(IndexReader):
    """The documents of an index by their keys. Where a key is expected, a `docindex.Id` is as good.

    A key that no document has is a `docindex.UnknownKey`, which is a `KeyError`.
    """

    _store: Store

    def __getitem__(self, key: str | Id) -> Document:
        with self._store.reading() as db:
            document = document_of(db, key)
        return document_lookup.with_text(
            document, functools.partial(self._text_of, document.key, document.content)
        )

    def __contains__(self, key: object) -> bool:
        with self._store.reading() as db:
            return _known_key(db, key) is not None

    def __len__(self) -> int:
        with self._store.reading() as db:
            return document_lookup.document_total(db)

    def __iter__(self) -> Iterator[str]:
        return self.keys()

    def keys(self, *, prefix: str = "") -> Iterator[str]:
        """The keys in ascending order, or those that begin with a prefix, such as a folder.

        The iteration may or may not include documents that are added or removed during it.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add_many([("notes/b", "bee"), ("notes/a", "ay"), ("other", "oh")])
        ...     list(index.keys(prefix="notes/"))
        3
        ['notes/a', 'notes/b']
        """
        return self._keys(checked_key(prefix, "a prefix of keys"))

    def _keys(self, prefix: str) -> Iterator[str]:
        last, including = prefix, True
        while True:
            with self._store.reading() as db:
                links, is_end = _links_from(db, last, prefix, including=including)
            yield from (key for _, key in links)
            if is_end:
                return
            last, including = links[-1][1], False

    def text(self, key: str | Id) -> str | None:
        """The text of a document, or None if it is not kept."""
        with self._store.reading() as db:
            return contents.text_of(db, document_of(db, key).content)

    def meta(self, key: str | Id) -> Any:
        """The meta of a document, or None."""
        return self[key].meta

    def update(self, key: str | Id, *, meta: Any) -> None:
        """Replace the meta of a document, and leave its text alone. None removes the meta.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine")
        ...     index.update("ada.txt", meta={"by": "Ada"})
        ...     index.meta("ada.txt")
        {'by': 'Ada'}
        """
        written = meta_to_json(key, meta)
        with self._store.writing() as db:
            document = document_of(db, key)
            rows.refuse_rows(db, [document.key])
            content_writer.relabel(db, document.id, document.key, written)

    def remove(self, key: str | Id) -> None:
        """Remove a document."""
        self.remove_many([key])

    def remove_many(self, keys: Iterable[str | Id]) -> int:
        """Remove documents in one transaction, and return their number.

        If one of the keys is unknown, or is given twice, nothing is removed. Many keys at once are removed
        much faster than one by one.
        """
        given, count = many("keys", keys), 0
        log_bytes = _LOG_BYTES_A_DOCUMENT * operator.length_hint(keys)
        before = self._store.cancels()
        with self._store.writing(log_bytes=log_bytes) as db:
            while some := list(itertools.islice(given, document_removal.REMOVED_AT_A_TIME)):
                self._store.refuse_cancelled(before)
                ids, repeated = _different_ids(db, some)
                document_removal.remove_documents(db, ids)
                if repeated:
                    raise unknown(db, repeated[0])
                count += len(ids)
        return count

    def rename(self, old: str | Id, new: str) -> None:
        """Give a document another key. Its id, text and meta stay the same.

        `ValueError` if another document has the key `new`.
        """
        new = checked_key(new)
        with self._store.writing() as db:
            known = _known_key(db, old)
            if known != new and document_lookup.link_of(db, new) is not None:
                raise _taken(new)
            if known is None:
                raise unknown(db, old)
            rows.refuse_rows(db, [known])
            content_writer.rename(db, known, new)

    def rename_prefix(self, old: str, new: str) -> int:
        """Put `new` in the place of `old` in all keys that begin with `old`, and return how many these are.

        One transaction: all documents are renamed, or none. `ValueError` if another document has one of the
        new keys. Use it when a folder was renamed: ``index.rename_prefix("drafts/", "2026/drafts/")``.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add_many([("old/a", "ay"), ("old/b", "bee"), ("other", "oh")])
        ...     index.rename_prefix("old/", "new/"), list(index)
        3
        (2, ['new/a', 'new/b', 'other'])
        """
        old, new = (checked_key(prefix, "a prefix of keys") for prefix in (old, new))
        log_bytes = _LOG_BYTES_A_KEY * sum(1 for _ in self.keys(prefix=old))
        with self._store.writing(log_bytes=log_bytes) as db:
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

    def _text_of(self, key: str, content: int) -> str | None:
        """The text that a document had when it was looked up."""
        with self._store.reading() as db:
            if not contents.is_there(db, content):
                raise UnknownKey(f"{shown(key)} was removed, or has another text now; look it up again", key)
            return contents.text_of(db, content)


def _known_key(db: Connection, key: object) -> str | None:
    """The key of the document with a key or an id, or None."""
    if isinstance(key, Id):
        link = documents.link_with_id(db, int.__index__(key))
        return None if link is None else link[0]
    if not isinstance(key, str) or not can_be_stored(plain := str.__str__(key)):
        return None
    return None if document_lookup.link_of(db, plain) is None else plain


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
            _known_key(db, key)  # verifies that it is missing
            raise unknown(db, key)
        if document.id in found:
            repeated.append(key)
        found[document.id] = document.key
    rows.refuse_rows(db, found.values())
    return list(found), repeated


def document_of(db: Connection, key: object) -> Document:
    """The document with a key or an id; `UnknownKey` if it is unknown."""
    known = _known_key(db, key) if isinstance(key, Id) else key
    if isinstance(known, str) and can_be_stored(plain := str.__str__(known)):
        document = document_lookup.get(db, plain)
        if document is not None:
            return document
    raise unknown(db, key)


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
