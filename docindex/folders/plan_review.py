"""Review a plan: choose which files stay, group by group, with undo, before `act` changes anything.

Takes a plan as JSON, and returns it as JSON with the decisions, so that a review can go on later. Must never
touch the files of the plan, nor make a plan that removes the last file of a group, or one of a reference
folder.
"""

import contextlib
import dataclasses
import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, Self, get_args

from docindex.folders.copy_groups import CopyGroup, FolderGroup, PlannedFile
from docindex.folders.found_groups import LikeFile, LikenessGroup
from docindex.folders.mirrored_folders import PlannedGroup, copies_in, mirrored
from docindex.folders.path_keys import path_of
from docindex.folders.plan import PLAN_FORMAT, Plan, planned_record
from docindex.folders.system import allocated_bytes

Decision = Literal["open", "agreed", "chosen", "skipped"]
"""Open: not reviewed yet. Agreed: the files stay that the plan proposed. Chosen: a person chose the files
that stay. Skipped: all files stay."""

_CHOSEN = "you chose it"


class ReviewSummary(NamedTuple):
    """What `act` will do with a plan, and how far its review is."""

    files: int
    """How many files go."""
    freed: int
    """The bytes that are freed."""
    groups: Mapping[Decision, int]
    """How many groups have each decision."""
    open_files: int
    """How many of the files that go are in groups that are not reviewed yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    """A group of the plan with its decision."""

    group: PlannedGroup
    decision: Decision = "open"
    references: frozenset[str] = frozenset()
    """The keys of files in reference folders, which always stay."""


class PlanReview:
    """A plan that a person reviews: copied folders first, then the other groups, by number from 0.

    >>> review = PlanReview.from_json(Plan(()).to_json())
    >>> len(review), review.plan()
    (0, Plan(groups=(), folders=()))
    """

    def __init__(self, plan: Plan) -> None:
        self._entries = [_Entry(group, references=_references(group)) for group in _groups_of(plan)]
        self._lines: list[str | None] = [None] * len(self._entries)
        self._rest: dict[str, Any] = {}
        self._history: list[tuple[int, dict[int, _Entry]]] = []
        self.position = 0
        """The number of the group that is reviewed next; the number of groups at the end."""

    @classmethod
    def from_json(cls, text: str | bytes, *, name: str = "this") -> Self:
        """A review of the plan in JSON, with the decisions that `to_json` wrote. `ValueError` as for `Plan`.

        >>> PlanReview.from_json(Plan(()).to_json()).position
        0
        """
        plan = Plan.from_json(text, name=name)
        review = cls(plan)
        found = json.loads(text)
        records = [*found.pop("folders", []), *found.pop("groups")]
        for number, record in enumerate(records):
            entry = review._entries[number]
            decision = record.get("decision")
            if decision in get_args(Decision):
                listed = record.get("references")
                references = entry.references
                if isinstance(listed, list):
                    references = frozenset(key for key in listed if isinstance(key, str))
                review._entries[number] = _Entry(entry.group, decision, references)
        position = found.pop("review-position", 0)
        review._rest = found
        if isinstance(position, int):
            review.position = max(0, min(position, len(review)))
        return review

    def to_json(self) -> str:
        """The plan as JSON with the decisions, one group a line, and with all else that the JSON had."""
        lines = [line or self._line(number) for number, line in enumerate(self._lines)]
        folders = sum(isinstance(entry.group, FolderGroup) for entry in self._entries)
        first = json.dumps({**self._rest, "docindex-plan": PLAN_FORMAT, "review-position": self.position})
        of_folders, of_files = ",\n".join(lines[:folders]), ",\n".join(lines[folders:])
        return f'{first[:-1]},\n"folders": [\n{of_folders}\n],\n"groups": [\n{of_files}\n]}}\n'

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def rest(self) -> Mapping[str, Any]:
        """The other fields of the JSON, for example the texts that are alike."""
        return self._rest

    @property
    def alike(self) -> list[LikenessGroup]:
        """The groups of similar texts that `dups --json` wrote into the plan. `act` removes none of them.

        Groups that somebody has edited into another form are left out.
        """
        found = []
        with contextlib.suppress(TypeError, KeyError, AttributeError):
            for record in self._rest.get("alike", []):
                names = ("key", "share", "like", "size")
                files = tuple(LikeFile(*(file[name] for name in names)) for file in record["files"])
                if files and all(map(_is_like_file, files)):
                    found.append(LikenessGroup(record["kind"], files))
        return found

    def group(self, number: int) -> PlannedGroup:
        """A group with the files that stay and those that go."""
        return self._entries[number].group

    def decision(self, number: int) -> Decision:
        """The decision about a group."""
        return self._entries[number].decision

    def agree(self, number: int) -> None:
        """Leave a group as it is, and note that it was reviewed."""
        entry = self._entries[number]
        if entry.decision == "open":
            self._set({number: dataclasses.replace(entry, decision="agreed")}, number)

    def choose(self, number: int, keep: Iterable[str]) -> None:
        """Keep these files of a group, by their keys, and let the others go; of copied folders, keep one.

        `ValueError` if the group has no such file, if no file would stay, and for a file or a folder that
        has to stay: it is in a reference folder, or another group needs it.
        """
        if isinstance(keep, str):
            raise TypeError("keep must be a list of keys, not a single key; put it in a list")
        kept, entry = list(keep), self._entries[number]
        if isinstance(entry.group, FolderGroup):
            self._choose_folder(number, entry.group, kept)
            return
        keys = [file.key for file in entry.group.files]
        if not kept or set(kept) - set(keys):
            raise ValueError(f"keep at least one of {keys}, and no other file")
        if going := sorted(entry.references.difference(kept)):
            raise ValueError(f"{going[0]} stays: it is in a reference folder")
        group = _with_kept(entry.group, set(kept))
        same = [file.key for file in entry.group.kept] == [file.key for file in group.kept]
        reason = entry.group.reason if same else _CHOSEN
        self._set({number: _Entry(group._replace(reason=reason), "chosen", entry.references)}, number)

    def skip(self, number: int) -> None:
        """Keep all files of a group."""
        self._set({number: self._skipped(number)}, number)

    def skip_open(self) -> int:
        """Keep all files of the groups that are not reviewed yet, and return how many groups these are."""
        found = {
            number: self._skipped(number)
            for number, entry in enumerate(self._entries)
            if entry.decision == "open"
        }
        if found:
            self._set(found, self.position)
        return len(found)

    def undo(self) -> int | None:
        """Revert the last decision, and return the number of its group; None if there is nothing to undo."""
        if not self._history:
            return None
        number, before = self._history.pop()
        for place, entry in before.items():
            self._put(place, entry)
        return number

    def plan(self) -> Plan:
        """The plan with the decisions so far, for `act`."""
        groups = [entry.group for entry in self._entries]
        return Plan(
            tuple(group for group in groups if isinstance(group, CopyGroup)),
            tuple(group for group in groups if isinstance(group, FolderGroup)),
        )

    def changes(self, number: int) -> dict[str, Literal["gone", "changed"]]:
        """The files of a group that are gone, or have changed since the plan was made, by key.

        Looks at the size and the time of each file, and reads no file.
        """
        found: dict[str, Literal["gone", "changed"]] = {}
        for file in files_of(self.group(number)):
            try:
                status = os.lstat(path_of(file.key))
            except OSError:
                found[file.key] = "gone"
                continue
            times = (status.st_mtime_ns, -1)
            if not stat.S_ISREG(status.st_mode) or status.st_size != file.size or file.mtime_ns not in times:
                found[file.key] = "changed"
        return found

    @property
    def summary(self) -> ReviewSummary:
        """What `act` will do with the plan, and how far the review is."""
        files = freed = open_files = 0
        for entry in self._entries:
            count, size = going_in(entry.group)
            files, freed = files + count, freed + size
            open_files += count if entry.decision == "open" else 0
        groups = Counter(entry.decision for entry in self._entries)
        return ReviewSummary(files, freed, groups, open_files)

    def next_open(self, start: int) -> int | None:
        """The first group from `start` on that is not reviewed yet, then from 0 on; None if all are."""
        order = [*range(start, len(self)), *range(min(start, len(self)))]
        return next((number for number in order if self._entries[number].decision == "open"), None)

    def _choose_folder(self, number: int, group: FolderGroup, kept: list[str]) -> None:
        entry = self._entries[number]
        if kept == [group.kept]:
            again = group._replace(keep=False)
            self._set({number: _Entry(again, "chosen", entry.references)}, number)
        elif kept == [group.folder]:
            changed = mirrored([each.group for each in self._entries], number)
            entries = {}
            for place, each in changed.items():
                if place == number and isinstance(each, FolderGroup):
                    copies = tuple(copy._replace(reclaimable=_freed(copy.files)) for copy in each.copies)
                    swapped = each._replace(copies=copies, reason=_CHOSEN, keep=False)
                    entries[place] = _Entry(swapped, "chosen", entry.references)
                else:
                    entries[place] = dataclasses.replace(self._entries[place], group=each)
            self._set(entries, number)
        else:
            raise ValueError(f"keep either {group.kept!r} or {group.folder!r}; to keep both, skip the group")

    def _skipped(self, number: int) -> _Entry:
        entry = self._entries[number]
        if isinstance(entry.group, FolderGroup):
            return _Entry(entry.group._replace(keep=True), "skipped", entry.references)
        files = tuple(file._replace(keep=True) for file in entry.group.files)
        return _Entry(entry.group._replace(files=files, reclaimable=0), "skipped", entry.references)

    def _set(self, entries: dict[int, _Entry], number: int) -> None:
        """Change some groups in one step that `undo` reverts; `number` is the group that a person saw."""
        self._history.append((number, {place: self._entries[place] for place in entries}))
        for place, entry in entries.items():
            self._put(place, entry)

    def _put(self, place: int, entry: _Entry) -> None:
        self._entries[place], self._lines[place] = entry, None

    def _line(self, number: int) -> str:
        """The JSON of a group. It is kept: a plan has thousands, and is saved after each decision."""
        entry = self._entries[number]
        record = {**planned_record(entry.group), "decision": entry.decision}
        if entry.references:
            record["references"] = sorted(entry.references)
        self._lines[number] = line = json.dumps(record)
        return line


def files_of(group: PlannedGroup) -> list[PlannedFile]:
    """The files of a group, each once."""
    return list({file.key: file for each in copies_in(group) for file in each.files}.values())


def going_in(group: PlannedGroup) -> tuple[int, int]:
    """How many files of a group go, and the bytes that this frees."""
    if isinstance(group, CopyGroup):
        return len(group.others), group.reclaimable
    return (0, 0) if group.keep else (sum(len(each.others) for each in group.copies), group.reclaimable)


def _groups_of(plan: Plan) -> list[PlannedGroup]:
    return [*plan.folders, *plan.groups]


def _is_like_file(file: LikeFile) -> bool:
    return (
        isinstance(file.key, str)
        and isinstance(file.share, (int, float))
        and isinstance(file.like, (str, type(None)))
        and isinstance(file.size, int)
    )


def _references(group: PlannedGroup) -> frozenset[str]:
    """The files that stay because they are in a reference folder."""
    if isinstance(group, FolderGroup) or group.reason != "in a reference folder":
        return frozenset()
    return frozenset(file.key for file in group.kept if not group.remark(file))


def _with_kept(group: CopyGroup, keys: set[str]) -> CopyGroup:
    """The group with these files kept, in the same order, and with what that frees."""
    files = tuple(file._replace(keep=file.key in keys) for file in group.files)
    return group._replace(files=files, reclaimable=_freed(files))


def _freed(files: Iterable[PlannedFile]) -> int:
    """The bytes that the files free that are not kept. A file that is gone frees nothing."""
    kept: set[tuple[int, int]] = set()
    going: dict[tuple[int, int], int] = {}
    for file in files:
        try:
            status = os.lstat(path_of(file.key))
        except OSError:
            continue
        identity = (status.st_dev, status.st_ino)
        if file.keep:
            kept.add(identity)
        else:
            going[identity] = allocated_bytes(status)
    return sum(size for identity, size in going.items() if identity not in kept)
