"""List the acts of a journal, and choose the steps that `undo` undoes.

Takes a journal; returns its acts, each with a number, its date, how many files it removed and how many are
back. The number of an act is its place in the journal, and never changes. Must never change a file.
"""

import collections
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from docindex.folders.acting.journal import JournalStep, all_steps
from docindex.folders.walking.path_keys import is_under, key_of, path_of, roots_of


@dataclasses.dataclass(frozen=True, slots=True)
class Act:
    """A call of `act` that removed or linked files."""

    number: int
    """Its place in the journal, from 1."""
    at: float
    """When it began, in seconds since 1970."""
    how: str
    files: int
    """How many files it removed or linked."""
    bytes: int
    """Their size."""
    undone: int
    """How many of them `undo` brought back."""

    @property
    def state(self) -> Literal["done", "partly undone", "undone"]:
        """How far it is undone. Undone: every file is back."""
        if self.undone == self.files:
            return "undone"
        return "partly undone" if self.undone else "done"


def list_acts(journal: str | os.PathLike[str]) -> list[Act]:
    """The acts of a journal, the first one first."""
    return [_act(number, steps) for number, steps in enumerate(_grouped(all_steps(journal)), 1)]


def _with_own_facts(steps: Iterable[JournalStep]) -> Iterator[JournalStep]:
    """The steps; one that removed a link has the facts of the file that an earlier step replaced by it."""
    linked: dict[str, JournalStep] = {}
    for step in steps:
        earlier = linked.get(step.key)
        if earlier is not None and earlier.kept_inode == step.inode:
            step = dataclasses.replace(step, facts=earlier.facts)
        if step.how == "hardlink" and step.is_open:
            linked[step.key] = step
        yield step


def _with_present_copies(steps: Sequence[JournalStep]) -> list[JournalStep]:
    """The steps; one whose kept file a later act has removed has the copy that this act has kept."""
    removed: dict[str, JournalStep] = {}
    found = []
    for step in reversed(steps):
        later = removed.get(step.kept)
        if later and later.digest == step.digest and step.state == "done" and not _exists(step.kept_path):
            step = dataclasses.replace(step, kept=later.kept, kept_path=later.kept_path)
        found.append(step)
        # A file that became a link is still at its path.
        if step.state == "done" and step.how != "hardlink":
            removed[step.key] = step
    return found[::-1]


def _exists(key: str) -> bool:
    return os.path.lexists(path_of(key))


def _grouped(steps: Iterable[JournalStep]) -> list[list[JournalStep]]:
    """The steps of each act. A step that changed nothing counts for the numbers of the acts only."""
    groups: dict[str, list[JournalStep]] = collections.defaultdict(list)
    for step in steps:
        groups[step.act].append(step)
    return list(groups.values())


def _act(number: int, steps: Sequence[JournalStep]) -> Act:
    removed = [step for step in steps if step.state != "reverted"]
    return Act(
        number=number,
        at=steps[0].at,
        how=steps[0].how,
        files=len(removed),
        bytes=sum(step.size for step in removed),
        undone=sum(step.state == "undone" for step in removed),
    )


def number_of_act(journal: str | os.PathLike[str], act: str) -> int | None:
    """The number of the act with a random number; None if the act has no step in the journal."""
    numbers = {steps[0].act: number for number, steps in enumerate(_grouped(all_steps(journal)), 1)}
    return numbers.get(act)


def chosen_steps(
    journal: str | os.PathLike[str],
    act: int | Literal["last", "all"],
    files: Iterable[str | bytes | os.PathLike[str]] | None,
) -> list[JournalStep]:
    """The steps to undo, the last one first.

    "last" is the last act of which a file is not back; with `files` it is the last act that removed each of
    them. `ValueError` for an act that the journal does not have.
    """
    known = all_steps(journal)
    groups = _grouped(_with_present_copies(list(_with_own_facts(known))))
    if act == "last" and files is None:
        groups = [steps for steps in groups if any(step.is_open for step in steps)][-1:]
    elif isinstance(act, int):
        if not 1 <= act <= len(groups):
            last = f"the number of the last act is {len(groups)}" if groups else "no act is recorded there"
            raise ValueError(f"{os.fspath(journal)} has no act {act}; {last}")
        groups = [groups[act - 1]]
    steps = [step for group in groups for step in group if step.is_open]
    steps.reverse()
    if files is None:
        return steps
    roots = [key_of(root) for root in roots_of(files)]
    steps = [step for step in steps if any(is_under(step.key, root) for root in roots)]
    if act == "last":
        steps = list({step.key: step for step in reversed(steps)}.values())[::-1]
    return steps
