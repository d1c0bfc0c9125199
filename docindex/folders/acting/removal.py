"""Remove or link the copies of a plan, after comparing each copy byte by byte with a kept file.

A file is first renamed to a name that nobody else knows, so that no other program replaces it. Then it and
the kept file are checked once more. Each change is atomic, and the journal records it before it is made. So
no content is lost, whatever interrupts this. Must never touch a file that is not what the plan says, a file
that is the kept file under another name, nor a file that another program is writing.
"""

import collections
import contextlib
import dataclasses
import os
import re
import secrets
import time
from collections.abc import Generator, Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Literal, Self

from docindex.errors import DiskFull, is_no_room
from docindex.folders.acting.compared_files import (
    CHANGED,
    SAME_FILE,
    OpenFile,
    check_time,
    link_obstacle,
    opened_copy,
    refuse_same_file,
    same_bytes,
)
from docindex.folders.acting.journal import Journal, JournalStep, act_lock
from docindex.folders.acting.places import Disk, FilePlace, locked, rename_no_replace, renames_safely
from docindex.folders.acting.restore import (
    KeptFile,
    move_into_place,
    probes,
    remove_probes,
    restore_interrupted,
    write_copy,
)
from docindex.folders.acting.trash import is_in_trash, to_trash
from docindex.folders.acting.write_guard import GUARDS, IN_USE, KEPT_IN_USE, Guard, WriteGuard
from docindex.folders.planning.copy_groups import CopyGroup, PlannedFile
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.system import file_facts, share_storage
from docindex.storage.file.safe_closing import close_descriptor

# Find the kind of file system that a file is on, and say what cannot be done safely there.
#
# Reads Linux's table of mounts; a system without one has no restrictions. Must never touch the file system in
# question.

_TABLE = "/proc/self/mountinfo"

_NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs"}
    | {"nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""File systems that another computer, or the host of a virtual machine, may change at the same time."""

_LOCAL_FUSE = frozenset(
    {"fuse.encfs", "fuse.exfat", "fuse.exfat-fuse", "fuse.fuse2fs", "fuse.gocryptfs", "fuse.lowntfs-3g"}
    | {"fuse.ntfs", "fuse.ntfs-3g", "fuse.securefs"}
)
"""Programs that provide a local file system. Any other such program may fetch its files from a network."""

_WITHOUT_LINKS = frozenset({"vfat", "msdos", "exfat", "fuse.exfat", "fuse.exfat-fuse"})


class Mounts:
    """The mounted file systems, as they were when this was made."""

    def __init__(self) -> None:
        try:
            lines = Path(_TABLE).read_bytes().splitlines()
        except OSError:
            lines = []
        # The last mount at a point hides those before it.
        self._kinds = dict(map(_mount, lines))

    def kind(self, path: bytes) -> str:
        """The kind of the file system that a path without links is on, such as "ext4"; "" if not known."""
        point = os.path.dirname(path)
        while point not in self._kinds:
            above = os.path.dirname(point)
            if above == point:
                return ""
            point = above
        return self._kinds[point]

    def obstacle(self, path: bytes, how: str) -> str | None:
        """Why copies at a path cannot be removed in this way without a risk; None if they can."""
        kind = self.kind(path)
        if how == "hardlink" and kind in _WITHOUT_LINKS:
            return f"its file system ({kind}) has no hard links"
        if how in ("hardlink", "delete") and _is_remote(kind):
            return (
                f"it is on a file system ({kind}) where others may be writing to it unseen; the trash would "
                "keep what they write"
            )
        return None


def _is_remote(kind: str) -> bool:
    return kind in _NETWORK or kind == "fuse" or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


def _mount(line: bytes) -> tuple[bytes, str]:
    """The point and the kind of a mount; see proc_pid_mountinfo(5)."""
    fields, _, rest = line.partition(b" - ")
    point = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), fields.split()[4])
    return point, rest.split(maxsplit=1)[0].decode("ascii", "replace")


How = Literal["trash", "hardlink", "reflink", "delete"]
"""Trash: move copies to the trash. Hardlink: replace copies by hard links to the kept file. Reflink: let
copies share the storage of the kept file, if the file system supports that (Btrfs, XFS). Delete: delete
copies."""

HOW: tuple[How, ...] = ("trash", "hardlink", "reflink", "delete")
"""Every value of `How`."""

_WATCH_S = 0.2
"""How long a removed file is watched for a program that had looked up its name, and opens it late. With five
busy programs a core, such a program runs again within a tenth of this time."""

