"""Write the journal of `act`, and read the steps in it.

Each line is on the disk before the next change to a file is made. `journal_steps` knows the fields of a line.
Must never lose a line that was written.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, Self

import platformdirs

from docindex.errors import Busy, DiskFull, UnreadableFile, is_no_room
from docindex.folders.journal_steps import JournalStep, begun_entry, done_entry, follow_entry, settled_entry
from docindex.folders.system import BINARY_FLAG, exclusive_lock
from docindex.private_files import FILE_MODE, own_folder


class Journal:
    """A journal to which lines are appended. Without a path it writes nothing."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = path
        self.act = secrets.token_hex(8)
        """A random number for the steps of one call of `act`."""
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def begin(self, step: JournalStep) -> None:
        """Record that a step begins. The step must not change anything before this returns.

        `DiskFull` if there is no room for the line.
        """
        try:
            self.append(begun_entry(step))
        except OSError as error:
            if not is_no_room(error):
                raise
            name = os.fspath(self.path or "")
            raise DiskFull(
                f"the disk is full: the journal {name} cannot be written, so no more files are changed; free "
                "some space, or name a journal on another disk",
                name,
            ) from error

    def end(self, step: JournalStep, trashed: str | None) -> None:
        """Record that a step is done; `trashed` is the key of the file in the trash, if it is there."""
        self.append(done_entry(step, trashed))

    def settle(self, step: JournalStep, state: Literal["undone", "reverted"]) -> None:
        """Record that nothing is left to do about a step."""
        self.append(settled_entry(step, state))

    def append(self, entry: Mapping[str, object]) -> None:
        """Append a line, whole or not at all, and wait until it is on the disk."""
        if self.path is None:
            return
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | BINARY_FLAG, FILE_MODE)
        line = json.dumps({"at": time.time(), **entry}).encode() + b"\n"
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        if end and not self._ends_in_newline(end):
            line = b"\n" + line  # else it would continue a line that a power failure cut short
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, end)
            raise

    def _ends_in_newline(self, end: int) -> bool:
        """Whether the last byte is a newline; leaves the position at the end."""
        assert self._descriptor is not None
        os.lseek(self._descriptor, end - 1, os.SEEK_SET)
        return os.read(self._descriptor, 1) == b"\n"


def own_journal() -> Path:
    """The path of the journal of the person who runs this; `UnreadableFile` if its folder cannot be made."""
    return _state_folder("the journal of act") / "journal.jsonl"


def all_steps(path: str | os.PathLike[str]) -> list[JournalStep]:
    """The steps of a journal, in their order, with what became of each.

    A line that is not JSON was cut short, for example by a power failure, and is ignored. If it began a step,
    the step changed nothing; if it ended a step, `undo` finds that out from the files. There are no steps if
    the file does not exist. `ValueError` for a file that is not a journal, `UnreadableFile` for a file that
    cannot be read.
    """
    steps: dict[str, JournalStep] = {}
    lines = _lines(path)
    understood = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        try:
            follow_entry(steps, entry)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{os.fspath(path)} is not a journal that act wrote; its line {number} is {line[:60]!r}"
            ) from error
        understood += 1
    if lines and not understood:
        raise ValueError(f"{os.fspath(path)} is not a journal that act wrote")
    return list(steps.values())


def _lines(path: str | os.PathLike[str]) -> list[str]:
    name = os.fspath(path)
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError(f"{name} is not a regular file; name a journal that act wrote")
    try:
        return Path(path).read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []  # act was never run
    except OSError as error:
        raise UnreadableFile(f"the journal {name} cannot be read: {error.strerror}", name) from error


def _state_folder(purpose: str) -> Path:
    """The folder for `purpose`, which is made if it does not exist. Other users cannot read it."""
    try:
        folder = platformdirs.user_state_path("docindex")
    except RuntimeError as error:
        raise UnreadableFile(
            f"your home folder is not known, so neither is the folder for {purpose}; set the environment "
            "variable HOME or XDG_STATE_HOME",
            "",
        ) from error
    try:
        own_folder(folder)
    except OSError as error:
        raise UnreadableFile(
            f"the folder {folder} for {purpose} cannot be made: {error.strerror}; "
            "set the environment variable XDG_STATE_HOME to a folder that you can write to",
            str(folder),
        ) from error
    return folder


@contextlib.contextmanager
def act_lock() -> Iterator[None]:
    """Keep other processes of this person from running `act` or `undo`; `Busy` if one already runs them."""
    path = _state_folder("the lock of act") / "act.lock"
    try:
        with exclusive_lock(path):
            yield
    except BlockingIOError as error:
        raise Busy("another docindex act or undo is running; wait until it ends", str(path)) from error
