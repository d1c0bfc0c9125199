"""Find the documents that share fingerprints with a query, best first.

Candidates come from the inverted index, and their numbers from the forward index. If only a part of the
query's hashes is looked up, documents may be missed, but the numbers of a match still count all fingerprints.
Must never estimate a number from that part: it costs the same, and the estimates were 0.05 to 0.08 too high,
at a standard error of 0.01 to 0.03. A larger window selects the smallest hashes, and these survive an edit
nearby more often.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from docindex.arrays.ranges import I64
from docindex.query.estimates import KnownText, measure_contents
from docindex.query.measures import Measures
from docindex.query.regions.evidence import Evidence
from docindex.query.regions.passages import Passage
from docindex.query.regions.regions import Region
from docindex.query.resolve import Query
from docindex.query.scope import Scope
from docindex.query.search.hash_lookup import candidates_for, query_hashes
from docindex.query.search.options import SearchOptions
from docindex.query.search.scoring import Scored, Scorer
from docindex.storage.rows import documents

EvidenceOf = Callable[[int, int], Evidence]
"""Gives the evidence that the query and a document share text.

Takes the content and the id of the document.
"""


class _KnowsEvidence(Measures):
    """Measures with a value that is no field, so that neither pickle nor `asdict` meets it."""

    __slots__ = ("_evidence",)
    _evidence: Callable[[], Evidence]


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
            return self._evidence()
        except AttributeError:
            raise ValueError(
                "this match is a copy (pickled, or made by dataclasses.replace), which does not know its "
                f"index; use index.compare(query, docindex.Id(match.id)).{wanted}"
            ) from None


def match_of(
    measures: Measures, document: tuple[str, int], score: float, evidence: Callable[[], Evidence]
) -> Match:
    """A match with these measures; `document` is its key and id. `evidence` is called when it is needed."""
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
    own = KnownText(scope, query)
    best = _Best(options, scorer, lambda contents: dict(measure_contents(scope, own, contents)))
    for contents in scorer.promising(candidates, best.lowest):
        scope.check_cancelled()
        if scope.where is not None:
            contents = best.fulfilling(scope.documents_of(contents))
        if len(contents):
            best.add(scorer.scored(contents, best.lowest()))
    return best.matches(scope, evidence_of)


def _same_words(scope: Scope, query: Query, options: SearchOptions, evidence_of: EvidenceOf) -> list[Match]:
    """The matches of a query without hashes that count: the documents that have exactly its words."""
    contents = documents.with_words_hash(scope.db, query.words_hash(scope))
    found = scope.documents_of(np.array(contents, np.int64))
    of = np.unique(np.array([row[0] for row in found], np.int64))
    numbers = dict(measure_contents(scope, KnownText(scope, query), of))
    matches = [
        match_of(numbers[content], (key, number), 1.0, functools.partial(evidence_of, content, number))
        for content, key, number in found
    ]
    return sorted(matches, key=lambda match: match.key)[: options.limit]


_LEAST = 1e-300  # the least score above 0: the score is 0 if the inverted index confused two hashes


class _Best:
    """The best contents of those that were added so far, and at the end their documents."""

    def __init__(
        self, options: SearchOptions, scorer: Scorer, measured: Callable[[I64], dict[int, Measures]]
    ) -> None:
        self._options = options
        self._scorer = scorer
        self._measured = measured
        """Gives the exact numbers of ascending contents, or the best estimates."""
        self._scored: list[Scored] = []
        self._highest = np.empty(0)
        """The highest scores, ascending; at most as many as the limit."""
        self._lowest = -1.0
        self._numbers: dict[int, Measures] = {}
        """The numbers that were compared with minimums."""
        self._fulfilling: list[tuple[int, str, int]] = []
        """The documents that fulfil the condition of the question, if there is one."""

    def lowest(self) -> float:
        """The score that a content must have to be among the best; -1 if any is enough."""
        return self._lowest

    def fulfilling(self, found: list[tuple[int, str, int]]) -> I64:
        """The contents of some documents that fulfil the condition, ascending; the documents are noted."""
        self._fulfilling += found
        return np.unique(np.array([content for content, *_ in found], np.int64))

    def add(self, scored: Scored) -> None:
        """Add those contents that may be among the best and reach the minimums."""
        options = self._options
        scored = scored.only(scored.scores >= max(self.lowest(), _LEAST))
        if options.has_minimums:
            numbers = self._measured(scored.contents) if options.exact else self._scorer.measures(scored)
            met = [options.met_by(numbers[content]) for content in scored.contents.tolist()]
            scored = scored.only(np.array(met, np.bool_))
            self._numbers.update((content, numbers[content]) for content in scored.contents.tolist())
        self._scored.append(scored)
        if options.limit is not None:
            self._highest = np.sort(np.concatenate([self._highest, scored.scores]))[-options.limit :]
            # Each content has a document or several, so the limit is reached with as many contents or fewer.
            if len(self._highest) == options.limit:
                self._lowest = float(self._highest[0])

    def matches(self, scope: Scope, evidence_of: EvidenceOf) -> list[Match]:
        """The best documents as matches, ordered by score, then by key."""
        if not self._scored:
            return []
        scored = Scored.of(self._scored)
        scored = scored.only(scored.scores >= self.lowest())
        found = scope.documents_of(scored.contents) if scope.where is None else self._fulfilling
        scores = dict(zip(scored.contents.tolist(), scored.scores.tolist(), strict=True))
        best = sorted((-scores[of], key, number, of) for of, key, number in found if of in scores)
        best = best[: self._options.limit]
        numbers = self._numbers
        if not self._options.has_minimums:
            if self._options.exact:
                numbers = self._measured(np.unique(np.array([of for *_, of in best], np.int64)))
            else:
                numbers = self._scorer.measures(scored)
        return [
            match_of(numbers[of], (key, number), -minus, functools.partial(evidence_of, of, number))
            for minus, key, number, of in best
        ]
