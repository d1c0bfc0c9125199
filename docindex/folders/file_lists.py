"""List what takes space or is of no use: the largest files, empty files and folders, broken links.

Walks folders, and needs no index. Nothing in these lists is planned for removal: a person decides. Must never
open or change a file.
"""

import heapq
import os
from collections.abc import Iterable
from typing import Literal, NamedTuple

from docindex.errors import UnreadableFile
from docindex.folders.path_keys import Root, key_of, roots_of
from docindex.folders.system import allocated_bytes
from docindex.folders.walk import Skipped, WalkOptions, walk_files

ListKind = Literal["empty", "broken link", "big"]
"""Empty: files without a byte, and folders without a file. Broken link: symbolic links that lead nowhere.
Big: the largest files."""

LIST_KINDS: tuple[ListKind, ...] = ("empty", "broken link", "big")
"""Every value of `ListKind`."""

# Programs need these files, although they are empty.
_MEANT = frozenset((b"__init__.py", b"py.typed", b".gitkeep", b".keep", b".nojekyll", b".nomedia"))
_ALL_DEFAULTS = WalkOptions()


class ListedFile(NamedTuple):
    """A file, a folder or a link in a list."""

    key: str
    size: int
    """The bytes on the disk, which are fewer than those of the file if it has holes or is compressed."""
    is_folder: bool = False
    target: str | None = None
    """The path that a symbolic link names, as a key."""


class FileList(NamedTuple):
    """The files of one kind."""

    kind: ListKind
    files: tuple[ListedFile, ...]


def list_files(
    roots: Iterable[Root],
    kinds: Iterable[ListKind] = LIST_KINDS,
    *,
    options: WalkOptions = _ALL_DEFAULTS,
    limit: int = 20,
) -> list[FileList]:
    """The lists of some kinds below some roots. The list of the largest files has at most `limit` files.

    `ValueError` for an unknown kind; `UnreadableFile` for a root that does not exist.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pathlib.Path(folder, "a.txt").touch()
    ...     [found] = list_files([folder], ["empty"])
    >>> found.kind, len(found.files)
    ('empty', 1)
    """
    wanted = list(dict.fromkeys(kinds))
    if unknown := set(wanted) - set(LIST_KINDS):
        raise ValueError(f"kinds must be some of {', '.join(LIST_KINDS)}, not {', '.join(sorted(unknown))}")
    skipped, seen = Skipped(), {}
    for root in roots_of(roots):
        try:
            for found in walk_files(root, options._replace(follow_symlinks=False), skipped):
                seen[found.path] = found.status
        except OSError as error:
            raise UnreadableFile(
                f"{key_of(root)} cannot be read: {error.strerror or error}", key_of(root)
            ) from error
    lists: dict[ListKind, Iterable[ListedFile]] = {
        "empty": [*_empty_files(seen), *_empty_folders(skipped.empty_folders)],
        "broken link": _broken_links(skipped.links),
        "big": heapq.nsmallest(limit, _sizes(seen), key=lambda file: (-file.size, file.key)),
    }
    return [FileList(kind, tuple(lists[kind])) for kind in wanted]


def _empty_files(seen: dict[bytes, os.stat_result]) -> list[ListedFile]:
    empty = (path for path, status in seen.items() if not status.st_size)
    return sorted(ListedFile(key_of(path), 0) for path in empty if os.path.basename(path) not in _MEANT)


def _sizes(seen: dict[bytes, os.stat_result]) -> Iterable[ListedFile]:
    for path, status in seen.items():
        yield ListedFile(key_of(path), allocated_bytes(status))


def _empty_folders(found: Iterable[bytes]) -> list[ListedFile]:
    """The outermost folders that have no file at any depth, given the folders that have no entry."""
    empty = set(found)
    waiting = list(empty)
    while waiting:
        above = os.path.dirname(waiting.pop())
        if above not in empty and _has_only(above, empty):
            empty.add(above)
            waiting.append(above)
    outermost = (path for path in empty if os.path.dirname(path) not in empty)
    return sorted(ListedFile(key_of(path), 0, is_folder=True) for path in outermost)


def _has_only(folder: bytes, known: set[bytes]) -> bool:
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return all(os.path.join(folder, name) in known for name in names)


def _broken_links(links: Iterable[bytes]) -> list[ListedFile]:
    found = []
    for path in links:
        try:
            target = os.readlink(path)
        except OSError:
            continue
        if not os.path.exists(path):
            found.append(ListedFile(key_of(path), 0, target=key_of(target)))
    return sorted(found)
