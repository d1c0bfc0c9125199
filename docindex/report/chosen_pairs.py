"""Choose the pairs of texts that a person wants to look at, among many thousands.

Takes pairs and the groups of the same page, and returns pairs in the order of the page. Leaves out copies
that a group shows, and files in program folders, such as the licences of packages. Of many similar texts it
takes one pair before it takes a second one.
"""

import collections
import dataclasses
import functools
import operator
import os
from collections.abc import Iterable, Sequence

from docindex.folders.walking.path_keys import path_of
from docindex.folders.walking.program_trees import is_program_folder, names_in
from docindex.index.index import Index
from docindex.query.pairs.pairs import Pair
from docindex.report.groups import ReportGroup


@dataclasses.dataclass(frozen=True, slots=True)
class ChosenPairs:
    """The pairs of a page, and how many were left out."""

    pairs: Sequence[Pair]
    in_groups: int
    """How many pairs are left out because a group on the page has the same copies."""
    in_programs: int
    """How many pairs are left out because one of the files is in a program folder."""


def choose_pairs(
    index: Index, pairs: Sequence[Pair], groups: Iterable[ReportGroup], limit: int
) -> ChosenPairs:
    """At most `limit` of the pairs: new pairs first, then repetitions, then exact copies.

    A pair repeats another one if its two texts are the same. Of the new pairs, those that share the most text
    come first, one of each cluster of similar texts and of each document before the next ones.
    """
    contents = _Contents(index)
    groups = list(groups)
    shown = _shown_together(groups)
    going = {file.key for group in groups for file in group.going}

    def order(pair: Pair) -> tuple[float, float, int]:
        # Of the same two texts, a person knows the files that are kept.
        return (-pair.shared, -pair.resemblance, (pair.a in going) + (pair.b in going))

    new: list[Pair] = []
    again: list[Pair] = []
    copies: list[Pair] = []
    met: set[frozenset[int | None]] = set()
    in_groups = 0
    for pair in sorted(pairs, key=order):
        both = frozenset((contents.of(pair.a), contents.of(pair.b)))
        repeats = both in met and (pair.a in shown or pair.b in shown)
        if len(both) == 1 and not pair.shared:
            continue  # empty texts, or texts of a few words
        if repeats or (len(both) == 1 and shown.get(pair.a, set()) & shown.get(pair.b, set())):
            in_groups += 1
        else:
            (copies if len(both) == 1 else again if both in met else new).append(pair)
        met.add(both)
    programs = _ProgramFolders()
    chosen: list[Pair] = []
    in_programs = 0
    for pair in (*_diverse(new), *again, *copies):
        if len(chosen) == limit:
            break
        if programs.has(pair.a) or programs.has(pair.b):
            in_programs += 1
        else:
            chosen.append(pair)
    return ChosenPairs(chosen, in_groups, in_programs)


def _shown_together(groups: Iterable[ReportGroup]) -> dict[str, set[int]]:
    """The numbers of the groups of exact copies that a key is in."""
    shown: dict[str, set[int]] = {}
    for number, group in enumerate(groups):
        for files in (group.files, *group.contents):
            for file in files:
                if file.keep is not None:
                    shown.setdefault(file.key, set()).add(number)
    return shown


def _diverse(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs in turns: the first pair of each document, then of each cluster, come before their second."""
    by_document = _in_turns(pairs, [(pair.a, pair.b) for pair in pairs])
    clusters = _clusters(by_document)
    return _in_turns(by_document, [(clusters[pair.a],) for pair in by_document])


def _in_turns(pairs: Sequence[Pair], owners: Sequence[tuple[str, ...]]) -> list[Pair]:
    """The pairs in turns, so that each owner has at most one pair in each turn."""
    taken: collections.defaultdict[str, int] = collections.defaultdict(int)  # a bit for each turn
    turns = []
    for own in owners:
        busy = functools.reduce(operator.or_, (taken[owner] for owner in own))
        free = ~busy & (busy + 1)  # the lowest bit that is not set
        turns.append(free)
        for owner in own:
            taken[owner] |= free
    order = sorted(range(len(pairs)), key=turns.__getitem__)
    return [pairs[number] for number in order]


def _clusters(pairs: Iterable[Pair]) -> dict[str, str]:
    """For each key, a key that stands for all keys that pairs connect with it."""
    parents: dict[str, str] = {}

    def find(key: str) -> str:
        parents.setdefault(key, key)
        while parents[key] != key:
            parents[key] = parents[parents[key]]
            key = parents[key]
        return key

    for pair in pairs:
        parents[find(pair.a)] = find(pair.b)
    return {key: find(key) for key in list(parents)}


class _Contents:
    """The contents of documents by their keys."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._known: dict[str, int | None] = {}

    def of(self, key: str) -> int | None:
        """The content of a document; None if it was removed after the pairs were found."""
        if key not in self._known:
            try:
                self._known[key] = self._index[key].content
            except KeyError:
                self._known[key] = None
        return self._known[key]


class _ProgramFolders:
    """Knows which folders on the disk are program folders."""

    def __init__(self) -> None:
        self._known: dict[bytes, bool] = {}
        self._names: dict[bytes, frozenset[bytes]] = {}

    def has(self, key: str) -> bool:
        """Whether the file of a key is in a program folder; False for a key that is no path."""
        path = path_of(key)
        return os.path.isabs(path) and b"\0" not in path and self._is_inside(os.path.dirname(path))

    def _is_inside(self, folder: bytes) -> bool:
        if folder not in self._known:
            above = os.path.dirname(folder)
            self._known[folder] = above != folder and (
                self._is_inside(above) or is_program_folder(folder, self._in(folder), self._in(above))
            )
        return self._known[folder]

    def _in(self, folder: bytes) -> frozenset[bytes]:
        if folder not in self._names:
            self._names[folder] = names_in(folder)
        return self._names[folder]
