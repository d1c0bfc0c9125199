"""Open the files of a group of copies, guard them against writers, and compare them byte by byte.

Takes planned files; raises `NotReadable` with the reason why a file cannot be compared. Must never follow a
symbolic link, nor change a file.
"""

import contextlib
import dataclasses
import io
import itertools
import os
import stat
from collections.abc import Iterator

from docindex.folders.copy_groups import PlannedFile
from docindex.folders.file_reader import NotReadable
from docindex.folders.path_keys import path_of
from docindex.folders.system import NO_FOLLOW, READ_FLAGS, extended_attributes, opened_for_reading
from docindex.folders.write_guard import WriteGuard

GONE = "already gone"
CHANGED = "it was changed while it was compared"
_CHANGED_SINCE = "it was changed since the plan was made"

_PIECE = 1 << 20
_FACTS = ("st_dev", "st_ino", "st_size", "st_mtime_ns")


@dataclasses.dataclass(frozen=True, slots=True)
class OpenFile:
    """An open regular file, with its status before anything was read."""

    key: str
    path: bytes
    file: io.FileIO
    status: os.stat_result

    def check_unchanged(self) -> None:
        """`NotReadable` unless the path still names this file, and the file is as it was."""
        self.check_is_at(self.path)

    def check_is_at(self, path: bytes) -> None:
        """`NotReadable` unless this path names this file, and the file is as it was when it was opened."""
        try:
            now = os.stat(path, follow_symlinks=False)
        except OSError as error:
            raise NotReadable("it or the kept file was moved away while they were compared") from error
        if any(getattr(now, fact) != getattr(self.status, fact) for fact in _FACTS):
            raise NotReadable(CHANGED)

    def guarded(self, in_use: str) -> WriteGuard:
        """The guard against writers of this file, to be entered; `in_use` is its reason."""
        return WriteGuard(self.file.fileno(), self.path, in_use)


@contextlib.contextmanager
def opened_copy(file: PlannedFile) -> Iterator[OpenFile]:
    """The open file; `NotReadable` unless it is a regular file of the planned size and time."""
    path = path_of(file.key)
    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(opened_for_reading(path, READ_FLAGS | NO_FOLLOW))
        except FileNotFoundError as error:
            raise NotReadable(GONE) from error
        except OSError as error:
            raise NotReadable(error.strerror or str(error)) from error
        status = os.fstat(found.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotReadable("it is not a regular file any more")
        if status.st_size != file.size:
            raise NotReadable(_CHANGED_SINCE)
        yield OpenFile(file.key, path, found, status)


def check_time(own: OpenFile, file: PlannedFile) -> None:
    """`NotReadable` if a file has another time than the plan says."""
    if file.mtime_ns not in (own.status.st_mtime_ns, -1):
        raise NotReadable(_CHANGED_SINCE)


def same_bytes(own: OpenFile, kept: OpenFile, guards: tuple[WriteGuard, ...]) -> bool:
    """Whether two files have the same bytes; `NotReadable` as soon as a guard reports a writer."""
    for file in (own.file, kept.file):
        file.seek(0)
    for piece, other in itertools.zip_longest(pieces(own.file), pieces(kept.file)):
        for guard in guards:
            guard.check_lease()
        if piece != other:
            return False
    return True


def pieces(file: io.FileIO) -> Iterator[bytes]:
    """The bytes of a file from its present position, in pieces of 1 MB; the last piece may be shorter."""
    while piece := file.read(_PIECE):
        # A raw read may return fewer bytes than requested, and a different number for each file.
        while len(piece) < _PIECE and (more := file.read(_PIECE - len(piece))):
            piece += more
        yield piece


def refuse_same_file(own: OpenFile, kept: OpenFile) -> None:
    """`NotReadable` if both are one file under two names."""
    a, b = own.status, kept.status
    same = (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
    # An overlay file system shows the files of another file system as its own. Then the devices differ, but
    # the times agree, also the time of the last change of the inode, which no program can set.
    same_times = (a.st_mtime_ns, a.st_ctime_ns) == (b.st_mtime_ns, b.st_ctime_ns)
    if same or (same_times and a.st_dev != b.st_dev):
        raise NotReadable("it is the kept file itself, under another name")


def link_obstacle(own: OpenFile, kept: OpenFile) -> str | None:
    """Why a link to the kept file cannot replace a file; None if it can."""
    if own.status.st_dev != kept.status.st_dev:
        return "it is on another file system than the kept file"
    facts = [(file.status.st_mode, file.status.st_uid, file.status.st_gid) for file in (own, kept)]
    attributes = [extended_attributes(file.file.fileno()) for file in (own, kept)]
    # A link would change who can read, change or run the file.
    if facts[0] != facts[1] or attributes[0] != attributes[1]:
        return "its owner, mode or attributes differ from those of the kept file"
    return None
