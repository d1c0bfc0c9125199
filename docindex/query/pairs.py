"""An index in, all pairs of its documents that share enough out, best first.

Numbers are found for contents, once; documents are looked up while one goes through the pairs.
"""

import bisect
import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import apsw
import numpy as np

from docindex.kernels.arrays import F64, I64, U64, ranges
from docindex.query.candidates import CheckCancelled
from docindex.query.pair_join import JoinedPairs, Method, Threshold, join_pairs
from docindex.recipe import Recipe
from docindex.storage.connection import Transactions
from docindex.storage.documents import documents_of

METHODS = ("fingerprints", "sketches", "features")
NOTHING = np.empty(0, np.uint64)

DocumentLookup = Callable[[apsw.Connection, I64], Iterable[tuple[int, str, int]]]
"""Gives the documents of some contents: content, key and id of each."""

# Pairs of contents whose documents are looked up at a time; those of one score are never parted.
_LOOKED_UP = 2048

Basis = Literal["fingerprints", "sketches"]


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Two documents that share text."""

    a: str
    b: str
    resemblance: float
    """What both have, as a share of what either has."""
    containment: float
    """The share of a's that b has, too: a in b."""
    reverse_containment: float
    """The share of b's that a has, too."""
    shared: int
    """How many different fingerprint hashes both have; with sketches about how many shingles."""
    error: float
    """The standard error of the resemblance; 0.0 where it is exact."""
    basis: Basis
    """What the numbers are counted in."""


class Pairs(Iterable[Pair]):
    """Pairs of documents, best first; those of one score by their keys. One may go through them again.

    They are pairs of the documents as the index was when it was asked. Documents are looked up some thousand
    pairs ahead: one that was removed or replaced before that is left out.
    """

    def __init__(
        self,
        store: Transactions,
        found: JoinedPairs,
        scores: F64,
        documents: DocumentLookup,
        *,
        directed: bool,
    ) -> None:
        # Ties are in the order of keys, which is not known yet.
        order = np.argsort(-scores, kind="stable")
        self._found = found.only(order)
        self._scores = -scores[order]
        self._store = store
        self._documents = documents
        self._directed = directed
        self.set_aside = found.set_aside
        """How many different hashes were set aside because too many contents have them."""

    def __iter__(self) -> Iterator[Pair]:
        begin, before = 0, self._store.cancels()
        while begin < len(self._scores):
            self._store.refuse_cancelled(before)
            last = self._scores[min(begin + _LOOKED_UP, len(self._scores)) - 1]
            end = int(np.searchsorted(self._scores, last, "right"))
            yield from self._some(begin, end)
            begin = end

    def _some(self, begin: int, end: int) -> Iterator[Pair]:
        """The documents' pairs that some pairs of nodes stand for."""
        found = self._found.only(np.arange(begin, end))
        keys = self._keys_of(found)
        numbers = found.numbers()
        columns = (
            numbers.resemblance,
            numbers.containment,
            numbers.reverse_containment,
            numbers.shared,
            numbers.error,
        )
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        nodes = list(zip(found.a.tolist(), found.b.tolist(), strict=True))
        scores = self._scores[begin:end]
        borders = [0, *(np.flatnonzero(scores[1:] != scores[:-1]) + 1).tolist(), end - begin]
        basis: Basis = "fingerprints" if found.slots is None else "sketches"
        for first, last in itertools.pairwise(borders):
            for a, b, number, turned in self._tied(nodes, range(first, last), keys):
                resemblance, containment, reverse_containment, shared, error = rows[number]
                if turned:
                    containment, reverse_containment = reverse_containment, containment
                yield Pair(a, b, resemblance, containment, reverse_containment, shared, error, basis)

    def _keys_of(self, found: JoinedPairs) -> dict[int, list[str]]:
        """The keys of each node's documents, in their order."""
        nodes = np.flatnonzero(np.bincount(np.concatenate([found.a, found.b])))
        counts = found.starts[nodes + 1] - found.starts[nodes]
        contents = found.contents[ranges(found.starts[nodes], counts)]
        nodes_of: dict[int, list[int]] = {}
        for content, node in zip(contents.tolist(), np.repeat(nodes, counts).tolist(), strict=True):
            nodes_of.setdefault(content, []).append(node)
        keys: dict[int, list[str]] = {node: [] for node in nodes.tolist()}
        with self._store.reading() as db:
            for content, key, _ in self._documents(db, np.sort(np.array(list(nodes_of), np.int64))):
                for node in nodes_of[content]:
                    keys[node].append(key)
        for some in keys.values():
            some.sort()
        return keys

    def _tied(
        self, nodes: list[tuple[int, int]], tied: range, keys: dict[int, list[str]]
    ) -> Iterator[tuple[str, str, int, bool]]:
        """The documents' pairs of one score in the order of keys: a, b, which pair of nodes, if turned."""
        partners: dict[int, list[tuple[int, int, bool]]] = {}
        for number in tied:
            a, b = nodes[number]
            partners.setdefault(a, []).append((b, number, False))
            if a != b and not self._directed:
                partners.setdefault(b, []).append((a, number, True))
        own: dict[str, list[int]] = {}
        for node in partners:
            for key in keys[node]:
                own.setdefault(key, []).append(node)
        for key in sorted(own):
            found = [
                (other, number, turned)
                for node in own[key]
                for partner, number, turned in partners[node]
                for other in keys[partner][0 if self._directed else bisect.bisect(keys[partner], key) :]
                if other != key
            ]
            found.sort()
            for other, number, turned in found:
                yield key, other, number, turned


