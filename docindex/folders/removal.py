"""Remove or link the copies of a plan, after comparing each copy byte by byte with a kept file.

A file is first renamed to a name that nobody else knows, so that no other program replaces it. Then it and
the kept file are checked once more. Each change is atomic, and the journal records it before it is made. So
no content is lost, whatever interrupts this. Must never touch a file that is not what the plan says, nor a
file that is the kept file under another name.
"""

import contextlib
import dataclasses
import io
import itertools
import os
import secrets
import stat
from collections.abc import Generator, Iterable, Iterator
from typing import Literal

from docindex.folders.copy_groups import CopyGroup, PlannedFile
from docindex.folders.file_reader import NotReadable
from docindex.folders.journal import Journal, act_lock
from docindex.folders.journal_steps import JournalStep
from docindex.folders.path_keys import key_of, path_of
from docindex.folders.restore import move_into_place, restore_interrupted
from docindex.folders.system import (
    NO_FOLLOW,
    READ_FLAGS,
    FileFacts,
    apply_facts,
    extended_attributes,
    file_facts,
    open_file,
    opened_for_reading,
    rename_no_replace,
    share_storage,
)
from docindex.folders.trash import is_in_trash, to_trash
from docindex.storage.safe_closing import close_descriptor

How = Literal["trash", "hardlink", "reflink", "delete"]
"""Trash: move copies to the trash. Hardlink: replace copies by hard links to the kept file. Reflink: let
copies share the storage of the kept file, if the file system supports that (Btrfs, XFS). Delete: delete
copies."""

HOW: tuple[How, ...] = ("trash", "hardlink", "reflink", "delete")
"""Every value of `How`."""

_PIECE = 1 << 20
_CHANGED = "it was changed while it was compared"
_CANNOT_SHARE = "it cannot share storage with the kept file: {}"


