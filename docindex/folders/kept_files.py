"""Choose which files of each group of exact copies are kept.

Must never choose to remove a file from a reference folder, nor the last file of a group.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from docindex.folders.copy_groups import CopyGroup, PlannedFile
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


class KeepPolicy(NamedTuple):
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
        kept = references.covered(files) or {files[0].key}
        if policy.isolate:
            kept = _with_isolated(files, kept, policy.isolate)
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

    def covered(self, files: Iterable[Tracked]) -> set[str]:
        """The keys of the files in a reference folder."""
        return {file.key for file in files if self._covers(path_of(file.key))} if self._identities else set()

    def _covers(self, path: bytes) -> bool:
        """Whether a path is in a reference folder, either as it is written or with its links resolved."""
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
