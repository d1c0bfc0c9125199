"""Move files to the person's trash and back, as Linux desktops do.

Follows https://specifications.freedesktop.org/trash-spec: the trash in the person's home, or one on the same
file system. Must never copy: a file is renamed, so it moves whole or not at all.
"""

import contextlib
import datetime as dt
import os
import re
import urllib.parse

from docindex.folders.file_reader import NotReadable
from docindex.folders.system import rename_no_replace, user_number

# The trash in a home folder, and the trashes at the top of a disk: a shared one, or that of one person.
_TRASH = re.compile(rb"/(Trash|\.Trash(-\d+|/\d+)?)/files/")


def is_in_trash(path: bytes) -> bool:
    """Whether a path leads into a trash, where a file may be deleted at any time."""
    return _TRASH.search(os.path.realpath(path)) is not None


def to_trash(path: bytes, shown: bytes) -> bytes:
    """Move a file to the trash and return its new path. The trash shows `shown` as its original path.

    `NotReadable` if its file system has no trash, or the trash cannot be made.
    """
    trash, original = _folder(path, shown)
    for folder in (b"files", b"info"):
        os.makedirs(os.path.join(trash, folder), mode=0o700, exist_ok=True)
    base, number = os.path.basename(shown)[: 255 - 30], 0
    while True:
        name = base if not number else b"%b.%d" % (base, number)
        number += 1
        info = os.path.join(trash, b"info", name + b".trashinfo")
        target = os.path.join(trash, b"files", name)
        if os.path.lexists(target):
            continue
        try:
            handle = os.open(info, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        now = dt.datetime.now().astimezone().strftime("%Y-%m-%dT%H:%M:%S")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(
                    f"[Trash Info]\nPath={urllib.parse.quote(original)}\nDeletionDate={now}\n".encode()
                )
            os.rename(path, target)
        except BaseException:
            if not os.path.lexists(target):
                os.unlink(info)
            raise
        return target


def from_trash(trashed: bytes, path: bytes) -> None:
    """Move a file back from the trash; `FileExistsError` if another file is at its path now."""
    rename_no_replace(trashed, path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_info(trashed))


def is_named_in_trash(trashed: bytes, path: bytes) -> bool:
    """Whether the trash says that a file in it was at this path."""
    try:
        with open(_info(trashed), "rb") as file:
            line = next(line for line in file if line.startswith(b"Path="))
    except (OSError, StopIteration):
        return False
    original = urllib.parse.unquote_to_bytes(line[len(b"Path=") :].strip())
    # In the trash at the top of a disk, the path begins at that top.
    return (b"/" + path.lstrip(b"/")).endswith(b"/" + original.lstrip(b"/"))


def found_in_trash(path: bytes, inode: tuple[int, int]) -> bytes | None:
    """The path in a trash of a file that was at a path, by its device and inode; None if it is not there."""
    for trash in _trashes(path):
        with contextlib.suppress(OSError), os.scandir(os.path.join(trash, b"files")) as entries:
            for entry in entries:
                if entry.inode() == inode[1] and entry.stat(follow_symlinks=False).st_dev == inode[0]:
                    return entry.path if is_named_in_trash(entry.path, path) else None
    return None


def _trashes(path: bytes) -> tuple[bytes, bytes]:
    """The trashes in which a file from a path may be."""
    return _home(), os.path.join(_top(os.path.realpath(os.path.dirname(path))), b".Trash-%d" % user_number())


def _top(folder: bytes) -> bytes:
    """The point at which the file system of a folder is mounted."""
    while not os.path.ismount(folder):
        folder = os.path.dirname(folder)
    return folder


def _info(trashed: bytes) -> bytes:
    """The path of the trash info of a file in the trash."""
    name = os.path.basename(trashed) + b".trashinfo"
    return os.path.join(os.path.dirname(os.path.dirname(trashed)), b"info", name)


def _home() -> bytes:
    """The trash in the person's home."""
    data = os.fsencode(os.environ.get("XDG_DATA_HOME", ""))
    if not os.path.isabs(data):  # the specification requires that a relative path is ignored
        data = os.path.join(os.path.expanduser(b"~"), b".local", b"share")
    return os.path.join(data, b"Trash")


def _folder(path: bytes, shown: bytes) -> tuple[bytes, bytes]:
    """The trash for a file, and the original path as its trash info names it."""
    device, home = os.lstat(path).st_dev, _home()
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
    except OSError as error:
        raise NotReadable(f"the trash {os.fsdecode(home)} cannot be made: {error.strerror}") from error
    if os.stat(home).st_dev == device:
        return home, shown
    real = os.path.realpath(os.path.dirname(path))
    top = _top(real)
    trash = os.path.join(top, b".Trash-%d" % user_number())
    try:
        if os.stat(top).st_dev != device:
            raise NotReadable("there is no trash on its file system")
        os.makedirs(trash, mode=0o700, exist_ok=True)
        if os.path.islink(trash):
            raise NotReadable("the trash on its file system is a link, which is not safe to use")
    except OSError as error:
        raise NotReadable(f"there is no trash on its file system ({error.strerror})") from error
    return trash, os.path.relpath(os.path.join(real, os.path.basename(shown)), top)
