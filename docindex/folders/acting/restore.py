"""Bring back the files that the steps of a journal removed or linked.

A file comes back from the trash, or from its temporary name if the step was interrupted. A file that was
deleted or linked is copied from the kept file if that still has the same bytes. Must never replace a file
that is now at the path, nor restore other bytes than the newest without saying so, nor restore a file to
another disk, or through a link.
"""

import contextlib
import dataclasses
import functools
import io
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Literal, NamedTuple

import xxhash

from docindex.errors import DiskFull, is_no_room
from docindex.folders.acting.emptied_folders import FolderRestorer
from docindex.folders.acting.journal import Journal, JournalStep, act_lock, all_steps
from docindex.folders.acting.places import FilePlace, disk_at, locked, nowhere, place_at, rename_no_replace
from docindex.folders.acting.trash import found_in_trash, from_trash, is_named_in_trash
from docindex.folders.walking.file_reader import NotReadable, digest_of_open
from docindex.folders.walking.path_keys import key_of, path_of
from docindex.folders.walking.system import FileFacts, apply_facts, data_ranges

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
                yield _undo_one(step, journal, folders, dry_run=dry_run)
            except NotReadable as error:
                yield UndoneFile(step.key, "left", str(error), step.size)
            except OSError as error:
                if is_no_room(error) and not dry_run:
                    raise DiskFull(
                        f"the disk is full: {step.key} is not restored; free some space, and run undo again",
                        step.key,
                    ) from error
                yield UndoneFile(step.key, "left", error.strerror or str(error), step.size)


def _undo_one(step: JournalStep, journal: Journal, folders: FolderRestorer, *, dry_run: bool) -> UndoneFile:
    """Undo one step, and record that; `NotReadable` or `OSError` if that is not possible now."""
    step = _on_its_disk(step)
    folders.make_around(key_of(step.path))
    with _opened(step, dry_run=dry_run) as places:
        remark = _restore(step, places, dry_run=dry_run)
    try:
        journal.settle(step, "undone")
    except OSError as error:
        remark = f"but this cannot be written to the journal: {error.strerror}"
    if remark == _BACK:
        return UndoneFile(step.key, "already back", None, step.size)
    return UndoneFile(step.key, "would be undone" if dry_run else "undone", remark, step.size)


def _on_its_disk(step: JournalStep) -> JournalStep:
    """The step with the present device number of its disk, which a new mount may have changed.

    `NotReadable` if the path of the step leads to another file system than that of the file.
    """
    disk, before = disk_at(step.path), step.disk.device
    if not disk.is_same(step.disk):
        raise NotReadable("its disk is not mounted, or another one is mounted at its path")
    if disk.device == before:
        return step
    inode, kept_inode = (
        (disk.device if device == before else device, number)
        for device, number in (step.inode, step.kept_inode)
    )
    return dataclasses.replace(step, disk=disk, inode=inode, kept_inode=kept_inode)


def restore_interrupted(journal: Journal) -> Iterator[str]:
    """Restore each file that an interrupted step left at its temporary path, and yield its key."""
    if journal.path is None:
        return
    for step in all_steps(journal.path):
        if not step.is_open:
            continue
        with contextlib.suppress(OSError, NotReadable):  # `undo` will say why
            step = _on_its_disk(step)
            with _opened(step) as places:
                _clear(places)
                if step.state == "begun" and places.aside.exists():
                    _restore(step, places, dry_run=False)
                    journal.settle(step, "reverted")
                    yield step.key
                elif step.state == "begun" and places.own.identity() == step.inode:
                    journal.settle(step, "reverted")  # it was interrupted before its first change


class KeptFile(NamedTuple):
    """The file that stays, whose hard link act may have put at the place of a removed file."""

    place: FilePlace
    inode: tuple[int, int]
    """Its device and inode when the link was made: another file may have its path by now."""
    digest: str

    def is_linked_at(self, link: FilePlace) -> bool:
        """Whether a place has the link that act made."""
        return link.identity() == self.inode and (
            self.place.identity() == self.inode or _has_digest(link, self.digest)
        )

    def is_spare_at(self, link: FilePlace, instead: FilePlace) -> bool:
        """Whether a place has the link that act made, and `instead` or another name has its bytes, too."""
        return self.is_linked_at(link) and (
            link.status().st_nlink > 1
            or (_has_digest(link, self.digest) and _has_digest(instead, self.digest))
        )


