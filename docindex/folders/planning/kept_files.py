"""Choose which files of each group of exact copies are kept.

Must never choose to remove a file from a reference folder, nor the last file of a group.
"""

import contextlib
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from docindex.folders.planning.copy_groups import CopyGroup, ExactCopies, PlannedFile
from docindex.folders.planning.keep_rules import Candidate, KeepPolicy, check_keep
from docindex.folders.walking.path_keys import is_under, key_of, path_of, with_slashes
from docindex.folders.walking.system import allocated_bytes
from docindex.storage.file.descriptors import file_at
from docindex.storage.tracked_files import UNDETECTED, Tracked

_NO_KEYS: AbstractSet[str] = frozenset()
_IS_KEPT = operator.attrgetter("keep")


class KeepChoice:
    """Chooses the files to keep by a policy, after one look at the reference folders.

    `roots` are the keys of the folders that were searched. `freed_by` says how many bytes a file gives back
    if it is removed; by default the system is asked.
    """

    def __init__(
        self,
        policy: KeepPolicy,
        roots: Iterable[str] = (),
        freed_by: Callable[[Tracked], int] | None = None,
    ) -> None:
        check_keep(policy.keep)
        self.policy = policy
        self._freed_by = freed_by or _freed_by
        self._references = _References(policy.reference)
        # Only the links to a root are resolved, and now: a folder below may become a link at any time.
        real = {root: key_of(with_slashes(os.path.realpath(path_of(root)))) for root in roots}
        self._linked = sorted([pair for pair in real.items() if pair[0] != pair[1]], reverse=True)
        """The roots that a link leads to, and their keys without links; inner folders first."""

    def references(self, keys: Iterable[str]) -> set[str]:
        """Those of some files and folders that are in a reference folder."""
        return self._references.covered(keys)

    def on_other_disks(self, found: ExactCopies, kept: AbstractSet[str]) -> set[str]:
        """The keys of the copies on other disks than all kept files; empty if the policy lets them go."""
        if self.policy.other_disks or len({file.device for file in found.files}) == 1:  # nearly always
            return set()
        disks = {file.device for file in found.files if file.key in kept}
        return {file.key for file in found.files if file.device not in disks}

    def planned(self, file: Tracked, *, keep: bool) -> PlannedFile:
        """A file as the plan holds it."""
        linked = next((pair for pair in self._linked if is_under(file.key, pair[0])), None)
        real = linked[1] + file.key[len(linked[0]) :] if linked else ""
        return PlannedFile(file.key, keep, file.size, file.mtime_ns, file.device, file.inode, real)

    def planned_empty(self, key: str, *, keep: bool) -> PlannedFile:
        """An empty file as the plan holds it."""
        device, inode = file_at(path_of(key), follow_symlinks=False) or (0, 0)
        return self.planned(Tracked(key, 0, -1, 0, device, inode, UNDETECTED, "", 0, "", None), keep=keep)

    def group(self, found: ExactCopies, leaving: AbstractSet[str] = _NO_KEYS) -> CopyGroup | None:
        """The copies with the files to keep; None if no file would be removed, nor stays on another disk.

        If there are files in reference folders, these are kept; otherwise the rule chooses the file to keep.
        All files in an isolated folder of a kept file are kept too, and so are files on other disks, unless
        the policy lets them go. A file in `leaving` is kept only if no other file is there.
        """
        files = found.files
        kept = self.references([file.key for file in files]) if self.policy.reference else set()
        if not kept:
            staying = [file for file in files if file.key not in leaving] or files
            best, reason = self.policy.best([Candidate(file.key, time_of(file)) for file in staying])
            kept = {best.key}
        else:
            reason = "in a reference folder"
        if self.policy.isolate:
            kept = _with_isolated(files, kept, self.policy.isolate)
        far = {key for key in self.on_other_disks(found, kept) if key not in leaving}
        kept |= far
        staying_inodes = {(file.device, file.inode) for file in files if file.key in kept}
        going = {
            (file.device, file.inode): file
            for file in files
            if (file.device, file.inode) not in staying_inodes
        }
        if not (going or far):
            return None
        # `sorted` keeps the order of equal values: the files stay in the order of their keys.
        members = [self.planned(file, keep=file.key in kept) for file in sorted(files)]
        members.sort(key=_IS_KEPT, reverse=True)
        freed = sum(map(self._freed_by, going.values()))
        return CopyGroup(tuple(members), found.digest.hex(), freed, reason, tuple(sorted(far)))


def plan_groups(groups: Iterable[ExactCopies], choice: KeepChoice) -> list[CopyGroup]:
    """Choose the files to keep of each group; the groups with the largest reclaimable size come first.

    Groups that would lose no file are left out, unless a copy stays because it is on another disk.
    """
    return largest_first(filter(None, map(choice.group, groups)))


def largest_first(groups: Iterable[CopyGroup]) -> list[CopyGroup]:
    """The groups, the largest reclaimable size first."""
    return sorted(groups, key=lambda group: (-group.reclaimable, group.files[0].key))


def _freed_by(file: Tracked) -> int:
    """The bytes that a file gives back if it is removed."""
    try:
        return allocated_bytes(os.lstat(path_of(file.key)))
    except (OSError, ValueError):
        return file.size


def _with_isolated(files: Iterable[Tracked], kept: set[str], roots: Sequence[str]) -> set[str]:
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

    def covered(self, keys: Iterable[str]) -> set[str]:
        """The keys of the files and folders in a reference folder."""
        return {key for key in keys if self._covers(path_of(key))} if self._identities else set()

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


def time_of(file: Tracked) -> int:
    """The time of the last change: as the index noted it, or from the system if it was too recent to note."""
    if file.mtime_ns != -1:
        return file.mtime_ns
    try:
        return os.stat(path_of(file.key)).st_mtime_ns
    except OSError:
        return -1