def pairs(
    store: Transactions,
    recipe: Recipe,
    *,
    min_resemblance: float | None = None,
    min_containment: float | None = None,
    method: Method = "fingerprints",
    ignored: U64 = NOTHING,
    ignore_above: int | None = None,
    chosen: I64 | None = None,
    documents: DocumentLookup = documents_of,
    check_cancelled: CheckCancelled = lambda: None,
) -> Pairs:
    """All pairs of documents of some resemblance, or of which one contains some share of the other.

    By fingerprints all there are, with exact numbers: of the different hashes of either, without those
    `marked`, or that more than `ignore_above` contents have. By sketches and by features estimates.
    """
    if (min_resemblance is None) == (min_containment is None):
        raise ValueError(
            "give either min_resemblance or min_containment, "
            f"not min_resemblance={min_resemblance!r} and min_containment={min_containment!r}"
        )
    if min_resemblance is not None:
        wanted = checked("min_resemblance", min_resemblance, method, ignored, ignore_above)
    else:
        wanted = checked("min_containment", min_containment, method, ignored, ignore_above)
    with store.reading() as db:
        found = join_pairs(db, recipe, wanted, chosen, check_cancelled)
    return Pairs(store, found, found.scores(wanted.measure), documents, directed=False)


def containments(
    store: Transactions,
    recipe: Recipe,
    min_containment: float,
    *,
    method: Method = "fingerprints",
    ignored: U64 = NOTHING,
    ignore_above: int | None = None,
    chosen: I64 | None = None,
    documents: DocumentLookup = documents_of,
    check_cancelled: CheckCancelled = lambda: None,
) -> Pairs:
    """All pairs of documents of which the first is contained in the second, by some share or more."""
    wanted = checked("min_containment", min_containment, method, ignored, ignore_above)
    with store.reading() as db:
        found = join_pairs(db, recipe, wanted, chosen, check_cancelled)
    numbers = found.numbers()
    there = np.flatnonzero(numbers.containment >= wanted.least)
    # (A text with itself is there once, and stands for both directions.)
    back = np.flatnonzero((numbers.reverse_containment >= wanted.least) & (found.a != found.b))
    turned = found.only(back)
    both = dataclasses.replace(
        found,
        a=np.concatenate([found.a[there], turned.b]),
        b=np.concatenate([found.b[there], turned.a]),
        common=np.concatenate([found.common[there], turned.common]),
    )
    scores = np.concatenate([numbers.containment[there], numbers.reverse_containment[back]])
    return Pairs(store, both, scores, documents, directed=True)


def checked(
    name: Literal["min_resemblance", "min_containment"],
    least: float | None,
    method: Method,
    ignored: U64,
    ignore_above: int | None,
) -> Threshold:
    """What a caller wants, or `ValueError`."""
    if isinstance(least, bool) or not isinstance(least, (int, float, np.number)) or not 0 < least <= 1:
        raise ValueError(f"{name} must be a share above 0 and up to 1, not {least!r}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if ignore_above is not None:
        if isinstance(ignore_above, bool) or operator.index(ignore_above) < 1:
            raise ValueError(f"ignore_above must be a whole number of 1 or more, not {ignore_above!r}")
        if method != "fingerprints":
            raise ValueError(
                f"ignore_above counts who has a fingerprint, and {method} know none; "
                'leave it out, or take method="fingerprints"'
            )
    return Threshold(
        measure="resemblance" if name == "min_resemblance" else "containment",
        least=float(least),
        method=method,
        ignored=ignored if method == "fingerprints" else NOTHING,
        ignore_above=ignore_above,
    )
