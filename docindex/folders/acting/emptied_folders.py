"""Remove the folders that `act` has emptied, and make them again for the files that `undo` brings back.

The journal records each folder with its mode, owner, time and attributes before it is removed. Must never
remove a folder unless a file of the plan was in it or the plan names it as an empty folder, nor one with an
entry: the system refuses that.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from docindex.folders.acting.journal import Journal, facts_entry, facts_of_entry
from docindex.folders.acting.places import make_folders, place_at
from docindex.folders.planning.copy_groups import FolderGroup
from docindex.folders.walking.path_keys import is_under, key_of, path_of
from docindex.folders.walking.system import FileFacts, apply_facts, file_facts, open_without_links
from docindex.storage.file.safe_closing import close_descriptor

_OF_THE_SYSTEM = b"lost+found"
"""The folder at the top of a disk into which a check of the disk puts files."""


class EmptiedFolder(NamedTuple):
    """A folder that `act` has removed."""

    key: str
    group: str
    """The key of the copied folder that it is, or is in."""
    facts: FileFacts


class FolderRemover:
    """Removes the folders of copied folders that an act has emptied.

    Made before the act: to remove a file changes the time of its folder.
    """

    def __init__(self, groups: Iterable[FolderGroup]) -> None:
        self._groups = [(_real_folder(group), group) for group in groups]
        self._facts = {
            folder: facts
            for top, group in self._groups
            for folder in _folders_of(top, group)
            if (facts := _facts_of(folder)) is not None
        }

    def remove_emptied(self, done: AbstractSet[str], journal: Journal) -> tuple[str, ...]:
        """Remove the empty folders, and return their keys, inner folders first.

        `done` are the keys of the removed files. A copied folder that has lost no file stays as it is.
        """
        removed: list[str] = []
        for top, group in self._groups:
            if any(file.key in done for copies in group.copies for file in copies.others):
                keys = self._remove_empty(top, group, journal)
                removed += [group.folder + key[len(top) :] for key in keys]
        return tuple(removed)

    def _remove_empty(self, top: str, group: FolderGroup, journal: Journal) -> Iterator[str]:
        for folder in _folders_of(top, group):
            facts = self._facts.get(folder)
            with contextlib.suppress(OSError):  # for example of another person; then those above stay, too
                if facts is None or os.listdir(folder):
                    continue
                key = key_of(folder)
                journal.append(_entry(EmptiedFolder(key, top, facts)))
                with place_at(folder) as place:
                    os.rmdir(place.name, dir_fd=place.folder)
                yield key


def _folders_of(top: str, group: FolderGroup) -> list[bytes]:
    """The folders that an act may remove if they are empty, inner folders first. `top` is the real folder.

    They are those that the search has seen: the folders of the copied files, and those that were empty.
    """
    found: set[str] = set()
    files = [file.key for copies in group.copies for file in copies.others]
    for key in (*files, *(f"{folder}/" for folder in group.empty_folders)):
        above = key.rpartition("/")[0]
        while above not in found and is_under(above, group.folder):
            found.add(above)
            above = above.rpartition("/")[0]
    paths = sorted([path_of(top + key[len(group.folder) :]) for key in found], reverse=True)
    return [path for path in paths if os.path.basename(path) != _OF_THE_SYSTEM and not _is_mount_point(path)]


def _is_mount_point(folder: bytes) -> bool:
    """Whether another file system is, or may be, mounted there: a link can take its place just now."""
    try:
        return os.path.ismount(folder)
    except OSError:
        return True


def _real_folder(group: FolderGroup) -> str:
    """The key of a copied folder without links."""
    file = next((file for copies in group.copies for file in copies.others if file.real), None)
    return group.folder if file is None else file.real[: len(group.folder) - len(file.key)]


def _facts_of(folder: bytes) -> FileFacts | None:
    """The facts of a folder; None if it cannot be opened, for example because a link is there now."""
    try:
        descriptor = open_without_links(folder)
    except OSError:
        return None
    try:
        return file_facts(descriptor)
    finally:
        close_descriptor(descriptor)


class FolderRestorer:
    """Makes the folders again in which files come back. Without a journal, it does nothing."""

    def __init__(self, journal: str | os.PathLike[str] | None) -> None:
        self._removed: dict[str, list[EmptiedFolder]] = {}
        """The folders by the copied folder that they are in; each list is taken out when they are made."""
        for folder in [] if journal is None else _removed_folders(journal).values():
            self._removed.setdefault(folder.group, []).append(folder)
        self._made: list[EmptiedFolder] = []

    def make_around(self, file: str) -> None:
        """Make all folders again that were removed from the copied folder that a file is in.

        `OSError` if a folder cannot be made.
        """
        for group in [group for group in self._removed if is_under(file, group)]:
            for folder in sorted(self._removed.pop(group)):  # the outer folders first
                path = path_of(folder.key)
                if not os.path.lexists(path):
                    make_folders(path)
                    self._made.append(folder)

    def finish(self) -> None:
        """Give the folders their former owner, mode and time. Files that came back have changed the time."""
        for folder in sorted(self._made, reverse=True):
            with contextlib.suppress(OSError):  # the files are back, with their own rights
                descriptor = open_without_links(path_of(folder.key))
                try:
                    apply_facts(descriptor, folder.facts)
                finally:
                    close_descriptor(descriptor)
        self._made.clear()


def _removed_folders(journal: str | os.PathLike[str]) -> dict[str, EmptiedFolder]:
    """The folders that a journal records, by key; of several records the last."""
    found: dict[str, EmptiedFolder] = {}
    with contextlib.suppress(FileNotFoundError), open(journal, "rb") as lines:
        for line in lines:
            if b'"emptied"' in line:
                with contextlib.suppress(ValueError, KeyError, TypeError):  # a line that was cut short
                    folder = _folder_of(json.loads(line))
                    found[folder.key] = folder
    return found


def _entry(folder: EmptiedFolder) -> dict[str, object]:
    return {"emptied": folder.key, "group": folder.group, **facts_entry(folder.facts)}


def _folder_of(entry: dict[str, Any]) -> EmptiedFolder:
    """The folder of a line; `ValueError` unless it lies in its group."""
    facts = facts_of_entry(entry)
    if not is_under(entry["emptied"], entry["group"]):
        raise ValueError(f"{entry['emptied']!r} is not in {entry['group']!r}")
    return EmptiedFolder(entry["emptied"], entry["group"], facts)
