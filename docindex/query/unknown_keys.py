"""Say that no document has a key, and which key may have been meant.

Takes a key or an id. Looks at a bounded number of keys, so that a loop that tries keys stays fast. Must never
show more than the beginning of a long key.
"""

import difflib

import apsw

from docindex.argument_checks import shown
from docindex.errors import UnknownKey
from docindex.storage import contents
from docindex.storage.values import can_be_stored

# A slip in the last letters leaves a key among these neighbours in the order of the keys.
_NEIGHBOURS = 20
# Between two keys of one folder, the share of letters that must agree: "ada.txt" and "adda.txt" have .93,
# "note 101" and "note 102" .88, "draft.txt" and "final.txt" .56.
_ALIKE = 0.75
_LONGEST = 200
"""For a longer key, nothing is suggested: comparing takes the square of the length."""


def unknown(db: apsw.Connection, key: object) -> UnknownKey:
    """The error for a key or an id that no document has."""
    if not isinstance(key, str):
        number = int.__index__(key) if isinstance(key, int) else None
        what = "a key must be a str or a docindex.Id, not " if number is None else "there is no document "
        return UnknownKey(f"{what}{shown(key) if number is None else shown(number)}", key)
    plain = str.__str__(key)
    near = similar_key(db, plain)
    hint = "" if near is None else f". Did you mean {near!r}?"
    return UnknownKey(f"there is no document {shown(plain)}{hint}", plain, near)


def similar_key(db: apsw.Connection, key: str) -> str | None:
    """The key that is most like an unknown one, if one of its neighbours in the index is like it."""
    if not key or len(key) > _LONGEST or not can_be_stored(key):
        return None
    found = {
        near: likeness
        for spelled in dict.fromkeys((key, key.lower(), key.capitalize()))
        for near in contents.keys_around(db, spelled, _NEIGHBOURS)
        if len(near) <= _LONGEST and (likeness := _likeness(key, near)) >= _ALIKE
    }
    return max(found, key=lambda near: (found[near], near), default=None)


def _likeness(a: str, b: str) -> float:
    """The share of letters that two keys have in common; that of the file names, if the folders agree."""
    (folder, _, name), (other_folder, _, other_name) = a.rpartition("/"), b.rpartition("/")
    pair = (name, other_name) if folder == other_folder else (a, b)
    matcher = difflib.SequenceMatcher(None, pair[0].lower(), pair[1].lower(), autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= _ALIKE <= matcher.quick_ratio() else 0.0
