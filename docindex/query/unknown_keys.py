"""Say that no document has a key, and which key may have been meant.

Takes a key or an id. Looks at a bounded number of keys, so that a loop that tries keys stays fast. Must never
show more than the beginning of a long key.
"""

import apsw

from docindex.argument_checks import shown
from docindex.errors import UnknownKey
from docindex.spelling import most_alike
from docindex.storage import document_lookup
from docindex.storage.values import can_be_stored

# A slip in the last letters leaves a key among these neighbours in the order of the keys. With 20, looking at
# them takes twice as long.
_NEIGHBOURS = 10


def unknown(db: apsw.Connection, key: object) -> UnknownKey:
    """The error for a key or an id that no document has."""
    if isinstance(key, str):
        plain = str.__str__(key)
        return UnknownKey(f"there is no document {shown(plain)}", plain, _neighbours(db, plain))
    if isinstance(key, int):
        return UnknownKey(f"there is no document {shown(int.__index__(key))}", key)
    return UnknownKey(f"a key must be a str or a docindex.Id, not {shown(key)}", key)


def similar_key(db: apsw.Connection, key: str) -> str | None:
    """The key that is most like an unknown one, if one of its neighbours in the index is like it."""
    return most_alike(key, _neighbours(db, key))


def _neighbours(db: apsw.Connection, key: str) -> tuple[str, ...]:
    """The keys beside an unknown key, also as it would be spelled with or without a capital letter."""
    if not can_be_stored(key):
        return ()
    other = key.capitalize() if key.islower() else key.lower()
    return tuple(
        near
        for spelled in ((key,) if other == key else (key, other))
        for near in document_lookup.keys_around(db, spelled, _NEIGHBOURS)
    )
