"""Find the name that somebody may have meant by a mistyped one.

Takes names, returns one of them or None. Must never look at more than the names that it is given.
"""

from collections.abc import Iterable

# Of two names, the share of letters that must agree: "ada.txt" and "adda.txt" have .93, "note 101" and
# "note 102" .88, "draft.txt" and "final.txt" .56.
_ALIKE = 0.75
# Nothing is suggested for a longer name: comparing takes the square of its length.
_LONGEST = 200


def most_alike(typed: str, names: Iterable[str]) -> str | None:
    """The name that is most like a mistyped one, or None. In one folder, file names are compared.

    >>> most_alike("notes/adda.txt", ["notes/ada.txt", "notes/bob.txt"])
    'notes/ada.txt'
    """
    if len(typed) > _LONGEST:
        return None
    likeness = {name: _likeness(typed, name) for name in names if len(name) <= _LONGEST and name != typed}
    best = max(likeness, key=lambda name: (likeness[name], name), default=None)
    return best if best is not None and likeness[best] >= _ALIKE else None


def _likeness(a: str, b: str) -> float:
    """The share of letters that two names have in common; 0 if it is too small to matter."""
    import difflib  # it is needed only after a slip, and takes a while to import

    (folder, _, name), (other_folder, _, other_name) = a.rpartition("/"), b.rpartition("/")
    pair = (name, other_name) if folder == other_folder else (a, b)
    matcher = difflib.SequenceMatcher(None, pair[0].lower(), pair[1].lower(), autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= _ALIKE <= matcher.quick_ratio() else 0.0
