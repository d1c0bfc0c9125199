"""Tell where a text comes from: the few documents that together cover it, and what each of them adds.

Takes a text and an index. The documents are chosen by their fingerprints; then the numbers and stretches come
from the passages of the chosen documents, if their texts are kept. Must never read the text of a document
that `Covering` did not propose.

`Covering` proposes one content after the other: the one that shares the fingerprints of most symbols that
nothing covers yet. Each fingerprint stands for the symbols around it, up to the middle between its
neighbours. So a gain is a sum over hashes, and one pass over the postings computes the gains of all contents.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Literal

import numpy as np

from docindex.arrays.ranges import I64, U64, Bool, ranges, starts_of, tally
from docindex.query.regions.passages import comparable, passage_runs
from docindex.query.resolve import Query, kept_text
from docindex.query.scope import Scope
from docindex.reading.registry import symbol_reader
from docindex.sketching.single_text import text_fingerprints
from docindex.sketching.sketches import HASH_SHIFT
from docindex.storage.rows import contents

# Up to this many postings are kept in memory. If there are more, each proposal reads all of them again.
_KEPT = 1 << 22

# The documents of this many contents are looked up first, and of twice as many each time none fulfils the
# condition.
_LOOKED_UP = 16

Proposal = tuple[int, list[tuple[str, int]]]
"""A content, and the keys and ids of its documents, ascending."""


class Covering:
    """The contents that share fingerprints with a text, and what each of them would add."""

    def __init__(self, scope: Scope, hashes: U64, positions: I64, counts: Bool) -> None:
        self._scope = scope
        stored = hashes >> HASH_SHIFT << HASH_SHIFT
        counting = scope.ignored.without(np.unique(stored))
        at = np.minimum(np.searchsorted(counting, stored), max(0, len(counting) - 1))
        which = counting[at] == stored if len(counting) else np.zeros(len(stored), bool)
        self._numbers = at[which]
        self._which = which
        self._stored = counting
        centres = positions + scope.recipe.k // 2
        middles = (centres[1:] + centres[:-1]) // 2
        self._borders = np.concatenate([[0], middles, [len(counts)]])
        self.open = counts.copy()
        """The symbols that count, and that no chosen document covers."""
        self._left_out: set[int] = set()
        self._hits: list[tuple[I64, I64]] | None = None

    def proposals(self, least: int, without: int | None) -> Iterator[Proposal]:
        """Yield contents with documents until no other adds `least` symbols by its fingerprints.

        The caller changes `open` before it asks for the next one. The document `without` is left out.
        """
        while True:
            self._scope.check_cancelled()
            contents, gains = self._gains(least)
            found = self._best(contents, gains, without)
            if found is None:
                return
            self._left_out.add(found[0])
            yield found

    def _gains(self, least: int) -> tuple[I64, I64]:
        """The contents that would add enough symbols, and how many, the most first."""
        before = starts_of(self.open.astype(np.int64))
        cells = np.diff(before[self._borders])
        weights = np.bincount(self._numbers, cells[self._which], len(self._stored)).astype(np.int64)
        total = (np.empty(0, np.int64),) * 3
        for which, found in self._postings(weights):
            more = tally(found, None, weights[which])
            total = tally(*map(np.concatenate, zip(total, more, strict=True))) if len(total[0]) else more
        contents, _, gains = total
        enough = np.flatnonzero(gains >= max(1, least))
        enough = enough[~np.isin(contents[enough], np.array(list(self._left_out), np.int64))]
        order = enough[np.argsort(-gains[enough], kind="stable")]
        return contents[order], gains[order]

    def _postings(self, weights: I64) -> Iterator[tuple[I64, I64]]:
        """The numbers of hashes that still add something, and the contents that have each."""
        if self._hits is not None:
            kept = [(which, found, weights[which] > 0) for which, found in self._hits]
            self._hits = [(which[useful], found[useful]) for which, found, useful in kept]
            yield from self._hits
            return
        useful = np.flatnonzero(weights)
        hits: list[tuple[I64, I64]] | None = []
        held = 0
        for which, found in self._scope.existing.look_up(self._stored[useful]):
            self._scope.check_cancelled()
            held += len(which)
            hits = None if hits is None or held > _KEPT else [*hits, (useful[which], found)]
            yield useful[which], found
        self._hits = hits

    def _best(self, contents: I64, gains: I64, without: int | None) -> Proposal | None:
        """The content with the highest gain that has a document; of several, the one with the first key."""
        begin, size = 0, _LOOKED_UP
        while begin < len(contents):
            # Contents with the same gain are looked up together.
            end = int(np.searchsorted(-gains, -gains[min(begin + size, len(gains)) - 1], "right"))
            documents: dict[int, list[tuple[str, int]]] = {}
            for content, key, number in self._scope.documents_of(np.sort(contents[begin:end])):
                if number != without:
                    documents.setdefault(content, []).append((key, number))
            gain_of = dict(zip(contents[begin:end].tolist(), gains[begin:end].tolist(), strict=True))
            self._left_out.update(content for content in gain_of if content not in documents)
            if documents:
                best = min(documents, key=lambda content: (-gain_of[content], min(documents[content])))
                return best, sorted(documents[best])
            begin, size = end, 2 * size
        return None


SOURCES = 20
"""The number of sources that are found by default."""

LEAST_ADDED = 0.01
"""By default, a source adds at least this share of the text."""

# Documents that turn out to add too little, one after the other, end the search for sources.
_REFUSED = 8

# Of a text that is not kept, at most this many pairs of equal fingerprints are compared.
_PAIRS = 1 << 20

SourceBasis = Literal["passages", "fingerprints"]
"""How the stretches of a source were found: exactly, or from the positions of its fingerprints."""


@dataclasses.dataclass(frozen=True, slots=True)
class SourceStretch:
    """A stretch of a text that a source has too, as half-open ranges of both texts, in characters."""

    query_start: int
    query_end: int
    start: int | None
    """Where it begins in the source; None if the text of the source is not kept."""
    end: int | None
    length: int
    """The number of its symbols."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TextSource:
    """A document that covers a part of a text. All shares are shares of the text's symbols."""

    key: str
    id: int
    added: float
    """The share that this document covers, and no document before it."""
    covered: float
    """The share that this document covers by itself."""
    added_symbols: int
    """The number of symbols that it covers, and no document before it."""
    stretches: tuple[SourceStretch, ...]
    """What it adds, in the order of the text. No two stretches of any sources overlap in the text."""
    copies: tuple[str, ...]
    """The keys of the other documents with exactly the same content."""
    basis: SourceBasis
    """"passages": the numbers are exact. "fingerprints": the text of the document is not kept, and each
    stretch may be up to a window longer at both ends, and may hide a small difference."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sources:
    """The documents that together cover a text, those that add most first. Iterate over it."""

    sources: tuple[TextSource, ...]
    covered: float
    """The share of the text's symbols that the sources cover. Boilerplate does not count."""
    symbols: int
    """The number of symbols of the text that count."""

    @property
    def uncovered(self) -> float:
        """The share of the text's symbols that no source covers."""
        return 1.0 - self.covered

    def __iter__(self) -> Iterator[TextSource]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, place: int) -> TextSource:
        return self.sources[place]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """What a document has in common with the text."""

    documents: list[tuple[str, int]]
    """The keys and ids of the documents with this content, ascending."""
    begins: I64
    """Where each run begins in the text, in symbols."""
    lengths: I64
    """The number of symbols of each run."""
    text: str | None
    """The text of the document, if it is kept."""
    starts: I64
    """Where each run begins in the document, in symbols; empty if its text is not kept."""

    def covered(self, size: int) -> Bool:
        """Whether each of `size` symbols is in a run."""
        changes = np.bincount(self.begins, minlength=size + 1) - np.bincount(
            self.begins + self.lengths, minlength=size + 1
        )
        covered: Bool = np.cumsum(changes)[:size] > 0
        return covered