_MOST_WATCHED = 64
"""Files; each needs four descriptors. As many steps take some tenths of a second."""

_BLOCK = 512
"""Bytes in a block of `st_blocks`."""

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
    freed: int = 0
    """The bytes of storage that this gives back: those of a file in the trash when the trash is emptied."""
    trashed: str | None = None
    """The key of the file in the trash, if it is there now."""
    guard: Guard | None = None
    """How it was made sure that no other program was writing to the file or to its copy that stays."""


def check_how(how: str) -> None:
    """`ValueError` unless this is a `How`."""
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(HOW)}, not {how!r}")


def remove_copies(
    groups: Iterable[CopyGroup],
    how: How,
    *,
    dry_run: bool,
    journal: Journal,
    staying: AbstractSet[tuple[int, int]] = frozenset(),
    watched: "WatchedRemovals | None" = None,
) -> Generator[FileOutcome, None, None]:
    """Remove or link the copies of a plan, and yield the outcome of each file.

    No file is removed that a group keeps, nor one in `staying`, by device and inode, whatever path leads to
    it. When the generator has ended, `watched` tells which of the removed files had to come back. First
    restores the files of an interrupted `act` with the same journal. With `dry_run` every check is
    made and no file is touched. `Busy` if another process runs `act` or `undo`, because each of two plans
    could remove the file that the other plan keeps. `DiskFull` if the disk of the journal or of the trash has
    no room: then that file is as it was, and no further file is touched.
    """
    check_how(how)
    groups = tuple(groups)
    kept = {file.identity for group in groups for file in group.kept}
    run = _Run(how, dry_run, journal, kept | staying, watched or WatchedRemovals())
    with contextlib.nullcontext() if dry_run else act_lock(), run.watched:
        for key in restore_interrupted(journal):
            yield FileOutcome(key, None, "restored", "an earlier act was interrupted while it worked on it")
        for group in groups:
            for file in group.others:
                run.watched.look()
                yield _remove_one(run, group, file)


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """One call of `remove_copies`: how it removes files, and what it knows about the file systems."""

    how: How
    dry_run: bool
    journal: Journal
    staying: AbstractSet[tuple[int, int]]
    """The files that must never be removed, by device and inode."""
    watched: "WatchedRemovals"
    mounts: Mounts = dataclasses.field(default_factory=Mounts)
    safe_devices: set[int] = dataclasses.field(default_factory=set)
    """The file systems that were found to rename files without replacing others."""
    names_gone: collections.Counter[tuple[int, int]] = dataclasses.field(default_factory=collections.Counter)
    """How many names of each file with several names were removed so far."""

    def freed(self, status: os.stat_result) -> int:
        """The storage that the removal of a file gives back: its blocks, unless it has another name."""
        size = getattr(status, "st_blocks", 0) * _BLOCK
        if self.how == "reflink" or status.st_nlink <= 1:
            return size
        if self.how != "trash" and not self.dry_run:
            return 0
        # A name in the trash still counts as a link, and a dry run removes no name.
        self.names_gone[status.st_dev, status.st_ino] += 1
        return size if self.names_gone[status.st_dev, status.st_ino] == status.st_nlink else 0

    def check_renaming(self, own: OpenFile, aside: FilePlace) -> None:
        """`NotReadable` if the file system might replace another file when this one comes back."""
        device = own.status.st_dev
        if device not in self.safe_devices:
            if not renames_safely(*probes(aside)):
                raise NotReadable("its file system cannot rename a file without replacing another one")
            self.safe_devices.add(device)


