"""Bring back the files that the steps of a journal removed or linked.

A file comes back from the trash, or from its temporary name if the step was interrupted. A file that was
deleted or linked is copied from the kept file if that still has the same bytes. Must never replace a file
that is now at the path.
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Generator, Iterator
from typing import Literal, NamedTuple, Self

import xxhash

from docindex.folders.emptied_folders import FolderRestorer
from docindex.folders.file_reader import NotReadable, digest_of
from docindex.folders.journal import Journal, act_lock, open_steps
from docindex.folders.journal_steps import JournalStep
from docindex.folders.path_keys import path_of
from docindex.folders.system import NO_FOLLOW, READ_FLAGS, apply_facts, opened_for_reading, rename_no_replace
from docindex.folders.trash import from_trash

_PIECE = 1 << 20
_COPY, _OUT = b".copy", b".out"
_TAKEN = "another file is at its path now, and stays"


@dataclasses.dataclass(frozen=True, slots=True)
class UndoneFile:
    """The outcome of `undo` for the file of one step."""

    key: str
    outcome: Literal["undone", "would be undone", "left"]
    reason: str | None = None
    """Why the file was left as it is."""


def undo_steps(
    path: str | os.PathLike[str], journal: Journal, *, dry_run: bool
) -> Generator[UndoneFile, None, None]:
    """Undo the open steps of the journal at `path`, the last step first, and yield the outcome of each file.

    Records each undone step in `journal`. With `dry_run` no file is touched. `Busy` if another process runs
    `act` or `undo`.
    """
    folders = FolderRestorer(journal.path)
    with contextlib.nullcontext() if dry_run else act_lock(), contextlib.ExitStack() as last:
        last.callback(folders.finish)
        for step in reversed(open_steps(path)):
            try:
                folders.make_around(step.key)
                _restore(step, dry_run=dry_run)
            except (OSError, NotReadable) as error:
                reason = getattr(error, "strerror", None) or str(error)
                yield UndoneFile(step.key, "left", reason)
                continue
            reason = None
            try:
                journal.revoke(step)
            except OSError as error:
                reason = f"but this cannot be written to the journal: {error.strerror}"
            yield UndoneFile(step.key, "would be undone" if dry_run else "undone", reason)


def restore_interrupted(journal: Journal) -> Iterator[str]:
    """Restore each file that an interrupted step left at its temporary path, and yield its key."""
    if journal.path is None:
        return
    for step in open_steps(journal.path):
        with contextlib.suppress(OSError, NotReadable):  # `undo` will say why
            paths = _StepPaths.of(step)
            _clear(paths)
            if not step.is_done and os.path.lexists(paths.aside):
                _restore(step, dry_run=False)
                journal.revoke(step)
                yield step.key


class _StepPaths(NamedTuple):
    """The paths of a step."""

    path: bytes
    kept: bytes
    aside: bytes
    trashed: bytes | None

    @classmethod
    def of(cls, step: JournalStep) -> Self:
        trashed = None if step.trashed is None else path_of(step.trashed)
        return cls(path_of(step.key), path_of(step.kept), path_of(step.aside), trashed)


def _restore(step: JournalStep, *, dry_run: bool) -> None:
    """Bring a file back; `NotReadable` if that is not possible."""
    paths = _StepPaths.of(step)
    if not dry_run:
        _clear(paths)
    bring_back = _rest_of_rename(paths) or _way_back(step, paths)
    if not dry_run:
        bring_back()


def _rest_of_rename(paths: _StepPaths) -> Callable[[], None] | None:
    """The second step of a rename that takes two steps, if only the first step was made; else None."""
    for old in (paths.aside, paths.trashed):
        if old is not None and _is_link_to(old, paths.path):
            return functools.partial(os.unlink, old)
    return None


def _way_back(step: JournalStep, paths: _StepPaths) -> Callable[[], None]:
    """The call that brings the file of a step back; `NotReadable` if that is not possible."""
    path, kept, aside, trashed = paths
    is_aside = os.path.lexists(aside)
    if os.path.lexists(path) and not (step.how == "hardlink" and _is_link_to(path, kept)):
        raise NotReadable(f"{_TAKEN}; the old file is {step.aside}" if is_aside else _TAKEN)
    if is_aside:
        return functools.partial(move_into_place, aside, path, kept)
    if trashed is not None and _has_digest(trashed, step.digest):
        return functools.partial(from_trash, trashed, path)
    if _has_digest(kept, step.digest):
        return functools.partial(_copy_into_place, step, paths)
    raise NotReadable("the kept file is gone or has changed")


def _copy_into_place(step: JournalStep, paths: _StepPaths) -> None:
    new = paths.aside + _COPY
    try:
        _copy(paths.kept, new, step)
        move_into_place(new, paths.path, paths.kept)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def _clear(paths: _StepPaths) -> None:
    """Remove the temporary names that an interrupted `act` or `undo` left."""
    path, kept, aside, _ = paths
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside + _COPY)
    if _is_link_to(aside + b".new", kept):
        os.unlink(aside + b".new")
    for out in (aside + _OUT, aside + _COPY + _OUT):
        if os.path.lexists(out) and not os.path.lexists(path):
            rename_no_replace(out, path)  # it was renamed only to be checked
        elif _is_link_to(out, kept):
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
