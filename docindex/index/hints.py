"""Tell the log why a question found nothing: the query is too short, or looks like a mistyped key.

A string that is no key is a text, so a slip in a key gives an empty answer instead of an error. Each hint is
given once for each index: an app that searches while somebody types would fill the log.
"""

import logging

from docindex.arguments import shown
from docindex.query.resolve import Id, Text, similar_key
from docindex.query.scope import Scope
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe

_log = logging.getLogger("docindex")

# A key that somebody types is hardly longer than this.
_LONGEST_KEY = 200
# A loop over many texts that have nothing in common must not look for similar keys all the time.
_LOOKS = 20
# No text that is longer than this is read again to count its symbols.
_LONGEST_SHORT = 2000


class Hints:
    """What an index has told the log."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._looks_left = _LOOKS
        self._has_told_of_length = False

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