def find_sources(scope: Scope, query: Query, limit: int | None, min_share: float) -> Sources:
    """The documents that together cover a text.

    `TextNotKept` if the query is a document whose text is not kept.
    """
    text = _Text(scope, kept_text(scope.db, query))
    size = text.own_symbols
    least = max(1, int(np.ceil(min_share * size)), min(scope.recipe.guarantee, (size + 1) // 2))
    hashes, positions = text_fingerprints(text.text, scope.recipe)
    if not size or not len(hashes):
        return Sources((), 0.0, size)
    chosen: list[_Runs] = []
    covering = Covering(scope, hashes, positions, text.own)
    refused = 0
    # Fingerprints show less of a stretch than its passage has: up to half a k-gram at both ends.
    for content, documents in covering.proposals((least + 1) // 2, query.document):
        runs = text.runs(scope, content, documents, hashes, positions)
        covered = runs.covered(len(text.own))
        if np.count_nonzero(covered & covering.open) < least:
            refused += 1
            if refused == _REFUSED:
                break
            continue
        refused = 0
        chosen.append(runs)
        covering.open &= ~covered
        if len(chosen) == limit:
            break
    return text.sources(chosen, least)


class _Text:
    """The text that a question is about."""

    def __init__(self, scope: Scope, text: str) -> None:
        self.text = text
        self._reader = symbol_reader(scope.recipe.reading)
        self._comparable = comparable(text, scope.recipe, scope.ignored.hashes)
        self.own = np.ones(len(self._comparable.symbols), bool)
        """The symbols that are not boilerplate."""
        templates = self._comparable.templates
        for first, end in zip(templates.firsts.tolist(), templates.ends.tolist(), strict=True):
            self.own[first : end - 1 + scope.recipe.k] = False
        self.own_symbols = int(np.count_nonzero(self.own))

    @functools.cached_property
    def _offsets(self) -> I64:
        """Where each symbol begins in the text."""
        return self._reader.offsets(self.text, np.arange(len(self.own)))

    def runs(
        self, scope: Scope, content: int, documents: list[tuple[str, int]], hashes: U64, positions: I64
    ) -> _Runs:
        """What a content has in common with the text; nothing that lies in boilerplate alone."""
        other = contents.text_of(scope.db, content)
        if other is None:
            found = contents.fingerprints_of(scope.db, content, scope.recipe.window)
            begins, lengths = _common_runs((hashes, positions), found, scope)
            return _Runs(documents, begins, lengths, None, np.empty(0, np.int64))
        compared = comparable(other, scope.recipe, scope.ignored.hashes)
        begins, starts, lengths = passage_runs(self._comparable, compared, scope.recipe)
        return _Runs(documents, begins, lengths, other, starts)

    def sources(self, chosen: list[_Runs], least: int) -> Sources:
        """The chosen documents, each time the one that adds most, until no other adds enough."""
        left = [(runs, runs.covered(len(self.own)) & self.own) for runs in chosen]
        still_open, found = self.own.copy(), []
        while left:
            left.sort(key=lambda each: (-np.count_nonzero(each[1] & still_open), each[0].documents))
            runs, covered = left.pop(0)
            added = covered & still_open
            if np.count_nonzero(added) < least:
                break
            still_open &= ~covered
            found.append(self._source(runs, covered, added))
        size = self.own_symbols
        return Sources(tuple(found), 1 - int(np.count_nonzero(still_open)) / size, size)

    def _source(self, runs: _Runs, covered: Bool, added: Bool) -> TextSource:
        (key, number), *copies = runs.documents
        count = int(np.count_nonzero(added))
        return TextSource(
            key=key,
            id=number,
            added=count / self.own_symbols,
            covered=int(np.count_nonzero(covered)) / self.own_symbols,
            added_symbols=count,
            stretches=tuple(self._stretches(runs, added)),
            copies=tuple(key for key, _ in copies),
            basis="fingerprints" if runs.text is None else "passages",
        )

    def _stretches(self, runs: _Runs, added: Bool) -> Iterator[SourceStretch]:
        """The added symbols as stretches; each symbol belongs to the longest run that has it."""
        owner = np.full(len(added), -1)
        for run in np.argsort(runs.lengths, kind="stable").tolist():
            owner[runs.begins[run] : runs.begins[run] + runs.lengths[run]] = run
        owner[~added] = -1
        borders = np.concatenate([[0], np.flatnonzero(np.diff(owner)) + 1, [len(owner)]])
        first, behind = borders[:-1], borders[1:]
        kept = owner[first] >= 0
        first, behind = first[kept], behind[kept]
        runs_of = owner[first]
        query_starts = self._offsets[first].tolist()
        query_ends = self._reader.ends(self.text, behind - 1).tolist()
        lengths = (behind - first).tolist()
        if runs.text is None:
            nothing = [None] * len(lengths)
            fields = zip(query_starts, query_ends, nothing, nothing, lengths, strict=True)
        else:
            size = sum(len(reading.symbols) for reading in self._reader.readings(runs.text))
            offsets = self._reader.offsets(runs.text, np.arange(size))
            in_other = runs.starts[runs_of] + first - runs.begins[runs_of]
            ends = self._reader.ends(runs.text, np.arange(size))[in_other + behind - first - 1]
            fields = zip(
                query_starts, query_ends, offsets[in_other].tolist(), ends.tolist(), lengths, strict=True
            )
        return (SourceStretch(*values) for values in fields)


def _common_runs(own: tuple[U64, I64], other: tuple[U64, I64], scope: Scope) -> tuple[I64, I64]:
    """Where two texts have the same fingerprints at the same distances: begins in the first, and lengths."""
    k, window = scope.recipe.k, scope.recipe.window
    hashes, positions = own[0] >> HASH_SHIFT << HASH_SHIFT, own[1]
    counts = scope.ignored.without(np.unique(hashes))
    which = np.isin(hashes, counts)
    hashes, positions = hashes[which], positions[which]
    order = np.argsort(other[0], kind="stable")
    sought, places = other[0][order], other[1][order]
    begins = np.searchsorted(sought, hashes)
    numbers = np.searchsorted(sought, hashes, "right") - begins
    if int(numbers.sum()) > _PAIRS:
        numbers = np.minimum(numbers, 1)
    i, j = np.repeat(positions, numbers), places[ranges(begins, numbers)]
    order = np.lexsort((i, j - i))
    i, j = i[order], j[order]
    apart = (np.diff(j - i) != 0) | (np.diff(i) > window)
    firsts = np.concatenate([[0], np.flatnonzero(apart) + 1]) if len(i) else np.empty(0, np.int64)
    lasts = np.concatenate([firsts[1:], [len(i)]]) - 1 if len(i) else firsts
    return i[firsts], i[lasts] + k - i[firsts]
