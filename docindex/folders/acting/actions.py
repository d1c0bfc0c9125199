"""Act on a plan, list acts and undo them, with progress, dry run and cancel.

Takes a plan or a journal, and returns the outcome of each file. Acting and undoing are implemented for Linux
only; a dry run works everywhere. Must never continue after a cancel or an interrupt, nor hide the steps that
were done before it.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Literal, TypeVar

from docindex.cancellation import CancelFlag
from docindex.errors import UnreadableFile
from docindex.folders.acting.acts import Act, chosen_steps, list_acts, number_of_act
from docindex.folders.acting.emptied_folders import FolderRemover
from docindex.folders.acting.journal import Journal, own_journal
from docindex.folders.acting.removal import FileOutcome, How, WatchedRemovals, check_how, remove_copies
from docindex.folders.acting.restore import UndoneFile, undo_steps
from docindex.folders.planning.plan import Plan
from docindex.folders.walking.path_keys import Root
from docindex.folders.walking.system import require_linux
from docindex.folders.walking.walk import FolderProgress, no_progress

F = TypeVar("F")


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `act`."""

    files: tuple[FileOutcome, ...]
    """The outcome of each file, in the order of the plan; after a cancel, only of the finished files."""
    journal: Path | None
    """The path of the journal; None after a dry run."""
    act: int | None
    """The number of this act in the journal; None if no file was changed."""
    cancelled: bool
    """Whether `cancel` stopped the work before its end."""
    dry_run: bool
    emptied: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """The keys of the empty folders that were removed from copied folders. `undo` makes them again."""

    @property
    def bytes(self) -> int:
        """The size of all files that were removed or linked; in a dry run, of those that would be."""
        return sum(file.size for file in self.files if file.outcome in ("done", "would be done"))

    @property
    def freed(self) -> int:
        """The storage that all files give back, in bytes: for files in the trash, when it is emptied."""
        return sum(file.freed for file in self.files)


@dataclasses.dataclass(frozen=True, slots=True)
class UndoOutcome:
    """The result of `undo`."""

    files: tuple[UndoneFile, ...]
    """The outcome of each file, the last step first; after a cancel, only of the finished files."""
    journal: Path
    cancelled: bool
    """Whether `cancel` stopped the work before its end."""
    dry_run: bool

    @property
    def is_complete(self) -> bool:
        """Whether every file that was to be restored is back, or in a dry run would be."""
        return not self.cancelled and all(file.is_back for file in self.files)

    @property
    def bytes(self) -> int:
        """The size of all files that are back, or in a dry run would be."""
        return sum(file.size for file in self.files if file.is_back)


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
    """Remove or link the copies of a plan that are not kept, and return the outcome of each file.

    Just before a file is removed, it is compared byte by byte with a kept file. A file that has changed since
    the plan was made is left as it is, and its `reason` says why; so is a file that another program has open
    for writing, or whose kept file one has. With `dry_run` all checks are made, but no file is changed. The
    files of copied folders come first; the folders among them that are empty then are removed, if files are
    moved to the trash or deleted.

    Each step is written to `journal` first; by default that is the journal of the person who runs this. If an
    earlier `act` with the same journal was interrupted, the file that it was working on is restored first.

    `progress` is called with the number of files. `on_file` is called with the outcome of each file as soon
    as it is known, so that the caller knows the finished files even if an interrupt ends this call. `cancel`
    is checked before each file; files that are done stay done.

    `ValueError` for an unknown `how`. Without `dry_run` also `UnsupportedPlatform` on systems other than
    Linux, `Busy` while this person runs another `act` or `undo`, `DiskFull` if there is no room for the
    journal (finished files stay removed), and `UnreadableFile` or `ValueError` for a path that cannot be a
    journal.

    >>> act(Plan(()), "trash", dry_run=True)
    Outcome(files=(), journal=None, act=None, cancelled=False, dry_run=True)
    """
    check_how(how)
    if not isinstance(plan, Plan):
        raise TypeError(
            f"a plan must be a Plan, as Findings.plan and Plan.from_json return it, not {repr(plan)[:60]}"
        )
    path = None
    if not dry_run:
        require_linux("act")
        path = _journal_path(journal)
        if not path.parent.is_dir():
            raise UnreadableFile(
                f"there is no folder {path.parent}; create it, or name another journal", str(path)
            )
    observer = _Observer(progress, cancel, sum(len(group.others) for group in plan.steps))
    remover = FolderRemover(() if dry_run else plan.going)
    with Journal(path) as written:
        watched = WatchedRemovals()
        steps = remove_copies(
            plan.steps, how, dry_run=dry_run, journal=written, staying=plan.staying, watched=watched
        )
        files, cancelled = observer.run(steps, on_file, lambda file: file.outcome != "restored")
        files = watched.corrected(files)
        emptied: tuple[str, ...] = ()
        if how in ("trash", "delete") and not (dry_run or cancelled):
            done = frozenset(file.key for file in files if file.outcome == "done")
            emptied = remover.remove_emptied(done, written)
    changed = path is not None and any(file.outcome == "done" for file in files)
    number = number_of_act(path, written.act) if path is not None and changed else None
    return Outcome(files, path, number, cancelled, dry_run, emptied)


