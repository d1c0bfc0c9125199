"""Bring back the files that the steps of a journal removed or linked.

A file comes back from the trash, or from its temporary name if the step was interrupted. A file that was
deleted or linked is copied from the kept file if that still has the same bytes. Must never replace a file
that is now at the path, nor restore other bytes than the newest without saying so.
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Literal, NamedTuple, Self

import xxhash

from docindex.errors import DiskFull, is_no_room
from docindex.folders.emptied_folders import FolderRestorer
from docindex.folders.file_reader import NotReadable, digest_of
from docindex.folders.journal import Journal, act_lock, all_steps
from docindex.folders.journal_steps import JournalStep
from docindex.folders.path_keys import key_of, path_of
from docindex.folders.system import NO_FOLLOW, READ_FLAGS, apply_facts, opened_for_reading, rename_no_replace
from docindex.folders.trash import found_in_trash, from_trash, is_named_in_trash

_PIECE = 1 << 20
_COPY, _OUT = b".copy", b".out"
_TAKEN = "another file is at its path now, and stays"


@dataclasses.dataclass(frozen=True, slots=True)
class UndoneFile:
    """The outcome of `undo` for the file of one step."""

    key: str
    outcome: Literal["undone", "would be undone", "already back", "left"]
    """Already back: the file is at its path with the same bytes, although `undo` did not restore it."""
    reason: str | None = None
    """Why the file was left as it is, or how the restored file differs from the one that was removed."""
    size: int = 0

    @property
    def is_back(self) -> bool:
        """Whether the file is back at its path, or would be."""
        return self.outcome != "left"


def undo_steps(
    steps: Iterable[JournalStep], journal: Journal, *, dry_run: bool
) -> Generator[UndoneFile, None, None]:
    """Undo steps in the given order, and yield the outcome of each file.

    Records in `journal` that a step is undone, or that it cannot be undone because its bytes are gone or
    another file has its place. With `dry_run` no file is touched. `Busy` if another process runs `act` or
    `undo`; `DiskFull` if there is no room for a copy.
    """
    folders = FolderRestorer(journal.path)
    with contextlib.nullcontext() if dry_run else act_lock(), contextlib.ExitStack() as last:
        last.callback(folders.finish)
        for step in steps:
            try:
                folders.make_around(step.key)
                yield _undo_one(step, journal, dry_run=dry_run)
            except OSError as error:
                if is_no_room(error) and not dry_run:
                    raise DiskFull(
                        f"the disk is full: {step.key} is not restored; free some space, and run undo again",
                        step.key,
                    ) from error
                yield UndoneFile(step.key, "left", error.strerror or str(error), step.size)


def _undo_one(step: JournalStep, journal: Journal, *, dry_run: bool) -> UndoneFile:
    """Undo one step, and record that; `OSError` if that is not possible now."""
    try:
        remark = _restore(step, dry_run=dry_run)
    except _Final as error:
        with contextlib.suppress(OSError):  # then the next undo says it again
            journal.settle(step, "given up")
        return UndoneFile(step.key, "left", str(error), step.size)
    except NotReadable as error:
        return UndoneFile(step.key, "left", str(error), step.size)
    try:
        journal.settle(step, "undone")
    except OSError as error:
        remark = f"but this cannot be written to the journal: {error.strerror}"
    if remark == _BACK:
        return UndoneFile(step.key, "already back", None, step.size)
    return UndoneFile(step.key, "would be undone" if dry_run else "undone", remark, step.size)


def restore_interrupted(journal: Journal) -> Iterator[str]:
    """Restore each file that an interrupted step left at its temporary path, and yield its key."""
    if journal.path is None:
        return
    for step in all_steps(journal.path):
        if not step.is_open:
            continue
        with contextlib.suppress(OSError, NotReadable):  # `undo` will say why
            paths = _StepPaths.of(step)
            _clear(paths, step.kept_inode)
            if step.state == "begun" and os.path.lexists(paths.aside):
                _restore(step, dry_run=False)
                journal.settle(step, "reverted")
                yield step.key
            elif step.state == "begun" and _is_inode(paths.path, step.inode):
                journal.settle(step, "reverted")  # it was interrupted before its first change


class _Final(NotReadable):
    """A file cannot be brought back, and another attempt would not help."""


class _StepPaths(NamedTuple):
    """The paths of a step."""

    path: bytes
    kept: bytes
    aside: bytes
    trashed: bytes | None

    @classmethod
    def of(cls, step: JournalStep) -> Self:
        path = path_of(step.key)
        trashed = None if step.trashed is None else path_of(step.trashed)
        if step.how == "trash" and step.state == "begun":
            # It may have been interrupted after it moved the file, and before it could record that.
            trashed = found_in_trash(path, step.inode)
        return cls(path, path_of(step.kept), path_of(step.aside), trashed)


_BACK = "the same bytes are at its path"
_WRITTEN_LATER = "with the changes that a program made after it was removed"


def _restore(step: JournalStep, *, dry_run: bool) -> str | None:
    """Bring a file back, and return how it differs from the file that was removed, if it does.

    Returns `_BACK` if it is back already. `NotReadable` if it cannot be brought back.
    """
    paths = _StepPaths.of(step)
    if not dry_run:
        _clear(paths, step.kept_inode)
    bring_back = _rest_of_rename(paths)
    remark = None
    if bring_back is None:
        bring_back, remark = _way_back(step, paths)
    if not dry_run:
        bring_back()
    return remark


def _rest_of_rename(paths: _StepPaths) -> Callable[[], None] | None:
    """The second step of a rename that takes two steps, if only the first step was made; else None."""
    for old in (paths.aside, paths.trashed):
        if old is not None and _is_link_to(old, paths.path):
            return functools.partial(os.unlink, old)
    return None


def _way_back(step: JournalStep, paths: _StepPaths) -> tuple[Callable[[], None], str | None]:
    """The call that brings the file of a step back, and how the file then differs from the removed one.

    `NotReadable` if the file cannot be brought back.
    """
    path, kept, aside, trashed = paths
    is_aside = os.path.lexists(aside)
    if not is_aside and _is_link_without_kept(step, paths):
        return functools.partial(_separate, step, paths), None
    if os.path.lexists(path) and not (step.how == "hardlink" and _is_link_to(path, kept)):
        if is_aside:
            raise NotReadable(f"{_TAKEN}; the old file is {step.aside}")
        if not os.path.islink(path) and _has_digest(path, step.digest):
            return _nothing, _BACK
        raise _Final(_TAKEN)
    if is_aside:
        return functools.partial(move_into_place, aside, path, kept), None
    in_trash = trashed is not None and os.path.lexists(trashed)
    if trashed is not None and in_trash:
        is_same = _has_digest(trashed, step.digest)
        if is_same or (_is_inode(trashed, step.inode) and is_named_in_trash(trashed, path)):
            return functools.partial(from_trash, trashed, path), None if is_same else _WRITTEN_LATER
    if _has_digest(kept, step.digest):
        remark = None
        if trashed is not None:
            found = (
                "another file has its name in the trash" if in_trash else "it is not in the trash any more"
            )
            remark = f"as a copy of {step.kept}, because {found}"
        return functools.partial(_copy_into_place, step, paths), remark
    other = f"; {key_of(trashed)} has other bytes" if trashed is not None and in_trash else ""
    raise _Final(f"the kept file is gone or has changed{other}")


def _is_link_without_kept(step: JournalStep, paths: _StepPaths) -> bool:
    """Whether the link that `act` made is at its path, but no longer leads to what is the kept file now.

    So it is if the same act, or anything later, removed or replaced the kept file.
    """
    return (
        step.how == "hardlink"
        and _is_inode(paths.path, step.kept_inode)
        and not _is_link_to(paths.path, paths.kept)
        and _has_digest(paths.path, step.digest)
    )


def _separate(step: JournalStep, paths: _StepPaths) -> None:
    """Make the link that `act` made a file of its own again, with its former time and mode."""
    path, new, old = paths.path, paths.aside + _COPY, paths.aside + _OUT
    with opened_for_reading(path, READ_FLAGS) as file:
        if (status := os.fstat(file.fileno())).st_nlink == 1:
            apply_facts(file.fileno(), step.facts)
            return
    try:
        _copy(path, new, step)
        os.rename(path, old)  # now nobody else can replace it
        if not _is_inode(old, (status.st_dev, status.st_ino)):
            rename_no_replace(old, path)
            raise NotReadable(_TAKEN)
        rename_no_replace(new, path)
        os.unlink(old)  # it has other names
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def _nothing() -> None:
    """There is nothing to do."""


def _is_inode(path: bytes, inode: tuple[int, int]) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == inode


def probe_paths(aside: bytes) -> tuple[bytes, bytes]:
    """The paths of the empty file with which a step finds out how its file system renames files."""
    return aside + b".probe", aside + b".probed"


def remove_probes(aside: bytes) -> None:
    """Remove the empty file of a step that was interrupted while it tried to rename it."""
    for probe in probe_paths(aside):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(probe)


def _copy_into_place(step: JournalStep, paths: _StepPaths) -> None:
    new = paths.aside + _COPY
    try:
        _copy(paths.kept, new, step)
        move_into_place(new, paths.path, paths.kept)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def _clear(paths: _StepPaths, kept_inode: tuple[int, int]) -> None:
    """Remove the temporary names that an interrupted `act` or `undo` left."""
    path, kept, aside, _ = paths
    remove_probes(aside)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside + _COPY)
    if _is_link_to(aside + b".new", kept):
        os.unlink(aside + b".new")
    for out in (aside + _OUT, aside + _COPY + _OUT):
        if os.path.lexists(out) and not os.path.lexists(path):
            rename_no_replace(out, path)  # it was renamed only to be checked
        elif _is_link_to(out, kept) or (_is_inode(out, kept_inode) and os.lstat(out).st_nlink > 1):
            os.unlink(out)


def move_into_place(new: bytes, path: bytes, kept: bytes) -> None:
    """Rename a file to a path. A link to the kept file at that path is removed; another file stays.

    `NotReadable` or `FileExistsError` if another file is at the path.
    """
    if os.path.lexists(path):
        out = new + _OUT
        os.rename(path, out)  # now nobody else can replace it
        if not _is_link_to(out, kept):
            rename_no_replace(out, path)
            raise NotReadable(_TAKEN)
        try:
            rename_no_replace(new, path)
        finally:
            os.unlink(out)
    else:
        rename_no_replace(new, path)


def _is_link_to(path: bytes, kept: bytes) -> bool:
    """Whether a path is a hard link to the kept file. A symbolic link is not."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(kept))
    except OSError:
        return False


def _has_digest(path: bytes, digest: str) -> bool:
    try:
        return digest_of(path, os.stat(path).st_size, -1).hex() == digest
    except (OSError, NotReadable):
        return False


def _copy(source: bytes, target: bytes, step: JournalStep) -> None:
    """Copy a file and give the copy its former owner, mode, time and attributes.

    Nobody else can read the copy before it has its mode. `NotReadable` if the bytes do not have the digest.
    """
    hasher = xxhash.xxh3_128()
    with opened_for_reading(source, READ_FLAGS) as file:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
        with open(descriptor, "wb") as copy:
            while piece := file.read(_PIECE):
                hasher.update(piece)
                copy.write(piece)
            copy.flush()
            if hasher.hexdigest() != step.digest:
                raise NotReadable("the kept file has changed")
            apply_facts(copy.fileno(), step.facts)
            os.fsync(copy.fileno())
