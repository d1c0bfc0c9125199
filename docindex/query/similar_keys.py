"""Find the keys that somebody may have meant who mistyped a key.

Takes a connection to an index and a key that no document has; gives a few keys, the most similar first. Must
never read all keys of a large index: an error message has to come at once.
"""

import difflib

import apsw

from docindex.storage.documents import keys_like

# Comparing a key takes 10 us, so an error takes a twentieth of a second at most.
_COMPARED = 5_000
_SHOWN = 3
_CUTOFF = 0.75


def similar_keys(db: apsw.Connection, key: str) -> list[str]:
    """Up to three keys that look like another: the same file name in a different folder, or a slip."""
    known = keys_like(db, key, _COMPARED)
    name = _name(key)
    same = [other for other in known if _name(other) == name]
    close = difflib.get_close_matches(key, known, _SHOWN, _CUTOFF)
    return list(dict.fromkeys([*same[:_SHOWN], *close]))[:_SHOWN]


def _name(key: str) -> str:
    """The last part of a key that is a path, in lower case."""
    return key.rpartition("/")[2].casefold()
