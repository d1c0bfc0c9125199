"""Ask an index about a text: search, similar, near, compare. The reading half of `docindex.Index`.

Checks the arguments of a question, and passes them with a scope to `docindex.query`. Must never contain SQL
or arithmetic, and must never write.
"""

import functools
from collections.abc import Iterable
from typing import Unpack, get_args

from docindex import arguments
from docindex.index.boilerplate import BoilerplateChoice
from docindex.index.hints import Hints
from docindex.index.pairs_reader import PairsReader
from docindex.index.scopes import open_scope
from docindex.query.compare import Comparison, compare_texts, measure_texts
from docindex.query.defaults import SAME_WORK
from docindex.query.measures import Measures
from docindex.query.near import DEFAULT_DISTANCE, Neighbour, find_near, weigh_words
from docindex.query.regions.evidence import Evidence, checked_lengths
from docindex.query.resolve import Id, Query, resolve
from docindex.query.scope import Scope
from docindex.query.search.options import MATCHES, Rank, SearchOptions, SearchParameters
from docindex.query.search.search import EvidenceOf, Match, find_matches
from docindex.query.similar import SimilarMethod, find_similar
from docindex.query.sources import LEAST_ADDED, SOURCES, Sources, find_sources
from docindex.sketching.weighted_words import WordWeights
from docindex.storage.file.user_sql import Where


