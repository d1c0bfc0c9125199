"""Reach a file by its name in an open folder, so that no symbolic link can lead anywhere else.

`place_at` opens the folder of a path without following any link. While it is open, the folder may be moved
away, or replaced by a link: the calls of a `FilePlace` stay in the folder that was opened. Must never follow
a link, nor replace a file.
"""

import contextlib
import errno
import functools
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from docindex.folders.walking.system import (
    NO_FOLLOW,
    READ_FLAGS,
    file_system_id,
    lock_folder,
    open_without_links,
    unlock_folder,
)
from docindex.storage.file.safe_closing import close_descriptor

_NOWHERE = -1
_RENAME_NOREPLACE = 1
_NOT_SUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


class FilePlace(NamedTuple):
    """A name in an open folder. There may be a file with this name, or none."""

    folder: int | None
    """The descriptor of the folder; None on a system where calls take whole paths only."""
    prefix: bytes
    """The folder's part of the path; it was the path of the folder when that was opened."""
    name: bytes
    """The name in the folder, or the whole path if there is no descriptor."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.folder is not None:
            os.close(self.folder)

    @property
    def path(self) -> bytes:
        """The path, for people and journals."""
        return self.name if self.folder is None else self.prefix + b"/" + self.name

    def beside(self, name: bytes) -> "FilePlace":
        """Another name in the same folder."""
        return self._replace(name=self.prefix + b"/" + name if self.folder is None else name)

    def status(self) -> os.stat_result:
        """The status of the file, or of the link itself; `FileNotFoundError` if the name is free."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def identity(self) -> tuple[int, int] | None:
        """The device and the inode of the file; None without a file."""
        try:
            status = self.status()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def exists(self) -> bool:
        """Whether there is a file, a folder or a link."""
        return self.identity() is not None

    def open(self, flags: int, mode: int = 0o600) -> int:
        """A descriptor of the file; an `OSError` for a link."""
        return os.open(self.name, flags | NO_FOLLOW, mode, dir_fd=self.folder)

    @contextlib.contextmanager
    def reading(self) -> Iterator[io.FileIO]:
        """The file, for reading. Closing it drops no lock that this process has on it."""
        descriptor = self.open(READ_FLAGS)
        try:
            yield io.FileIO(descriptor, closefd=False)
        finally:
            close_descriptor(descriptor)

    def rename(self, new: "FilePlace") -> None:
        """Rename the file to a name that nobody else knows."""
        os.rename(self.name, new.name, src_dir_fd=self.folder, dst_dir_fd=new.folder)

    def link(self, new: "FilePlace") -> None:
        """Make a hard link to the file."""
        os.link(self.name, new.name, src_dir_fd=self.folder, dst_dir_fd=new.folder, follow_symlinks=False)

    def unlink(self) -> None:
        """Remove the name of the file."""
        os.unlink(self.name, dir_fd=self.folder)

    def discard(self) -> None:
        """Remove the name of the file if there is one."""
        with contextlib.suppress(FileNotFoundError):
            self.unlink()

    def make_folder(self) -> None:
        """Make a folder that only its owner may enter; `FileExistsError` if the name is taken."""
        os.mkdir(self.name, 0o700, dir_fd=self.folder)

    def is_in_its_folder(self) -> bool:
        """Whether the path of the folder still leads to the open folder."""
        try:
            with place_at(self.path) as now:
                return os.path.samestat(os.fstat(now.open_folder()), os.fstat(self.open_folder()))
        except OSError:
            return False

    def open_folder(self) -> int:
        """The descriptor of the folder, on a system where `act` works."""
        assert self.folder is not None
        return self.folder


def place_at(path: bytes) -> FilePlace:
    """The place of a path, to be closed by `with`.

    `OSError` if its folder does not exist, or if a link is on the way to it.
    """
    above, _, name = path.rpartition(b"/")
    if os.stat not in os.supports_dir_fd:
        return FilePlace(None, above, path)
    return FilePlace(open_without_links(above or b"/"), above, name)


def nowhere(path: bytes) -> FilePlace:
    """The place of a path whose folder cannot be opened: there is no file. It is not to be closed."""
    above, _, name = path.rpartition(b"/")
    return FilePlace(_NOWHERE, above, name)


def make_folders(path: bytes) -> None:
    """Make a folder, and those above it, where they do not exist. A link on the way is an `OSError`."""
    try:
        with place_at(path) as place, contextlib.suppress(FileExistsError):
            place.make_folder()
    except FileNotFoundError:
        make_folders(os.path.dirname(path))
        make_folders(path)


class Disk(NamedTuple):
    """A file system, as a journal notes it."""

    device: int
    """Its device number, which may change when it is mounted again."""
    number: int
    """The number that the system derives from the file system itself; 0 if it does not tell."""

    @classmethod
    def of(cls, place: FilePlace) -> "Disk":
        """The file system of the folder of a place."""
        folder = place.open_folder()
        return cls(os.fstat(folder).st_dev, file_system_id(folder))

    def is_same(self, other: "Disk") -> bool:
        """Whether both are one file system."""
        if self.number and other.number:
            return self.number == other.number
        return self.device == other.device


def disk_at(path: bytes) -> Disk:
    """The file system of the nearest folder above a path that exists."""
    try:
        with place_at(path) as place:
            return Disk.of(place)
    except FileNotFoundError:
        return disk_at(os.path.dirname(path))


@contextlib.contextmanager
def locked(*places: FilePlace) -> Iterator[None]:
    """Keep every other act and undo, also of other users, from changing a file in these folders.

    `act_lock` keeps two acts with one state folder apart; this one those with different state folders.
    `BlockingIOError` if another one works there for ten seconds.
    """
    folders = {
        (status.st_dev, status.st_ino): folder
        for folder in [place.folder for place in places]
        if folder is not None and folder != _NOWHERE and (status := os.fstat(folder))
    }
    try:
        # Each folder once, and all in one order, so that two acts do not wait for each other.
        for _, folder in sorted(folders.items()):
            lock_folder(folder)
        yield
    finally:
        for folder in folders.values():
            unlock_folder(folder)


def rename_no_replace(old: FilePlace, new: FilePlace) -> None:
    """Rename a file. `FileExistsError` if the new name is taken; then nothing is changed.

    `OSError` if the file system can neither do that in one step nor make hard links.
    """
    try:
        _rename_in_one_step(old, new)
        return
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    # The kernel or the file system cannot do this in one step, so use two.
    try:
        old.link(new)
    except FileExistsError:
        raise
    except OSError as error:  # some file systems have no links, and the kernel forbids links to some files
        raise OSError(
            errno.EOPNOTSUPP, "its file system cannot rename a file without the risk of replacing another one"
        ) from error
    old.unlink()


def renames_safely(old: FilePlace, new: FilePlace) -> bool:
    """Whether files can be renamed without replacing others on the file system of two places.

    Makes an empty file at one place, renames it to the other place, and removes it.
    """
    os.close(old.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    try:
        rename_no_replace(old, new)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return False
        raise
    finally:
        old.discard()
        new.discard()
    return True


def _rename_in_one_step(old: FilePlace, new: FilePlace) -> None:
    """Call renameat2 of Linux, which Python does not offer."""
    rename = _renameat2()
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    import ctypes

    if rename(old.folder, old.name, new.folder, new.name, _RENAME_NOREPLACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), new.path)


@functools.cache
def _renameat2() -> Any:
    if sys.platform != "linux":
        return None
    import ctypes  # takes 1 ms, and only actions need it

    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