def undo(
    act: Outcome | int | Literal["last", "all"] = "last",
    *,
    files: Iterable[Root] | None = None,
    journal: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
    progress: FolderProgress = no_progress,
    on_file: Callable[[UndoneFile], object] | None = None,
    cancel: CancelFlag | None = None,
) -> UndoOutcome:
    """Bring back the files that an act removed or linked, the last file first, and return their outcomes.

    `act` is the number of an act as `acts` lists it, or what `act` returned. "last", the default, is the last
    act that is not undone yet; "all" means every act. With `files`, only these files come back, or all files
    below a folder that is given; with "last", from the last act that removed each of them.

    A file comes back from the trash, also if a program wrote to it there; then its `reason` says so. A file
    that is not in the trash is copied from the kept file if that still has the same bytes. If another file is
    at the path now, that file stays, and the outcome is "left"; so it is while the disk of the file is not
    mounted. An act is undone when all its files are back: until then, each call tries the others again.

    `journal` is the journal that `act` used, by default that of the person who runs this. The other
    parameters and the errors are those of `act`. There is also `UnreadableFile` if the journal does not
    exist, and `ValueError` for an act that it does not have, and for the outcome of a dry run.

    >>> undo(dry_run=True).files
    ()
    """
    if not dry_run:
        require_linux("undo")
    if isinstance(act, Outcome):
        act, journal = _act_of(act)
    elif act not in ("last", "all") and (not isinstance(act, int) or isinstance(act, bool)):
        raise TypeError(
            f'undo takes the number of an act, what act returned, "last" or "all", not {repr(act)[:60]}'
        )
    path = _existing_journal(journal)
    steps = [] if act == 0 else chosen_steps(path, act, files)
    observer = _Observer(progress, cancel, len(steps))
    with Journal(None if dry_run else path) as written:
        done, cancelled = observer.run(
            undo_steps(steps, written, dry_run=dry_run), on_file, lambda _file: True
        )
    return UndoOutcome(done, path, cancelled, dry_run)


def acts(journal: str | os.PathLike[str] | None = None) -> list[Act]:
    """The acts in a journal, the first one first: when, how, how many files, and how far each is undone.

    `journal` is the journal that `act` used, by default that of the person who runs this. `UnreadableFile` if
    it cannot be read, and `ValueError` if the file is not a journal.

    >>> acts()
    []
    """
    return list_acts(_existing_journal(journal))


def _act_of(outcome: Outcome) -> tuple[int, Path]:
    """The number of an act and its journal; 0 if it changed no file."""
    if outcome.journal is None:
        raise ValueError("this is the outcome of a dry run, which changed no file: there is nothing to undo")
    return outcome.act or 0, outcome.journal


def _existing_journal(journal: str | os.PathLike[str] | None) -> Path:
    path = _journal_path(journal)
    if journal is not None and not path.exists():
        raise UnreadableFile(f"there is no journal at {path}; name one that act wrote", str(path))
    return path


def _journal_path(journal: str | os.PathLike[str] | None) -> Path:
    return own_journal() if journal is None else Path(journal).expanduser().absolute()


@dataclasses.dataclass(frozen=True, slots=True)
class _Observer:
    """Reports progress to the caller, and stops the work if the caller cancels it."""

    progress: FolderProgress
    cancel: CancelFlag | None
    total: int
    """The number of all files."""

    def run(
        self,
        steps: Generator[F, None, None],
        on_file: Callable[[F], object] | None,
        counts: Callable[[F], bool],
    ) -> tuple[tuple[F, ...], bool]:
        """Run the steps one by one; return the outcome of each file, and whether the work was cancelled.

        `counts` tells whether an outcome counts as progress: a file that is restored first is not in the
        plan.
        """
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
