"""Review a plan: choose which files stay, group by group, with undo, before `act` changes anything.

Takes a plan as JSON, and returns it as JSON with the decisions, so that a review can go on later. Must never
touch the files of the plan, nor make a plan that removes the last file of a group, or one of a reference
folder.
"""

import contextlib
import dataclasses
import itertools
import json
import os
import secrets
import stat
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, get_args

from docindex.errors import DiskFull, UnreadableFile, is_no_room
from docindex.folders.finding.groups import LikeFile, LikenessGroup
from docindex.folders.planning.copy_groups import CopyGroup, FolderGroup, PlannedFile
from docindex.folders.planning.plan import PLAN_FORMAT, Plan, planned_record
from docindex.folders.walking.path_keys import is_under, path_of
from docindex.folders.walking.system import allocated_bytes

# Keep the other one of two copied folders: exchange the files that stay and the files that go.
#
# Takes the groups of a plan, and returns those that change. Must never plan to remove the last file of a
# group.

PlannedGroup = CopyGroup | FolderGroup
"""A group of a plan."""


def mirrored(groups: Sequence[PlannedGroup], number: int) -> dict[int, PlannedGroup]:
    """The groups that change, by number, if the other folder of a group of copied folders is kept.

    Each copied file is exchanged with its copy in the other folder, also in the other groups. A
    copied file without a copy of its own there stays in both folders. `ValueError` if the folder that stays
    now has to stay for another group.
    """
    folder = groups[number]
    assert isinstance(folder, FolderGroup)
    if "reference folder" in folder.reason:
        raise ValueError(f"{folder.kept} stays: {folder.reason}")
    for other in groups:
        if isinstance(other, FolderGroup) and other is not folder:
            for key in (other.folder, other.kept):
                if is_under(key, folder.kept) or is_under(folder.kept, key):
                    raise ValueError(f"{folder.kept} stays: another group needs {key}")
    by_digest: dict[str, dict[str, PlannedFile]] = {}
    for each in itertools.chain.from_iterable(map(copies_in, groups)):
        by_digest.setdefault(each.digest, {}).update((file.key, file) for file in each.files)
    copies: list[CopyGroup] = []
    exchanged: dict[str, PlannedFile] = {}
    for each in folder.copies:
        if len(each.others) != 1:
            continue  # somebody has edited the plan: both files stay
        own = each.others[0]
        partner = _partner(own, by_digest[each.digest].values(), folder, exchanged)
        if partner is not None:
            exchanged[partner.key] = own
            staying = [file for file in each.kept if not is_under(file.key, folder.kept)]
            files = (own._replace(keep=True), *staying, partner._replace(keep=False))
            copies.append(each._replace(files=files, reason=""))
    if not copies:
        raise ValueError(f"{folder.kept} stays: its files are not in the plan")
    changed: dict[int, PlannedGroup] = {}
    for place, group in enumerate(groups):
        if place != number and any(file.key in exchanged for each in copies_in(group) for file in each.files):
            changed[place] = (
                group._replace(copies=tuple(_exchanged(each, exchanged) for each in group.copies))
                if isinstance(group, FolderGroup)
                else _exchanged(group, exchanged)
            )
    changed[number] = folder._replace(
        folder=folder.kept,
        kept=folder.folder,
        copies=tuple(copies),
        only_here=folder.only_in_kept,
        only_in_kept=folder.only_here,
        other_disk=False,  # a person has decided
    )
    return changed


def copies_in(group: PlannedGroup) -> tuple[CopyGroup, ...]:
    """The groups of files in a group of a plan."""
    return group.copies if isinstance(group, FolderGroup) else (group,)


def _exchanged(group: CopyGroup, exchanged: Mapping[str, PlannedFile]) -> CopyGroup:
    """The group with the files that stay now in the places of their copies."""
    files: dict[str, PlannedFile] = {}
    for file in group.files:
        other = exchanged.get(file.key)
        new = file if other is None else other._replace(keep=file.keep)
        twice = files.get(new.key)  # only in a plan that somebody has edited
        files[new.key] = new if twice is None else new._replace(keep=new.keep or twice.keep)
    return group._replace(files=tuple(files.values()))


def _partner(
    own: PlannedFile, same: Iterable[PlannedFile], folder: FolderGroup, taken: Container[str]
) -> PlannedFile | None:
    """The copy of a file in the kept folder, at the same path in it if possible; None without a copy."""
    found = [file for file in same if is_under(file.key, folder.kept) and file.key not in taken]
    same_place = folder.kept + own.key[len(folder.folder) :]
    return min(found, key=lambda file: (file.key != same_place, file.key), default=None)


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


# The plan file of a review: read it, and save it whole after each decision.
#
# Must never leave half a plan, nor overwrite a plan that another program has changed since it was read.


class ReviewFile:
    """A review, and the file that it is saved in.

    >>> import pathlib, tempfile
    >>> from docindex.folders import Plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "plan.json")
    ...     _ = path.write_text(Plan(()).to_json())
    ...     file = ReviewFile.read(path)
    ...     file.save()
    ...     Plan.from_json(path.read_text()) == file.review.plan()
    True
    """

    def __init__(self, path: str, review: PlanReview, identity: tuple[int, ...]) -> None:
        self.path = path
        self.review = review
        self._known = {identity}
        """The file as this review has read or written it."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a plan. `UnreadableFile` if that fails, and `ValueError` if the file is not a plan."""
        name = os.path.realpath(path)  # saving a plan must not replace a link to it
        try:
            with open(name, "rb") as file:
                data, identity = file.read(), _identity(os.fstat(file.fileno()))
        except OSError as error:
            raise UnreadableFile(f"{name} cannot be read: {error.strerror or error}", name) from error
        return cls(name, PlanReview.from_json(data, name=os.fspath(path)), identity)

    def save(self) -> None:
        """Save the plan with the decisions so far. An interrupt leaves the old file or the new one.

        `ValueError` if another program has changed the file, `DiskFull` if there is no room for it, and
        `UnreadableFile` if it cannot be written for another reason.
        """
        try:
            self._replace()
        except OSError as error:
            if is_no_room(error):
                raise DiskFull(
                    f"the disk is full: {self.path} is as it was, without your last choice; free some space",
                    self.path,
                ) from error
            raise UnreadableFile(
                f"{self.path} cannot be written: {error.strerror or error}", self.path
            ) from error

    def _replace(self) -> None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            status = None
        if status is not None and _identity(status) not in self._known:
            raise ValueError(f"{self.path} was changed by another program; review it again")
        part = f"{self.path}.{secrets.token_hex(4)}.part"
        mode = 0o600 if status is None else status.st_mode & 0o777
        try:
            with open(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
            ) as file:
                file.write(self.review.to_json())
                file.flush()
                os.fsync(file.fileno())
            os.chmod(part, mode)
            new = _identity(os.stat(part))
            self._known.add(new)  # before the file is replaced: an interrupt may come right after that
            os.replace(part, self.path)
            self._known = {new}
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
