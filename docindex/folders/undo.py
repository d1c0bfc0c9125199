"""A journal in, files as they were before out, as far as that is possible.

What went to the trash comes back from there, what was stopped halfway from where it lies. What was deleted or
linked is made again from the copy that was kept, if that still has the very bytes. Must never replace a file
that has come in the place of one.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from typing import Any, Literal

import xxhash

from docindex.folders.attributes import give
from docindex.folders.file_reader import NotReadable, digest_of
from docindex.folders.journal import Journal, alone, steps
from docindex.folders.path_keys import path_of
from docindex.folders.system import rename_no_replace
from docindex.folders.trash import from_trash

_AT_ONCE = 1 << 20
_COPY, _OUT = b".copy", b".out"


@dataclasses.dataclass(frozen=True, slots=True)
class Undone:
    """What became of one step of a journal."""

    key: str
    outcome: Literal["undone", "would be undone", "left"]
    why: str | None = None
    """Why it was left."""


def undo(journal: str | os.PathLike[str], *, dry_run: bool) -> Iterator[Undone]:
    """Undo the steps of a journal that were not undone yet, the last one first."""
    with contextlib.ExitStack() as stack:
        if not dry_run:
            stack.enter_context(alone())
        written = stack.enter_context(Journal(None if dry_run else journal))
        for step, facts in reversed(steps(journal).items()):
            try:
                _restore(facts, dry_run=dry_run)
            except (OSError, NotReadable) as error:
                yield Undone(facts["key"], "left", getattr(error, "strerror", None) or str(error))
                continue
            why = None
            try:
                written.write(undone=step)
            except OSError as error:
                why = f"but the journal cannot say so: {error.strerror}"
            yield Undone(facts["key"], "would be undone" if dry_run else "undone", why)


def put_back(journal: Journal) -> Iterator[str]:
    """Put back what lies aside because whoever moved it there was stopped; gives the keys of those files."""
    if journal.path is None:
        return
    for step, facts in steps(journal.path).items():
        with contextlib.suppress(OSError, NotReadable):  # then `undo` says why
            _clear(*(path_of(facts[name]) for name in ("aside", "key", "kept")))
            if not facts["done"] and _lies_aside(facts):
                _restore(facts, dry_run=False)
                journal.write(undone=step)
                yield facts["key"]


def _lies_aside(facts: dict[str, Any]) -> bool:
    return os.path.lexists(path_of(facts["aside"]))


def _restore(facts: dict[str, Any], *, dry_run: bool) -> None:
    """Bring a file back; `NotReadable` if that cannot be, or need not."""
    path, kept = path_of(facts["key"]), path_of(facts["kept"])
    aside = path_of(facts["aside"])
    if not dry_run:
        _clear(aside, path, kept)
    for lying in (facts["aside"], facts.get("trashed")):
        if lying is not None and _is_link_to(path_of(lying), path):
            # It came back by two steps, of which the second was not made.
            if not dry_run:
                os.unlink(path_of(lying))
            return
    taken = os.path.lexists(path) and not (facts["begun"] == "hardlink" and _is_link_to(path, kept))
    if taken:
        where = f"; what was there is {facts['aside']}" if _lies_aside(facts) else ""
        raise NotReadable(f"there is a file of that name, which stays{where}")
    if os.path.lexists(aside):
        if not dry_run:
            put(aside, path, kept)
        return
    trashed = facts.get("trashed")
    if trashed is not None and _has(path_of(trashed), facts["digest"]):
        if not dry_run:
            from_trash(path_of(trashed), path)
        return
    if not _has(kept, facts["digest"]):
        raise NotReadable("the copy that was kept is gone, or has other bytes by now")
    if not dry_run:
        new = aside + _COPY
        try:
            _copy(kept, new, facts)
            put(new, path, kept)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new)


def _clear(aside: bytes, path: bytes, kept: bytes) -> None:
    """Clear away what an act or an undo left that was stopped in the middle."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside + _COPY)
    if _is_link_to(aside + b".new", kept):
        os.unlink(aside + b".new")
    for out in (aside + _OUT, aside + _COPY + _OUT):
        if os.path.lexists(out) and not os.path.lexists(path):
            rename_no_replace(out, path)  # it was moved out only to be looked at
        elif _is_link_to(out, kept):
            os.unlink(out)


def put(new: bytes, path: bytes, kept: bytes) -> None:
    """Name a file as it was named; a link to the kept file that has its place goes, and nothing else."""
    if os.path.lexists(path):
        out = new + _OUT
        os.rename(path, out)  # now it is certain what it is
        if not _is_link_to(out, kept):
            rename_no_replace(out, path)
            raise NotReadable("there is a file of that name, which stays")
        try:
            rename_no_replace(new, path)
        finally:
            os.unlink(out)
    else:
        rename_no_replace(new, path)


def _is_link_to(path: bytes, kept: bytes) -> bool:
    """Whether a path is that very file, by another name: a symbolic link is not."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(kept))
    except OSError:
        return False


def _has(path: bytes, digest: str) -> bool:
    try:
        return digest_of(path, os.stat(path).st_size, -1).hex() == digest
    except (OSError, NotReadable):
        return False


def _copy(source: bytes, target: bytes, facts: dict[str, Any]) -> None:
    """A file of its own with the bytes of another, and all else that it had; nobody else reads it before."""
    hasher = xxhash.xxh3_128()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(source, "rb") as file, open(descriptor, "wb") as copy:
        while piece := file.read(_AT_ONCE):
            hasher.update(piece)
            copy.write(piece)
        copy.flush()
        if hasher.hexdigest() != facts["digest"]:
            raise NotReadable("the copy that was kept has other bytes by now")
        give(copy.fileno(), facts)
        os.fsync(copy.fileno())
