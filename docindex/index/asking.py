"""Ask an index: open the scope of a question, search, and hint at why a question found nothing.

A scope is a read transaction of an index, the condition, and the boilerplate to ignore; it is what
`docindex.query` takes. Must never contain SQL, and must never write.
"""

import contextlib
import functools
import logging
from collections.abc import Iterator

from docindex.arguments import shown
from docindex.cancellation import stopped_by
from docindex.index.boilerplate import BoilerplateChoice, checked_choice
from docindex.query.measures import Measures
from docindex.query.regions.evidence import Evidence
from docindex.query.resolve import Id, Query, Text, resolve, similar_key
from docindex.query.scope import NOTHING_IGNORED, Scope, ScopeOpener
from docindex.query.search.options import SearchOptions
from docindex.query.search.search import EvidenceOf, Match, find_matches
from docindex.query.similar import SimilarMethod, find_similar
from docindex.query.slot_index import SlotIndex
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.storage.file import user_sql
from docindex.storage.file.connection import Connection, Store
from docindex.storage.file.user_sql import Where
from docindex.storage.rows import templates
from docindex.storage.rows.templates import Ignored

_log = logging.getLogger("docindex")

# A key that somebody types is hardly longer than this.
_LONGEST_KEY = 200
# A loop over many texts that have nothing in common must not look for similar keys all the time.
_LOOKS = 20
# No text that is longer than this is read again to count its symbols.
_LONGEST_SHORT = 2000


class Scopes:
    """Opens the scopes of all questions to an index, and keeps what later questions need of earlier ones."""

    def __init__(self, store: Store, recipe: Recipe) -> None:
        self._store = store
        self._recipe = recipe
        self._ignored = NOTHING_IGNORED
        self._slot_index = SlotIndex()

    @contextlib.contextmanager
    def open(
        self,
        where: Where | None = None,
        *,
        boilerplate: BoilerplateChoice = True,
        between: tuple[Where, Where] | None = None,
    ) -> Iterator[Scope]:
        """A scope in a read transaction.

        `ValueError` for a condition that is not SQL, `KeyError` for a template that does not exist. With
        ``boilerplate=False`` the scope ignores nothing. That saves a statement if boilerplate makes no
        difference to the question.
        """
        boilerplate = checked_choice(boilerplate)
        with self._store.reading() as db:
            condition = None if where is None else user_sql.checked_condition(db, where)
            sides = None
            if between is not None:
                first, second = between
                sides = user_sql.checked_condition(db, first), user_sql.checked_condition(db, second)
            ignored = self._current_ignored(db, boilerplate)
            check_cancelled = functools.partial(self._store.refuse_cancelled, self._store.cancels())
            with stopped_by(check_cancelled):
                yield Scope(db, self._recipe, ignored, condition, check_cancelled, self._slot_index, sides)

    def _current_ignored(self, db: Connection, boilerplate: BoilerplateChoice) -> Ignored:
        """The hashes and shingles that a question ignores; those of all templates are kept until a change."""
        if boilerplate is False:
            return NOTHING_IGNORED
        if boilerplate is not True:
            return templates.ignored_by(db, boilerplate)
        self._ignored = ignored = templates.ignored(db, self._ignored)
        return ignored  # another thread may have changed the attribute


class Hints:
    """Tells the log why a question found nothing: the query is too short, or looks like a mistyped key.

    A string that is no key is a text, so a slip in a key gives an empty answer instead of an error. Each hint
    is given once for each index: an app that searches while somebody types would fill the log.
    """

    def __init__(self, recipe: Recipe, *, is_silent: bool) -> None:
        self._recipe = recipe
        self._looks_left = 0 if is_silent else _LOOKS
        self._has_told_of_length = is_silent

    def mistyped_keys(self, scope: Scope, found: Measures, *queries: str | Id) -> None:
        """Warn of texts that look like mistyped keys, if they share nothing."""
        if not found.shared and self._looks_left:
            for query in queries:
                if resolve(scope.db, query).content is None:
                    self.nothing_shared(scope, query)

    def nothing_shared(self, scope: Scope, query: object) -> bool:
        """Warn of a text that looks like a mistyped key; returns whether it does."""
        if not self._looks_left or not isinstance(query, str) or isinstance(query, (Text, Id)):
            return False
        plain = str.__str__(query)
        if len(plain) > _LONGEST_KEY or "\n" in plain:
            return False
        self._looks_left -= 1
        near = similar_key(scope.db, plain)
        if near is None or near == plain:
            return False
        self._looks_left = 0
        _log.warning(
            "no document has the key %s, so it was taken as a text, and nothing was found; did you mean %r? "
            "(docindex.Key raises an error for an unknown key, docindex.Text is always a text)",
            *(shown(plain), near),
        )
        return True

    def nothing_found(self, scope: Scope, query: object) -> None:
        """Warn of a query that no search can find, because it has fewer symbols than a k-gram."""
        if self.nothing_shared(scope, query) or self._has_told_of_length or not isinstance(query, str):
            return
        plain, k = str.__str__(query), self._recipe.k
        if len(plain) > _LONGEST_SHORT:
            return
        symbols = len(symbol_reader(self._recipe.reading).read([plain]).symbols)
        if symbols < k:
            self._has_told_of_length = True
            _log.warning(
                "the query %s is too short to match: it has %d of the %d symbols (letters and digits) that a "
                "search needs, so only documents with exactly the same words are found",
                *(shown(plain), symbols, k),
            )


def matches_in(
    scope: Scope, query: str | Id, options: SearchOptions, opened: ScopeOpener, hints: Hints
) -> list[Match]:
    """The matches of one query of a search; `opened` opens the scope of their evidence."""
    scope.check_cancelled()
    resolved = resolve(scope.db, query)
    found = find_matches(scope, resolved, options, _evidence_of(resolved, opened))
    if not found and resolved.content is None:
        hints.nothing_found(scope, query)
    return found


def similar_in(
    scope: Scope, query: str | Id, least: float, opened: ScopeOpener, method: SimilarMethod, hints: Hints
) -> list[Match]:
    """The documents with at least this resemblance to a query; `opened` opens the scope of their evidence."""
    resolved = resolve(scope.db, query)
    found = find_similar(scope, resolved, least, _evidence_of(resolved, opened), method)
    if not found and resolved.content is None:
        hints.nothing_shared(scope, query)
    return found


def _evidence_of(query: Query, opened: ScopeOpener) -> EvidenceOf:
    """A function that gives the evidence that a query and a document share text."""
    return lambda content, document: Evidence(opened, query, Query(None, content, document))


def two_conditions(between: object, where: object) -> tuple[Where, Where] | None:
    """The value of `between`; `TypeError` or `ValueError` if it is wrong, or if `where` is given too."""
    if between is None:
        return None
    if where is not None:
        raise ValueError(
            "where and between cannot be used together; write the condition into both of between"
        )
    match between:
        case [str() | tuple() as first, str() | tuple() as second]:
            return first, second
    raise TypeError(f"between must be two conditions on document, not {shown(between)}")