@dataclasses.dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of `act` for one file."""

    key: str
    kept: str | None
    """The key of the copy that stays."""
    outcome: Literal["done", "would be done", "left", "restored"]
    """Restored: an earlier `act` was interrupted while it worked on this file; now the file is back."""
    reason: str | None = None
    """Why the file was left as it is, or restored."""
    size: int = 0
    trashed: str | None = None
    """The key of the file in the trash, if it is there now."""


def check_how(how: str) -> None:
    """`ValueError` unless this is a `How`."""
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(HOW)}, not {how!r}")


def remove_copies(
    groups: Iterable[CopyGroup], how: How, *, dry_run: bool, journal: Journal
) -> Generator[FileOutcome, None, None]:
    """Remove or link the copies of a plan, and yield the outcome of each file.

    First restores the files of an interrupted `act` with the same journal. With `dry_run` every check is made
    and no file is touched. `Busy` if another process runs `act` or `undo`, because each of two plans could
    remove the file that the other plan keeps.
    """
    check_how(how)
    with contextlib.nullcontext() if dry_run else act_lock():
        for key in restore_interrupted(journal):
            yield FileOutcome(key, None, "restored", "an earlier act was interrupted while it worked on it")
        for group in groups:
            for file in group.others:
                yield _remove_one(group, file, how, dry_run=dry_run, journal=journal)


@dataclasses.dataclass(frozen=True, slots=True)
class _OpenFile:
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
            raise NotReadable(_CHANGED)


_FACTS = ("st_dev", "st_ino", "st_size", "st_mtime_ns")


def _remove_one(
    group: CopyGroup, file: PlannedFile, how: How, *, dry_run: bool, journal: Journal
) -> FileOutcome:
    """Remove or link one file if a kept file has the same bytes."""
    reason = "no kept file has the same bytes any more"
    try:
        with _opened(file) as own:
            if own.status.st_mtime_ns != file.mtime_ns and file.mtime_ns != -1:
                raise NotReadable("it was changed since the plan was made")
            for candidate in group.kept:
                with contextlib.ExitStack() as stack:
                    kept = _opened_copy(stack, own, candidate)
                    if kept is None:
                        continue
                    _refuse_same_file(own, kept)
                    if how == "hardlink" and (difference := _difference(own, kept)):
                        reason = difference
                        continue
                    own.check_unchanged()
                    kept.check_unchanged()
                    if dry_run:
                        return FileOutcome(file.key, kept.key, "would be done", size=file.size)
                    return _apply(group.digest, own, kept, how, journal)
            raise NotReadable(reason)
    except (NotReadable, ValueError) as error:
        return FileOutcome(file.key, None, "left", str(error))
    except OSError as error:
        return FileOutcome(file.key, None, "left", error.strerror or str(error))


def _opened_copy(stack: contextlib.ExitStack, own: _OpenFile, candidate: PlannedFile) -> _OpenFile | None:
    """The open candidate, if it has the bytes of `own` and is not in the trash; else None."""
    try:
        kept = stack.enter_context(_opened(candidate))
    except (NotReadable, ValueError):
        return None
    return None if is_in_trash(kept.path) or not _same_bytes(own.file, kept.file) else kept


def _apply(digest: str, own: _OpenFile, kept: _OpenFile, how: How, journal: Journal) -> FileOutcome:
    """Remove or link a file that was compared. The journal has its first line before the first change."""
    size = own.status.st_size
    if how == "reflink":
        _share(own, kept)
        return FileOutcome(own.key, kept.key, "done", size=size)
    number = secrets.token_hex(8)
    aside = os.path.join(os.path.dirname(own.path), b".docindex-" + number.encode())
    facts = file_facts(own.file.fileno())
    step = JournalStep(number, how, own.key, kept.key, digest, key_of(aside), facts)
    journal.begin(step)
    removal = _Removal(own, kept, aside)
    try:
        trashed = removal.run(how)
    except BaseException as error:
        # If this fails, the file keeps its temporary name, and `undo` restores it.
        with contextlib.suppress(OSError, NotReadable):
            removal.revert(facts)
            if how != "trash" or _is_file_at(own.path, own.status):
                journal.revoke(step)
        if isinstance(error, Exception) and os.path.lexists(aside):  # an interrupt must stay an interrupt
            raise NotReadable(
                f"another file is at its path now; the old file is {key_of(aside)}, and undo can restore it"
            ) from error
        raise
    # The step is done even if the disk has no space for this line: `undo` checks the files themselves.
    with contextlib.suppress(OSError):
        journal.end(step, trashed)
    return FileOutcome(own.key, kept.key, "done", size=size, trashed=trashed)


class _Removal:
    """The removal of one file: rename it, check it, then trash, link or delete it. It can be reverted."""

    def __init__(self, own: _OpenFile, kept: _OpenFile, aside: bytes) -> None:
        self._own = own
        self._kept = kept
        self._aside = aside
        self._unlinking = False

    def run(self, how: How) -> str | None:
        """Remove the file, and return its key in the trash if it is there now."""
        own, kept, aside = self._own, self._kept, self._aside
        if how != "trash":
            os.fsync(kept.file.fileno())  # a copy that was just made may be in memory only
        os.rename(own.path, aside)
        own.check_is_at(aside)
        # If both paths lead to one file and the system does not say so, the kept file no longer exists.
        kept.check_unchanged()
        if how == "trash":
            return key_of(to_trash(aside, own.path))
        if how == "hardlink":
            _link(own.path, aside, kept)
            kept.check_unchanged()
        self._unlinking = True  # before the call: an interrupt may come between the call and the next line
        os.unlink(aside)
        kept.check_unchanged()
        return None

    def revert(self, facts: FileFacts) -> None:
        """Bring the file back to its path, unless another file is there now."""
        if self._unlinking and not os.path.lexists(self._aside):
            # The file has no name any more. The kept file was changed in the same moment, or somebody
            # interrupted this.
            _write_again(self._own, self._aside, facts)
        if os.path.lexists(self._aside):
            move_into_place(self._aside, self._own.path, self._kept.path)


def _link(path: bytes, aside: bytes, kept: _OpenFile) -> None:
    """Make a hard link to the kept file at the path of a file that was moved aside."""
    new = aside + b".new"
    try:
        os.link(kept.path, new, follow_symlinks=False)
        kept.check_is_at(new)
        rename_no_replace(new, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def _is_file_at(path: bytes, status: os.stat_result) -> bool:
    return os.path.lexists(path) and os.path.samestat(os.lstat(path), status)


def _write_again(own: _OpenFile, path: bytes, facts: FileFacts) -> None:
    """Write the bytes of an open file that has no name to a path: all bytes, or no file at all."""
    part = path + b".copy"
    own.file.seek(0)
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as again:
            for piece in _pieces(own.file):
                again.write(piece)
            again.flush()
            apply_facts(again.fileno(), facts)
            os.fsync(again.fileno())
        rename_no_replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


@contextlib.contextmanager
def _opened(file: PlannedFile) -> Iterator[_OpenFile]:
    """The open file; `NotReadable` unless it is a regular file of the planned size."""
    path = path_of(file.key)
    with contextlib.ExitStack() as stack:
        try:
            opened = stack.enter_context(opened_for_reading(path, READ_FLAGS | NO_FOLLOW))
        except FileNotFoundError as error:
            raise NotReadable("it is already gone") from error
        except OSError as error:
            raise NotReadable(error.strerror or str(error)) from error
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotReadable("it is not a regular file any more")
        if status.st_size != file.size:
            raise NotReadable("it was changed since the plan was made")
        yield _OpenFile(file.key, path, opened, status)


def _same_bytes(a: io.FileIO, b: io.FileIO) -> bool:
    a.seek(0)
    b.seek(0)
    return all(own == other for own, other in itertools.zip_longest(_pieces(a), _pieces(b)))


def _pieces(file: io.FileIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        # A raw read may return fewer bytes than requested, and a different number for each file.
        while len(piece) < _PIECE and (more := file.read(_PIECE - len(piece))):
            piece += more
        yield piece


def _refuse_same_file(own: _OpenFile, kept: _OpenFile) -> None:
    a, b = own.status, kept.status
    same = (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
    # An overlay file system shows the files of another file system as its own. Then the devices differ, but
    # the times agree, also the time of the last change of the inode, which no program can set.
    same_times = (a.st_mtime_ns, a.st_ctime_ns) == (b.st_mtime_ns, b.st_ctime_ns)
    if same or (same_times and a.st_dev != b.st_dev):
        raise NotReadable("it is the kept file itself, under another name")


def _difference(own: _OpenFile, kept: _OpenFile) -> str | None:
    """Why a link to the kept file cannot replace a file; None if it can."""
    if own.status.st_dev != kept.status.st_dev:
        return "it is on another file system than the kept file"
    facts = [(file.status.st_mode, file.status.st_uid, file.status.st_gid) for file in (own, kept)]
    attributes = [extended_attributes(file.file.fileno()) for file in (own, kept)]
    # A link would change who can read, change or run the file.
    if facts[0] != facts[1] or attributes[0] != attributes[1]:
        return "its owner, mode or attributes differ from those of the kept file"
    return None


def _share(own: _OpenFile, kept: _OpenFile) -> None:
    """Let a file share the storage of the kept file; the kernel compares the bytes and changes no byte."""
    writable = open_file(own.path, os.O_RDWR | NO_FOLLOW)
    try:
        if not os.path.samestat(os.fstat(writable), own.status):
            raise NotReadable(_CHANGED)
        try:
            is_shared = share_storage(kept.file.fileno(), writable, own.status.st_size)
        except OSError as error:
            raise NotReadable(_CANNOT_SHARE.format(error.strerror)) from error
        if not is_shared:
            raise NotReadable(_CHANGED)
    finally:
        close_descriptor(writable)
