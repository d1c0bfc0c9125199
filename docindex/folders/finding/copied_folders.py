"""Group exact copies for a person: copied folders first, then the single files that are left.

In: the groups of files with the same bytes, all files below the roots, and what the walk left out. Out:
groups with the files to keep. Must never plan to remove a file unless another file with the same bytes stays,
nor a folder that the walk has not seen.
"""

import bisect
import itertools
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import xxhash

from docindex.folders.planning.copy_groups import CopyGroup, ExactCopies, FolderGroup, PlannedFile
from docindex.folders.planning.keep_rules import Candidate
from docindex.folders.planning.kept_files import KeepChoice, largest_first, time_of
from docindex.folders.walking.path_keys import is_under, key_of, path_of
from docindex.folders.walking.walk import Skipped

# Find pairs of folders that have the same files, exactly or nearly.
#
# In: the files below some roots, and the groups of files with the same bytes. Out: the outermost pairs of
# folders that share most of their files. The cost is nearly linear in the files: a pair of folders is looked
# at only if they share a file, and each pair once. Must never pair a folder with a folder inside it.

T = TypeVar("T")

LEAST_FILES = 2
"""The shared files that make folders a pair. A single file is shown as a file."""

_MOST, _SOME = 0.8, 0.5
"""The shares that two folders must have in common: most files or most bytes of one folder, and some of both;
and some files or bytes of the other one. Otherwise a folder with three loose copies would be called a copy of
a large folder."""

_SLACK = 0.75
"""The part of these shares that the files at the same places below two folders must have."""

_PAIRED = 8
"""Folders with one content that are all paired with each other. Of more, only folders with the same name are;
and of more of those, each is paired with its neighbour and with the first. A licence that is in a thousand
folders would give half a million pairs."""


class FolderFile(NamedTuple):
    """A file below the roots."""

    key: str
    size: int


class SharedFiles(NamedTuple):
    """How the files of one folder are in another folder."""

    shared: tuple[str, ...]
    """The keys of the files whose bytes the other folder has, too."""
    differing: int
    only_here: int
    files: int
    share_of_files: float
    share_of_bytes: float

    @property
    def is_most(self) -> bool:
        """Whether most of the folder is in the other one."""
        return self._is(_MOST) and min(self.share_of_files, self.share_of_bytes) >= _SOME

    @property
    def is_some(self) -> bool:
        """Whether some of the folder is in the other one."""
        return self._is(_SOME)

    def _is(self, share: float) -> bool:
        return len(self.shared) >= LEAST_FILES and max(self.share_of_files, self.share_of_bytes) >= share


class FolderTree:
    """The folders below some roots, with their files. A folder is a number, smaller than those below it."""

    def __init__(
        self, roots: Iterable[str], files: Iterable[FolderFile], copies: Sequence[ExactCopies]
    ) -> None:
        self.keys: list[str] = []
        self._parents: list[int] = []
        self._numbers: dict[str, int] = {}
        for root in sorted(roots, key=len):
            if self._number(root) is None:
                self._add(root, -1)
        self._contents: dict[str, Hashable] = {
            file.key: number for number, group in enumerate(copies) for file in group.files
        }
        below: list[list[FolderFile]] = [[] for _ in self.keys]
        for file in files:
            number = self._number(file.key.rpartition("/")[0] or "/")
            if number is not None:
                below += ([] for _ in range(len(self.keys) - len(below)))
                below[number].append(file)
        self._arrange(below)

    def _number(self, folder: str) -> int | None:
        """The number of a folder, which is added if it is below a root; None if it is not."""
        new = []
        while (number := self._numbers.get(folder)) is None:
            above, _, name = folder.rpartition("/")
            if not name:
                return None
            new.append(folder)
            folder = above or "/"
        for each in reversed(new):
            number = self._add(each, number)
        return number

    def _add(self, folder: str, parent: int) -> int:
        number = self._numbers[folder] = len(self.keys)
        self.keys.append(folder)
        self._parents.append(parent)
        return number

    def _arrange(self, below: list[list[FolderFile]]) -> None:
        """Put the files in the order of the folders, so that those below a folder follow each other."""
        children: list[list[int]] = [[] for _ in self.keys]
        for number, parent in enumerate(self._parents):
            if parent >= 0:
                children[parent].append(number)
        self._files: list[FolderFile] = []
        self._begins, self._ends = [0] * len(self.keys), [0] * len(self.keys)
        self._order, self._last = [0] * len(self.keys), [0] * len(self.keys)
        count = 0
        waiting = [number for number, parent in enumerate(self._parents) if parent < 0]
        while waiting:
            number = waiting.pop()
            if number < 0:
                self._ends[~number], self._last[~number] = len(self._files), count
                continue
            self._begins[number], self._order[number] = len(self._files), count
            count += 1
            self._files += below[number] if number < len(below) else []
            waiting.append(~number)
            waiting += children[number]
        self._sums = [0, *itertools.accumulate(file.size for file in self._files)]

    def parent(self, number: int) -> int:
        """The folder above a folder; -1 above a root."""
        return self._parents[number]

    def number_of(self, file: str) -> int | None:
        """The folder of a file; None outside the roots."""
        return self._numbers.get(file.rpartition("/")[0] or "/")

    def is_below(self, number: int, other: int) -> bool:
        """Whether a folder is the other folder, or in it."""
        return self._order[other] <= self._order[number] < self._last[other]

    def name(self, number: int) -> str:
        """The last part of the key of a folder."""
        return self.keys[number].rpartition("/")[2]

    def files_below(self, number: int) -> list[FolderFile]:
        """All files below a folder."""
        return self._files[self._begins[number] : self._ends[number]]

    def count_below(self, number: int) -> int:
        """How many files are below a folder."""
        return self._ends[number] - self._begins[number]

    def bytes_below(self, number: int) -> int:
        """The size of all files below a folder."""
        return self._sums[self._ends[number]] - self._sums[self._begins[number]]

    def content(self, file: FolderFile) -> Hashable:
        """A value that files with the same bytes share. Empty files must also have the same name."""
        if not file.size:
            return file.key.rpartition("/")[2]
        return self._contents.get(file.key, ("alone", file.key))

    def compare(self, number: int, other: int) -> SharedFiles:
        """How the files of a folder are in another folder."""
        own, others = self.files_below(number), self.files_below(other)
        theirs = {self.content(file) for file in others}
        begin, end = len(self.keys[number]), len(self.keys[other])
        places = {file.key[end:] for file in others}
        shared = [file for file in own if self.content(file) in theirs]
        differing = sum(file.key[begin:] in places for file in own if self.content(file) not in theirs)
        total = sum(file.size for file in own)
        return SharedFiles(
            shared=tuple(file.key for file in shared),
            differing=differing,
            only_here=len(own) - len(shared) - differing,
            files=len(own),
            share_of_files=len(shared) / max(1, len(own)),
            share_of_bytes=sum(file.size for file in shared) / total if total else 1.0,
        )


