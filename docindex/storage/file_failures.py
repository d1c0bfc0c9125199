"""Find out why SQLite failed on a file, where its error does not tell: can the file be locked, and read?

SQLite says "busy" if the file system refuses a lock, and "malformed" if the disk cannot read a page. Takes
the path of a file that SQLite has open in this process; returns the operating system's error. Must never open
the file: closing it would drop this process's own locks on it.
"""

import contextlib
import errno
import os
import time

from docindex.storage.lock_holders import open_descriptor

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
