"""A file in, its text out, or why there are none. Opens regular files alone, and waits for none.

Must never trust what a path named a moment ago: what is opened is looked at once more, before and after.
"""

import contextlib
import dataclasses
import io
import os
import stat
from collections.abc import Iterator

import xxhash

from docindex.folders.system import open_file
from docindex.frontends.text import decode, looks_binary

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_HEAD = 1 << 14
_AT_ONCE = 1 << 20

TAIL = 1 << 14
"""How many bytes at the end tell most files apart: heads are often alike, in photographs as in archives."""

LARGEST_TEXT = 256_000_000
"""Bytes; a file beyond it is taken for a binary one: as a document it would fill the memory."""


class NotReadable(Exception):
    """A file that cannot be read now; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Content:
    """What is in a file."""

    status: os.stat_result
    text: str | None
    """None for what is no text."""
    digest: bytes | None
    """xxh3-128 of its bytes; None where they were not all read."""


def read(path: bytes, *, follow_symlinks: bool = False) -> Content:
    """The text of a file; of a binary one only its head is read. `NotReadable` for what is none any more."""
    flags = _FLAGS | (0 if follow_symlinks else getattr(os, "O_NOFOLLOW", 0))
    try:
        with os.fdopen(open_file(path, flags), "rb") as file:
            before = _regular(file.fileno())
            data = file.read(_HEAD)
            if looks_binary(data) or before.st_size > LARGEST_TEXT:
                return Content(before, None, None)
            data += file.read()
            _refuse_changed(before, os.fstat(file.fileno()), len(data))
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error
    decoded = decode(data)
    return Content(before, decoded.text if decoded else None, xxhash.xxh3_128_digest(data))


def digest_of(path: bytes, size: int, mtime_ns: int) -> bytes:
    """The xxh3-128 of the bytes of a file that is as it was; `NotReadable` if it is not."""
    with _opened_as_it_was(path, size, mtime_ns) as file:
        hasher = xxhash.xxh3_128()
        buffer = memoryview(bytearray(min(size, _AT_ONCE)))
        while count := file.readinto(buffer):
            hasher.update(buffer[:count])
    return hasher.digest()


def tail_of(path: bytes, size: int, mtime_ns: int) -> bytes:
    """The last bytes of a file that is as it was; `NotReadable` if it is not."""
    with _opened_as_it_was(path, size, mtime_ns) as file:
        file.seek(max(0, size - TAIL))
        return file.read(TAIL)


@contextlib.contextmanager
def _opened_as_it_was(path: bytes, size: int, mtime_ns: int) -> Iterator[io.FileIO]:
    """A file that has this size, and was changed then (or whenever, for -1), before it is read and after."""
    try:
        descriptor = open_file(path, _FLAGS | getattr(os, "O_NOFOLLOW", 0))
        with io.FileIO(descriptor) as file:
            before = _regular(descriptor)
            if before.st_size != size or mtime_ns not in (-1, before.st_mtime_ns):
                raise NotReadable("it was changed since it was scanned")
            yield file
            _refuse_changed(before, os.fstat(descriptor), size)
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error


def beginning_of(path: bytes) -> bytes:
    """The first megabyte of a file."""
    try:
        with io.FileIO(open_file(path, _FLAGS)) as file:
            _regular(file.fileno())
            return file.read(_AT_ONCE)
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error


def _regular(descriptor: int) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise NotReadable("it is no regular file any more")
    return status


def _refuse_changed(before: os.stat_result, after: os.stat_result, size: int) -> None:
    same = (before.st_size, before.st_mtime_ns, before.st_ino) == (
        *(after.st_size, after.st_mtime_ns, after.st_ino),
    )
    if not same or size != after.st_size:
        raise NotReadable("it was changed while it was read")
