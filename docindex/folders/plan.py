"""Plan which files of each group of exact copies are kept; write plans as JSON and read them.

Must never plan to remove a file from a reference folder, nor the last file of a group.
"""

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self

from docindex.folders.exact_copies import ExactCopies
from docindex.folders.path_keys import is_under, path_of
from docindex.storage.tracked_files import Tracked

KeepRule = Literal["newest", "oldest", "shortest-path", "first"]
"""The rule that chooses the file to keep. First: the first path alphabetically, which also decides ties."""

_BEST: dict[str, Callable[[Tracked], tuple[Any, ...]]] = {
    "newest": lambda file: (-_time_of(file), file.key),
    "oldest": lambda file: (_time_of(file), file.key),
    "shortest-path": lambda file: (len(file.key), file.key),
    "first": lambda file: (file.key,),
}
KEEP = tuple(_BEST)
"""Every value of `KeepRule`."""

_FORMAT = 1


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file of a plan. `ValueError` for a key that is not a valid absolute path."""

    key: str
    keep: bool
    size: int
    mtime_ns: int
    """The time of the last change; -1 if that was too recent to trust."""

    def __post_init__(self) -> None:
        path = path_of(self.key)
        if not os.path.isabs(path) or b"\0" in path:
            raise ValueError(f"{self.key!r} is not a valid absolute path")


@dataclasses.dataclass(frozen=True, slots=True)
class CopyGroup:
    """Files with the same bytes. At least one of them is kept."""

    files: tuple[PlannedFile, ...]
    digest: str
    """The xxh3-128 of the bytes, in hexadecimal."""
    reclaimable: int
    """The bytes that are freed if the other files are removed."""

    @property
    def kind(self) -> Literal["exact"]:
        """The kind of group, like `LikenessGroup.kind`."""
        return "exact"

    @property
    def kept(self) -> list[PlannedFile]:
        """The files that stay."""
        return [file for file in self.files if file.keep]

    @property
    def others(self) -> list[PlannedFile]:
        """The files that `act` removes or links."""
        return [file for file in self.files if not file.keep]


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Groups of exact copies, with the files to keep. Made by `Findings.plan` or read from JSON.

    >>> Plan.from_json(Plan(()).to_json()) == Plan(())
    True
    """

    groups: tuple[CopyGroup, ...]

    @property
    def reclaimable(self) -> int:
        """The bytes that `act` frees."""
        return sum(group.reclaimable for group in self.groups)

    def to_json(self) -> str:
        """The plan as JSON, for people to edit and for `from_json` to read."""
        groups = [dataclasses.asdict(group) for group in self.groups]
        return json.dumps({"docindex-plan": _FORMAT, "groups": groups}, indent=1)

    @classmethod
    def from_json(cls, text: str | bytes, *, name: str = "this") -> Self:
        """Read a plan from JSON. Errors call it by its `name`, for example the name of its file.

        `ValueError` if the JSON is not a plan, or if the plan would keep no file of a group.
        """
        try:
            found = _object(json.loads(text), "the JSON")
            if (number := _field(found, "docindex-plan", int, "the JSON")) != _FORMAT:
                raise ValueError(
                    f"it has format {number}, and this docindex reads format {_FORMAT}; make a new plan"
                )
            listed = enumerate(_field(found, "groups", list, "the JSON"), 1)
            groups = tuple(_group(group, f"group {count}") for count, group in listed)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} is not a plan that dups --json wrote: {_reason(error)}") from error
        for group in groups:
            if not group.kept:
                keys = [file.key for file in group.files]
                raise ValueError(f"the plan keeps none of {keys}; keep at least one of them")
        return cls(groups)


@dataclasses.dataclass(frozen=True, slots=True)
class KeepPolicy:
    """How to choose the files to keep."""

    keep: KeepRule = "first"
    reference: Sequence[str] = ()
    """Folders, by their keys, whose files are always kept."""
    isolate: Sequence[str] = ()
    """Folders, by their keys. Files in one of them do not count as copies of each other."""


