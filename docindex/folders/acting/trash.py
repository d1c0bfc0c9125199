"""Move files to the person's trash and back, as Linux desktops do.

Follows https://specifications.freedesktop.org/trash-spec: the trash in the person's home, or one on the same
file system. Must never copy: a file is renamed, so it moves whole or not at all. Must never use a trash that
another person made, or may write to.
"""

import contextlib
import datetime as dt
import functools
import os
import re
import stat
import urllib.parse
from collections.abc import Iterator

from docindex.folders.acting.places import FilePlace, disk_at, make_folders, place_at, rename_no_replace
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.system import FOLDER, user_number

# The trash in a home folder, and the trashes at the top of a disk: a shared one, or that of one person.
_TRASH = re.compile(rb"/(Trash|\.Trash(-\d+|/\d+)?)/files/")


def is_in_trash(path: bytes) -> bool:
    """Whether a path without links leads into a trash, where a file may be deleted at any time."""
    return _TRASH.search(path) is not None


def to_trash(place: FilePlace, path: bytes) -> bytes:
    """Move a file to the trash and return its new path. The trash shows `path` as its original path.

    `NotReadable` if its file system has no trash, if the trash cannot be made, or if it is not safe.
    """
    trash, original = _trash_for(place, path)
    base, number = os.path.basename(path)[: 255 - 30], 0
    with contextlib.ExitStack() as stack:
        try:
            files, infos = stack.enter_context(_opened(trash))
        except FileNotFoundError:
            files, infos = stack.enter_context(_made(trash))
        while True:
            name = base if not number else b"%b.%d" % (base, number)
            number += 1
            info, target = infos.beside(name + b".trashinfo"), files.beside(name)
            if target.exists():
                continue
            try:
                handle = info.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                continue
            now = dt.datetime.now().astimezone().strftime("%Y-%m-%dT%H:%M:%S")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(
                        f"[Trash Info]\nPath={urllib.parse.quote(original)}\nDeletionDate={now}\n".encode()
                    )
                place.rename(target)
            except BaseException:
                if not target.exists():
                    info.unlink()
                raise
            return target.path


def from_trash(trashed: FilePlace, place: FilePlace) -> None:
    """Move a file back from the trash; `FileExistsError` if another file is at its place now."""
    rename_no_replace(trashed, place)
    with contextlib.suppress(FileNotFoundError), place_at(_info(trashed.path)) as info:
        info.unlink()


def is_named_in_trash(trashed: bytes, path: bytes) -> bool:
    """Whether the trash says that a file in it was at this path."""
    try:
        with place_at(_info(trashed)) as info, info.reading() as file:
            line = next(line for line in file if line.startswith(b"Path="))
    except (OSError, StopIteration):
        return False
    original = urllib.parse.unquote_to_bytes(line[len(b"Path=") :].strip())
    # In the trash at the top of a disk, the path begins at that top.
    return (b"/" + path.lstrip(b"/")).endswith(b"/" + original.lstrip(b"/"))


def found_in_trash(path: bytes, inode: tuple[int, int]) -> bytes | None:
    """The path in a trash of a file that was at a path, by its device and inode; None if it is not there."""
    for trash in (_home(), _at_top(path)):
        with (
            contextlib.suppress(OSError, NotReadable),
            _opened(trash) as (files, _),
            os.scandir(files.open_folder()) as entries,
        ):
            for entry in entries:
                if entry.inode() == inode[1] and entry.stat(follow_symlinks=False).st_dev == inode[0]:
                    trashed = files.beside(os.fsencode(entry.name)).path
                    return trashed if is_named_in_trash(trashed, path) else None
    return None


def _made(trash: bytes) -> contextlib.AbstractContextManager[tuple[FilePlace, FilePlace]]:
    """The result of `_opened` for a trash that does not exist yet, or not all of it."""
    try:
        for name in (b"files", b"info"):
            make_folders(os.path.join(trash, name))
    except OSError as error:
        raise NotReadable(f"the trash {key_of(trash)} cannot be made: {error.strerror}") from error
    return _opened(trash)


@contextlib.contextmanager
def _opened(trash: bytes) -> Iterator[tuple[FilePlace, FilePlace]]:
    """A place in the folder of the files of a trash, and one in the folder of its trash infos.

    `NotReadable` if one of the folders is not the person's own.
    """
    with contextlib.ExitStack() as stack:
        below = _entered(stack, stack.enter_context(place_at(trash)))
        files, infos = (_entered(stack, below.beside(name)) for name in (b"files", b"info"))
        yield files, infos


def _entered(stack: contextlib.ExitStack, folder: FilePlace) -> FilePlace:
    """A place in a folder of the trash; `NotReadable` if the folder is not the person's own."""
    try:
        descriptor = folder.open(FOLDER)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotReadable(
            f"{key_of(folder.path)} is a link or a file, but should be a folder; move it away"
        ) from error
    stack.callback(os.close, descriptor)
    if os.fstat(descriptor).st_uid != user_number():
        raise NotReadable(
            f"the trash {key_of(folder.path)} belongs to another user; move it away, or use another action"
        )
    if os.fstat(descriptor).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotReadable(f"other users may write to the trash {key_of(folder.path)}; run chmod 700 on it")
    return FilePlace(descriptor, folder.path, b"")


def _trash_for(place: FilePlace, path: bytes) -> tuple[bytes, bytes]:
    """The trash for the file at a place, and the original path as its trash info names it."""
    device, home = place.status().st_dev, _home()
    try:
        if disk_at(home).device == device:
            return home, path
    except OSError as error:
        raise NotReadable(f"the trash {key_of(home)} cannot be made: {error.strerror}") from error
    trash = _at_top(path)
    if disk_at(trash).device != device:
        raise NotReadable("there is no trash on its file system")
    return trash, os.path.relpath(path, os.path.dirname(trash))


def _at_top(path: bytes) -> bytes:
    """The path of the person's trash at the point where the file system of a path is mounted."""
    top = os.path.dirname(path)
    while not os.path.ismount(top):
        top = os.path.dirname(top)
    return os.path.join(top, b".Trash-%d" % user_number())


def _info(trashed: bytes) -> bytes:
    """The path of the trash info of a file in the trash."""
    name = os.path.basename(trashed) + b".trashinfo"
    return os.path.join(os.path.dirname(os.path.dirname(trashed)), b"info", name)


def _home() -> bytes:
    """The path of the trash in the person's home. A link may lead to it, but it is not a link."""
    data = os.fsencode(os.environ.get("XDG_DATA_HOME", ""))
    if not os.path.isabs(data):  # the specification requires that a relative path is ignored
        data = os.path.join(os.path.expanduser(b"~"), b".local", b"share")
    return os.path.join(_real(data), b"Trash")


# Asked once: for each file, it would take a tenth of the processor time of an act.
_real = functools.lru_cache(maxsize=8)(os.path.realpath)
