"""Find what changed under a root since the last scan: the files that are new, changed, moved, or gone.

A file whose size, times, inode and device are unchanged is not read again, unless `EarlierFiles` says so. If
only the time of its status has changed, its digest decides. A file that was moved keeps its documents. Must
never forget a document whose file could not be read.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar

from docindex.errors import UnreadableFile
from docindex.folders.scanning.file_changes import EarlierFiles, has_same_bytes, is_same_file, is_unchanged
from docindex.folders.scanning.tally import ScanTally
from docindex.folders.walking.path_keys import key_of, path_of, with_slashes
from docindex.folders.walking.walk import WalkedFile, index_identities, walk_files
from docindex.index.writer import Index
from docindex.storage.tracked_files import BINARY, Tracked

# Decide whether a known file that a walk did not find is gone or still exists.
#
# A file may still exist on a disk that is not mounted, or in a folder that could not be read, or the options
# of the scan may have excluded it. If in doubt, a file counts as existing. Must never open a file.


class FilePresence:
    """Tells which files below one root still exist."""

    def __init__(self, root: bytes, *, follow_symlinks: bool) -> None:
        self._root = root
        self._follow_symlinks = follow_symlinks

    def exists(self, file: Tracked) -> bool:
        """Whether a regular file exists at the path. True also if the system does not tell.

        False for a path through a symbolic link below the root, unless links are followed: the index knows
        that file by its own path.
        """
        path = path_of(file.key)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        below_root = path[len(self._root) :].lstrip(b"/")
        own = os.path.join(os.path.realpath(self._root), below_root)
        folder = os.path.realpath(os.path.dirname(path))
        return (
            self._follow_symlinks
            or path == self._root
            or with_slashes(folder) == with_slashes(os.path.dirname(own))
        )

    @staticmethod
    def without_hidden(
        gone: Mapping[str, Tracked], known: Mapping[str, Tracked], failed: AbstractSet[bytes]
    ) -> tuple[dict[str, Tracked], int]:
        """Leave out of `gone` the files below a failed path and those on unmounted disks.

        Returns the other files, and the number of files on unmounted disks. `known` are all files that were
        known below the root. A disk counts as mounted if the walk found a known file on it, or if the nearest
        existing folder above the file is on it.
        """
        really = {key: file for key, file in gone.items() if not (failed and _is_in(path_of(key), failed))}
        mounted = {file.device for key, file in known.items() if key not in really}
        devices: dict[bytes, int] = {}
        away = [
            key
            for key, file in really.items()
            if file.inode
            and file.device not in mounted
            and _device_above(path_of(key), devices) != file.device
        ]
        for key in away:
            del really[key]
        return really, len(away)


def check_mounted(root: bytes, known: Iterable[Tracked]) -> None:
    """`UnreadableFile` if none of the known files was on the device that the root is on now."""
    devices = {file.device for file in known if file.inode}
    if devices and not devices & {os.stat(root).st_dev, 0}:
        name = key_of(root)
        raise UnreadableFile(
            f"{name} is empty and on another device than at the last scan; mount its disk and scan again",
            name,
        )


def _device_above(path: bytes, devices: dict[bytes, int]) -> int:
    """The device of the nearest existing folder above a path. `devices` caches the answers by folder."""
    folder = os.path.dirname(path)
    if folder not in devices:
        try:
            devices[folder] = os.stat(folder).st_dev
        except OSError:
            devices[folder] = _device_above(folder, devices) if folder != path else 0
    return devices[folder]


def _is_in(path: bytes, folders: AbstractSet[bytes]) -> bool:
    """Whether the path or a folder above it is in `folders`."""
    while path not in folders:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True


T = TypeVar("T")

NOTED_AT_A_TIME = 2000
"""Files that are noted in one transaction."""


class FoundChanges(NamedTuple):
    """What changed under a root."""

    to_read: list[WalkedFile]
    """The files that are new or changed."""
    moved: set[str]
    """The new keys of moved files, which are counted already."""
    gone: dict[str, Tracked]
    """The known files that no longer exist, or that the options exclude."""


class RootChanges:
    """Finds the changes under one root, and renames and forgets the documents of files."""

    def __init__(
        self,
        index: Index,
        root: bytes,
        earlier: EarlierFiles,
        tally: ScanTally,
        on_walked: Callable[[], object],
    ) -> None:
        """`on_walked` is called after each file that is found, and may raise an exception."""
        self._index = index
        self._root = root
        self._earlier = earlier
        self._options = earlier.reading.options
        self._tally = tally
        self._on_walked = on_walked
        self._presence = FilePresence(root, follow_symlinks=self._options.follow_symlinks)
        self._index_files = index_identities(index.path)

    def find(self) -> FoundChanges:
        """Walk the root. Renames the documents of moved files."""
        new, gone = self._new_and_gone()
        moved = self._renamed(new, gone) if gone else {}
        if not moved:  # in a first scan, for example
            return FoundChanges(new, set(), gone)
        keyed = ((found, moved.get(key_of(found.path))) for found in new)
        to_read = [found for found, file in keyed if file is None or self._earlier.is_read_again(file)]
        return FoundChanges(to_read, set(moved), gone)

    def _new_and_gone(self) -> tuple[list[WalkedFile], dict[str, Tracked]]:
        """The files that are new or changed, and the known files that are gone."""
        new, gone = [], dict(self._earlier.by_key)
        same_bytes: list[Tracked] = []
        earlier, tally, seen = self._earlier, self._tally, self._tally.seen  # looked up for each file
        for found in self._walked():
            key = key_of(found.path)
            if (found.status.st_ino, found.status.st_dev) in self._index_files:
                tally.skipped.leave_out(found.path, "of docindex's own files")
                continue
            known = gone.pop(key, None)
            if key in seen:  # another root contains it too
                continue
            seen.add(key)
            if known is None or earlier.is_read_again(known):
                new.append(found)
            elif (is_same := is_unchanged(known, found)) or has_same_bytes(known, found):
                tally.unchanged += 1
                tally.count(known)
                if not is_same:
                    same_bytes.append(known._replace(ctime_ns=found.status.st_ctime_ns))
            else:
                new.append(found)
            self._on_walked()
        for batch in _batches_of(same_bytes):
            self._index.files.put(batch)
        if gone and len(gone) == len(self._earlier.by_key) and not new:
            check_mounted(self._root, self._earlier.by_key.values())
        return new, self._really_gone(gone)

    def _walked(self) -> Iterator[WalkedFile]:
        """The files below the root; `UnreadableFile` if it cannot be read."""
        try:
            yield from walk_files(self._root, self._options, self._tally.skipped)
        except OSError as error:
            root = key_of(self._root)
            raise UnreadableFile(f"{root} cannot be read: {error.strerror or error}", root) from error

    def _really_gone(self, gone: dict[str, Tracked]) -> dict[str, Tracked]:
        """The files that are gone, without those on unmounted disks or in folders that could not be read."""
        failed = {path for path, _ in self._tally.skipped.failed}
        gone, away = self._presence.without_hidden(gone, self._earlier.by_key, failed)
        if away:
            self._tally.skipped.counts["on a disk that is not mounted"] += away
        return gone

    def _renamed(self, new: list[WalkedFile], gone: dict[str, Tracked]) -> dict[str, Tracked]:
        """Rename the documents of files that were moved; returns the new records by their keys."""
        moves = self._moves(new, gone)
        done: set[str] = set()
        for batch in _batches_of(list(moves.values())):
            done |= self._index.files.move(batch)
        renamed = {key: file for key, (old, file) in moves.items() if old in done}
        for old in done:
            gone.pop(old)
        for file in renamed.values():
            self._tally.moved += 1
            if not self._earlier.is_read_again(file):
                self._tally.count(file)
        self._earlier.by_key.update(renamed)
        return renamed

    def _moves(self, new: list[WalkedFile], gone: dict[str, Tracked]) -> dict[str, tuple[str, Tracked]]:
        """The old key and the new record of each new file that is one of the gone files, by its new key."""
        by_identity: dict[tuple[int, ...], list[Tracked]] = {}
        for file in gone.values():
            by_identity.setdefault((file.device, file.inode, file.size), []).append(file)
        moves: dict[str, tuple[str, Tracked]] = {}
        for found in new:
            status, key = found.status, key_of(found.path)
            before = by_identity.get((status.st_dev, status.st_ino, status.st_size))
            # If the known file exists and the options only excluded it, this is another hard link to it.
            if (
                before
                and not self._earlier.was_read(key)
                and not self._presence.exists(before[-1])
                and is_same_file(before[-1], found)
            ):
                file = before.pop()
                digest = None if file.kind == BINARY else file.digest
                moves[key] = file.key, file._replace(key=key, ctime_ns=status.st_ctime_ns, digest=digest)
        return moves

    def forget(self, gone: dict[str, Tracked]) -> None:
        """Forget the files that no longer exist, but not those that the options excluded."""
        for batch in _batches_of([file for file in gone.values() if not self._presence.exists(file)]):
            self._index.files.forget(batch)
            self._tally.removed += len(batch)


def _batches_of(things: list[T]) -> Iterator[list[T]]:
    """The items in batches, each for one transaction."""
    for start in range(0, len(things), NOTED_AT_A_TIME):
        yield things[start : start + NOTED_AT_A_TIME]
