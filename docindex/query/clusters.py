"""An index in, groups of documents that belong together out, the largest first.

Broder's fourth phase, with two stricter ways beside it. Exact copies are together before anything
is compared, then texts of the same symbols; what is grouped here is such *units*. What comes out
depends on the documents and their keys alone: never on contents' numbers, or on who came first.
"""

import dataclasses
import heapq
import itertools
from collections.abc import Iterator
from typing import Literal

import numpy as np

from docindex.kernels.arrays import F64, I64, U64, ranges, starts_of
from docindex.kernels.joins import components, starts_of_runs
from docindex.query.candidates import CheckCancelled
from docindex.query.pair_join import JoinedPairs, Method, join_pairs
from docindex.query.pairs import NOTHING, DocumentLookup, checked
from docindex.recipe import Recipe
from docindex.storage.connection import Transactions
from docindex.storage.documents import documents_of

Linkage = Literal["connected", "greedy", "complete"]
Why = Literal["first", "exact copy", "same text", "near"]

LINKAGES = ("connected", "greedy", "complete")

# Contents whose documents are looked up in one transaction.
_LOOKED_UP = 1 << 14


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A document in a cluster, and why it is there."""

    key: str
    why: Why
    """The first one of all; an exact copy; the same text but for what does not count; or a near one."""
    like: str | None
    """The key of the document that it is like; None for the first one."""
    resemblance: float
    """To that one; 1.0 for the first one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """Two or more documents that belong together. ``len(cluster)`` says how many."""

    members: tuple[Member, ...]
    """The first one, then each behind one that it is like."""

    def __len__(self) -> int:
        return len(self.members)

    @property
    def keys(self) -> tuple[str, ...]:
        """The members' keys, in their order."""
        return tuple(member.key for member in self.members)

    @property
    def texts(self) -> int:
        """How many different texts there are: members that are not exact copies of another one."""
        return sum(member.why != "exact copy" for member in self.members)


def clusters(
    store: Transactions,
    recipe: Recipe,
    min_resemblance: float,
    *,
    linkage: Linkage = "connected",
    method: Method = "fingerprints",
    ignored: U64 = NOTHING,
    ignore_above: int | None = None,
    chosen: I64 | None = None,
    documents: DocumentLookup = documents_of,
    check_cancelled: CheckCancelled = lambda: None,
) -> list[Cluster]:
    """The documents in groups of two and more, the largest first.

    "connected": whom pairs of this resemblance connect, over however many others. "greedy": whoever
    has the most such partners leads those of them that no other leads. "complete": any two members
    are such a pair; the leader's closest partners come first. The first member has the most partners.
    """
    if linkage not in LINKAGES:
        raise ValueError(f"linkage must be one of {', '.join(LINKAGES)}, not {linkage!r}")
    wanted = checked("min_resemblance", min_resemblance, method, ignored, ignore_above)
    with store.reading() as db:
        found = join_pairs(db, recipe, wanted, chosen, check_cancelled)
    units = _Units(found, _keys_of(store, found, documents, check_cancelled))
    grouped = {"connected": _connected, "greedy": _greedy, "complete": _complete}[linkage]
    made = []
    for group in grouped(units):
        check_cancelled()
        members = tuple(itertools.chain.from_iterable(units.members(*link) for link in group))
        if len(members) > 1:
            made.append(Cluster(members))
    return sorted(made, key=lambda cluster: (-len(cluster), cluster.members[0].key))


_Link = tuple[int, int | None, float]
"""A unit, the one that it is like, and how much."""


def _keys_of(
    store: Transactions, found: JoinedPairs, documents: DocumentLookup, check_cancelled: CheckCancelled
) -> dict[int, list[str]]:
    """The keys of all contents that are in any pair, in their order."""
    nodes = np.flatnonzero(np.bincount(np.concatenate([found.a, found.b])))
    counts = found.starts[nodes + 1] - found.starts[nodes]
    contents = np.sort(found.contents[ranges(found.starts[nodes], counts)])
    contents = contents[starts_of_runs(contents.astype(np.uint64))[:-1]]
    keys: dict[int, list[str]] = {}
    for begin in range(0, len(contents), _LOOKED_UP):
        check_cancelled()
        with store.reading() as db:
            for content, key, _ in documents(db, contents[begin : begin + _LOOKED_UP]):
                keys.setdefault(content, []).append(key)
    for some in keys.values():
        some.sort()
    return keys


