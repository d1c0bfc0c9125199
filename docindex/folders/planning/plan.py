"""The plan to remove exact copies: write it as JSON and read it.

Must never return a plan that removes the last file of a group.
"""

import dataclasses
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Self

from docindex.folders.planning.copy_groups import CopyGroup, FolderGroup, PlannedFile, listed_keys
from docindex.folders.walking.path_keys import is_under, path_of

PLAN_FORMAT = 1
"""The number of the format of the JSON of a plan."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Groups of exact copies and copied folders, with the files to keep.

    Made by `Findings.plan` or read from JSON.

    `ValueError` for a file whose key is not a valid absolute path.

    >>> Plan.from_json(Plan(()).to_json()) == Plan(())
    True
    """

    groups: tuple[CopyGroup, ...]
    folders: tuple[FolderGroup, ...] = ()

    def __post_init__(self) -> None:
        keys = [key for group in self.folders for key in (group.folder, group.kept, *group.empty_folders)]
        files = [file for group in self._all_groups() for file in group.files]
        for key in (*keys, *(key for file in files for key in (file.key, file.real or file.key))):
            try:
                path = path_of(key)
            except UnicodeError:  # a lone surrogate
                path = b""
            if not os.path.isabs(path) or b"\0" in path or b"/../" in path + b"/":
                raise ValueError(f"{key!r} is not a valid absolute path")
        for folder in self.folders:
            for file in (file for group in folder.copies for file in group.others):
                if not is_under(file.key, folder.folder):
                    raise ValueError(f"{file.key!r} is not in the folder {folder.folder!r} of its group")

    @property
    def reclaimable(self) -> int:
        """The bytes that `act` frees."""
        return sum(group.reclaimable for group in self.steps)

    @property
    def steps(self) -> tuple[CopyGroup, ...]:
        """The groups of files in the order in which `act` takes them: those of folders that go come first."""
        return (*(group for folder in self.going for group in folder.copies), *self.groups)

    @property
    def going(self) -> tuple[FolderGroup, ...]:
        """The folders whose copied files `act` removes."""
        return tuple(folder for folder in self.folders if not folder.keep)

    @property
    def staying(self) -> set[tuple[int, int]]:
        """The device and the inode of each file that stays, whatever path leads to it."""
        kept = [file for group in self._all_groups() for file in group.kept]
        skipped = [
            file for folder in self.folders if folder.keep for group in folder.copies for file in group.others
        ]
        return {file.identity for file in (*kept, *skipped)}

    def _all_groups(self) -> Iterator[CopyGroup]:
        for folder in self.folders:
            yield from folder.copies
        yield from self.groups

    def to_json(self) -> str:
        """The plan as JSON, for people to edit and for `from_json` to read."""
        folders = [planned_record(folder) for folder in self.folders]
        groups = [planned_record(group) for group in self.groups]
        return json.dumps({"docindex-plan": PLAN_FORMAT, "folders": folders, "groups": groups}, indent=1)

    @classmethod
    def from_json(cls, text: str | bytes, *, name: str = "this") -> Self:
        """Read a plan from JSON. Errors call it by its `name`, for example the name of its file.

        `ValueError` if the JSON is not a plan, or if the plan would keep no file of a group.
        """
        try:
            found = _object(json.loads(text), "the JSON")
            if (number := _field(found, "docindex-plan", int, "the JSON")) != PLAN_FORMAT:
                raise ValueError(
                    f"it has format {number}, and this docindex reads format {PLAN_FORMAT}; make a new plan"
                )
            listed = enumerate(_field(found, "groups", list, "the JSON"), 1)
            groups = tuple(_group(group, f"group {count}") for count, group in listed)
            of_folders = enumerate(_optional(found, "folders", list, "the JSON", []), 1)
            plan = cls(groups, tuple(_folder(folder, f"folder {count}") for count, folder in of_folders))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} is not a plan that dups --json wrote: {_reason(error)}") from error
        for group in plan._all_groups():
            if not group.kept:
                keys = listed_keys([file.key for file in group.files])
                raise ValueError(f'a group keeps no file; set "keep" to true for at least one of {keys}')
        return plan


def planned_record(group: CopyGroup | FolderGroup) -> dict[str, Any]:
    """A group as an object in the JSON of a plan."""
    if isinstance(group, FolderGroup):
        return {**group._asdict(), "copies": [planned_record(copies) for copies in group.copies]}
    return {**group._asdict(), "files": [_file_record(file) for file in group.files]}


def _file_record(file: PlannedFile) -> dict[str, Any]:
    record = file._asdict()
    if not file.real:  # nearly all files
        del record["real"]
    return record


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON: see line {error.lineno}, column {error.colno}"
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
    return CopyGroup(
        files,
        digest,
        _field(found, "reclaimable", int, where),
        _optional(found, "reason", str, where, ""),
        _keys(found, "other_disk", where),
    )


def _folder(found: Any, where: str) -> FolderGroup:
    """The folder in a JSON value; `ValueError` with the place `where` the value is, if it is not a folder."""
    listed = enumerate(_field(_object(found, where), "copies", list, where), 1)
    return FolderGroup(
        folder=_field(found, "folder", str, where),
        kept=_field(found, "kept", str, where),
        copies=tuple(_group(group, f"group {count} of {where}") for count, group in listed),
        differing=_field(found, "differing", int, where),
        only_here=_field(found, "only_here", int, where),
        only_in_kept=_field(found, "only_in_kept", int, where),
        reason=_optional(found, "reason", str, where, ""),
        keep=_optional(found, "keep", bool, where, False),
        other_disk=_optional(found, "other_disk", bool, where, False),
        unseen=_keys(found, "unseen", where),
        empty_folders=_keys(found, "empty_folders", where),
    )


def _keys(found: Any, name: str, where: str) -> tuple[str, ...]:
    """A list of keys, which need not be there."""
    keys = _optional(found, name, list, where, [])
    if not all(isinstance(key, str) for key in keys):
        raise ValueError(f"the field {name!r} of {where} must be a list of strings")
    return tuple(keys)


def _file(found: Any, where: str) -> PlannedFile:
    _object(found, where)
    return PlannedFile(
        _field(found, "key", str, where),
        _field(found, "keep", bool, where),
        _field(found, "size", int, where),
        _field(found, "mtime_ns", int, where),
        _field(found, "device", int, where),
        _field(found, "inode", int, where),
        _optional(found, "real", str, where, ""),
    )


_KINDS = {str: "a string", bool: "true or false", int: "a whole number", list: "a list"}


def _object(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"{where} is {json.dumps(found)[:60]}, not an object with fields")
    return found


def _optional(found: dict[str, Any], name: str, kind: type, where: str, default: Any) -> Any:
    return _field(found, name, kind, where) if name in found else default


def _field(found: dict[str, Any], name: str, kind: type, where: str) -> Any:
    if name not in found:
        raise ValueError(f"{where} has no field {name!r}")
    if type(found[name]) is not kind:
        given = json.dumps(found[name])[:60]
        raise ValueError(f"the field {name!r} of {where} must be {_KINDS[kind]}, not {given}")
    return found[name]