def chosen_pairs(
    tree: FolderTree, copies: Iterable[ExactCopies], choose: Callable[[int, int], T | None]
) -> list[T]:
    """What `choose` returns for the outermost pairs of folders for which it returns something.

    `choose` is called with pairs that may share enough, given as numbers; an inner pair only if it returns
    None for the pair above.
    """
    evidence = _Evidence(tree)
    for group in copies:
        evidence.add(group)
    return list(evidence.chosen(choose))


class _Evidence:
    """The files that each pair of folders shares: in the folders themselves first, then in all below them."""

    def __init__(self, tree: FolderTree) -> None:
        self._tree = tree
        self._shared: Counter[tuple[int, int]] = Counter()
        self._bytes: Counter[tuple[int, int]] = Counter()

    def add(self, group: ExactCopies) -> None:
        """Count the files with the same bytes for the folders that they are in."""
        found = (self._tree.number_of(file.key) for file in group.files)
        counts = Counter(number for number in found if number is not None)
        numbers = sorted(counts)
        for a, b in self._paired(numbers):
            shared = min(counts[a], counts[b])
            self._shared[a, b] += shared
            self._bytes[a, b] += shared * group.size

    def _paired(self, numbers: list[int]) -> Iterator[tuple[int, int]]:
        """Pairs of different folders, the smaller number first.

        Of many folders only those with the same name, as folders inside copied folders have it.
        """
        if len(numbers) <= _PAIRED:
            yield from itertools.combinations(numbers, 2)
            return
        by_name: dict[str, list[int]] = {}
        for number in numbers:
            by_name.setdefault(self._tree.name(number), []).append(number)
        for same in by_name.values():
            if len(same) <= _PAIRED:
                yield from itertools.combinations(same, 2)
            else:
                yield from itertools.pairwise(same)
                yield from ((same[0], number) for number in same[2:])

    def chosen(self, choose: Callable[[int, int], T | None]) -> Iterator[T]:
        """What `choose` returns for the outermost pairs."""
        above = self._with_pairs_above()
        below: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for pair, outer in above.items():
            if outer is not None:
                below.setdefault(outer, []).append(pair)
        waiting = [pair for pair, outer in above.items() if outer is None]
        while waiting:
            pair = waiting.pop()
            found = choose(*pair) if self._may_share_enough(*pair) else None
            if found is None:
                waiting += below.get(pair, ())
            else:
                yield found

    def _with_pairs_above(self) -> dict[tuple[int, int], tuple[int, int] | None]:
        """The pair above each pair: the folders above them, if the pair has the same names."""
        above: dict[tuple[int, int], tuple[int, int] | None] = {}
        waiting = list(self._shared)
        while waiting:
            pair = waiting.pop()
            if pair in above:
                continue
            outer = self._outer(*pair)
            above[pair] = outer
            if outer is not None:
                waiting.append(outer)
        # A folder has a larger number than those above it: inner pairs first.
        for pair in sorted(above, key=sum, reverse=True):
            outer = above[pair]
            if outer is not None:
                self._shared[outer] += self._shared[pair]
                self._bytes[outer] += self._bytes[pair]
        return above

    def _outer(self, a: int, b: int) -> tuple[int, int] | None:
        tree = self._tree
        outer_a, outer_b = tree.parent(a), tree.parent(b)
        if outer_a < 0 or outer_b < 0 or tree.name(a) != tree.name(b):
            return None
        if tree.is_below(outer_a, outer_b) or tree.is_below(outer_b, outer_a):
            return None
        return min(outer_a, outer_b), max(outer_a, outer_b)

    def _may_share_enough(self, a: int, b: int) -> bool:
        """Whether the two folders may share enough. To compare all their files takes longer.

        The counts are lower bounds, because files of one content may lie anywhere below: so ask for less.
        """
        tree, shared = self._tree, self._shared[a, b]
        if tree.is_below(a, b) or tree.is_below(b, a) or shared < LEAST_FILES:
            return False
        less, more = sorted(
            max(shared / tree.count_below(each), self._bytes[a, b] / max(1, tree.bytes_below(each)))
            for each in (a, b)
        )
        return more >= _MOST * _SLACK and less >= _SOME * _SLACK


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