class _StepPlaces(NamedTuple):
    """The places of a step."""

    own: FilePlace
    aside: FilePlace
    kept: KeptFile
    trashed: FilePlace | None


@contextlib.contextmanager
def _opened(step: JournalStep, *, dry_run: bool = False) -> Iterator[_StepPlaces]:
    """The places of a step, where no other act works meanwhile; `OSError` if its folder cannot be opened."""
    with contextlib.ExitStack() as stack:
        try:
            own = stack.enter_context(place_at(step.path))
        except FileNotFoundError:
            if not dry_run:
                raise
            own = nowhere(step.path)  # `undo` would make the folder again
        kept, trashed = _place_or_nowhere(stack, path_of(step.kept_path)), None
        if not dry_run:
            stack.enter_context(locked(own, kept))
        if step.trashed is not None:
            trashed = _place_or_nowhere(stack, path_of(step.trashed))
        elif step.how == "trash" and step.state == "begun":
            # It may have been interrupted after it moved the file, and before it could record that.
            path = found_in_trash(step.path, step.inode)
            trashed = None if path is None else _place_or_nowhere(stack, path)
        aside = own.beside(os.path.basename(path_of(step.aside)))
        yield _StepPlaces(own, aside, KeptFile(kept, step.kept_inode, step.digest), trashed)


def _place_or_nowhere(stack: contextlib.ExitStack, path: bytes) -> FilePlace:
    try:
        return stack.enter_context(place_at(path))
    except OSError:
        return nowhere(path)


_BACK = "the same bytes are at its path"
_WRITTEN_LATER = "with the changes that a program made after it was removed"


def _restore(step: JournalStep, places: _StepPlaces, *, dry_run: bool) -> str | None:
    """Bring a file back, and return how it differs from the file that was removed, if it does.

    Returns `_BACK` if it is back already. `NotReadable` if it cannot be brought back now.
    """
    if not dry_run:
        _clear(places)
    bring_back = _rest_of_rename(places)
    remark = None
    if bring_back is None:
        bring_back, remark = _way_back(step, places)
    if not dry_run:
        bring_back()
    return remark


def _rest_of_rename(places: _StepPlaces) -> Callable[[], None] | None:
    """The second step of a rename that takes two steps, if only the first step was made; else None."""
    for old in (places.aside, places.trashed):
        if old is not None and (identity := old.identity()) is not None and identity == places.own.identity():
            return old.unlink
    return None


def _way_back(step: JournalStep, places: _StepPlaces) -> tuple[Callable[[], None], str | None]:
    """The call that brings the file of a step back, and how the file then differs from the removed one.

    `NotReadable` if the file cannot be brought back now.
    """
    own, aside, kept, trashed = places
    is_aside = aside.exists()
    is_linked = step.how == "hardlink" and kept.is_linked_at(own)
    if is_linked and not is_aside and kept.place.identity() != kept.inode:
        return functools.partial(_separate, step, places), None
    if own.exists() and not is_linked:
        if is_aside:
            raise NotReadable(f"{_TAKEN}; the old file is {step.aside}")
        if _has_digest(own, step.digest):
            return _nothing, _BACK
        raise NotReadable(_TAKEN)
    if is_aside:
        return functools.partial(move_into_place, aside, own, kept), None
    in_trash = trashed is not None and trashed.exists()
    if trashed is not None and in_trash:
        is_same = _has_digest(trashed, step.digest)
        if is_same or (trashed.identity() == step.inode and is_named_in_trash(trashed.path, own.path)):
            return functools.partial(from_trash, trashed, own), None if is_same else _WRITTEN_LATER
    if _has_digest(kept.place, step.digest):
        remark = None
        if trashed is not None:
            found = (
                "another file has its name in the trash" if in_trash else "it is not in the trash any more"
            )
            remark = f"as a copy of {step.kept}, because {found}"
        return functools.partial(_copy_into_place, step, places), remark
    other = f"; {step.trashed} has other bytes" if in_trash else ""
    raise NotReadable(f"the kept file is gone or has changed{other}")


