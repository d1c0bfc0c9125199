"""A path in, the file in the person's trash out, and back: as the desktops of Linux keep it.

After https://specifications.freedesktop.org/trash-spec: a folder of the person's, or one on the same file
system. Must never copy: a file goes by being renamed, whole or not at all.
"""

import contextlib
import datetime as dt
import os
import urllib.parse

from docindex.files.reading import NotReadable


def to_trash(path: bytes) -> bytes:
    """Move a file to the trash; gives its new path. `NotReadable` where there is no trash for it."""
    status = os.lstat(path)
    trash, shown = _folder(path, status.st_dev)
    for folder in (b"files", b"info"):
        os.makedirs(os.path.join(trash, folder), mode=0o700, exist_ok=True)
    base, number = os.path.basename(path), 0
    while True:
        name = base if not number else b"%b.%d" % (base[: 255 - 30], number)
        number += 1
        info = os.path.join(trash, b"info", name[: 255 - 10] + b".trashinfo")
        target = os.path.join(trash, b"files", name[: 255 - 10])
        if os.path.lexists(target):
            continue
        try:
            handle = os.open(info, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        now = dt.datetime.now().astimezone().strftime("%Y-%m-%dT%H:%M:%S")
        with os.fdopen(handle, "wb") as file:
            file.write(f"[Trash Info]\nPath={urllib.parse.quote(shown)}\nDeletionDate={now}\n".encode())
        try:
            os.rename(path, target)
        except BaseException:
            os.unlink(info)
            raise
        return target


def from_trash(trashed: bytes, path: bytes) -> None:
    """Move a file back; `FileExistsError` if another has its place by now."""
    os.link(trashed, path, follow_symlinks=False)  # which never replaces anything
    os.unlink(trashed)
    name = os.path.basename(trashed) + b".trashinfo"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(os.path.dirname(os.path.dirname(trashed)), b"info", name))


def _folder(path: bytes, device: int) -> tuple[bytes, bytes]:
    """The trash for a file, and the path that it is noted with there."""
    data = os.environb.get(b"XDG_DATA_HOME") or os.path.join(os.path.expanduser(b"~"), b".local", b"share")
    home = os.path.join(data, b"Trash")
    os.makedirs(home, mode=0o700, exist_ok=True)
    if os.stat(home).st_dev == device:
        return home, path
    top = os.path.dirname(path)
    while not os.path.ismount(top):
        top = os.path.dirname(top)
    trash = os.path.join(top, b".Trash-%d" % os.getuid())
    try:
        os.makedirs(trash, mode=0o700, exist_ok=True)
    except OSError as error:
        raise NotReadable(f"there is no trash on its file system ({error.strerror})") from error
    return trash, os.path.relpath(path, top)
