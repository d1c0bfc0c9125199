"""Group exact copies for a person: copied folders first, then the single files that are left.

In: the groups of files with the same bytes, all files below the roots, and what the walk left out. Out:
groups with the files to keep. Must never plan to remove a file unless another file with the same bytes stays,
nor a folder that the walk has not seen.
"""

import bisect
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import xxhash

from docindex.folders.finding.folder_pairs import FolderFile, FolderTree, SharedFiles, chosen_pairs
from docindex.folders.planning.copy_groups import CopyGroup, ExactCopies, FolderGroup, PlannedFile
from docindex.folders.planning.keep_rules import Candidate
from docindex.folders.planning.kept_files import KeepChoice, largest_first, time_of
from docindex.folders.walking.path_keys import is_under, key_of, path_of
from docindex.folders.walking.walk import Skipped

_EMPTY = xxhash.xxh3_128_hexdigest(b"")


class GroupedCopies(NamedTuple):
    """The result of `grouped_copies`. The largest reclaimable size comes first."""

    folders: list[FolderGroup]
    groups: list[CopyGroup]


def grouped_copies(
    copies: Sequence[ExactCopies],
    files: Iterable[tuple[str, int]],
    roots: Sequence[str],
    choice: KeepChoice,
    left_out: Skipped | None,
    *,
    with_folders: bool = True,
) -> GroupedCopies:
    """The copied folders below some roots, and the groups of the other files, with the files to keep.

    `files` are the keys and sizes of all files below the roots, and `left_out` is what the walk left out
    there; None if that is not known any more. A file in a copied folder is in no other group, unless it is
    not copied with the folder. A copied folder is kept if parts of it were not compared, or if it is on
    another disk.
    """
    if not (with_folders and copies):
        return GroupedCopies([], largest_first(filter(None, map(choice.group, copies))))
    tree = FolderTree(roots, itertools.starmap(FolderFile, files), copies)
    entries = _LeftOut(tree, left_out)
    pairs = _Pairs(tree, copies, choice, entries)
    chosen = pairs.chosen()
    leaving = {key: number for number, pair in enumerate(chosen) for key in pair.shared.shared}
    inside: list[list[CopyGroup]] = [[] for _ in chosen]
    far: set[int] = set()
    single: list[CopyGroup] = []
    for found in copies:
        group = choice.group(found, leaving.keys())
        if group is None:
            continue
        staying = [file for file in group.files if file.keep or file.key not in leaving]
        on_other_disks = choice.on_other_disks(found, {file.key for file in group.kept})
        for file in group.others:
            if file.key in leaving:
                inside[leaving[file.key]].append(_alone(group, file, found))
                if file.key in on_other_disks:
                    far.add(leaving[file.key])
        if group.other_disk or not all(file.keep for file in staying):
            single.append(_without(group, staying, found))
    # Without a group, all files are hard links to files that stay.
    folders = [
        _folder_group(pairs.tree, pair, groups, choice, entries, other_disk=number in far)
        for number, (pair, groups) in enumerate(zip(chosen, inside, strict=True))
        if groups
    ]
    folders.sort(key=lambda group: (-group.reclaimable, group.folder))
    return GroupedCopies(folders, largest_first(single))


class _Chosen(NamedTuple):
    """A copied folder, and the folder that is kept."""

    gone: int
    kept: int
    shared: SharedFiles
    reason: str


class _Pairs:
    """Chooses which folder of each pair is kept, and which pairs fit together."""

    def __init__(
        self, tree: FolderTree, copies: Sequence[ExactCopies], choice: KeepChoice, entries: "_LeftOut"
    ) -> None:
        self.tree = tree
        self._entries = entries
        self._choice = choice
        self._policy = choice.policy
        self._times: dict[int, int] = {}
        self._dated = {file.key: file for group in copies for file in group.files}
        self._found = chosen_pairs(tree, copies, self._chosen)

    def chosen(self) -> list[_Chosen]:
        """The copied folders that do not overlap, and whose kept folders stay."""
        planned = sorted(
            self._found,
            key=lambda pair: (self._policy.order(self._candidate(pair.kept)), -len(pair.shared.shared)),
        )
        fitting: list[_Chosen] = []
        gone: set[int] = set()
        holding: Counter[int] = Counter()  # how many of the chosen folders are below each folder
        for pair in planned:
            above_gone, above_kept = self._and_above(pair.gone), self._and_above(pair.kept)
            if gone.isdisjoint(above_gone) and gone.isdisjoint(above_kept) and not holding[pair.gone]:
                fitting.append(pair)
                gone.add(pair.gone)
                holding.update(above_gone)
                holding.update(above_kept)
        return fitting

    def _and_above(self, number: int) -> list[int]:
        found = []
        while number >= 0:
            found.append(number)
            number = self.tree.parent(number)
        return found

    def _chosen(self, a: int, b: int) -> _Chosen | None:
        """The pair with the folder to keep; None if that has too little of the other folder."""
        keys = self.tree.keys
        if any(is_under(keys[a], root) and is_under(keys[b], root) for root in self._policy.isolate):
            return None
        references = self._choice.references((keys[a], keys[b]))
        holding = [
            number
            for number in (a, b)
            if keys[number] in references
            or any(is_under(root, keys[number]) for root in self._policy.reference)
        ]
        if len(holding) == 2:
            return None
        if holding:
            kept, reason = holding[0], "in a reference folder"
            if keys[kept] not in references:
                reason = "a reference folder is in it"
        else:
            best, reason = self._policy.best([self._candidate(a), self._candidate(b)])
            kept = a if best.key == keys[a] else b
        gone = b if kept == a else a
        if self._entries.is_deep_in(gone):  # then its inner folders are looked at
            return None
        shared = self.tree.compare(gone, kept)
        if not (shared.is_most and self.tree.compare(kept, gone).is_some):
            return None
        return _Chosen(gone, kept, shared, reason)

    def _candidate(self, number: int) -> Candidate:
        if number not in self._times:
            files = (self._dated.get(file.key) for file in self.tree.files_below(number))
            times = [time_of(file) for file in files if file is not None]
            newest = self._policy.keep == "newest"
            self._times[number] = (max if newest else min)(times, default=0)
        return Candidate(self.tree.keys[number], self._times[number], self.tree.count_below(number))


