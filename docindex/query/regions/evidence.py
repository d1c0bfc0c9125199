"""Find the passages and regions of two texts of an index when somebody asks for them.

In: the two queries, and how a scope of their index is opened. Answers keep such an `Evidence` instead of
passages, so that a question does not pay for what nobody reads. Must never keep a copy of a text that the
index has.
"""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from docindex import arguments
from docindex.frontends.extracted import Places
from docindex.query.regions.passages import Passage, align
from docindex.query.regions.regions import Region, regions
from docindex.query.resolve import Query, kept_text, places_of
from docindex.query.scope import Scope

_Stretch = TypeVar("_Stretch", Passage, Region)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The passages and regions of two texts. Each method reads the texts from the index, which must be open.

    `TextNotKept` if one of the texts was not kept, or was removed from the index; `KeyError` if the question
    named a template that was removed.
    """

    opened: Callable[[], AbstractContextManager[Scope]]
    """Opens a scope of the index, with the boilerplate of the question."""
    query: Query
    other: Query
    common: tuple[Passage, ...] | None = None
    """The passages of the default length, if they are known already."""

    def passages(self, min_length: int | None = None, join: int = 0) -> list[Passage]:
        """The passages, as `docindex.query.regions.passages.align` gives them, with their places."""
        min_length, join = checked_lengths(min_length, join)
        with self.opened() as scope:
            texts = self._texts(scope)
            found = align(*texts, scope.recipe, min_length, scope.ignored.hashes, join=join)
            return self._placed(scope, found.passages)

    def regions(self) -> list[Region]:
        """The regions, as `docindex.query.regions.regions` gives them, with their places."""
        with self.opened() as scope:
            texts, ignored = self._texts(scope), scope.ignored.hashes
            common: Sequence[Passage] | None = self.common
            if common is None:
                common = align(*texts, scope.recipe, ignored=ignored).passages
            return self._placed(scope, regions(*texts, scope.recipe, common, ignored))

    def _texts(self, scope: Scope) -> tuple[str, str]:
        return kept_text(scope.db, self.query), kept_text(scope.db, self.other)

    def _placed(self, scope: Scope, found: Sequence[_Stretch]) -> list[_Stretch]:
        return with_places(found, places_of(scope.db, self.query), places_of(scope.db, self.other))


def with_places(found: Sequence[_Stretch], of_query: Places, of_text: Places) -> list[_Stretch]:
    """Some passages or regions with the places where they lie in the sources of the two texts."""
    if not (of_query.starts or of_text.starts):
        return list(found)
    return [
        dataclasses.replace(
            each,
            query_place=of_query.between(each.query_start, each.query_end),
            place=of_text.between(each.start, each.end),
        )
        for each in found
    ]


def checked_lengths(min_length: int | None, join: int) -> tuple[int | None, int]:
    """The arguments `min_length` and `join`; `ValueError` or `TypeError` if they are no such numbers."""
    if min_length is not None:
        min_length = arguments.whole_number("min_length", min_length)
    return min_length, arguments.whole_number("join", join, least=0)
