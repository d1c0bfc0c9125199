"""Make files and folders that only their owner can read: they hold texts of files that may be private.

A file that exists keeps its permissions, unless it is in a folder that docindex chose itself. Changes nothing
on Windows. Must never give anybody a permission.
"""

import contextlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_OF_OTHERS = 0o077


def private_opener(path: str, flags: int) -> int:
    """For the `opener` of Python's `open`: only its owner can use a new file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/new", "x", opener=private_opener) as file:
    ...         oct(os.fstat(file.fileno()).st_mode & 0o077)
    '0o0'
    """
    return os.open(path, flags, FILE_MODE)


def own_folder(folder: "Path", *, make: bool = True) -> None:
    """Keep other users out of a folder that docindex chose itself, and out of its files.

    With `make`, the folder is made if it is missing; `OSError` if that fails. A link is left alone, and so is
    what belongs to another user: that is where somebody put it on purpose.
    """
    if make:
        folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
    if not hasattr(os, "geteuid") or folder.is_symlink():
        return
    # On a read-only file system nothing can change; a folder that cannot be read is reported when it is used.
    with contextlib.suppress(OSError):
        for path in (folder, *folder.iterdir()):
            status = path.lstat()
            is_wide = status.st_mode & _OF_OTHERS and not stat.S_ISLNK(status.st_mode)
            if is_wide and status.st_uid == os.geteuid():
                path.chmod(stat.S_IMODE(status.st_mode) & ~_OF_OTHERS)