def _alone(group: CopyGroup, file: PlannedFile, found: ExactCopies) -> CopyGroup:
    """The group of a file in a copied folder, with the files that stay."""
    return group._replace(files=(*group.kept, file), reclaimable=_freed(group, [file], found))


def _without(group: CopyGroup, staying: Sequence[PlannedFile], found: ExactCopies) -> CopyGroup:
    """The group without the files in copied folders."""
    if len(staying) == len(group.files):
        return group
    others = [file for file in staying if not file.keep]
    return group._replace(files=tuple(staying), reclaimable=_freed(group, others, found))


def _freed(group: CopyGroup, files: Sequence[PlannedFile], found: ExactCopies) -> int:
    """The share of these files in the bytes that a group frees."""
    inodes = {file.key: (file.device, file.inode) for file in found.files}
    kept = {inodes[file.key] for file in group.kept}
    going = {inodes[file.key] for file in group.others} - kept
    own = {inodes[file.key] for file in files} - kept
    return group.reclaimable * len(own) // len(going)


class _LeftOut:
    """What the walk left out in each folder, and which empty folders it saw there."""

    def __init__(self, tree: FolderTree, left_out: Skipped | None) -> None:
        self._tree = tree
        self._found: dict[int, tuple[list[str], list[str]]] = {}
        self._known = None
        if left_out is not None:
            self._known = sorted(left_out.paths), sorted(left_out.empty_folders)

    def below(self, number: int) -> tuple[list[str], list[str]]:
        """The keys of what was not compared in a folder, and of the empty folders that may go with it.

        The empty folders stay if anything was not compared.
        """
        if number not in self._found:
            paths, empty = self._known or (self._entries_now(number), [])
            folder = path_of(self._tree.keys[number])
            unseen = _below(paths, folder)
            self._found[number] = unseen, [] if unseen else _below(empty, folder)
        return self._found[number]

    def is_deep_in(self, number: int) -> bool:
        """Whether anything that keeps a folder was left out in an inner folder of this one."""
        folder = self._tree.keys[number].rstrip("/")
        return any(key.rpartition("/")[0] != folder for key in self.below(number)[0] if _keeps(key))

    def _entries_now(self, number: int) -> list[bytes]:
        """What is in a folder now, without the known files and the folders that they are in."""
        known = {file.key for file in self._tree.files_below(number)}
        unknown: list[bytes] = []
        for above, below, names in os.walk(path_of(self._tree.keys[number])):
            keys = {name: key_of(os.path.join(above, name)) for name in (*below, *names)}
            new = [
                name
                for name, key in keys.items()
                if key not in known and self._tree.number_of(f"{key}/") is None
            ]
            unknown += [os.path.join(above, name) for name in new]
            below[:] = set(below).difference(new)
        return sorted(unknown)


_OF_DESKTOPS = (".DS_Store", ".directory", ".localized", "Thumbs.db", "desktop.ini")


def _keeps(key: str) -> bool:
    """Whether a folder stays because of an entry that was not compared.

    It need not stay for what a desktop has noted about its windows and icons. That is not removed, either.
    """
    return key.rpartition("/")[2] not in _OF_DESKTOPS


def _below(paths: Sequence[bytes], folder: bytes) -> list[str]:
    """The keys of the paths below a folder, of paths in their order."""
    begin = folder.rstrip(b"/")
    # "0" is the character after "/".
    places = slice(bisect.bisect_left(paths, begin + b"/"), bisect.bisect_left(paths, begin + b"0"))
    return [key_of(path) for path in paths[places]]


def _folder_group(
    tree: FolderTree,
    pair: _Chosen,
    groups: list[CopyGroup],
    choice: KeepChoice,
    entries: _LeftOut,
    *,
    other_disk: bool,
) -> FolderGroup:
    gone, kept = tree.keys[pair.gone], tree.keys[pair.kept]
    back = tree.compare(pair.kept, pair.gone)
    unseen, empty = entries.below(pair.gone)
    unseen_in_kept, empty_in_kept = entries.below(pair.kept)
    return FolderGroup(
        folder=gone,
        kept=kept,
        copies=(*groups, *_empty_copies(tree, pair, choice)),
        differing=pair.shared.differing,
        only_here=pair.shared.only_here,
        only_in_kept=back.only_here,
        reason=pair.reason,
        keep=other_disk or any(map(_keeps, unseen)),
        other_disk=other_disk,
        unseen=(*unseen, *unseen_in_kept),
        empty_folders=(*empty, *empty_in_kept),
    )


def _empty_copies(tree: FolderTree, pair: _Chosen, choice: KeepChoice) -> Iterable[CopyGroup]:
    """One group for each empty file of a copied folder that is empty in the kept folder, too."""
    begin, end = len(tree.keys[pair.gone]), len(tree.keys[pair.kept])
    kept = {file.key[end:]: file.key for file in tree.files_below(pair.kept) if not file.size}
    for file in tree.files_below(pair.gone):
        if not file.size and file.key[begin:] in kept:
            files = (
                choice.planned_empty(kept[file.key[begin:]], keep=True),
                choice.planned_empty(file.key, keep=False),
            )
            yield CopyGroup(files, _EMPTY, 0)