class _Units:
    """Documents of the same symbols, and which of these units are near each other: numbered by first keys."""

    def __init__(self, found: JoinedPairs, keys: dict[int, list[str]]) -> None:
        # Contents of one node are one unit, and so are nodes that share a content.
        ordered = np.sort(found.contents)
        ordered = ordered[starts_of_runs(ordered.astype(np.uint64))[:-1]]
        places = np.searchsorted(ordered, found.contents)
        firsts = places[found.starts[:-1]]
        roots = components(np.repeat(firsts, np.diff(found.starts)), places, len(ordered))
        contents_of: dict[int, list[int]] = {}
        for content in keys:
            contents_of.setdefault(int(roots[np.searchsorted(ordered, content)]), []).append(content)
        # Of each unit its contents' keys, the least first.
        by_root = {root: sorted(keys[content] for content in own) for root, own in contents_of.items()}
        numbered = sorted(by_root, key=lambda root: by_root[root][0][0])
        self._keys = [by_root[root] for root in numbered]
        unit_of = np.full(len(ordered), -1)
        unit_of[np.array(numbered, np.int64)] = np.arange(len(numbered))
        a, b = unit_of[roots[firsts[found.a]]], unit_of[roots[firsts[found.b]]]
        resemblance = found.numbers().resemblance
        there = (a != b) & (a >= 0) & (b >= 0)  # or removed since
        self._link(a[there], b[there], resemblance[there])

    def _link(self, a: I64, b: I64, resemblance: F64) -> None:
        """Both directions of all links, by unit; the closest first, the least of equals."""
        count = len(self._keys)
        own, other = np.concatenate([a, b]), np.concatenate([b, a])
        both = np.concatenate([resemblance, resemblance])
        # Of several pairs of contents between two units the closest counts.
        order = np.lexsort((-both, other, own))
        kept = order[starts_of_runs((own * max(1, count) + other)[order].astype(np.uint64))[:-1]]
        own, other, both = own[kept], other[kept], both[kept]
        order = np.lexsort((other, -both, own))
        self.own, self.partners, self.resemblance = own[order], other[order], both[order]
        self.starts = starts_of(np.bincount(own, minlength=count))
        sizes = np.array([sum(map(len, keys)) for keys in self._keys], np.int64)
        partners = np.bincount(own, sizes[other], count) + sizes
        self.order: I64 = np.lexsort((np.arange(count), -partners))
        """All units, those with the most partners first."""

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, unit: int) -> Iterator[tuple[int, float]]:
        """A unit's partners and their resemblances, the closest first."""
        some = slice(self.starts[unit], self.starts[unit + 1])
        return zip(self.partners[some].tolist(), self.resemblance[some].tolist(), strict=True)

    def members(self, unit: int, like: int | None, resemblance: float) -> Iterator[Member]:
        """A unit's documents: its first one is like another unit's, the rest are the same text."""
        first = self._keys[unit][0][0]
        for keys in self._keys[unit]:
            if keys[0] != first:
                yield Member(keys[0], "same text", first, 1.0)
            elif like is None:
                yield Member(first, "first", None, 1.0)
            else:
                yield Member(first, "near", self._keys[like][0][0], resemblance)
            for key in keys[1:]:
                yield Member(key, "exact copy", keys[0], 1.0)


def _connected(units: _Units) -> Iterator[list[_Link]]:
    """Each component from its first unit on: always next whoever is closest to one that is in."""
    roots = components(units.own, units.partners, len(units)).tolist()
    done = [False] * len(units)
    begun = set()
    for first in units.order.tolist():
        if roots[first] in begun:
            continue
        begun.add(roots[first])
        group: list[_Link] = []
        waiting: list[tuple[float, int, int, int | None]] = [(-1.0, first, 0, None)]
        while waiting:
            negative, unit, _, like = heapq.heappop(waiting)
            if done[unit]:
                continue
            done[unit] = True
            group.append((unit, like, -negative))
            for partner, resemblance in units.of(unit):
                if not done[partner]:
                    heapq.heappush(waiting, (-resemblance, partner, len(group), unit))
        yield group


def _greedy(units: _Units) -> Iterator[list[_Link]]:
    """Each leader, and its partners that are still free."""
    done = [False] * len(units)
    for first in units.order.tolist():
        if done[first]:
            continue
        done[first] = True
        group: list[_Link] = [(first, None, 1.0)]
        for partner, resemblance in units.of(first):
            if not done[partner]:
                done[partner] = True
                group.append((partner, first, resemblance))
        yield group


def _complete(units: _Units) -> Iterator[list[_Link]]:
    """Each leader, and of its free partners, the closest first, those that all before are partners of."""
    done = [False] * len(units)
    for first in units.order.tolist():
        if done[first]:
            continue
        done[first] = True
        group: list[_Link] = [(first, None, 1.0)]
        allowed = {partner for partner, _ in units.of(first)}
        for partner, resemblance in units.of(first):
            if partner in allowed and not done[partner]:
                done[partner] = True
                group.append((partner, first, resemblance))
                allowed &= {other for other, _ in units.of(partner)}
        yield group