class IndexReader(PairsReader):
    """The questions that `docindex.Index` answers.

    A question is about a document, given by its key, or about any other text. If a string could be either,
    pass a `docindex.Text`, `docindex.Key` or `docindex.Id`. If you give the key or the text of a document,
    that document is one of the answers. `where` restricts the answers to documents that fulfil an SQL
    condition on the table `document`: a string, or ``(string, bindings)``. `boilerplate` chooses the
    templates that are ignored: all of the index, none if it is False, or those in a list of names
    (`KeyError` for an unknown name).
    """

    _hints: Hints | None = None
    """None for SQL functions, which would give the same hint for each row."""

    def search(
        self,
        query: str | Id,
        *,
        window: int | None = None,
        budget: int | None = None,
        min_containment: float = 0.0,
        min_reverse_containment: float = 0.0,
        min_resemblance: float = 0.0,
        min_shared: int = 0,
        limit: int | None = MATCHES,
        where: Where | None = None,
        rank: Rank = "likeness",
        ignore_above: int | None = None,
        exact: bool = False,
        boilerplate: BoilerplateChoice = True,
    ) -> list[Match]:
        """The documents that share fingerprints with a text or a document, best first.

        ``rank="likeness"`` puts the documents first that are most like the query: that share rare
        fingerprints with it, and have little else. ``rank="excerpt"`` puts the documents first that hold most
        of the query, whatever else they have: use it for quotations, and for a text into which a passage may
        have been inserted. `docindex.query.search.scoring` has the formulas and what they find.

        The numbers of a match count fingerprints. (Its `basis` is "fingerprints": they are close to, but not
        the same as, those of `compare`.) Each match reaches `min_containment`, `min_reverse_containment`,
        `min_resemblance` and `min_shared`, the number of shared fingerprints. But if the query has no
        fingerprints, or only ignored ones, the matches are the documents with the same words, whatever these
        minimums are. Their numbers are those of `compare`.

        With `exact` the numbers of the matches are those of `compare`: counted in shingles if both texts are
        kept, else estimated. All minimums then apply to these numbers, and `min_shared` to what `basis`
        names: shared shingles, if both texts are kept. The matches are all documents that
        reach them and share a fingerprint that was looked up; a document that has only runs shorter than
        `recipe.guarantee` in common with the query may be missed. The order is the same as without `exact`.
        A search with `exact` reads the texts of the matches, and with a minimum the texts of all documents
        down to the last match.

        A `window` larger than that of the index looks up fewer fingerprints. So does a `budget`, which is the
        number of fingerprints to look up. Then small copies may be missed, but the numbers of the matches
        still count all fingerprints. (For a document whose text is not kept, `window` has no effect.)
        `ignore_above` ignores fingerprints that more than this many texts have, as if they were boilerplate.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine weaves algebraical patterns as looms weave.")
        ...     found = index.search("He said: 'The Engine weaves algebraical patterns as looms weave.'")
        >>> [(match.key, match.basis) for match in found]
        [('ada.txt', 'fingerprints')]
        """
        options = SearchOptions(
            window=window,
            budget=budget,
            min_containment=min_containment,
            min_reverse_containment=min_reverse_containment,
            min_resemblance=min_resemblance,
            min_shared=min_shared,
            limit=limit,
            rank=rank,
            ignore_above=ignore_above,
            exact=exact,
        ).checked(self.recipe)
        with open_scope(self, where, boilerplate=boilerplate) as scope:
            return self._found(scope, query, options, boilerplate)

    def search_many(
        self,
        queries: Iterable[str | Id],
        *,
        where: Where | None = None,
        boilerplate: BoilerplateChoice = True,
        **options: Unpack[SearchParameters],
    ) -> list[list[Match]]:
        """The result of `search` for each of many queries, all from the same state of the index.

        The parameters are those of `search`. One read transaction answers all queries, which is faster than
        one for each. The answers come as a list: if they came one by one, the transaction would stay open
        while you work on them.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine weaves algebraical patterns as looms weave.")
        ...     quotes = "Engines: The Engine weaves algebraical patterns as looms weave.", "other words"
        ...     [[match.key for match in found] for found in index.search_many(quotes, limit=1)]
        [['ada.txt'], []]
        """
        checked = SearchOptions(**options).checked(self.recipe)
        # Make the list first: the caller's iterable must not run inside our transaction.
        asked = list(arguments.many("queries", queries))
        with open_scope(self, where, boilerplate=boilerplate) as scope:
            found = []
            for query in asked:
                scope.check_cancelled()
                found.append(self._found(scope, query, checked, boilerplate))
            return found

    def _found(
        self, scope: Scope, query: str | Id, options: SearchOptions, boilerplate: BoilerplateChoice
    ) -> list[Match]:
        """The matches of one query of a search."""
        asked = resolve(scope.db, query)
        found = find_matches(scope, asked, options, self._evidence_of(asked, boilerplate))
        if not found and asked.content is None and self._hints is not None:
            self._hints.nothing_found(scope, query)
        return found

    def sources(
        self,
        query: str | Id,
        *,
        limit: int | None = SOURCES,
        min_share: float = LEAST_ADDED,
        where: Where | None = None,
        boilerplate: BoilerplateChoice = True,
    ) -> Sources:
        """Where a text comes from: the few documents that together cover it, and what each of them adds.

        The first document covers most of the text. Each of the others covers most of what the documents
        before it leave: at least `min_share` of the text, and at least `recipe.guarantee` symbols, or half of
        a short text. Documents with the same content count once. Of several documents that
        add the same, the one with the first key is taken. A document that you ask about is not one of its
        own sources.

        Documents are chosen by the symbols around the fingerprints that they share with the text. So another
        document may add a few symbols more. The shares of the chosen documents count symbols in passages,
        as coverage does, without boilerplate. They are exact if the text of the document is kept; see
        `TextSource.basis`. A text without fingerprints has no sources.

        >>> import docindex
        >>> with docindex.open(":memory:", recipe=docindex.Recipe(k=5, window=4)) as index:
        ...     index.add("hamlet", "To be, or not to be: that is the question.")
        ...     index.add("twelfth night", "If music be the food of love, play on!")
        ...     found = index.sources("To be or not to be the food of love? Yes.")
        >>> [(source.key, round(source.added, 2)) for source in found], round(found.uncovered, 2)
        ([('twelfth night', 0.52), ('hamlet', 0.38)], 0.1)
        """
        limit = arguments.limit(limit)
        min_share = arguments.share("min_share", min_share)
        with open_scope(self, where, boilerplate=boilerplate) as scope:
            return find_sources(scope, resolve(scope.db, query), limit, min_share)

    def similar(
        self,
        query: str | Id,
        min_resemblance: float = SAME_WORK,
        *,
        limit: int | None = None,
        where: Where | None = None,
        method: SimilarMethod = "shingles",
        boilerplate: BoilerplateChoice = True,
    ) -> list[Match]:
        """The documents with at least this resemblance to a text or a document, the most similar first.

        Resemblance is counted in shingles. It is exact if both texts are kept, and no such document is
        missed. Otherwise it is an estimate with a standard error: a document near the threshold may be missed
        or added. The first call reads a row for each text of the index, a second for a million texts.
        Later calls look up slots in memory, 145 bytes a text, if `min_resemblance` is .73 or more; they miss
        a document at the threshold with a probability below 2 * 10^-9. With smaller thresholds, or with
        boilerplate that is large compared with the text, they read all rows again.

        ``method="features"`` looks up the documents that share features in the file instead: it misses more
        documents, and `doc_filter` of SQL says how many. `limit` is the largest number of answers.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("hamlet.txt", "To be, or not to be, that is the question")
        ...     [match.key for match in index.similar("to be or not to be: that is the question!")]
        ['hamlet.txt']
        """
        min_resemblance = arguments.share("min_resemblance", min_resemblance, above_zero=True)
        method = arguments.choice("method", method, get_args(SimilarMethod))
        limit = arguments.limit(limit)
        with open_scope(self, where, boilerplate=boilerplate) as scope:
            asked = resolve(scope.db, query)
            evidence_of = self._evidence_of(asked, boilerplate)
            found = find_similar(scope, asked, min_resemblance, evidence_of, method)
            if not found and asked.content is None and self._hints is not None:
                self._hints.nothing_shared(scope, query)
            return found[:limit]

    def near(
        self, query: str | int, distance: int = DEFAULT_DISTANCE, *, where: Where | None = None
    ) -> list[Neighbour]:
        """All documents whose simhash differs in at most `distance` bits, the nearest first.

        `query` is a text, a key, a `docindex.Id`, or a simhash value.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("fox.txt", "The quick brown fox jumps over the lazy dog")
        ...     index.near("the QUICK brown fox jumps over the lazy dog!")
        [Neighbour(key='fox.txt', id=1, distance=0)]
        """
        return self.near_many([query], distance, where=where)[0]

    def near_many(
        self, queries: Iterable[str | int], distance: int = DEFAULT_DISTANCE, *, where: Where | None = None
    ) -> list[list[Neighbour]]:
        """The result of `near` for each of many queries, much faster than query by query."""
        distance = arguments.whole_number("distance", distance, least=0, most=63)
        # Make the list first: the caller's iterable must not run inside our transaction.
        asked = list(arguments.many("queries", queries))
        with open_scope(self, where, boilerplate=False) as scope:
            return find_near(scope, asked, distance)

    def word_weights(self, *, where: Where | None = None) -> WordWeights:
        """How rare each word is among the texts of the index, for ``docindex.simhash(text, idf=...)``.

        Counts the texts that are kept, each once, however many documents have it. Reads all of them, which
        takes half a minute for each gigabyte. The simhash values in the index do not change.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     for name in ("cat", "ls", "tac"):
        ...         index.add(name, f"NAME: {name}; see the user commands for more")
        ...     weights = index.word_weights()
        >>> texts = [f"NAME: {name}; see the user commands for more" for name in ("cat", "tac")]
        >>> apart = docindex.distance(*(docindex.simhash(text) for text in texts))
        >>> docindex.distance(*(docindex.simhash(text, idf=weights) for text in texts)) > apart
        True
        """
        with open_scope(self, where, boilerplate=False) as scope:
            return weigh_words(scope)

    def compare(
        self,
        a: str | Id,
        b: str | Id,
        *,
        min_length: int | None = None,
        boilerplate: BoilerplateChoice = True,
        join: int = 0,
    ) -> Comparison:
        """Compare two texts or documents: how much they have in common, and their common passages.

        Common runs of less than `min_length` symbols are no passages, and coverage does not count them. By
        default, that is 36 symbols, or `recipe.guarantee` if that is less: shorter runs are often phrases
        that anybody writes. ``min_length=1`` gives all runs that were found. A run is found if it leaves a
        common fingerprint: always with `recipe.guarantee` symbols, often with `recipe.k` or more, never with
        fewer. If one text is nothing but the run, it is a passage, whatever `min_length` is.

        A passage is marked as `boilerplate` if nothing in it is long enough for a passage without the text of
        templates. Coverage leaves boilerplate out: it counts neither as covered nor as part of the text.

        With `join`, passages that follow each other in both texts, with at most `join` symbols between them,
        become one; `Passage.identical` is then the share of its symbols that are the same. Coverage does not
        change. `Comparison.regions` finds reworded text too.

        If a text is not kept, there are no passages, and coverage is 0, which says nothing. (It is 1 if both
        texts have the same words.) The measures are then estimates; see `Comparison.basis`.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     found = index.compare("to be or not to be", "To be or not to be, that is the question")
        >>> found.containment, round(found.reverse_containment, 2), found.exact
        (1.0, 0.33, True)
        """
        min_length, join = checked_lengths(min_length, join)
        opened = functools.partial(open_scope, self, boilerplate=boilerplate)
        with opened() as scope:
            evidence = Evidence(opened, resolve(scope.db, a), resolve(scope.db, b))
            found = compare_texts(scope, evidence, min_length, join)
            self._hint_at_keys(scope, found, a, b)
            return found

    def measures(self, a: str | Id, b: str | Id, *, boilerplate: BoilerplateChoice = True) -> Measures:
        """The numbers that `compare` gives, without the passages: several times faster.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     round(index.measures("to be or not to be", "To be or not to be, said he").containment, 2)
        1.0
        """
        with open_scope(self, boilerplate=boilerplate) as scope:
            found = measure_texts(scope, resolve(scope.db, a), resolve(scope.db, b))
            self._hint_at_keys(scope, found, a, b)
            return found

    def _hint_at_keys(self, scope: Scope, found: Measures, *queries: str | Id) -> None:
        """Warn of texts that look like mistyped keys, if they share nothing."""
        if not found.shared and self._hints is not None:
            for query in queries:
                if resolve(scope.db, query).content is None:
                    self._hints.nothing_shared(scope, query)

    def _evidence_of(self, query: Query, boilerplate: BoilerplateChoice) -> EvidenceOf:
        """A function that gives the evidence that a query and a document share text."""
        opened = functools.partial(open_scope, self, boilerplate=boilerplate)
        return lambda content, document: Evidence(opened, query, Query(None, content, document))