def _separate(step: JournalStep, places: _StepPlaces) -> None:
    """Make the link that `act` made a file of its own again, with its former time and mode.

    The kept file is no longer at its path: the same act, or anything later, has removed or replaced it.
    """
    own = places.own
    with own.reading() as file:
        if (status := os.fstat(file.fileno())).st_nlink == 1:
            apply_facts(file.fileno(), step.facts)
            return
        new, old = (places.aside.beside(places.aside.name + end) for end in (_COPY, _OUT))
        try:
            write_copy(file, new, step.facts, step.digest)
            own.rename(old)  # now nobody else can replace it
            if old.identity() != (status.st_dev, status.st_ino):
                rename_no_replace(old, own)
                raise NotReadable(_TAKEN)
            rename_no_replace(new, own)
            old.unlink()  # it has other names
        finally:
            new.discard()


def _nothing() -> None:
    """There is nothing to do."""


def probes(aside: FilePlace) -> tuple[FilePlace, FilePlace]:
    """The places of the empty file with which a step finds out how its file system renames files."""
    return aside.beside(aside.name + b".probe"), aside.beside(aside.name + b".probed")


def remove_probes(aside: FilePlace) -> None:
    """Remove the empty file of a step that was interrupted while it tried to rename it."""
    for probe in probes(aside):
        probe.discard()


def _copy_into_place(step: JournalStep, places: _StepPlaces) -> None:
    new = places.aside.beside(places.aside.name + _COPY)
    try:
        with places.kept.place.reading() as file:
            write_copy(file, new, step.facts, step.digest)
        move_into_place(new, places.own, places.kept)
    finally:
        new.discard()


def _clear(places: _StepPlaces) -> None:
    """Remove the temporary names that an interrupted `act` or `undo` left."""
    own, aside, kept, _ = places
    remove_probes(aside)
    new, copy, out, copied_out = (
        aside.beside(aside.name + end) for end in (b".new", _COPY, _OUT, _COPY + _OUT)
    )
    copy.discard()
    if new.exists() and kept.is_spare_at(new, aside):
        new.unlink()
    for old in (out, copied_out):
        if old.exists() and not own.exists():
            rename_no_replace(old, own)  # it was renamed only to be checked
        elif old.exists() and kept.is_spare_at(old, own):
            old.unlink()


def move_into_place(new: FilePlace, place: FilePlace, kept: KeptFile) -> None:
    """Rename a file to a place. The link to the kept file that act made there is removed; another file stays.

    `NotReadable` or `FileExistsError` if another file is at the place.
    """
    if not place.exists():
        rename_no_replace(new, place)
        return
    out = new.beside(new.name + _OUT)
    place.rename(out)  # now nobody else can replace it
    if not kept.is_spare_at(out, new):
        rename_no_replace(out, place)
        raise NotReadable(_TAKEN)
    try:
        rename_no_replace(new, place)
    finally:
        out.unlink()


def _has_digest(place: FilePlace, digest: str) -> bool:
    try:
        with place.reading() as file:
            return digest_of_open(file).hex() == digest
    except (OSError, NotReadable):
        return False


def write_copy(source: io.FileIO, target: FilePlace, facts: FileFacts, digest: str | None = None) -> None:
    """Copy an open file to a new one with these facts: all of it, or no file. Holes stay holes.

    Nobody else can read the copy before it has its mode. `NotReadable` if the bytes do not have the digest.
    """
    hasher, size, done = xxhash.xxh3_128(), os.fstat(source.fileno()).st_size, 0
    try:
        with open(target.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copy:
            for begin, end in (*data_ranges(source.fileno()), (size, size)):
                for hole in range(done, begin, _PIECE):
                    hasher.update(bytes(min(_PIECE, begin - hole)))
                source.seek(begin)
                copy.seek(begin)
                for start in range(begin, end, _PIECE):
                    piece = source.read(min(_PIECE, end - start))
                    hasher.update(piece)
                    copy.write(piece)
                done = end
            copy.truncate(size)
            if digest is not None and hasher.hexdigest() != digest:
                raise NotReadable("the kept file has changed")
            copy.flush()
            apply_facts(copy.fileno(), facts)
            os.fsync(copy.fileno())
    except BaseException:
        target.discard()
        raise
