"""A path in, the file in the person's trash out, and back: as the desktops of Linux keep it.

After https://specifications.freedesktop.org/trash-spec: a folder of the person's, or one on the same file
system. Must never copy: a file goes by being renamed, whole or not at all.
"""

import contextlib
import datetime as dt
import os
import re
import urllib.parse

from docindex.folders.file_reader import NotReadable
from docindex.folders.system import rename_no_replace

# A person's own, also another person's; and one on a disk, for all or for one of them.
_TRASH = re.compile(rb"/(Trash|\.Trash(-\d+|/\d+)?)/files/")


def is_in_trash(path: bytes) -> bool:
    """Whether a path leads into a trash: what lies there may be gone tomorrow."""
    return _TRASH.search(os.path.realpath(path)) is not None


def to_trash(path: bytes, shown: bytes) -> bytes:
    """Move a file to the trash, which will show it as one from another path; gives its new path.

    `NotReadable` where there is no trash for it.
    """
    trash, noted = _folder(path, shown)
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
        with os.fdopen(handle, "wb") as file:
            file.write(f"[Trash Info]\nPath={urllib.parse.quote(noted)}\nDeletionDate={now}\n".encode())
        try:
            os.rename(path, target)
        except BaseException:
            if not os.path.lexists(target):
                os.unlink(info)
            raise
        return target


def from_trash(trashed: bytes, path: bytes) -> None:
    """Move a file back; `FileExistsError` if another has its place by now."""
    rename_no_replace(trashed, path)
    name = os.path.basename(trashed) + b".trashinfo"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(os.path.dirname(os.path.dirname(trashed)), b"info", name))


def _home() -> bytes:
    """The person's own trash."""
    data = os.environb.get(b"XDG_DATA_HOME", b"")
    if not os.path.isabs(data):  # as the specification wants it
        data = os.path.join(os.path.expanduser(b"~"), b".local", b"share")
    return os.path.join(data, b"Trash")


def _folder(path: bytes, shown: bytes) -> tuple[bytes, bytes]:
    """The trash for a file, and the path that it is noted with there."""
    device, home = os.lstat(path).st_dev, _home()
    os.makedirs(home, mode=0o700, exist_ok=True)
    if os.stat(home).st_dev == device:
        return home, shown
    real = os.path.realpath(os.path.dirname(path))
    top = real
    while not os.path.ismount(top):
        top = os.path.dirname(top)
    trash = os.path.join(top, b".Trash-%d" % os.getuid())
    try:
        if os.stat(top).st_dev != device:
            raise NotReadable("there is no trash on its file system")
        os.makedirs(trash, mode=0o700, exist_ok=True)
        if os.path.islink(trash):
            raise NotReadable("the trash on its file system is a link, which cannot be trusted")
    except OSError as error:
        raise NotReadable(f"there is no trash on its file system ({error.strerror})") from error
    return trash, os.path.relpath(os.path.join(real, os.path.basename(shown)), top)
