"""Bring back the files that the steps of a journal removed or linked, as far as that is possible.

A file comes back from the trash, or from where an interrupted step left it. A file that was deleted or linked
is made again from the kept copy, if that still has the same bytes. Must never replace a file that has taken
the path of another one.
"""

import contextlib
import dataclasses
import os
from collections.abc import Generator, Iterator
from typing import Any, Literal

import xxhash

from docindex.folders.file_reader import NotReadable, digest_of
from docindex.folders.journal import Journal, act_lock, open_steps
from docindex.folders.path_keys import path_of
from docindex.folders.system import NO_FOLLOW, apply_facts, rename_no_replace
from docindex.folders.trash import from_trash

_PIECE = 1 << 20
_COPY, _OUT = b".copy", b".out"
_TAKEN = "another file has its path by now, and stays"


@dataclasses.dataclass(frozen=True, slots=True)
class UndoneFile:
    """What `undo` did with the file of one step."""

    key: str
    outcome: Literal["undone", "would be undone", "left"]
    reason: str | None = None
    """Why the file was left as it is."""


def undo_steps(
    path: str | os.PathLike[str], journal: Journal, *, dry_run: bool
) -> Generator[UndoneFile, None, None]:
    """Undo the steps that the journal at a path has, the last one first, and yield what became of each file.

    What was undone is written to `journal`. `Busy` if another process is at it. With `dry_run` no file is touched.
    """
    with contextlib.nullcontext() if dry_run else act_lock():
        for step, facts in reversed(open_steps(path).items()):
            try:
                _restore(facts, dry_run=dry_run)
            except (OSError, NotReadable) as error:
                reason = getattr(error, "strerror", None) or str(error)
                yield UndoneFile(facts["key"], "left", reason)
                continue
            reason = None
            try:
                journal.write(undone=step)
            except OSError as error:
                reason = f"but this cannot be written to the journal: {error.strerror}"
            yield UndoneFile(facts["key"], "would be undone" if dry_run else "undone", reason)


def restore_interrupted(journal: Journal) -> Iterator[str]:
    """Put back each file that an interrupted process had moved aside, and yield its key."""
    if journal.path is None:
        return
    for step, facts in open_steps(journal.path).items():
        with contextlib.suppress(OSError, NotReadable):  # then `undo` tells why
            _clear(*(path_of(facts[name]) for name in ("aside", "key", "kept")))
            if not facts["done"] and _is_aside(facts):
                _restore(facts, dry_run=False)
                journal.write(undone=step)
                yield facts["key"]


def _is_aside(facts: dict[str, Any]) -> bool:
    return os.path.lexists(path_of(facts["aside"]))


def _restore(facts: dict[str, Any], *, dry_run: bool) -> None:
    """Bring a file back; `NotReadable` if that is not possible or not needed."""
    path, kept, aside = (path_of(facts[name]) for name in ("key", "kept", "aside"))
    if not dry_run:
        _clear(aside, path, kept)
    if _came_back(facts, path, dry_run=dry_run):
        return
    if os.path.lexists(path) and not (facts["begun"] == "hardlink" and _is_link_to(path, kept)):
        where = f"; the file that was there is {facts['aside']}" if _is_aside(facts) else ""
        raise NotReadable(f"{_TAKEN}{where}")
    trashed = facts.get("trashed")
    if os.path.lexists(aside):
        if not dry_run:
            move_into_place(aside, path, kept)
    elif trashed is not None and _has_digest(path_of(trashed), facts["digest"]):
        if not dry_run:
            from_trash(path_of(trashed), path)
    elif not _has_digest(kept, facts["digest"]):
        raise NotReadable("the kept copy is gone or has other bytes by now")
    elif not dry_run:
        _copy_into_place(facts, aside + _COPY, path, kept)


def _came_back(facts: dict[str, Any], path: bytes, *, dry_run: bool) -> bool:
    """Whether a file is back, by a rename in two steps whose second one is made now."""
    for old in (facts["aside"], facts.get("trashed")):
        if old is not None and _is_link_to(path_of(old), path):
            if not dry_run:
                os.unlink(path_of(old))
            return True
    return False


def _copy_into_place(facts: dict[str, Any], new: bytes, path: bytes, kept: bytes) -> None:
    try:
        _copy(kept, new, facts)
        move_into_place(new, path, kept)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def _clear(aside: bytes, path: bytes, kept: bytes) -> None:
    """Remove the temporary names that an interrupted `act` or `undo` left."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside + _COPY)
    if _is_link_to(aside + b".new", kept):
        os.unlink(aside + b".new")
    for out in (aside + _OUT, aside + _COPY + _OUT):
        if os.path.lexists(out) and not os.path.lexists(path):
            rename_no_replace(out, path)  # it was renamed only to be looked at
        elif _is_link_to(out, kept):
            os.unlink(out)


def move_into_place(new: bytes, path: bytes, kept: bytes) -> None:
    """Rename a file to a path. A link to the kept file there is removed; any other file there stays.

    `NotReadable` or `FileExistsError` if another file has the path.
    """
    if os.path.lexists(path):
        out = new + _OUT
        os.rename(path, out)  # now it is certain which file it is
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
    """Whether a path is a hard link to the kept file; a symbolic link is not."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(kept))
    except OSError:
        return False


def _has_digest(path: bytes, digest: str) -> bool:
    try:
        return digest_of(path, os.stat(path).st_size, -1).hex() == digest
    except (OSError, NotReadable):
        return False


def _copy(source: bytes, target: bytes, facts: dict[str, Any]) -> None:
    """Copy a file and give the copy its former owner, mode, time and attributes.

    Nobody else can read the copy before it has its mode. `NotReadable` if the bytes do not have the digest.
    """
    hasher = xxhash.xxh3_128()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
    with open(source, "rb") as file, open(descriptor, "wb") as copy:
        while piece := file.read(_PIECE):
            hasher.update(piece)
            copy.write(piece)
        copy.flush()
        if hasher.hexdigest() != facts["digest"]:
            raise NotReadable("the kept copy has other bytes by now")
        apply_facts(copy.fileno(), facts)
        os.fsync(copy.fileno())
