"""Open the scope of a question: a read transaction of an index, the condition, and the boilerplate to ignore.

Takes an index, and what its caller asked for; returns a checked `Scope` for `docindex.query`. Must never
contain SQL, and must never write.
"""

import contextlib
import functools
from collections.abc import Iterator

from docindex.cancellation import stopped_by
from docindex.index.boilerplate import Boilerplate, BoilerplateChoice, checked_choice
from docindex.query.scope import NOTHING_IGNORED, Scope
from docindex.query.slot_index import SlotIndex
from docindex.recipe import Recipe
from docindex.storage.file import user_sql
from docindex.storage.file.connection import Connection, Transactions
from docindex.storage.file.user_sql import Where
from docindex.storage.rows import templates
from docindex.storage.rows.templates import Ignored


class ScopedReader:
    """What every question needs of an index: its transactions, its recipe and its boilerplate."""

    def __init__(self, store: Transactions, recipe: Recipe) -> None:
        self._store = store
        self.recipe = recipe
        """The parameters with which the index was made."""
        self.boilerplate = Boilerplate(store, recipe)
        """The boilerplate: texts that comparisons ignore."""
        self._ignored = NOTHING_IGNORED
        self._slot_index = SlotIndex()


@contextlib.contextmanager
def open_scope(
    reader: ScopedReader,
    where: Where | None = None,
    *,
    boilerplate: BoilerplateChoice = True,
    between: tuple[Where, Where] | None = None,
) -> Iterator[Scope]:
    """A scope in a read transaction of an index. Only for `docindex`'s own packages.

    `ValueError` for a condition that is not SQL, `KeyError` for a template that does not exist. With
    ``boilerplate=False`` the scope ignores nothing. That saves a statement if boilerplate makes no difference
    to the question.
    """
    boilerplate = checked_choice(boilerplate)
    store = reader._store  # noqa: SLF001 - this module's own class; hosts would see a public method
    with store.reading() as db:
        condition = None if where is None else user_sql.checked_condition(db, where)
        sides = None
        if between is not None:
            first, second = between
            sides = user_sql.checked_condition(db, first), user_sql.checked_condition(db, second)
        ignored = _current_ignored(reader, db, boilerplate)
        check_cancelled = functools.partial(store.refuse_cancelled, store.cancels())
        with stopped_by(check_cancelled):
            yield Scope(
                db,
                reader.recipe,
                ignored,
                condition,
                check_cancelled,
                reader._slot_index,  # noqa: SLF001 - as above
                sides,
            )


def _current_ignored(reader: ScopedReader, db: Connection, boilerplate: BoilerplateChoice) -> Ignored:
    """The hashes and shingles that a question ignores; those of all templates are kept until a change."""
    if boilerplate is False:
        return NOTHING_IGNORED
    if boilerplate is not True:
        return templates.ignored_by(db, boilerplate)
    ignored = templates.ignored(db, reader._ignored)  # noqa: SLF001 - as above
    reader._ignored = ignored  # noqa: SLF001
    return ignored
