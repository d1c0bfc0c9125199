"""Name documents for a page that is passed on: by their place below a scanned folder, without its path.

Takes keys; returns a name for each, and a sentence that explains the names. A key that is not an absolute
path is its own name. Must never show a folder that a scanned folder is in: it may have the name of a person.
"""

import itertools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from docindex.folders.walking.path_keys import key_of, root_of

_ABSOLUTE = re.compile("/|[A-Za-z]:/")

# Folders with one folder for each person or disk.
_SHARED = {"/home", "/Users", "/media", "/mnt", "/run/media", "/Volumes"}


class ShownNames(NamedTuple):
    """The names of documents on a page."""

    names: dict[str, str]
    """The name of each key."""
    note: str
    """A sentence about the names; empty if there is nothing to explain."""


def full_names(keys: Iterable[str], written: Callable[[str], str]) -> ShownNames:
    """The paths of documents, relative to the folder that all of them are in, which the note names.

    >>> full_names(["/home/ada/a.txt", "/home/ada/old/a.txt"], str)
    ShownNames(names={'/home/ada/a.txt': 'a.txt', '/home/ada/old/a.txt': 'old/a.txt'}, note='All names are \
relative to /home/ada/.')
    """
    names = {key: written(key) for key in keys}
    folder = "".join(f"{part}/" for part in _common([name.split("/")[:-1] for name in names.values()]))
    note = f"All names are relative to {folder}." if folder else ""
    return ShownNames({key: name.removeprefix(folder) for key, name in names.items()}, note)


def names_below(keys: Iterable[str], written: Callable[[str], str]) -> ShownNames:
    """The places of documents below the scanned folders.

    Several folders are numbered in the order of their paths.

    >>> names_below(["/home/ada/a.txt", "/home/ada/old/a.txt"], str)
    ShownNames(names={'/home/ada/a.txt': 'a.txt', '/home/ada/old/a.txt': 'old/a.txt'}, note='All names are \
relative to the scanned folder.')
    >>> names_below(["/home/ada/a.txt", "/media/disk/a.txt", "b.txt"], str).names.values()
    dict_values(['folder 1/a.txt', 'folder 2/a.txt', 'b.txt'])
    """
    keys = list(keys)
    paths = {key: key.split("/") for key in keys if _ABSOLUTE.match(key)}
    roots = sorted(_roots([path[:-1] for path in paths.values()]))
    names = {key: written(key) for key in keys}
    for key, path in paths.items():
        # A root may be in another one: the longest counts.
        number, root = max(
            ((number, root) for number, root in enumerate(roots, 1) if path[: len(root)] == root),
            key=lambda numbered: len(numbered[1]),
        )
        place = written("/".join(path[len(root) :]))
        names[key] = place if len(roots) == 1 else f"folder {number}/{place}"
    return ShownNames(names, _note(len(roots)))


def _note(roots: int) -> str:
    if roots < 2:
        return "All names are relative to the scanned folder." if roots else ""
    return f"The scanned folders are called folder 1 to folder {roots}; names are relative to them."


def _roots(folders: Sequence[list[str]]) -> list[list[str]]:
    """The folders that the others are in; each may be shown without its path.

    A common folder that is above the home folder, or has a folder for each person or disk, is not one root
    but several.
    """
    if not folders:
        return []
    common = _common(folders)
    if not _is_above(common):
        return [common]
    groups: dict[str | None, list[list[str]]] = {}
    for folder in folders:
        groups.setdefault(folder[len(common)] if len(folder) > len(common) else None, []).append(folder)
    found = [common] if groups.pop(None, None) else []
    for group in groups.values():
        found += _roots(group)
    return found


def _is_above(folder: list[str]) -> bool:
    home = key_of(root_of(os.path.expanduser("~"))).split("/")
    return (len(folder) < len(home) and home[: len(folder)] == folder) or "/".join(folder) in _SHARED


def _common(folders: Sequence[list[str]]) -> list[str]:
    """The longest list of parts that all folders begin with."""
    first, last = min(folders, default=[]), max(folders, default=[])
    pairs = zip(first, last, strict=False)
    return [part for part, _ in itertools.takewhile(lambda both: both[0] == both[1], pairs)]
