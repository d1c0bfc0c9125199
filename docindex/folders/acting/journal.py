"""Write the journal of `act`, and read the steps in it.

Each line is on the disk before the next change to a file is made. `journal_steps` knows the fields of a line.
Must never lose a line that was written.
"""

import base64
import contextlib
import dataclasses
import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import platformdirs

from docindex.errors import Busy, DiskFull, UnreadableFile, is_no_room
from docindex.folders.acting.places import Disk
from docindex.folders.walking.path_keys import path_of
from docindex.folders.walking.system import BINARY_FLAG, FileFacts, exclusive_lock
from docindex.private_files import FILE_MODE, own_folder

# Convert the steps of a journal to lines of JSON and back.
#
# A step is the change that `act` makes to one file. A journal has a line for the start of a step, one for its
# end, and one when nothing is left to do about it. No other module knows the fields of these lines. Must
# never accept a line that `act` did not write.

StepState = Literal["begun", "done", "undone", "reverted"]
"""Begun: it was interrupted, or its end could not be recorded. Undone: its file is back. Reverted: it changed
nothing in the end."""


@dataclasses.dataclass(frozen=True, slots=True)
class JournalStep:
    """The change that `act` makes, or has made, to one file."""

    number: str
    """A random number in hexadecimal that all lines of the step have."""
    act: str
    """The random number of the call of `act`, which all its steps have."""
    how: str
    key: str
    kept: str
    """The key of the copy that stays."""
    kept_path: str
    """The path of that copy without links, as a key."""
    digest: str
    """The xxh3-128 of the bytes, in hexadecimal."""
    size: int
    """Bytes."""
    aside: str
    """The temporary path of the file during the step, as a key. No link is in this path."""
    disk: Disk
    """The file system of its folder."""
    facts: FileFacts
    """The time, mode, owner and attributes that `undo` gives to a copy of the kept file."""
    inode: tuple[int, int]
    """The device and the inode of the file."""
    kept_inode: tuple[int, int]
    """Those of the copy that stays, which a hard link in the place of the file has, too."""
    at: float = 0.0
    """When the step began, in seconds since 1970."""
    state: StepState = "begun"
    trashed: str | None = None
    """The path of the file in the trash, as a key."""

    @property
    def path(self) -> bytes:
        """The path of the file. No link is in it."""
        return os.path.join(os.path.dirname(path_of(self.aside)), os.path.basename(path_of(self.key)))

    @property
    def is_open(self) -> bool:
        """Whether `undo` has still to bring the file back."""
        return self.state in ("begun", "done")


def begun_entry(step: JournalStep) -> dict[str, object]:
    """The line to write before the first change of a step."""
    return {
        "begun": step.how,
        "step": step.number,
        "act": step.act,
        "key": step.key,
        "kept": step.kept,
        "kept_path": step.kept_path,
        "digest": step.digest,
        "size": step.size,
        "aside": step.aside,
        "disk": step.disk,
        "inode": step.inode,
        "kept_inode": step.kept_inode,
        **facts_entry(step.facts),
    }


def facts_entry(facts: FileFacts) -> dict[str, object]:
    """The facts of a file or a folder as part of a line."""
    return {
        "mtime_ns": facts.mtime_ns,
        "mode": facts.mode,
        "owner": [facts.user, facts.group],
        "attributes": {name: base64.b64encode(value).decode() for name, value in facts.attributes},
    }


def facts_of_entry(entry: dict[str, Any]) -> FileFacts:
    """The facts in a line; `KeyError`, `TypeError` or `ValueError` if `act` did not write them."""
    user, group = _pair(entry["owner"])
    attributes = _checked(entry["attributes"], dict)
    names, values = (_all_checked(some, str) for some in (attributes, attributes.values()))
    return FileFacts(
        mtime_ns=_checked(entry["mtime_ns"], int),
        mode=_checked(entry["mode"], int),
        user=user,
        group=group,
        attributes=tuple(zip(names, map(base64.b64decode, values), strict=True)),
    )


def done_entry(step: JournalStep, trashed: str | None) -> dict[str, object]:
    """The line to write after the last change of a step."""
    return {"done": step.how, "step": step.number, "trashed": trashed}


def settled_entry(step: JournalStep, state: Literal["undone", "reverted"]) -> dict[str, object]:
    """The line to write when nothing is left to do about a step."""
    return {state: step.number}


def follow_entry(steps: dict[str, JournalStep], entry: Any) -> None:
    """Apply a line to the steps so far: add a step, or note what became of one.

    `steps` has the number of each step as its key. `KeyError`, `TypeError`, `AttributeError` or `ValueError`
    if `act` did not write the line.
    """
    if "begun" in entry:
        step = _step_of(entry)
        steps[step.number] = step
        return
    if "done" in entry:
        known = steps.get(entry["step"])
        trashed = entry["trashed"]
        if known is not None:
            steps[known.number] = dataclasses.replace(
                known, state="done", trashed=None if trashed is None else _checked(trashed, str)
            )
        return
    if "emptied" in entry:  # a folder, which `emptied_folders` reads
        return
    ((state, number),) = ((name, entry[name]) for name in _SETTLED if name in entry)
    if number in steps:
        steps[number] = dataclasses.replace(steps[number], state=state)


_SETTLED: tuple[StepState, ...] = ("undone", "reverted")


def _step_of(entry: dict[str, Any]) -> JournalStep:
    return JournalStep(
        number=_checked(entry["step"], str),
        act=_checked(entry["act"], str),
        how=_checked(entry["begun"], str),
        key=_checked(entry["key"], str),
        kept=_checked(entry["kept"], str),
        kept_path=_checked(entry["kept_path"], str),
        digest=_checked(entry["digest"], str),
        size=_checked(entry["size"], int),
        aside=_checked(entry["aside"], str),
        disk=Disk(*_pair(entry["disk"])),
        facts=facts_of_entry(entry),
        inode=_pair(entry["inode"]),
        kept_inode=_pair(entry["kept_inode"]),
        at=_checked(entry["at"], float),
    )


def _pair(values: Any) -> tuple[int, int]:
    first, second = _all_checked(_checked(values, list), int)
    return first, second


def _all_checked(values: Iterable[Any], kind: type) -> list[Any]:
    return [_checked(value, kind) for value in values]


def _checked(value: Any, kind: type) -> Any:
    """The value; `TypeError` unless it has exactly this type, so that true does not count as a number."""
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of the type {kind.__name__}")
    return value


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
