"""Decide whether a known file that a walk did not find is gone or still exists.

A file may still exist on a disk that is not mounted, or in a folder that could not be read, or the options of
the scan may have excluded it. If in doubt, a file counts as existing. Must never open a file.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from docindex.errors import UnreadableFile
from docindex.folders.path_keys import key_of, path_of, with_slashes
from docindex.storage.tracked_files import Tracked


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
