"""The scope of a question: its connection, recipe, boilerplate, condition on documents and cancel check.

A scope is valid only within the read transaction in which it was made. It must never begin or end a
transaction.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import apsw
import numpy as np

from docindex.arrays.ranges import I64, U64
from docindex.query.measures import Ignoring
from docindex.query.slot_index import SlotIndex
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set
from docindex.sketching.sketcher import shingle_sets
from docindex.storage.file.user_sql import Where
from docindex.storage.postings.lookup import ExistingContents
from docindex.storage.rows import documents
from docindex.storage.rows.contents import texts_of
from docindex.storage.rows.templates import Ignored

CheckCancelled = Callable[[], None]
"""Called between the steps of a long question; raises an exception to stop it."""


NOTHING_IGNORED = Ignored()
"""The value of `Scope.ignored` if there is no boilerplate."""


def never_cancelled() -> None:
    """A cancel check for questions that nobody can cancel.

    >>> never_cancelled()
    """


@dataclasses.dataclass(frozen=True, eq=False)
class Scope:
    """The values that every step of a question needs."""

    db: apsw.Connection
    """A connection inside a read transaction."""
    recipe: Recipe
    ignored: Ignored = NOTHING_IGNORED
    """The hashes and shingles of the boilerplate."""
    where: Where | None = None
    """The condition that documents must fulfil, already checked; None to accept all documents."""
    check_cancelled: CheckCancelled = never_cancelled
    slot_index: SlotIndex = dataclasses.field(default_factory=SlotIndex)
    """What earlier questions to the same index know of its slots."""
    between: tuple[Where, Where] | None = None
    """The conditions of the two sets between which pairs are wanted, already checked; None for all pairs."""

    @functools.cached_property
    def existing(self) -> ExistingContents:
        """The look-up of hashes, whose tables are read once for all look-ups of the question."""
        return ExistingContents(self.db)

    def documents_of(self, contents: I64) -> list[tuple[int, str, int]]:
        """The content, key and id of each document with one of these contents that fulfils the condition."""
        return documents.documents_of(self.db, contents, self.where)

    def chosen(self) -> I64 | None:
        """The contents of the documents that may be in an answer, ascending; None for all contents."""
        if self.between is not None:
            return np.union1d(*self.sides)
        return None if self.where is None else documents.contents_of(self.db, self.where)

    @functools.cached_property
    def sides(self) -> tuple[I64, I64]:
        """The contents of the documents of each of the two sets, ascending."""
        assert self.between is not None
        first, second = self.between
        return documents.contents_of(self.db, first), documents.contents_of(self.db, second)

    def ignoring(self, ignore_above: int | None = None) -> Ignoring:
        """The kind of text that a question in this scope ignores."""
        if ignore_above is not None:
            return "common text"
        return "boilerplate" if self.ignored else "nothing"

    def shingle_sets(self, contents: I64) -> Iterator[tuple[U64, I64]]:
        """The shingle sets of contents whose texts are kept, in batches: hashes, and where each set begins.

        The contents must ascend. Shingles of the boilerplate are left out.
        """
        for hashes, starts in shingle_sets(texts_of(self.db, contents), self.recipe):
            self.check_cancelled()
            yield self.ignored.sets_without(hashes, starts)

    def shingles_of(self, text: str) -> U64:
        """The shingles of a text, ascending, without the shingles of the boilerplate."""
        return self.ignored.shingles_without(shingle_set(text, self.recipe))


ScopeOpener = Callable[[], AbstractContextManager[Scope]]
"""Opens a new read transaction and gives a scope in it, for work that needs several transactions."""
