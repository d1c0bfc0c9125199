"""Check documents before they are stored.

Returns documents to store, or raises an error that names the mistake. Must never touch a file.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from docindex.arguments import kind_of_text, plain_text, shown
from docindex.frontends.extracted import Extracted
from docindex.storage.rows import contents
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.tracked_files import Tracked
from docindex.storage.values import can_be_stored, encodes

Item = tuple[str, str | Extracted] | tuple[str, str | Extracted, Any]
"""A key and a text, or a key, a text and meta. Without meta, a document that exists keeps its meta.

In place of a text, `docindex.extract` gives one whose places in its source are known."""


class TextsOfFiles:
    """Items that a scan reads from files, with the records of these files."""

    def __init__(self, items: Iterable[Item], records: Callable[[Iterable[str]], list[Tracked]]) -> None:
        """`records` gives the records to store in the transaction that stores documents with some keys. It is
        called once for each document.
        """
        self._items = items
        self.records = records

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)


def incoming(item: Item) -> Incoming:
    """The document in an item; `TypeError` or `ValueError` for an item that cannot be stored."""
    if not (isinstance(item, (tuple, list)) and len(item) in (2, 3)):
        hint = "; for a dict, give its items()" if isinstance(item, str) else ""
        raise TypeError(f"an item must be (key, text) or (key, text, meta), not {shown(item)}{hint}")
    key, text, meta = item if len(item) == 3 else (*item, ...)
    key = checked_key(key)
    extracted = text if isinstance(text, Extracted) else None
    text = text if extracted is None else extracted.text
    if not isinstance(text, str):
        raise TypeError(f"the text of {shown(key)} must be str, not {kind_of_text(text)}")
    text = str.__str__(text)
    written = None if meta is ... else meta_to_json(key, meta)
    hash_ = contents.text_hash(text)
    return Incoming(key, text, written, hash_, keeps_meta=meta is ..., extracted=extracted)


def meta_to_json(key: object, meta: object) -> str | None:
    """The meta of a document as JSON; `TypeError` or `ValueError` for a value that JSON cannot express.

    >>> meta_to_json("ada.txt", {"by": "Ada"})
    '{"by":"Ada"}'
    """
    try:
        return contents.to_json(meta)
    except RecursionError as error:
        raise ValueError(
            f"the meta of {shown(key)} cannot be stored as JSON: it is nested too deeply"
        ) from error
    except (TypeError, ValueError) as error:
        raise type(error)(f"the meta of {shown(key)} cannot be stored as JSON: {error}") from error


def item_of_row(row: tuple[Any, ...]) -> Item:
    """The item in a row with the columns key, text and perhaps meta.

    >>> item_of_row((7, "The Analytical Engine", '{"by": "Ada"}'))
    ('7', 'The Analytical Engine', {'by': 'Ada'})
    """
    if len(row) not in (2, 3):
        raise ValueError(
            f"a row must have the columns key and text, or key, text and meta, not {len(row)} columns"
        )
    key, text, *meta = row
    return str(key) if isinstance(key, int) else key, text, *map(meta_of_column, meta)


def meta_of_column(value: Any) -> Any:
    """The meta in a column of an app's table: JSON if it is that, else the value itself; None for a BLOB.

    >>> meta_of_column('{"by": "Ada"}'), meta_of_column("Ada"), meta_of_column(7)
    ({'by': 'Ada'}, 'Ada', 7)
    """
    if isinstance(value, str):
        try:
            found = json.loads(value)
            contents.to_json(found)
        except (ValueError, RecursionError):
            return value if encodes(value) else None
        return found
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return None if isinstance(value, bytes) else value


def checked_key(key: str, name: str = "a key") -> str:
    """A key as a plain `str`; `TypeError` or `ValueError` for a key that cannot be stored.

    >>> checked_key("ada.txt")
    'ada.txt'
    """
    plain = plain_text(name, key)
    if not can_be_stored(plain):
        raise ValueError(
            f"{name} must be text without NUL or lone surrogates, not {shown(plain)}; "
            'for a file name that is not UTF-8 use os.fsencode(name).decode("utf-8", "backslashreplace")'
        )
    return plain