def plan_groups(groups: Iterable[ExactCopies], policy: KeepPolicy | None = None) -> list[CopyGroup]:
    """Choose the files to keep of each group; the groups with the largest reclaimable size come first.

    If a group has files in reference folders, these are kept; otherwise the rule chooses the file to keep.
    All files in an isolated folder of a kept file are kept too. Groups that would lose no file are left out.
    """
    policy = policy or KeepPolicy()
    check_keep(policy.keep)
    planned, references = [], _References(policy.reference)
    for group in groups:
        files = sorted(group.files, key=_BEST[policy.keep])
        kept = {file.key for file in files if references.cover(path_of(file.key))}
        kept = _with_isolated(files, kept or {files[0].key}, policy.isolate)
        staying = {(file.device, file.inode) for file in files if file.key in kept}
        going = {(file.device, file.inode) for file in files} - staying
        if going:
            members = tuple(
                PlannedFile(file.key, file.key in kept, file.size, file.mtime_ns) for file in files
            )
            planned.append(CopyGroup(members, group.digest.hex(), group.size * len(going)))
    return sorted(planned, key=lambda group: (-group.reclaimable, group.files[0].key))


def check_keep(keep: str) -> None:
    """`ValueError` unless this is a `KeepRule`."""
    if keep not in _BEST:
        raise ValueError(f"keep must be one of {', '.join(KEEP)}, not {keep!r}")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
    if isinstance(error, (UnicodeDecodeError, RecursionError)):
        return "it is not JSON"
    return str(error)


def _group(found: Any, where: str) -> CopyGroup:
    """The group in a JSON value; `ValueError` with the place `where` the value is, if it is not a group."""
    listed = enumerate(_field(_object(found, where), "files", list, where), 1)
    files = tuple(_file(file, f"file {count} of {where}") for count, file in listed)
    digest = _field(found, "digest", str, where)
    if not re.fullmatch("[0-9a-f]{32}", digest):
        raise ValueError(f"the digest of {where}, {digest[:60]!r}, is not 32 hexadecimal digits")
    return CopyGroup(files, digest, _field(found, "reclaimable", int, where))


def _file(found: Any, where: str) -> PlannedFile:
    _object(found, where)
    return PlannedFile(
        _field(found, "key", str, where),
        _field(found, "keep", bool, where),
        _field(found, "size", int, where),
        _field(found, "mtime_ns", int, where),
    )


_KINDS = {str: "a string", bool: "true or false", int: "a whole number", list: "a list"}


def _object(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"{where} is {json.dumps(found)[:60]}, not an object with fields")
    return found


def _field(found: dict[str, Any], name: str, kind: type, where: str) -> Any:
    if name not in found:
        raise ValueError(f"{where} has no field {name!r}")
    if type(found[name]) is not kind:
        given = json.dumps(found[name])[:60]
        raise ValueError(f"the field {name!r} of {where} must be {_KINDS[kind]}, not {given}")
    return found[name]


def _with_isolated(files: list[Tracked], kept: set[str], roots: Sequence[str]) -> set[str]:
    """The kept keys, and the keys of all files in an isolated folder of a kept file."""
    together = [root for root in roots if any(is_under(key, root) for key in kept)]
    return kept | {file.key for file in files if any(is_under(file.key, root) for root in together)}


class _References:
    """The reference folders, and the targets of the symbolic links in them."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._identities: set[tuple[int, int]] = set()
        self._known: dict[bytes, bool] = {}
        for root in map(path_of, roots):
            self._add(root)
            for folder, below, names in os.walk(root):
                for name in (*below, *names):
                    if os.path.islink(path := os.path.join(folder, name)):
                        self._add(path)

    def _add(self, path: bytes) -> None:
        with contextlib.suppress(OSError):  # a link may lead nowhere
            status = os.stat(path)
            self._identities.add((status.st_dev, status.st_ino))

    def cover(self, path: bytes) -> bool:
        """Whether a path is in a reference folder, either as it is written or with its links resolved."""
        if not self._identities:
            return False
        return self._is_below(path) or self._is_below(os.path.realpath(path))

    def _is_below(self, path: bytes) -> bool:
        if path not in self._known:
            try:
                status = os.stat(path)
                own = (status.st_dev, status.st_ino) in self._identities
            except OSError:
                own = False
            above = os.path.dirname(path)
            self._known[path] = own or (above != path and self._is_below(above))
        return self._known[path]


def _time_of(file: Tracked) -> int:
    """The time of the last change: as the index noted it, or from the system if it was too recent to note."""
    if file.mtime_ns != -1:
        return file.mtime_ns
    try:
        return os.stat(path_of(file.key)).st_mtime_ns
    except OSError:
        return -1
