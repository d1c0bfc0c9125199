"""List the pairs of documents that share enough text, best first.

Takes a threshold; gives pairs one by one, or as rows and columns. Contents are compared first; documents are
looked up while the caller iterates. Must never hold all pairs of documents unless the caller wants a list of
them: 10,000 copies of one text make 50 million pairs.

A document of two sets may be in both; it never makes a pair with itself. The pairs inside a set are never
formed: `Nodes.sides` keeps the join from that.
"""

import contextlib
import dataclasses
import importlib
import itertools
import operator
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Self, SupportsIndex, get_args, overload

import numpy as np

from docindex import arguments
from docindex.arguments import shown
from docindex.arrays.ranges import F64, I64, ranges
from docindex.errors import DocIndexError
from docindex.query.defaults import PAIR_RESEMBLANCE
from docindex.query.measures import Measures
from docindex.query.pairs.join import join_pairs
from docindex.query.pairs.joined import BASES, JoinedPairs, Method, Threshold
from docindex.query.scope import CheckCancelled, Scope, ScopeOpener
from docindex.storage.rows import documents

PairRank = Literal["measure", "shared"]
"""How pairs are ordered: by the measure of which a minimum is given, or by how much they share."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """Which of the pairs that reach a threshold are wanted, and in which order."""

    limit: int | None = None
    rank: PairRank = "measure"
    min_shared: int = 0

    def checked(self) -> Self:
        """The options as plain numbers; `TypeError` or `ValueError` if one is wrong."""
        return dataclasses.replace(
            self,
            limit=arguments.limit(self.limit),
            rank=arguments.choice("rank", self.rank, get_args(PairRank)),
            min_shared=arguments.whole_number("min_shared", self.min_shared, least=0),
        )

    def chosen(self, found: JoinedPairs, threshold: Threshold) -> tuple[JoinedPairs, F64]:
        """The pairs that share enough, and their scores."""
        if self.min_shared:
            found = found.only(np.flatnonzero(found.common >= self.min_shared))
        by_measure = self.rank == "measure"
        return found, found.scores(threshold) if by_measure else found.common.astype(np.float64)


ALL_PAIRS = PairOptions()
"""All pairs that reach a threshold, ordered by their measure."""


# Documents are looked up for this many pairs of nodes at a time, and for those that tie with the last pair.
_LOOKED_UP = 2048


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Measures):
    """Two documents that share text, with the measures of the first text, `a`, and the second, `b`."""

    a: str
    """The key of the first document."""
    b: str
    """The key of the second document."""
    a_id: int
    """The id of the first document."""
    b_id: int
    """The id of the second document."""

    def __repr__(self) -> str:
        return f"Pair({self.a!r}, {self.b!r}{self._shown()})"


NamedDocument = tuple[str, int, int]
"""The key and the id of a document, and the set that it is in; 0 if pairs are not between two sets."""

_MEASURES = [field.name for field in dataclasses.fields(Measures)]
# The names and types of the columns of `to_dicts` and `to_arrow`: the documents first.
_COLUMNS = dict(
    sorted(
        ((field.name, field.type) for field in dataclasses.fields(Pair)),
        key=lambda column: column[0] in _MEASURES,
    )
)
# `to_arrow` makes a record batch of this many pairs at a time, because Python's numbers take more memory.
_IN_A_BATCH = 1 << 16


class Pairs(Iterable[Pair]):
    """Pairs of documents, ordered by score, best first, then by keys. Can be iterated several times.

    ``len(pairs)``, ``pairs[0]`` and slices work as with a list; ``pairs[:10]`` looks up only what it needs.
    A negative index, and a large one, costs as much as an iteration.

    The pairs are found when the question is asked. Their documents are looked up later, some thousand pairs
    ahead of the iteration: a document that has been removed or replaced by then is left out. So each of these
    calls tells what is true when it is made, and needs the index open.
    """

    def __init__(
        self,
        open_scope: ScopeOpener,
        found: JoinedPairs,
        scores: F64,
        *,
        limit: int | None,
        directed: bool = False,
    ) -> None:
        # Pairs with the same score are sorted by their keys after the keys are looked up.
        order = np.argsort(-scores, kind="stable")
        self._found = found.only(order)
        self._scores = -scores[order]
        self._open_scope = open_scope
        self._directed = directed
        self._limit = limit
        self.ignore_above = found.ignore_above
        """The limit that was used for `set_aside`, also if it was not given; None if nothing was ignored."""
        self.set_aside = found.set_aside
        """How many different shingles (or hashes, by the method "fingerprints") were ignored because more
        than `ignore_above` texts have them."""

    def __iter__(self) -> Iterator[Pair]:
        return self._first(self._limit)

    def __len__(self) -> int:
        """The number of pairs. Looks up the documents, but makes no pairs: much faster than an iteration."""
        with self._open_scope() as scope:
            count = self._count(scope, self._found)
        return count if self._limit is None else min(count, self._limit)

    def _count(self, scope: Scope, found: JoinedPairs) -> int:
        """The number of pairs of documents of all pairs of nodes."""
        having = _counts_of_nodes(scope, found)
        count_a, count_b = having[found.a], having[found.b]
        among = count_a * (count_a - 1) // (1 if self._directed else 2)
        return int(np.where(found.a == found.b, among, count_a * count_b).sum())

    def _documents(self, scope: Scope, found: JoinedPairs) -> dict[int, list[NamedDocument]]:
        """The documents of each node, by ascending keys."""
        contents = np.sort(contents_of_nodes(found)[0])
        return documents_of_nodes(found, [(*row, 0) for row in scope.documents_of(contents)])

    def _seconds(self, document: NamedDocument, others: list[NamedDocument]) -> list[NamedDocument]:
        """Those of the other documents that make a pair of which `document` is the first one."""
        if self._directed:
            return [other for other in others if other != document]
        return [other for other in others if other > document]

    @overload
    def __getitem__(self, place: SupportsIndex) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> list[Pair]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Pair | list[Pair]:
        if isinstance(place, slice):
            return self._slice(place)
        number = operator.index(place)
        if number < 0:
            number += len(self)
        for pair in self[number : number + 1] if number >= 0 else ():
            return pair
        raise IndexError(f"there is no pair {operator.index(place)}; there are {len(self):,} pairs")

    def __repr__(self) -> str:
        with contextlib.suppress(DocIndexError, ValueError):  # the index is closed, or busy
            count, best = len(self), self[:1]
            shown_best = f", the best: {best[0]!r}" if best else ""
            ignored = f", {self.set_aside:,} shingles ignored" if self.set_aside else ""
            return f"<{count:,} Pairs{shown_best}{ignored}>"
        return "<Pairs; their index is closed or busy>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The pairs as dictionaries, with the keys `a` and `b` first, for JSON, csv or a data frame."""
        return [{name: getattr(pair, name) for name in _COLUMNS} for pair in self]

    def to_arrow(self) -> Any:
        """The pairs as a `pyarrow.Table`, which pandas, polars and DuckDB read.

        `ModuleNotFoundError` if the package pyarrow is not installed.
        """
        try:
            pyarrow = importlib.import_module("pyarrow")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "to_arrow needs the package pyarrow; install it, or use to_dicts()", name="pyarrow"
            ) from error
        kinds: dict[Any, Any] = {int: pyarrow.int64(), float: pyarrow.float64()}
        schema = pyarrow.schema(
            [(name, kinds.get(kind, pyarrow.string())) for name, kind in _COLUMNS.items()]
        )
        batches, pairs = [], iter(self)
        while some := list(itertools.islice(pairs, _IN_A_BATCH)):
            columns = [[getattr(pair, name) for pair in some] for name in _COLUMNS]
            arrays = list(map(pyarrow.array, columns, schema.types))
            batches.append(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
        return pyarrow.Table.from_batches(batches, schema)

    def _slice(self, place: slice) -> list[Pair]:
        """The pairs of a slice. Finds no more pairs than it needs, unless it counts from the end."""
        begin, end, step = (
            None if bound is None else operator.index(bound)
            for bound in (place.start, place.stop, place.step)
        )
        if any(bound is not None and bound < 0 for bound in (begin, end, step)):
            return list(self)[place]
        return list(itertools.islice(self._first(self._at_most(end)), begin, None, step))

    def _at_most(self, count: int | None) -> int | None:
        """The smaller of a number of pairs and the limit."""
        return min((number for number in (count, self._limit) if number is not None), default=None)

    def _first(self, count: int | None) -> Iterator[Pair]:
        """The first pairs; for None, all."""
        return itertools.islice(self._all(count), count)

    def _all(self, wanted: int | None) -> Iterator[Pair]:
        """All pairs. If only some are `wanted`, no more documents are looked up at once than these need."""
        some = _LOOKED_UP if wanted is None else min(_LOOKED_UP, max(1, wanted))
        begin = 0
        check_cancelled: CheckCancelled | None = None
        while begin < len(self._scores):
            last = self._scores[min(begin + some, len(self._scores)) - 1]
            end = int(np.searchsorted(self._scores, last, "right"))
            found = self._found.only(np.arange(begin, end))
            with self._open_scope() as scope:
                # The check of the first scope: it knows of every cancel since the iteration began.
                check_cancelled = check_cancelled or scope.check_cancelled
                check_cancelled()
                named = self._documents(scope, found)
            yield from self._batch(found, self._scores[begin:end], named)
            begin = end

    def _batch(
        self, found: JoinedPairs, scores: F64, named: dict[int, list[NamedDocument]]
    ) -> Iterator[Pair]:
        """The pairs of documents of some pairs of nodes, given the documents of the nodes."""
        rows = _rows_of_measures(found)
        nodes = list(zip(found.a.tolist(), found.b.tolist(), strict=True))
        borders = [0, *(np.flatnonzero(scores[1:] != scores[:-1]) + 1).tolist(), len(scores)]
        for first, last in itertools.pairwise(borders):
            partners = self._partners(nodes, range(first, last))
            own: dict[NamedDocument, list[int]] = {}
            for node in partners:
                for document in named[node]:
                    own.setdefault(document, []).append(node)
            for document in sorted(own):
                others = [
                    (other, number, turned)
                    for node in own[document]
                    for partner, number, turned in partners[node]
                    for other in self._seconds(document, named[partner])
                ]
                others.sort()
                key, id_, _ = document
                for (other_key, other_id, _), number, turned in others:
                    yield Pair(*rows[turned][number], a=key, b=other_key, a_id=id_, b_id=other_id)

    def _partners(self, nodes: list[tuple[int, int]], tied: range) -> dict[int, list[tuple[int, int, bool]]]:
        """The partners of each node in the pairs of one score.

        A partner comes with the number of the pair, and with True if the node is the second one of the pair.
        """
        partners: dict[int, list[tuple[int, int, bool]]] = {}
        for number in tied:
            a, b = nodes[number]
            partners.setdefault(a, []).append((b, number, False))
            if a != b and not self._directed:
                partners.setdefault(b, []).append((a, number, True))
        return partners


def find_pairs(open_scope: ScopeOpener, threshold: Threshold, options: PairOptions = ALL_PAIRS) -> Pairs:
    """All pairs of documents that reach a threshold, or only the first.

    `pair_join.join_pairs` says which pairs each method finds. The boilerplate, and what more than
    `ignore_above` contents have, is not counted.
    """
    with open_scope() as scope:
        chosen = options.chosen(join_pairs(scope, threshold), threshold)
    return Pairs(open_scope, *chosen, limit=options.limit)


def find_containments(open_scope: ScopeOpener, threshold: Threshold, limit: int | None = None) -> Pairs:
    """All pairs of documents in which the second contains enough of the first, or only the first pairs."""
    with open_scope() as scope:
        found = join_pairs(scope, threshold)
    numbers = found.numbers()
    forward = np.flatnonzero(numbers.containment >= threshold.least)
    # A pair of a node with itself stands for both directions already.
    backward = np.flatnonzero((numbers.reverse_containment >= threshold.least) & (found.a != found.b))
    both = found.only(np.concatenate([forward, backward]))
    is_turned = np.arange(len(both)) >= len(forward)
    both = dataclasses.replace(
        both, a=np.where(is_turned, both.b, both.a), b=np.where(is_turned, both.a, both.b)
    )
    scores = np.concatenate([numbers.containment[forward], numbers.reverse_containment[backward]])
    return Pairs(open_scope, both, scores, limit=limit, directed=True)


def checked_threshold(
    min_resemblance: float | None, min_containment: float | None, method: Method, ignore_above: int | None
) -> Threshold:
    """The threshold that one of two parameters sets; `TypeError` or `ValueError` if it is out of range."""
    if min_resemblance is None and min_containment is None:
        min_resemblance = PAIR_RESEMBLANCE
    if min_resemblance is not None and min_containment is None:
        threshold = Threshold(
            measure="resemblance", least=min_resemblance, method=method, ignore_above=ignore_above
        )
    elif min_containment is not None and min_resemblance is None:
        threshold = Threshold(
            measure="containment", least=min_containment, method=method, ignore_above=ignore_above
        )
    else:
        raise ValueError(
            "give either min_resemblance or min_containment, "
            f"not min_resemblance={shown(min_resemblance)} and min_containment={shown(min_containment)}"
        )
    return threshold.checked()


def _rows_of_measures(found: JoinedPairs) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The arguments of `Measures` for each pair of nodes, and for the same pair with its nodes exchanged."""
    numbers = found.numbers()
    inside, reverse, resemblance = (column.tolist() for column in numbers.shares)
    bases = [BASES[code] for code in found.basis.tolist()]
    same = resemblance, found.common.tolist(), bases
    inside_error, reverse_error, error = (column.tolist() for column in numbers.errors)
    return (
        list(zip(inside, reverse, *same, inside_error, reverse_error, error, strict=True)),
        list(zip(reverse, inside, *same, reverse_error, inside_error, error, strict=True)),
    )


def contents_of_nodes(found: JoinedPairs) -> tuple[I64, I64]:
    """The contents of all nodes that are in a pair, and the node of each content."""
    nodes = np.flatnonzero(np.bincount(np.concatenate([found.a, found.b])))
    counts = found.starts[nodes + 1] - found.starts[nodes]
    return found.contents[ranges(found.starts[nodes], counts)], np.repeat(nodes, counts)


def _counts_of_nodes(scope: Scope, found: JoinedPairs) -> I64:
    """The number of documents that each node has; 0 for a node that is in no pair."""
    contents, nodes = contents_of_nodes(found)
    having = [content for content, _, _ in scope.documents_of(np.sort(contents))]
    ends = np.sort(np.array(having, np.int64))
    counts = np.searchsorted(ends, contents, "right") - np.searchsorted(ends, contents)
    return np.bincount(nodes, counts, len(found.starts)).astype(np.int64)


def documents_of_nodes(
    found: JoinedPairs, documents: Iterable[tuple[int, str, int, int]]
) -> dict[int, list[NamedDocument]]:
    """The documents of each node, by ascending keys; a document comes with its content."""
    contents, nodes = contents_of_nodes(found)
    nodes_of: dict[int, list[int]] = {}
    for content, node in zip(contents.tolist(), nodes.tolist(), strict=True):
        nodes_of.setdefault(content, []).append(node)
    named: dict[int, list[NamedDocument]] = {node: [] for node in nodes.tolist()}
    for content, key, number, side in documents:
        for node in nodes_of[content]:
            named[node].append((key, number, side))
    for own in named.values():
        own.sort()
    return named


_FIRST, _SECOND, _BOTH = 1, 2, 3
"""In which set a document is."""


class PairsBetween(Pairs):
    """Pairs of a document of the first set, `a`, and one of the second set, `b`.

    If both documents are in both sets, `a` is the one with the first key.
    """

    def _count(self, scope: Scope, found: JoinedPairs) -> int:
        contents, nodes = contents_of_nodes(found)
        node_of = dict(zip(contents.tolist(), nodes.tolist(), strict=True))
        counts = np.zeros((_BOTH + 1, len(found.starts)), np.int64)
        for content, _, _, side in _documents_of_sides(scope, np.sort(contents)):
            counts[side, node_of[content]] += 1
        both = counts[_BOTH]
        first, second = counts[_FIRST] + both, counts[_SECOND] + both
        a, b = found.a, found.b
        # A pair of two documents that are in both sets is counted once from each side.
        apart = first[a] * second[b] + first[b] * second[a] - both[a] * both[b]
        within = first[a] * second[a] - both[a] - both[a] * (both[a] - 1) // 2
        return int(np.where(a == b, within, apart).sum())

    def _documents(self, scope: Scope, found: JoinedPairs) -> dict[int, list[NamedDocument]]:
        return documents_of_nodes(found, _documents_of_sides(scope, np.sort(contents_of_nodes(found)[0])))

    def _seconds(self, document: NamedDocument, others: list[NamedDocument]) -> list[NamedDocument]:
        side = document[2]
        if side == _SECOND:
            return []
        return [
            other
            for other in others
            if other[2] & _SECOND and other != document and (side & other[2] != _BOTH or other > document)
        ]


def find_pairs_between(open_scope: ScopeOpener, threshold: Threshold, options: PairOptions) -> PairsBetween:
    """All pairs between the two sets of a scope that reach a threshold, or only the first.

    They are the same as those of `find_pairs` with one document in each set.
    """
    with open_scope() as scope:
        chosen = options.chosen(join_pairs(scope, threshold), threshold)
    return PairsBetween(open_scope, *chosen, limit=options.limit)


def _documents_of_sides(scope: Scope, contents: I64) -> list[tuple[int, str, int, int]]:
    """The content, key, id and set of each document that has one of the contents and is in a set."""
    assert scope.between is not None
    found: dict[tuple[int, str, int], int] = {}
    for side, condition in zip((_FIRST, _SECOND), scope.between, strict=True):
        for document in documents.documents_of(scope.db, contents, condition):
            found[document] = found.get(document, 0) | side
    return [(*document, side) for document, side in found.items()]
