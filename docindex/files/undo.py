"""A journal in, files as they were before out, as far as that is possible.

What went to the trash comes back from there. What was deleted or linked is made again from the copy that was
kept, if that still has the very bytes. Must never replace a file that has come in the place of one.
"""

import contextlib
import dataclasses
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import Any, Literal

from docindex.files.journal import Journal, alone, steps
from docindex.files.names import path_of
from docindex.files.reading import NotReadable, digest_of
from docindex.files.trash import from_trash, name_again


@dataclasses.dataclass(frozen=True, slots=True)
class Undone:
    """What became of one step of a journal."""

    key: str
    outcome: Literal["undone", "would be undone", "left"]
    why: str | None = None
    """Why it was left."""


def undo(journal: str | os.PathLike[str], *, dry_run: bool) -> Iterator[Undone]:
    """Undo the steps of a journal that were not undone yet, the last one first."""
    with alone(), Journal(None if dry_run else journal) as written:
        for step, facts in reversed(steps(journal).items()):
            key = facts["key"]
            try:
                restored = _restore(facts, dry_run=dry_run)
            except (OSError, NotReadable) as error:
                yield Undone(key, "left", getattr(error, "strerror", None) or str(error))
                continue
            if restored and not dry_run:
                written.write(undone=step)
            outcome: Literal["undone", "would be undone"] = "would be undone" if dry_run else "undone"
            yield (
                Undone(key, outcome) if restored else Undone(key, "left", "it is there, and was not changed")
            )


def put_back(journal: Journal) -> Iterator[str]:
    """Put back what lies aside because whoever moved it there was stopped; gives the keys of those files."""
    if journal.path is None:
        return
    for step, facts in steps(journal.path).items():
        if facts["done"] or "aside" not in facts:
            continue
        path, kept, aside = (path_of(facts[name]) for name in ("key", "kept", "aside"))
        if _is_link_to(aside + b".new", kept):
            os.unlink(aside + b".new")
        if os.path.lexists(aside) and (_is_link_to(path, kept) or not os.path.lexists(path)):
            # In the place of a link to the kept file nothing is lost, in any other place something may be.
            (os.rename if os.path.lexists(path) else name_again)(aside, path)
            journal.write(undone=step)
            yield facts["key"]


def _is_link_to(path: bytes, kept: bytes) -> bool:
    return os.path.lexists(path) and os.path.lexists(kept) and os.path.samefile(path, kept)


def _restore(facts: dict[str, Any], *, dry_run: bool) -> bool:
    """Bring a file back; False if there is nothing to be done."""
    path, kept = path_of(facts["key"]), path_of(facts["kept"])
    linked = facts["begun"] == "hardlink"
    if os.path.lexists(path) and not (linked and _is_link_to(path, kept)):
        return False
    for lying in (facts.get("trashed"), facts.get("aside")):
        if lying is not None and os.path.lexists(path_of(lying)) and not os.path.lexists(path):
            if not dry_run:
                from_trash(path_of(lying), path)
            return True
    if digest_of(kept, os.stat(kept).st_size, -1).hex() != facts["digest"]:
        raise NotReadable("the copy that was kept has other bytes by now")
    if not dry_run:
        new = os.path.join(os.path.dirname(path), b".docindex-" + secrets.token_hex(8).encode())
        try:
            _copy(kept, new, facts)
            if linked and os.path.lexists(path):
                os.rename(new, path)
            else:
                name_again(new, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new)
    return True


def _copy(source: bytes, target: bytes, facts: dict[str, Any]) -> None:
    """A file of its own with the bytes of another, and the time and permissions that it had."""
    with open(source, "rb") as file, open(target, "xb") as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        os.fsync(copy.fileno())
    os.chmod(target, facts["mode"])
    os.utime(target, ns=(facts["mtime_ns"], facts["mtime_ns"]))
