"""Paths of any length in, descriptors out; and other names for files, without replacing any."""

import ctypes
import errno
import os

LONGEST = 1000
"""Longer paths are opened piece by piece: the system takes 4,096 bytes at a time, less on some."""

FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_file(path: bytes, flags: int) -> int:
    """A descriptor for a path of any length."""
    flags |= getattr(os, "O_CLOEXEC", 0)
    if len(path) < LONGEST:
        return os.open(path, flags)
    *folders, name = path.split(b"/")
    at = os.open(b"/", FOLDER)
    try:
        while folders:
            step = [folders.pop(0)]
            while folders and sum(map(len, step)) < LONGEST // 2:
                step.append(folders.pop(0))
            below = os.open(b"/".join(filter(None, step)) or b".", FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, flags, dir_fd=at)
    finally:
        os.close(at)


_RENAME_NOREPLACE = 1
_AT_FDCWD = -100
_NOT_KNOWN = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def rename_no_replace(now: bytes, wanted: bytes) -> None:
    """Give a file another name; `FileExistsError`, and nothing done, if that is taken."""
    try:
        _rename_new(now, wanted)
        return
    except OSError as error:
        if error.errno not in _NOT_KNOWN:
            raise
    # Two steps, where the system, or this file system, knows no single one.
    try:
        os.link(now, wanted, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # there are file systems without links, and files of others that must not be linked
        os.close(os.open(wanted, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.rename(now, wanted)
    else:
        os.unlink(now)


def _rename_new(now: bytes, wanted: bytes) -> None:
    """Rename without replacing anything: Linux can, but Python does not offer it."""
    if _renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if _renameat2(_AT_FDCWD, now, _AT_FDCWD, wanted, _RENAME_NOREPLACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), wanted)


_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
