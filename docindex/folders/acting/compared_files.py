"""Open the files of a group of copies, guard them against writers, and compare them byte by byte.

Takes planned files; raises `NotReadable` with the reason why a file cannot be compared. The folder of a file
stays open with it, so that whatever is done to the file later is done there. Must never follow a symbolic
link, nor change a file.
"""

import contextlib
import dataclasses
import io
import itertools
import os
import stat
from collections.abc import Iterator

from docindex.folders.acting.places import FilePlace, place_at
from docindex.folders.acting.write_guard import WriteGuard
from docindex.folders.planning.copy_groups import PlannedFile
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of, path_of
from docindex.folders.walking.system import READ_FLAGS, extended_attributes
from docindex.storage.file.safe_closing import close_descriptor

GONE = "already gone"
CHANGED = "it was changed while it was compared"
SAME_FILE = "the plan keeps this file under another name"
_CHANGED_SINCE = "it was changed since the plan was made"
_REPLACED_SINCE = (
    "it is not the file in the plan: it was replaced, or its disk was mounted again; make a new plan"
)

_PIECE = 1 << 20
_FACTS = ("st_dev", "st_ino", "st_size", "st_mtime_ns")


@dataclasses.dataclass(frozen=True, slots=True)
class OpenFile:
    """An open regular file, with its status before anything was read."""

    key: str
    place: FilePlace
    file: io.FileIO
    status: os.stat_result

    def check_unchanged(self) -> None:
        """`NotReadable` unless the file still has its name, and is as it was."""
        self.check_is_at(self.place)

    def check_is_at(self, place: FilePlace) -> None:
        """`NotReadable` unless this file is at a place, and is as it was when it was opened."""
        try:
            now = place.status()
        except OSError as error:
            raise NotReadable("it or the kept file was moved away while they were compared") from error
        if any(getattr(now, fact) != getattr(self.status, fact) for fact in _FACTS):
            raise NotReadable(CHANGED)

    def check_folder(self) -> None:
        """`NotReadable` unless the path of its folder still leads to that folder."""
        if not self.place.is_in_its_folder():
            raise NotReadable(f"the folder of {key_of(self.place.path)} was moved while act was working")

    def guarded(self, in_use: str) -> WriteGuard:
        """The guard against writers of this file, to be entered; `in_use` is its reason."""
        return WriteGuard(self.file.fileno(), self.place.path, in_use)


@contextlib.contextmanager
def opened_copy(file: PlannedFile) -> Iterator[OpenFile]:
    """The open file; `NotReadable` unless it is the planned file, regular, and of the planned size."""
    with contextlib.ExitStack() as stack:
        try:
            place = stack.enter_context(place_at(path_of(file.real or file.key)))
            descriptor = place.open(READ_FLAGS)
        except FileNotFoundError as error:
            raise NotReadable(GONE) from error
        except OSError as error:
            raise NotReadable(error.strerror or str(error)) from error
        stack.callback(close_descriptor, descriptor)
        found = io.FileIO(descriptor, closefd=False)
        status = os.fstat(found.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotReadable("it is not a regular file any more")
        if status.st_size != file.size:
            raise NotReadable(_CHANGED_SINCE)
        if (status.st_dev, status.st_ino) != file.identity:
            raise NotReadable(_REPLACED_SINCE)
        yield OpenFile(file.key, place, found, status)


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
        raise NotReadable(SAME_FILE)


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
