"""Group the documents of an index that belong together: connected, greedy or complete clusters.

Takes a scope and a threshold; gives clusters, the largest first. Connected clusters are the fourth phase of
Broder (1997); the other two linkages are stricter. Clusters consist of *units*: exact copies, and texts with
the same words, are put together before anything is compared. The result depends only on the documents and
their keys. It must never depend on the ids of contents, or on the order in which documents were added.
"""

import dataclasses
import heapq
import itertools
from collections.abc import Iterator
from typing import Literal

import numpy as np

from docindex.arrays.joins import components, starts_of_runs
from docindex.arrays.ranges import F64, I64, ranges, starts_of
from docindex.cancellation import checkpoint
from docindex.query.pairs.join import join_pairs
from docindex.query.pairs.joined import JoinedPairs, Threshold
from docindex.query.scope import Scope

Linkage = Literal["connected", "greedy", "complete"]
Why = Literal["first", "exact copy", "same words", "near"]

# The documents of this many contents are looked up between two checks for cancellation.
_LOOKED_UP = 1 << 14
# Links of units are sorted this many at a time, in a tenth of a second.
_SORTED = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A document in a cluster, and the reason why it belongs there."""

    key: str
    id: int
    """The id of the document."""
    why: Why
    """The reason. "first": it is the first member. "exact copy": it has the text of the member `like`.
    "same words": it has the same words as `like`, in the same order. "near": it resembles `like`."""
    like: str | None
    """The key of an earlier member that it is like; None for the first member."""
    like_id: int | None
    """The id of that member."""
    resemblance: float
    """The resemblance to that member; 1.0 for the first member."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """Two or more documents that belong together. ``len(cluster)`` is the number of documents."""

    members: tuple[Member, ...]
    """The first member, then each member after the one that it is like."""

    def __len__(self) -> int:
        return len(self.members)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the members, in their order."""
        return tuple(member.key for member in self.members)

    @property
    def texts(self) -> int:
        """The number of different texts: members that are not an exact copy of another member."""
        return sum(member.why != "exact copy" for member in self.members)


class Clusters(list[Cluster]):
    """A list of clusters, which also says how much text was ignored."""

    ignore_above: int | None = None
    """The limit that was used for `set_aside`, also if it was not given; None if nothing was ignored."""
    set_aside = 0
    """How many different shingles (or hashes, by the method "fingerprints") were not counted because too many
    texts have them."""


def find_clusters(scope: Scope, threshold: Threshold, linkage: Linkage = "connected") -> Clusters:
    """The clusters of two or more documents, the largest first.

    Two documents that reach the threshold are a pair, and partners of each other. The linkages are:
    - "connected": any two members are linked by a chain of pairs.
    - "greedy": documents are taken in order, the one with the most partners first. A document that is in no
      cluster yet leads a cluster of its partners that are in no cluster yet.
    - "complete": any two members are a pair. The leader's closest partners are taken first.
    The first member of each cluster has the most partners. In a connected cluster of more than
    `candidates.LARGE` texts not all pairs are compared, and the first has the most partners among these.
    """
    found = join_pairs(scope, threshold, connecting=linkage == "connected")
    units = _Units(found, _documents_of_contents(scope, found))
    grouped = {"connected": _connected, "greedy": _greedy, "complete": _complete}[linkage]
    made = Clusters()
    made.ignore_above, made.set_aside = found.ignore_above, found.set_aside
    for group in grouped(units):
        scope.check_cancelled()
        members = tuple(itertools.chain.from_iterable(units.members(*link) for link in group))
        if len(members) > 1:
            made.append(Cluster(members))
    made.sort(key=lambda cluster: (-len(cluster), cluster.members[0].key))
    return made


_Named = tuple[str, int]
"""The key and the id of a document."""

_Link = tuple[int, int | None, float]
"""A unit, the unit that it is like, and their resemblance."""


def _documents_of_contents(scope: Scope, found: JoinedPairs) -> dict[int, list[_Named]]:
    """The documents of all contents that are in a pair, by ascending keys."""
    nodes = np.flatnonzero(np.bincount(np.concatenate([found.a, found.b])))
    counts = found.starts[nodes + 1] - found.starts[nodes]
    contents = np.sort(found.contents[ranges(found.starts[nodes], counts)])
    contents = contents[starts_of_runs(contents.astype(np.uint64))[:-1]]
    named: dict[int, list[_Named]] = {}
    for begin in range(0, len(contents), _LOOKED_UP):
        scope.check_cancelled()
        for content, key, number in scope.documents_of(contents[begin : begin + _LOOKED_UP]):
            named.setdefault(content, []).append((key, number))
    for own in named.values():
        own.sort()
    return named


