"""Read files safely: the bytes of a file, their digest, its first or its last bytes.

Reads regular files only, and never waits, for example for the writer of a pipe. Raises `NotReadable` for a
file that cannot be read, or changes while it is read. Must never trust the status that a path had a moment
ago: the open file is checked before and after it is read.
"""

import contextlib
import io
import os
import stat
from collections.abc import Callable, Iterator

import xxhash

from docindex.folders.walking.system import NO_FOLLOW, READ_FLAGS, opened_descriptor, opened_for_reading
from docindex.storage.file.safe_closing import close_descriptor

_HEAD = 1 << 14
"""Bytes that are read to find out whether a file is binary."""

_PIECE = 1 << 17
"""Bytes that are read at a time: they stay in the cache of a core. Pieces of 256 KB take a quarter longer if
they come from a disk, because the system reads ahead less; pieces of 64 KB a tenth longer if they do not."""

BEGINNING = 1 << 18
"""The bytes that `beginning_of` reads: rules of a person are shorter."""

AT_ONCE = 1 << 16
"""Bytes. A file of at most this size is read in one call."""

TAIL = 1 << 14
"""Bytes at the end of a file that are compared first. Different files of one size rarely have the same end,
but photographs and archives of one kind often have the same beginning."""

LARGEST_TEXT = 256_000_000
"""Bytes. A larger file is not read: as a document it would fill the memory."""


_FLAGS = READ_FLAGS | NO_FOLLOW
_NOT_REGULAR = "it is not a regular file any more"


# A file that is changed twice within two seconds may keep its size and time, because some file systems store
# times in steps of two seconds. The next scan reads such a file again.
_SETTLED_NS = 2_000_000_000


class NotReadable(Exception):
    """A file cannot be read or used; the message is the reason."""


def read_bytes(
    path: bytes, is_wanted: Callable[[bytes], bool], *, follow_symlinks: bool = False
) -> tuple[os.stat_result, bytes | None]:
    """The status of a file and its bytes; None if its first bytes are not wanted, or if it is too large.

    `NotReadable` for a file that cannot be opened, changes while it is read, or is not a regular file.
    """
    flags = READ_FLAGS | (0 if follow_symlinks else NO_FOLLOW)
    try:
        descriptor = opened_descriptor(path, flags)
        data = None
        try:
            before = _regular_status(descriptor)
            data = os.read(descriptor, max(_HEAD, min(before.st_size, AT_ONCE) + 1))
            if not is_wanted(data[:_HEAD]) or before.st_size > LARGEST_TEXT:
                return before, None
            if len(data) > before.st_size or before.st_size > AT_ONCE:
                data += io.FileIO(descriptor, closefd=False).read()
            _refuse_changed(before, os.fstat(descriptor), len(data))
        finally:
            close_descriptor(descriptor, data)
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error
    return before, data


def trusted_time(mtime_ns: int, began_ns: int) -> int:
    """The time of a file, or -1 if another change might leave it the same: it is too recent.

    >>> trusted_time(5, 10**10), trusted_time(5, 10)
    (5, -1)
    """
    return mtime_ns if began_ns - mtime_ns > _SETTLED_NS else -1


def digest_of(path: bytes, size: int, mtime_ns: int) -> bytes:
    """The xxh3-128 of a file with this size and time; `NotReadable` if either has changed."""
    with _opened_unchanged(path, size, mtime_ns) as file:
        return digest_of_open(file)


def digest_of_open(file: io.FileIO) -> bytes:
    """The xxh3-128 of an open file from its present position; `NotReadable` if it is not a regular file."""
    hasher = xxhash.xxh3_128()
    buffer = memoryview(bytearray(min(_regular_status(file.fileno()).st_size, _PIECE)))
    while count := file.readinto(buffer):
        hasher.update(buffer[:count])
    return hasher.digest()


def digest_at_once(path: bytes, status: os.stat_result) -> bytes:
    """The xxh3-128 of a small file that a walk has found; `NotReadable` if it has changed since.

    Takes a third of the time of `digest_of`, which matters if there are thousands of small files. The open
    file is checked only after it is read: a change before that would have changed its time, too.
    """
    try:
        descriptor = opened_descriptor(path, _FLAGS)
        data = None
        try:
            data = os.read(descriptor, status.st_size + 1)
            after = os.fstat(descriptor)
        finally:
            close_descriptor(descriptor, data)
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error
    if not stat.S_ISREG(after.st_mode):
        raise NotReadable(_NOT_REGULAR)
    _refuse_changed(status, after, len(data))
    return xxhash.xxh3_128_digest(data)


def tail_of(path: bytes, size: int, mtime_ns: int) -> bytes:
    """The last `TAIL` bytes of a file with this size and time; `NotReadable` if either has changed."""
    with _opened_unchanged(path, size, mtime_ns) as file:
        file.seek(max(0, size - TAIL))
        return file.read(TAIL)


def beginning_of(path: bytes) -> bytes:
    """The first 256 KB of a file; `NotReadable` if it cannot be read."""
    try:
        with opened_for_reading(path, READ_FLAGS) as file:
            _regular_status(file.fileno())
            return file.read(BEGINNING)
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error


@contextlib.contextmanager
def _opened_unchanged(path: bytes, size: int, mtime_ns: int) -> Iterator[io.FileIO]:
    """Open a file, and check its size and time before and after it is read. A time of -1 is not checked."""
    try:
        with opened_for_reading(path, _FLAGS) as file:
            before = _expected_status(file.fileno(), size, mtime_ns)
            yield file
            _refuse_changed(before, os.fstat(file.fileno()), size)
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error


def _expected_status(descriptor: int, size: int, mtime_ns: int) -> os.stat_result:
    """The status of an open file; `NotReadable` unless it has this size and time."""
    status = _regular_status(descriptor)
    if status.st_size != size or mtime_ns not in (-1, status.st_mtime_ns):
        raise NotReadable("it was changed since it was scanned")
    return status


def _regular_status(descriptor: int) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise NotReadable(_NOT_REGULAR)
    return status


def _refuse_changed(before: os.stat_result, after: os.stat_result, size: int) -> None:
    is_same = before.st_mtime_ns == after.st_mtime_ns and before.st_ino == after.st_ino
    is_same = is_same and before.st_ctime_ns == after.st_ctime_ns  # which no program can set back
    if not (is_same and size == before.st_size == after.st_size):
        raise NotReadable("it was changed while it was read")
