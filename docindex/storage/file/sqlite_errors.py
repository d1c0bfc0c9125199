"""Translate SQLite's errors into docindex's, with a sentence that says what to do.

Damage is only what SQLite calls damage. A disk that fails is a `DiskError`: the file may be sound. Must never
translate an error that says nothing about the file: it may be a mistake of docindex.
"""

import contextlib
import errno
import os
import shutil
import time
from pathlib import Path

import apsw

from docindex.errors import (
    CANCELLED,
    Busy,
    Cancelled,
    CorruptIndex,
    DiskError,
    DiskFull,
    FileError,
    NotAnIndex,
    ReadOnly,
    Refused,
    UnreadableFile,
)
from docindex.storage.file.write_ahead_log import WRITER, lock_holders, open_descriptor, process_name

# Find out why SQLite failed on a file, where its error does not tell: can the file be locked, and read?
#
# SQLite says "busy" if the file system refuses a lock, and "malformed" if the disk cannot read a page. Takes
# the path of a file that SQLite has open in this process; returns the operating system's error. Must never
# open the file: closing it would drop this process's own locks on it.

# SQLite locks 512 bytes from 2^30 on, and never this one.
_FREE_BYTE = (1 << 30) + 512
_NO_REFUSAL = {errno.EAGAIN, errno.EBADF}  # another process asks, too; closed in the meantime

_AT_ONCE = 1 << 20
_LONGEST_S = 10.0
"""A large file is read for so long. It is damaged, or its disk is: nobody waits for anything else."""


def lock_refusal(path: str) -> OSError | None:
    """The error if the file system refuses to lock a byte of the file; None if it can be locked."""
    descriptor = open_descriptor(path)
    if descriptor is not None:
        with contextlib.suppress(ImportError):  # Windows
            import fcntl

            try:
                fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _FREE_BYTE)
                fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _FREE_BYTE)
            except OSError as error:
                return None if error.errno in _NO_REFUSAL else error
    return None


def read_failure(path: str) -> OSError | None:
    """The error if the disk fails to read the file or its log; None if they can be read."""
    until = time.monotonic() + _LONGEST_S
    for name in (path, f"{path}-wal"):
        descriptor, offset = open_descriptor(name), 0
        try:
            while descriptor is not None and time.monotonic() < until:
                if not os.pread(descriptor, _AT_ONCE, offset):
                    break
                offset += _AT_ONCE
        except OSError as error:
            if error.errno != errno.EBADF:  # closed in the meantime
                return error
    return None


def translation(
    error: apsw.Error, path: str, timeout_s: float, *, no_room: bool, trusted: bool
) -> FileError | None:
    """The error that says what happened to a file; None if SQLite's error is not about the file.

    `no_room` says whether the operating system refused a write for want of room. In a file that is not
    `trusted`, a value above the limits is damage too.
    """
    match error:
        case apsw.BusyError() if is_snapshot(error):
            return Busy(BEGAN_AS_READER, path)
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return _lock_refused(path) or still_writing(path, _writer_of(path), timeout_s)
        case apsw.PermissionsError():
            return _lock_refused(path) or _not_locked(path, OSError(errno.EPERM, str(error)))
        case apsw.ConstraintError():
            return refused(path, error)
        case apsw.AuthError() if not trusted:
            return Refused(
                f"{path} is open with trusted=False, which forbids this ({error}); open it with trusted=True "
                "if you know who made it",
                path,
            )
        case apsw.InterruptError():
            return Cancelled(CANCELLED, path)
        case apsw.FullError():
            return _disk_full(path) if _has_little_room(path) else _cannot_grow(path)
        case apsw.IOError():
            return _disk_full(path) if no_room else _io_error(path, error)
        case apsw.TooBigError() if not trusted:
            return CorruptIndex(
                f"{path} has a value that is too large for a file that is not trusted; do not use the file, "
                "or open it with trusted=True if you know who made it",
                path,
            )
        case apsw.CorruptError() | apsw.FormatError():
            # SQLite says so, too, if the operating system cannot read a page.
            failure = read_failure(path)
            return _damaged(path, error) if failure is None else disk_error(path, str(failure.strerror))
        case apsw.SQLError() if "unsupported file format" in str(error):  # an impossible number in the header
            return _damaged(path, error)
    return _not_opened(error, path) or _not_registered(error, path)


def _not_opened(error: apsw.Error, path: str) -> FileError | None:
    match error:
        case apsw.ReadOnlyError():
            return ReadOnly(
                f"{path} cannot be written; check the permissions of the file and of its folder", path
            )
        case apsw.NotADBError():
            return NotAnIndex(f"{path} is not an SQLite file; name a docindex index or a new file", path)
        case apsw.CantOpenError() if not Path(path).parent.is_dir():
            return UnreadableFile(f"{path} cannot be opened: its folder does not exist", path)
        case apsw.CantOpenError() if os.access(path, os.R_OK) and not os.access(Path(path).parent, os.W_OK):
            return ReadOnly(
                f"{path} can only be read: its folder cannot be written; copy the file to another folder",
                path,
            )
        case apsw.CantOpenError():
            return UnreadableFile(
                f"{path} cannot be opened; check the permissions of the file and of its folder, and whether "
                "this process has too many open files",
                path,
            )
    return None


