"""Convert the steps of a journal to lines of JSON and back.

A step is the change that `act` makes to one file. A journal has a line for the start of a step, one for its
end, and one when the step is undone. No other module knows the fields of these lines. Must never accept a
line that `act` did not write.
"""

import base64
import dataclasses
from collections.abc import Iterable
from typing import Any

from docindex.folders.system import FileFacts


@dataclasses.dataclass(frozen=True, slots=True)
class JournalStep:
    """The change that `act` makes, or has made, to one file."""

    number: str
    """A random number in hexadecimal that all lines of the step have."""
    how: str
    key: str
    kept: str
    """The key of the copy that stays."""
    digest: str
    """The xxh3-128 of the bytes, in hexadecimal."""
    aside: str
    """The temporary path of the file during the step, as a key."""
    facts: FileFacts
    """The time, mode, owner and attributes that `undo` gives to a copy of the kept file."""
    is_done: bool = False
    trashed: str | None = None
    """The path of the file in the trash, as a key."""


def begun_entry(step: JournalStep) -> dict[str, object]:
    """The line to write before the first change of a step."""
    facts = step.facts
    return {
        "begun": step.how,
        "step": step.number,
        "key": step.key,
        "kept": step.kept,
        "digest": step.digest,
        "aside": step.aside,
        "mtime_ns": facts.mtime_ns,
        "mode": facts.mode,
        "owner": [facts.user, facts.group],
        "attributes": {name: base64.b64encode(value).decode() for name, value in facts.attributes},
    }


def done_entry(step: JournalStep, trashed: str | None) -> dict[str, object]:
    """The line to write after the last change of a step."""
    return {"done": step.how, "step": step.number, "trashed": trashed}


def undone_entry(step: JournalStep) -> dict[str, object]:
    """The line to write after the file of a step was brought back."""
    return {"undone": step.number}


def follow_entry(steps: dict[str, JournalStep], entry: Any) -> None:
    """Apply a line to the steps so far: add a step, mark a step as done, or drop a step that is undone.

    `steps` has the number of each step as its key. `KeyError`, `TypeError`, `AttributeError` or `ValueError`
    if `act` did not write the line.
    """
    if "begun" in entry:
        step = _step_of(entry)
        steps[step.number] = step
    elif "done" in entry:
        number = entry["step"]
        if number in steps:
            trashed = entry["trashed"]
            steps[number] = dataclasses.replace(
                steps[number], is_done=True, trashed=None if trashed is None else _checked(trashed, str)
            )
    elif "emptied" not in entry:  # a folder, which `emptied_folders` reads
        steps.pop(entry["undone"], None)


def _step_of(entry: dict[str, Any]) -> JournalStep:
    user, group = _all_checked(_checked(entry["owner"], list), int)
    attributes = _checked(entry["attributes"], dict)
    names, values = (_all_checked(some, str) for some in (attributes, attributes.values()))
    return JournalStep(
        number=_checked(entry["step"], str),
        how=_checked(entry["begun"], str),
        key=_checked(entry["key"], str),
        kept=_checked(entry["kept"], str),
        digest=_checked(entry["digest"], str),
        aside=_checked(entry["aside"], str),
        facts=FileFacts(
            mtime_ns=_checked(entry["mtime_ns"], int),
            mode=_checked(entry["mode"], int),
            user=user,
            group=group,
            attributes=tuple(zip(names, map(base64.b64decode, values), strict=True)),
        ),
    )


def _all_checked(values: Iterable[Any], kind: type) -> list[Any]:
    return [_checked(value, kind) for value in values]


def _checked(value: Any, kind: type) -> Any:
    """The value; `TypeError` unless it has exactly this type, so that true does not count as a number."""
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of the type {kind.__name__}")
    return value
