"""Groups of copies in, a plan out: which of them are kept. And plans as JSON, to be read and edited.

Must never plan to remove a file from a reference folder, nor the last one of a group.
"""

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from docindex.folders.copies import Copies
from docindex.folders.path_keys import path_of
from docindex.storage.file_rows import Tracked

Keep = Literal["newest", "oldest", "shortest-path", "first"]

_BEST: dict[str, Callable[[Tracked], tuple[Any, ...]]] = {
    "newest": lambda file: (-_time_of(file), file.key),
    "oldest": lambda file: (_time_of(file), file.key),
    "shortest-path": lambda file: (len(file.key), file.key),
    "first": lambda file: (file.key,),
}
KEEP = tuple(_BEST)

_FORMAT = 1


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file in a plan."""

    key: str
    keep: bool
    size: int
    mtime_ns: int

    def __post_init__(self) -> None:
        path = path_of(self.key)
        if not os.path.isabs(path) or b"\0" in path:
            raise ValueError(f"the path {self.key!r}; expected an absolute one")


@dataclasses.dataclass(frozen=True, slots=True)
class CopyGroup:
    """Files with the same bytes, of which at least one is kept."""

    files: tuple[PlannedFile, ...]
    digest: str
    """The xxh3-128 of the bytes, in hexadecimal."""
    reclaimable: int
    """How many bytes removing the others would give back."""

    @property
    def kept(self) -> list[PlannedFile]:
        """Those that stay."""
        return [file for file in self.files if file.keep]

    @property
    def others(self) -> list[PlannedFile]:
        """Those that may go."""
        return [file for file in self.files if not file.keep]


def plan(
    groups: Iterable[Copies],
    keep: Keep = "first",
    *,
    reference: Sequence[str] = (),
    isolate: Sequence[str] = (),
) -> list[CopyGroup]:
    """What to keep of each group: the best one, and all that lie under a reference folder.

    Files under one of the folders to `isolate` are no copies of each other: of a group that has some under
    several of them, those under the folder of the best one are kept, and a group within one is left out.
    """
    if keep not in _BEST:
        raise ValueError(f"keep must be one of {', '.join(KEEP)}, not {keep!r}")
    planned, protected = [], _Protected(reference)
    for group in groups:
        files = sorted(group.files, key=_BEST[keep])
        kept = {file.key for file in files if protected.covers(path_of(file.key))}
        kept = _isolated(files, kept or {files[0].key}, isolate)
        staying = {(file.device, file.inode) for file in files if file.key in kept}
        going = {(file.device, file.inode) for file in files} - staying
        if going:
            members = tuple(
                PlannedFile(file.key, file.key in kept, file.size, file.mtime_ns) for file in files
            )
            planned.append(CopyGroup(members, group.digest.hex(), group.size * len(going)))
    return sorted(planned, key=lambda group: (-group.reclaimable, group.files[0].key))


def to_json(groups: Iterable[CopyGroup]) -> str:
    """Groups as JSON that `from_json` reads."""
    return json.dumps(
        {"docindex-plan": _FORMAT, "groups": [dataclasses.asdict(group) for group in groups]}, indent=1
    )


def from_json(text: str | bytes) -> list[CopyGroup]:
    """The groups of a plan; `ValueError` for what is none, or would keep nothing of a group."""
    try:
        found = json.loads(text)
        if found["docindex-plan"] != _FORMAT:
            raise ValueError(f"format {found['docindex-plan']!r}, where {_FORMAT} is known")
        groups = [_group(group) for group in found["groups"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        kinds = (json.JSONDecodeError, UnicodeDecodeError)
        why = "it is not JSON" if isinstance(error, kinds) else "something is missing, or not as it must be"
        if type(error) is ValueError:
            why = str(error)
        raise ValueError(f"this is not a plan that dups --json wrote: {why}") from error
    for group in groups:
        if not group.kept:
            raise ValueError(f"the plan keeps none of {[file.key for file in group.files]}; keep one of them")
    return groups


def _group(found: dict[str, Any]) -> CopyGroup:
    files = tuple(
        PlannedFile(
            _of(file, "key", str), _of(file, "keep", bool), _of(file, "size", int), _of(file, "mtime_ns", int)
        )
        for file in found["files"]
    )
    digest = _of(found, "digest", str)
    if not re.fullmatch("[0-9a-f]{32}", digest):
        raise ValueError(f"a digest {digest!r}")
    return CopyGroup(files, digest, _of(found, "reclaimable", int))


def _of(found: dict[str, Any], name: str, kind: type) -> Any:
    if type(found[name]) is not kind:
        raise TypeError(f"{name} = {found[name]!r}")
    return found[name]


def _isolated(files: list[Tracked], kept: set[str], roots: Sequence[str]) -> set[str]:
    """Those that are kept, with all that lie under the same folder as one of them."""
    together = [root for root in roots if any(_is_under(key, root) for key in kept)]
    return kept | {file.key for file in files if any(_is_under(file.key, root) for root in together)}


class _Protected:
    """Folders of which no file may go, by whatever way it is reached; nor what links in them lead to."""

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
        with contextlib.suppress(OSError):  # as a link that leads nowhere
            status = os.stat(path)
            self._identities.add((status.st_dev, status.st_ino))

    def covers(self, path: bytes) -> bool:
        """Whether a path, or a folder above it, is one of these, seen literally or through its links."""
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
    """When a file was changed; of one that was too new for the index what the system says now."""
    if file.mtime_ns != -1:
        return file.mtime_ns
    try:
        return os.stat(path_of(file.key)).st_mtime_ns
    except OSError:
        return -1


def _is_under(key: str, root: str) -> bool:
    return key == root or key.startswith(root if root.endswith("/") else f"{root}/")