class _Units:
    """The nodes that have documents, and which of these units are near each other.

    Units are numbered in the order of their first keys.
    """

    def __init__(self, found: JoinedPairs, named: dict[int, list[_Named]]) -> None:
        nodes = np.flatnonzero(np.bincount(np.concatenate([found.a, found.b])))
        # For each unit, the documents of each of its contents, the content with the least key first.
        by_node: dict[int, list[list[_Named]]] = {}
        for node in nodes.tolist():
            contents = found.contents[found.starts[node] : found.starts[node + 1]].tolist()
            if own := sorted(named[content] for content in contents if content in named):
                by_node[node] = own
        numbered = sorted(by_node, key=lambda node: by_node[node][0][0])
        self._documents = [by_node[node] for node in numbered]
        unit_of = np.full(len(found.starts), -1)
        unit_of[np.array(numbered, np.int64)] = np.arange(len(numbered))
        a, b, resemblance = unit_of[found.a], unit_of[found.b], found.numbers().resemblance
        between = (a != b) & (a >= 0) & (b >= 0)  # a content without a document is in no unit
        self._link(a[between], b[between], resemblance[between])

    def _link(self, a: I64, b: I64, resemblance: F64) -> None:
        """Store both directions of all links, ordered by unit; the closest partner first, then by number."""
        count = len(self._documents)
        own, other = np.concatenate([a, b]), np.concatenate([b, a])
        both = np.concatenate([resemblance, resemblance])
        self.starts = starts_of(np.bincount(own, minlength=count))
        self.own, self.partners, self.resemblance = np.sort(own), np.empty_like(other), np.empty_like(both)
        for first, last in _stripes(self.starts):
            checkpoint()
            part = np.flatnonzero((own >= first) & (own < last))
            order = part[np.lexsort((other[part], -both[part], own[part]))]
            places = slice(self.starts[first], self.starts[last])
            self.partners[places], self.resemblance[places] = other[order], both[order]
        sizes = np.array([sum(map(len, documents)) for documents in self._documents], np.int64)
        partners = np.bincount(own, sizes[other], count) + sizes
        self.order: I64 = np.lexsort((np.arange(count), -partners))
        """All units, the one with the most partners first."""

    def __len__(self) -> int:
        return len(self._documents)

    def partners_of(self, unit: int) -> Iterator[tuple[int, float]]:
        """The partners of a unit and their resemblances, the closest first."""
        some = slice(self.starts[unit], self.starts[unit + 1])
        return zip(self.partners[some].tolist(), self.resemblance[some].tolist(), strict=True)

    def members(self, unit: int, like: int | None, resemblance: float) -> Iterator[Member]:
        """The members in a unit. The first is like the unit `like`; the others are like the first."""
        first = self._documents[unit][0][0]
        for documents in self._documents[unit]:
            if documents[0] != first:
                yield _member(documents[0], "same words", first)
            elif like is None:
                yield Member(*first, "first", None, None, 1.0)
            else:
                yield _member(first, "near", self._documents[like][0][0], resemblance)
            for document in documents[1:]:
                yield _member(document, "exact copy", documents[0])


def _member(document: _Named, why: Why, like: _Named, resemblance: float = 1.0) -> Member:
    return Member(*document, why, *like, resemblance)


def _stripes(starts: I64) -> Iterator[tuple[int, int]]:
    """Ranges of units with at most `_SORTED` partners together, or of one unit."""
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _SORTED, "right")) - 1)
        yield first, last
        first = last


def _connected(units: _Units) -> Iterator[list[_Link]]:
    """Each component, from its first unit on; the next unit is always the closest to any unit before it."""
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
            checkpoint()
            done[unit] = True
            group.append((unit, like, -negative))
            for partner, resemblance in units.partners_of(unit):
                if not done[partner]:
                    heapq.heappush(waiting, (-resemblance, partner, len(group), unit))
        yield group


def _greedy(units: _Units) -> Iterator[list[_Link]]:
    """Each leader, with its partners that are in no group yet."""
    done = [False] * len(units)
    for first in units.order.tolist():
        if done[first]:
            continue
        checkpoint()
        done[first] = True
        group: list[_Link] = [(first, None, 1.0)]
        for partner, resemblance in units.partners_of(first):
            if not done[partner]:
                done[partner] = True
                group.append((partner, first, resemblance))
        yield group


def _complete(units: _Units) -> Iterator[list[_Link]]:
    """Each leader, with its partners that are in no group yet and are partners of all members before them."""
    done = [False] * len(units)
    for first in units.order.tolist():
        if done[first]:
            continue
        checkpoint()
        done[first] = True
        group: list[_Link] = [(first, None, 1.0)]
        allowed = {partner for partner, _ in units.partners_of(first)}
        for partner, resemblance in units.partners_of(first):
            if partner in allowed and not done[partner]:
                checkpoint()
                done[partner] = True
                group.append((partner, first, resemblance))
                allowed &= {other for other, _ in units.partners_of(partner)}
        yield group