def _not_registered(error: apsw.Error, path: str) -> FileError | None:
    if isinstance(error, apsw.SQLError) and "no such function" in str(error):
        return Refused(
            f"a rule in {path} uses a function that is not registered here ({error}); "
            "the change was not made",
            path,
        )
    if isinstance(error, apsw.SQLError) and "no such collation" in str(error):
        return Refused(
            f"a table in {path} uses a collation that is not registered here ({error}); use a connection of "
            "the app, which has it",
            path,
        )
    return None


# What a file system or a layer below SQLite says that verifies checksums.
_FALSE_CHECKSUM = apsw.SQLITE_IOERR_DATA


def _io_error(path: str, error: apsw.IOError) -> FileError:
    """The error for a disk that failed, with the operating system's own words if SQLite has them."""
    if getattr(error, "extendedresult", None) == _FALSE_CHECKSUM:
        return _damaged(path, error)
    return _lock_refused(path) or disk_error(path, str(error))


def disk_error(path: str, reason: str) -> DiskError:
    """The error for a disk that failed for a reason."""
    return DiskError(
        f"{path} cannot be read or written: the disk or its file system failed ({reason}); committed changes "
        "stay: check the disk and its connection, then try again",
        path,
    )


def _lock_refused(path: str) -> DiskError | None:
    """The error for a file that cannot be locked; None if it can be."""
    refusal = lock_refusal(path)
    return None if refusal is None else _not_locked(path, refusal)


def _not_locked(path: str, refusal: OSError) -> DiskError:
    if refusal.errno in (errno.EACCES, errno.EPERM):
        why, advice = "locking is refused", "check the rules of its disk or network folder, or copy the file"
    else:
        why, advice = "its file system does not lock files", "copy the file to a local disk"
    return DiskError(f"{path} cannot be locked: {why} ({refusal.strerror}); {advice}, then try again", path)


def _damaged(path: str, error: apsw.Error) -> CorruptIndex:
    return CorruptIndex(f"{path} is damaged: {error}; restore a backup, or index again", path)


BEGAN_AS_READER = (
    "the transaction began as a reader, and others have written to the file since, so it cannot write; roll "
    "it back, and start it with begin immediate"
)
"""The message for SQLITE_BUSY_SNAPSHOT. Without a path: nobody knows which file of the transaction it was."""


def is_snapshot(error: apsw.BusyError) -> bool:
    """Whether a transaction cannot write because others have written since it read first."""
    return getattr(error, "extendedresult", None) == apsw.SQLITE_BUSY_SNAPSHOT


def still_writing(path: str, writer: str, timeout_s: float) -> Busy:
    """The error for a file that somebody else is writing for too long."""
    return Busy(
        f"{path} is being written by {writer}, which did not finish within {timeout_s:g} s; try again later",
        path,
    )


def refused(path: str, error: apsw.ConstraintError) -> Refused:
    """The error for a change that a rule in the file forbids. Keeps a message that docindex itself wrote."""
    if str(error).startswith("doc_index:"):
        return Refused(str(error), path)
    return Refused(
        f"a rule in {path} forbids the change ({error}), which was not made; if the rule is not one of "
        "your own tables, triggers or checks, call check()",
        path,
    )


def _disk_full(path: str) -> DiskFull:
    return DiskFull(
        f"the disk has no room left for {path}; the index is as before: free some space and try again", path
    )


def _cannot_grow(path: str) -> DiskFull:
    # SQLite has one error for a full disk and for the limits of a file, and keeps no errno for either.
    return DiskFull(
        f"SQLite has no room for the change to {path}, although its disk has free space; the index is as "
        "before. Free some space in the folder for temporary files; if that does not help, look for a "
        "limit that the file has reached: max_page_count, or the counter of an AUTOINCREMENT table",
        path,
    )


_LITTLE_ROOM = 64_000_000  # bytes: more than a commit of `add_many` writes before it can notice a full disk


def _has_little_room(path: str) -> bool:
    """Whether the disk of a file seems to be full; also true if nobody knows."""
    try:
        return shutil.disk_usage(Path(path).parent).free < _LITTLE_ROOM
    except OSError:
        return True


def _writer_of(path: str) -> str:
    """The process that is writing, if the operating system says which (Linux does)."""
    holders = lock_holders(path, "WRITE", WRITER)
    return process_name(min(holders).process) if holders else "another process"
