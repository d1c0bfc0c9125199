"""Find the documents that share fingerprints with a query, best first.

Candidates come from the inverted index, and their numbers from the forward index. If only a part of the
query's hashes is looked up, documents may be missed, but the numbers of a match still count all fingerprints.
Must never estimate a number from that part: it costs the same, and the estimates were 0.05 to 0.08 too high,
at a standard error of 0.01 to 0.03. A larger window selects the smallest hashes, and these survive an edit
nearby more often.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from docindex.kernels.arrays import I64
from docindex.query.evidence import Evidence
from docindex.query.hash_lookup import candidates_for, query_hashes
from docindex.query.measured_contents import measure_contents
from docindex.query.measures import Measures
from docindex.query.passages import Passage
from docindex.query.regions import Region
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.scoring import Scored, Scorer
from docindex.query.search_options import SearchOptions
from docindex.storage import documents

EvidenceOf = Callable[[int, int], Evidence]
"""Gives the evidence that the query and a document share text.

Takes the content and the id of the document.
"""


class _KnowsEvidence(Measures):
    """Measures with a value that is no field, so that neither pickle nor `asdict` meets it."""

    __slots__ = ("_evidence",)
    _evidence: Evidence


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Match(_KnowsEvidence):
    """A document that shares text with a query. `containment` is the share of the query in the document.

    The fields of `Measures`, and:

    - `key`, `id`: those of the document
    - `score`: the number by which the answers are ordered, the largest first; it compares answers of one
      search only, and is not a share of text

    A match is plain data: it can be pickled, and `dataclasses.asdict` gives its fields. Only the match that
    an index returned knows its passages and regions; a copy does not.
    """

    key: str
    id: int
    score: float
    """The number by which matches are ordered, the largest first."""

    def __repr__(self) -> str:
        return f"Match({self.key!r}{self._shown()})"

    def passages(self, *, min_length: int | None = None, join: int = 0) -> list[Passage]:
        """The passages that the query and the document have in common, as half-open ranges of both texts.

        Runs shorter than `min_length` symbols are left out, and neighbours are joined, as in
        `docindex.Index.compare`. Passages in the boilerplate that the question ignores are marked as
        `boilerplate`. Reads the texts from the index, which must be open. `TextNotKept` if one of the two
        texts was not kept, or was removed from the index; `KeyError` if the question named a template that
        was removed; `ValueError` for a copy of a match.
        """
        return self._known("passages").passages(min_length, join)

    def regions(self) -> list[Region]:
        """The stretches of the query that were made from stretches of the document, copied or reworded.

        They are those of `docindex.Comparison`. Reads the texts, and raises errors, as `passages` does.
        """
        return self._known("regions").regions()

    def _known(self, wanted: str) -> Evidence:
        try:
            return self._evidence
        except AttributeError:
            raise ValueError(
                "this match is a copy (pickled, or made by dataclasses.replace), which does not know its "
                f"index; use index.compare(query, docindex.Id(match.id)).{wanted}"
            ) from None


def match_of(measures: Measures, document: tuple[str, int], score: float, evidence: Evidence) -> Match:
    """A match with these measures; `document` is its key and id."""
    key, number = document
    match = Match(
        containment=measures.containment,
        reverse_containment=measures.reverse_containment,
        resemblance=measures.resemblance,
        shared=measures.shared,
        basis=measures.basis,
        containment_error=measures.containment_error,
        reverse_containment_error=measures.reverse_containment_error,
        resemblance_error=measures.resemblance_error,
        key=key,
        id=number,
        score=score,
    )
    object.__setattr__(match, "_evidence", evidence)
    return match


def find_matches(scope: Scope, query: Query, options: SearchOptions, evidence_of: EvidenceOf) -> list[Match]:
    """The documents that share fingerprints with a query, ordered by score, then by key."""
    hashes = query_hashes(scope, query, options)
    if not len(hashes.counting):
        return _same_words(scope, query, options, evidence_of)
    candidates = candidates_for(scope, hashes, options.rank)
    scorer = Scorer(scope, hashes, candidates.weights, options)
    best = _Best(options, scorer, lambda contents: dict(measure_contents(scope, query, contents)))
    for contents in scorer.promising(candidates, best.lowest):
        scope.check_cancelled()
        found = None if scope.where is None else scope.documents_of(contents)
        if found is not None:
            contents = np.unique(np.array([row[0] for row in found], np.int64))
        if len(contents):
            # The score is 0 if the inverted index confused two hashes.
            scored = scorer.scored(contents)
            scored = scored.only(scored.scores >= max(best.lowest(), _LEAST))
            best.add(scope.documents_of(scored.contents) if found is None else found, scored)
    return best.matches(evidence_of)


def _same_words(scope: Scope, query: Query, options: SearchOptions, evidence_of: EvidenceOf) -> list[Match]:
    """The matches of a query without hashes that count: the documents that have exactly its words."""
    contents = documents.with_words_hash(scope.db, query.words_hash(scope))
    found = scope.documents_of(np.array(contents, np.int64))
    numbers = dict(measure_contents(scope, query, np.unique(np.array([row[0] for row in found], np.int64))))
    matches = [
        match_of(numbers[content], (key, number), 1.0, evidence_of(content, number))
        for content, key, number in found
    ]
    return sorted(matches, key=lambda match: match.key)[: options.limit]


_Found = tuple[float, str, int, int]
"""The negative score, key, id and content of a document: the best documents sort first."""


_LEAST = 1e-300  # the least score above 0


class _Best:
    """The best documents of those that were added so far."""

    def __init__(
        self, options: SearchOptions, scorer: Scorer, measured: Callable[[I64], dict[int, Measures]]
    ) -> None:
        self._options = options
        self._scorer = scorer
        self._measured = measured
        """Gives the exact numbers of ascending contents, or the best estimates."""
        self._found: list[_Found] = []
        self._scored: list[Scored] = []
        self._numbers: dict[int, Measures] = {}
        """The exact numbers that were needed to compare them with minimums."""

    def lowest(self) -> float:
        """The score that a document must have to be among the best; -1 if any is enough."""
        limit = self._options.limit
        return -1.0 if limit is None or len(self._found) < limit else -self._found[-1][0]

    def add(self, found: list[tuple[int, str, int]], scored: Scored) -> None:
        """Add those documents, given by content, key and id, that are scored and reach the minimums."""
        options = self._options
        scores = dict(zip(scored.contents.tolist(), scored.scores.tolist(), strict=True))
        likely = sorted((-scores[of], key, number, of) for of, key, number in found if of in scores)
        if options.has_minimums:
            numbers = self._measured(_contents(likely)) if options.exact else self._scorer.measures(scored)
            likely = [row for row in likely if options.met_by(numbers[row[3]])]
            if options.exact:
                self._numbers.update((row[3], numbers[row[3]]) for row in likely)
        self._scored.append(scored)
        self._found = sorted(self._found + likely[: options.limit])[: options.limit]

    def matches(self, evidence_of: EvidenceOf) -> list[Match]:
        """The best documents as matches, ordered by score, then by key."""
        if not self._found:
            return []
        numbers = self._numbers
        if not self._options.exact:
            numbers = self._scorer.measures(Scored.of(self._scored, {row[3] for row in self._found}))
        elif not self._options.has_minimums:
            numbers = self._measured(_contents(self._found))
        return [
            match_of(numbers[content], (key, number), -minus, evidence_of(content, number))
            for minus, key, number, content in self._found
        ]


def _contents(found: list[_Found]) -> I64:
    """The different contents of some documents, ascending."""
    return np.unique(np.array([content for *_, content in found], np.int64))