def _remove_one(run: _Run, group: CopyGroup, file: PlannedFile) -> FileOutcome:
    """Remove or link one file if a kept file has the same bytes, and nobody is writing to either of them."""
    reason = "no kept file has the same bytes any more"
    try:
        with contextlib.ExitStack() as opened:
            own = opened.enter_context(opened_copy(file))
            check_time(own, file)
            if (own.status.st_dev, own.status.st_ino) in run.staying:
                raise NotReadable(SAME_FILE)
            if obstacle := run.mounts.obstacle(own.place.path, run.how):
                raise NotReadable(obstacle)
            own_guard = opened.enter_context(_guarded(run, own, IN_USE))
            for candidate in group.kept:
                with contextlib.ExitStack() as kept_opened, contextlib.ExitStack() as held:
                    try:
                        kept = kept_opened.enter_context(opened_copy(candidate))
                    except (NotReadable, ValueError):
                        continue
                    if is_in_trash(kept.place.path):
                        continue
                    try:
                        kept_guard = held.enter_context(_guarded(run, kept, KEPT_IN_USE))
                    except NotReadable as error:
                        reason = str(error)
                        continue
                    guards = (own_guard, kept_guard)
                    if not same_bytes(own, kept, guards):
                        continue
                    refuse_same_file(own, kept)
                    if run.how == "hardlink" and (difference := link_obstacle(own, kept)):
                        reason = difference
                        continue
                    if not run.dry_run:
                        held.enter_context(locked(own.place, kept.place))
                    own.check_unchanged()
                    kept.check_unchanged()
                    outcome, removal = _apply(run, group.digest, own, kept, guards)
                    if removal is not None:
                        opened.push(kept_opened.pop_all())
                        run.watched.watch(removal, opened.pop_all())
                    return outcome
            raise NotReadable(reason)
    except (NotReadable, ValueError) as error:
        return FileOutcome(file.key, None, "left", str(error))
    except OSError as error:
        if is_no_room(error) and not run.dry_run:
            raise DiskFull(
                f"the disk is full: {file.key} was left as it is; free some space, and run act again",
                file.key,
            ) from error
        return FileOutcome(file.key, None, "left", error.strerror or str(error))


def _guarded(run: _Run, file: OpenFile, in_use: str) -> "contextlib.AbstractContextManager[WriteGuard]":
    """The guard of a file. While files come to share storage, the kernel guards them itself."""
    guard = file.guarded(in_use)
    return contextlib.nullcontext(guard) if run.how == "reflink" else guard


def _apply(
    run: _Run, digest: str, own: OpenFile, kept: OpenFile, guards: tuple[WriteGuard, WriteGuard]
) -> "tuple[FileOutcome, _Removal | None]":
    """Remove or link a file that was compared. The journal has its first line before the first change.

    Returns the removal, too, if a program that is about to open the file could still write to it in vain.
    """
    how, journal = run.how, run.journal
    outcome = FileOutcome(
        own.key,
        kept.key,
        "would be done" if run.dry_run else "done",
        size=own.status.st_size,
        guard="lease" if how == "reflink" else max((guard.guard for guard in guards), key=GUARDS.index),
    )
    if run.dry_run:
        return dataclasses.replace(outcome, freed=run.freed(own.status)), None
    if how == "reflink":
        _share(own, kept)
        return dataclasses.replace(outcome, freed=run.freed(own.status)), None
    number = secrets.token_hex(8)
    aside = own.place.beside(b".docindex-" + number.encode())
    step = JournalStep(
        number=number,
        act=journal.act,
        how=how,
        key=own.key,
        kept=kept.key,
        kept_path=key_of(kept.place.path),
        digest=digest,
        size=own.status.st_size,
        aside=key_of(aside.path),
        facts=file_facts(own.file.fileno()),
        disk=Disk.of(own.place),
        inode=(own.status.st_dev, own.status.st_ino),
        kept_inode=(kept.status.st_dev, kept.status.st_ino),
    )
    journal.begin(step)
    removal = _Removal(step, journal, own, kept, aside, guards)
    try:
        run.check_renaming(own, aside)
        trashed = removal.run()
    except BaseException as error:
        removal.revert()
        if isinstance(error, Exception) and aside.exists():  # an interrupt must stay an interrupt
            raise NotReadable(removal.why_left()) from error
        raise
    # The step is done even if the disk has no space for this line: `undo` checks the files themselves.
    with contextlib.suppress(OSError):
        journal.end(step, trashed)
    outcome = dataclasses.replace(outcome, freed=run.freed(own.status), trashed=trashed)
    # Under another name the file keeps what a program writes.
    is_gone = how != "trash" and not os.fstat(own.file.fileno()).st_nlink
    return outcome, removal if is_gone else None


