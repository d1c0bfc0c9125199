"""Find pairs of folders that have the same files, exactly or nearly.

In: the files below some roots, and the groups of files with the same bytes. Out: the outermost pairs of
folders that share most of their files. The cost is nearly linear in the files: a pair of folders is looked at
only if they share a file, and each pair once. Must never pair a folder with a folder inside it.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from docindex.folders.planning.copy_groups import ExactCopies

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
