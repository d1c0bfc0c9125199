"""Convert the steps of a journal to lines of JSON and back.

A step is the change that `act` makes to one file. A journal has a line for the start of a step, one for its
end, and one when nothing is left to do about it. No other module knows the fields of these lines. Must never
accept a line that `act` did not write.
"""

import base64
import dataclasses
import os
from collections.abc import Iterable
from typing import Any, Literal

from docindex.folders.path_keys import path_of
from docindex.folders.places import Disk
from docindex.folders.system import FileFacts

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
    facts = step.facts
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
        "mtime_ns": facts.mtime_ns,
        "mode": facts.mode,
        "owner": [facts.user, facts.group],
        "attributes": {name: base64.b64encode(value).decode() for name, value in facts.attributes},
    }


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
    user, group = _pair(entry["owner"])
    attributes = _checked(entry["attributes"], dict)
    names, values = (_all_checked(some, str) for some in (attributes, attributes.values()))
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
        facts=FileFacts(
            mtime_ns=_checked(entry["mtime_ns"], int),
            mode=_checked(entry["mode"], int),
            user=user,
            group=group,
            attributes=tuple(zip(names, map(base64.b64decode, values), strict=True)),
        ),
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
