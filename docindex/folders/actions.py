"""Act on a plan, and undo what was done: the calls for applications, with progress, dry run and cancel.

A journal records every step before it is made. Acting and undoing are implemented for Linux only; a dry run
works everywhere. Must never go on after a cancel or an interrupt, nor hide what was done before it.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Protocol, TypeVar

from docindex.errors import UnreadableFile
from docindex.folders.journal import Journal, open_steps, own_journal
from docindex.folders.plan import Plan
from docindex.folders.removal import FileOutcome, How, check_how, remove_copies
from docindex.folders.restore import UndoneFile, undo_steps
from docindex.folders.system import require_linux
from docindex.folders.walk import FolderProgress, no_progress

F = TypeVar("F")


class CancelFlag(Protocol):
    """A flag that another thread sets to stop the work, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether the work is to stop."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What `act` did."""

    files: tuple[FileOutcome, ...]
    """What became of each file, in the order of the plan; after a cancel, of those that were looked at."""
    journal: Path | None
    """The journal, for `undo`; None after a dry run."""
    cancelled: bool
    """Whether `cancel` stopped the work before its end."""
    dry_run: bool

    @property
    def bytes(self) -> int:
        """The size of all files that were, or after a dry run would be, removed or linked."""
        return sum(file.size for file in self.files if file.outcome in ("done", "would be done"))


@dataclasses.dataclass(frozen=True, slots=True)
class UndoOutcome:
    """What `undo` did."""

    files: tuple[UndoneFile, ...]
    """What became of each file, the last step first; after a cancel, of those that were looked at."""
    journal: Path
    cancelled: bool
    """Whether `cancel` stopped the work before its end."""
    dry_run: bool


def act(
    plan: Plan,
    how: How,
    *,
    dry_run: bool = False,
    journal: str | os.PathLike[str] | None = None,
    progress: FolderProgress = no_progress,
    on_file: Callable[[FileOutcome], object] | None = None,
    cancel: CancelFlag | None = None,
) -> Outcome:
    """Remove or link the copies of a plan that are not kept, and return what became of each file.

    Every file is compared byte by byte with a kept copy just before. A file that has changed since the plan was
    made is left as it is, and `reason` says why. Each step is written to `journal` first, by default that of
    the person who runs this. Files that an interrupted `act` left aside are restored first.

    `progress` is called with files. `on_file` is called with the outcome of each file as soon as it is known:
    so a caller knows what was done even if this is interrupted. `cancel` is looked at between two files; what
    was done stays done.

    `UnsupportedPlatform`, unless `dry_run`, on another system than Linux; `Busy` while another `act` or `undo`
    of this person is at work; `ValueError` for an unknown `how`.

    >>> act(Plan(()), "trash", dry_run=True)
    Outcome(files=(), journal=None, cancelled=False, dry_run=True)
    """
    check_how(how)
    path = None
    if not dry_run:
        require_linux("act")
        path = own_journal() if journal is None else Path(journal).absolute()
    watch = _Watch(progress, cancel, sum(len(group.others) for group in plan.groups))
    with Journal(path) as written:
        steps = remove_copies(plan.groups, how, dry_run=dry_run, journal=written)
        files, cancelled = watch.run(steps, on_file, lambda file: file.outcome != "restored")
    return Outcome(files, path, cancelled, dry_run)


def undo(
    journal: str | os.PathLike[str] | None = None,
    *,
    dry_run: bool = False,
    progress: FolderProgress = no_progress,
    on_file: Callable[[UndoneFile], object] | None = None,
    cancel: CancelFlag | None = None,
) -> UndoOutcome:
    """Bring back the files that `act` removed or linked, the last one first, and return what became of each.

    `journal` is that of `Outcome.journal`, by default that of the person who runs this. A file comes back from
    the trash, or is made again from the kept copy if that still has the same bytes. A file that has taken the
    path of another one stays. The other parameters and the errors are those of `act`; in addition
    `UnreadableFile` if there is no such journal, and `ValueError` if the file is not one.

    >>> undo(dry_run=True).files
    ()
    """
    if not dry_run:
        require_linux("undo")
    path = own_journal() if journal is None else Path(journal).absolute()
    if journal is not None and not path.exists():
        raise UnreadableFile(f"there is no journal at {path}; name one that act wrote", str(path))
    watch = _Watch(progress, cancel, len(open_steps(path)))
    with Journal(None if dry_run else path) as written:
        files, cancelled = watch.run(undo_steps(path, written, dry_run=dry_run), on_file, lambda _file: True)
    return UndoOutcome(files, path, cancelled, dry_run)


@dataclasses.dataclass(frozen=True, slots=True)
class _Watch:
    """How the caller follows the work and stops it."""

    progress: FolderProgress
    cancel: CancelFlag | None
    total: int
    """How many files there are in all."""

    def run(
        self,
        steps: Generator[F, None, None],
        on_file: Callable[[F], object] | None,
        counts: Callable[[F], bool],
    ) -> tuple[tuple[F, ...], bool]:
        """Take the steps one by one, and return what they gave and whether the work was cancelled."""
        files: list[F] = []
        done = 0
        with contextlib.closing(steps):
            while not (done < self.total and self.cancel is not None and self.cancel.is_set()):
                file = next(steps, None)
                if file is None:
                    return tuple(files), False
                files.append(file)
                done += counts(file)
                if on_file is not None:
                    on_file(file)
                self.progress(done, self.total)
        return tuple(files), True
