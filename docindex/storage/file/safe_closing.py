"""Open and close a descriptor of any file without dropping the locks that this process has on it.

On Unix, closing a descriptor of a database drops all locks of the process on it, see `held_files`. Must never
import that module, nor apsw, for a file that is no database: many programs read such files only.
"""

import os
import sys

from docindex.storage.file.descriptors import CLOSING_DROPS_LOCKS, HELD


def parked_descriptor(path: bytes, *, follow_symlinks: bool) -> int | None:
    """A parked descriptor of the file at a path, at the beginning of the file, or None."""
    # A look at these few costs less than asking the system which file is at the path. A descriptor that
    # another thread parks now is not needed: this file is opened, and parked as well.
    if not any(held.descriptors for held in tuple(HELD.values())):
        return None
    from docindex.storage.file.held_files import take_parked

    return take_parked(path, follow_symlinks=follow_symlinks)


def close_descriptor(descriptor: int, data: bytes | None = None) -> None:
    """Close a descriptor of a file. Parks that of a database that this process has open elsewhere.

    `data`, the bytes of the file if they were read, saves reading its beginning again.
    """
    if data and data[0] not in _FIRST:  # most files: to ask this first takes a third of the time
        os.close(descriptor)
    elif CLOSING_DROPS_LOCKS and _may_be_locked(descriptor, data):
        from docindex.storage.file.held_files import park

        park(descriptor)
    else:
        os.close(descriptor)


def _may_be_locked(descriptor: int, data: bytes | None) -> bool:
    """Whether a file is one of those that SQLite locks: a database, or the index of a log."""
    if data:
        head = data[:16]
    else:
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            head = os.read(descriptor, 16)
        except OSError:  # it is no regular file
            return False
    return head.startswith(_LOCKED) or not head.strip(b"\0")  # a new one is empty, or has zeros


# A database; an index of a log, which begins with a number in the byte order of the machine.
_LOCKED = (b"SQLite format 3\0", (3_007_000).to_bytes(4, sys.byteorder))
_FIRST = b"\0" + bytes(beginning[0] for beginning in _LOCKED)
"""What such files begin with: the first byte."""