class _Removal:
    """The removal of one file: rename it, check it, then trash, link or delete it. It can be reverted."""

    def __init__(
        self,
        step: JournalStep,
        journal: Journal,
        own: OpenFile,
        kept: OpenFile,
        aside: FilePlace,
        guards: tuple[WriteGuard, WriteGuard],
    ) -> None:
        self.key = step.key
        self._step = step
        self._journal = journal
        self._own = own
        self._kept = kept
        self._aside = aside
        self._own_guard, self._kept_guard = guards
        self._unlinking = False

    def run(self) -> str | None:
        """Remove the file, and return its key in the trash if it is there now."""
        own, kept, aside, how = self._own, self._kept, self._aside, self._step.how
        if how != "trash":
            os.fsync(kept.file.fileno())  # a copy that was just made may be in memory only
        own.place.rename(aside)
        own.check_is_at(aside)
        # If both paths lead to one file and the system does not say so, the kept file no longer exists.
        kept.check_unchanged()
        own.check_folder()
        kept.check_folder()
        self._own_guard.check(aside.path)
        self._kept_guard.check()
        if how == "trash":
            return key_of(to_trash(aside, own.place.path))
        if how == "hardlink":
            _link(own.place, aside, kept)
            kept.check_unchanged()
        self._unlinking = True  # before the call: an interrupt may come between the call and the next line
        aside.unlink()
        kept.check_unchanged()
        self._own_guard.check_lease()
        return None

    def late_writer(self) -> str | None:
        """Bring the file back if a program is opening it for writing; returns why it is not gone."""
        try:
            self._own_guard.check_lease()
        except NotReadable as error:
            with locked(self._own.place, self._kept.place):
                self.revert()
            return self.why_left() if self._aside.exists() else str(error)
        return None

    def why_left(self) -> str:
        """Why the file has its temporary name, and not its own."""
        return f"another file is at its path now; the old file is {self._step.aside}, and undo can restore it"

    def revert(self) -> None:
        """Bring the file back to its path, and note it; or leave it under its temporary name for `undo`."""
        step, own = self._step, self._own
        with contextlib.suppress(OSError, NotReadable):
            self._bring_back()
            if step.how != "trash" or own.place.identity() == step.inode:
                self._journal.settle(step, "reverted")

    def _bring_back(self) -> None:
        remove_probes(self._aside)
        own, aside, step = self._own, self._aside, self._step
        if self._unlinking and not aside.exists():
            # The file has no name any more. The kept file was changed in the same moment, a program opened
            # the file in the same moment, or somebody interrupted this.
            self._own_guard.wait_for_writer()
            own.file.seek(0)
            write_copy(own.file, aside.beside(aside.name + b".copy"), step.facts)
            rename_no_replace(aside.beside(aside.name + b".copy"), aside)
        if aside.exists():
            kept = KeptFile(self._kept.place, step.kept_inode, step.digest)
            move_into_place(aside, own.place, kept)


class WatchedRemovals:
    """The files that were removed last. On leaving its block, it waits until all were watched long enough."""

    def __init__(self) -> None:
        self.back: dict[str, str] = {}
        """Why a file is not gone, by its key: a program was opening it for writing."""
        self._watched: collections.deque[tuple[float, _Removal, contextlib.ExitStack]] = collections.deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            while self._watched:
                time.sleep(max(0.0, self._watched[0][0] - time.monotonic()))
                self.look()
        finally:
            for _until, _removal, opened in self._watched:  # an interrupt came
                opened.close()

    def watch(self, removal: _Removal, opened: contextlib.ExitStack) -> None:
        """Watch a file that was removed; what is `opened` for it is closed afterwards."""
        self._watched.append((time.monotonic() + _WATCH_S, removal, opened))

    def corrected(self, files: Iterable[FileOutcome]) -> tuple[FileOutcome, ...]:
        """The outcomes of an act, with what became of the files that are back."""
        return tuple(
            FileOutcome(file.key, None, "left", self.back[file.key])
            if file.outcome == "done" and file.key in self.back
            else file
            for file in files
        )

    def look(self) -> None:
        """Look at the files that were watched long enough, and at the oldest if they are too many."""
        while self._watched and (
            len(self._watched) > _MOST_WATCHED or time.monotonic() >= self._watched[0][0]
        ):
            _, removal, opened = self._watched.popleft()
            with contextlib.closing(opened):
                if why := removal.late_writer():
                    self.back[removal.key] = why


def _link(place: FilePlace, aside: FilePlace, kept: OpenFile) -> None:
    """Make a hard link to the kept file at the place of a file that was moved aside."""
    new = aside.beside(aside.name + b".new")
    try:
        kept.place.link(new)
        kept.check_is_at(new)
        rename_no_replace(new, place)
    finally:
        new.discard()


def _share(own: OpenFile, kept: OpenFile) -> None:
    """Let a file share the storage of the kept file; the kernel compares the bytes and changes no byte."""
    writable = own.place.open(os.O_RDWR)
    try:
        if not os.path.samestat(os.fstat(writable), own.status):
            raise NotReadable(CHANGED)
        try:
            is_shared = share_storage(kept.file.fileno(), writable, own.status.st_size)
        except OSError as error:
            raise NotReadable(_CANNOT_SHARE.format(error.strerror)) from error
        if not is_shared:
            raise NotReadable(CHANGED)
    finally:
        close_descriptor(writable)
