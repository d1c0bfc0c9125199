"""The aggregate `doc_group`: which rows of any table resemble each other, without an index of one's own.

Takes keys and texts row by row; gives the clusters that `Index.clusters` finds among them, as JSON. The rows
go to an index in memory, so that each text is read once, and only likely pairs are compared. (A self-join
with doc_resemblance compares all pairs: 1,400 paragraphs take minutes instead of 0.2 s.) Must never write to
a database of the connection.
"""

import contextlib
import json
from collections.abc import Iterator

from docindex import arguments
from docindex.cancellation import stopped_by
from docindex.errors import Cancelled
from docindex.index.index import Index
from docindex.query.defaults import SAME_WORK
from docindex.recipe import Recipe
from docindex.sql.sources import IndexSource
from docindex.sql.sql_values import Value, text_or_id, type_name
from docindex.storage.file.connection import Store
from docindex.storage.file.connector import MEMORY
from docindex.storage.migrations import prepare

# Texts with this many characters are sketched together. Smaller batches take longer, larger ones more memory.
_SKETCHED = 4_000_000


class SimilarRows:
    """Aggregate: the groups of rows whose texts resemble each other."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source
        self._index: Index | None = None
        self._keys: list[Value] = []
        """The key of each row; the index names a row by its number."""
        self._waiting: list[tuple[str, str]] = []
        self._characters = 0
        self._least: float | None = None

    def step(self, key: Value, text: Value, min_resemblance: Value = None) -> None:
        """Add a row; a row whose text is NULL is ignored."""
        if text is None:
            return
        if isinstance(key, bytes):
            raise TypeError("key must be INTEGER, REAL or TEXT, not BLOB")
        query = text_or_id(text)
        if not isinstance(query, str):
            raise TypeError(f"text must be TEXT, not {type_name(text)}")
        least = arguments.share(
            "min_resemblance", SAME_WORK if min_resemblance is None else min_resemblance, above_zero=True
        )
        if self._least not in (None, least):
            raise ValueError(f"min_resemblance must be the same for all rows, not {self._least} and {least}")
        self._least = least
        self._waiting.append((f"{len(self._keys):012}", query))
        self._keys.append(key)
        self._characters += len(query)
        if self._characters > _SKETCHED:
            self._add_waiting()

    def finalize(self) -> Value:
        """The members of all groups as a JSON array of objects, the largest first; NULL without texts."""
        if self._least is None:
            return None
        with self._add_waiting() as index, self._stoppable():
            found = index.clusters(self._least)
        return json.dumps(
            [
                {
                    "cluster": number,
                    "key": self._keys[int(member.key)],
                    "why": member.why,
                    "like": None if member.like is None else self._keys[int(member.like)],
                    "resemblance": member.resemblance,
                }
                for number, cluster in enumerate(found, 1)
                for member in cluster.members
            ]
        )

    def _add_waiting(self) -> Index:
        """Put the rows that wait into the index."""
        index = self._index = self._index or _index_like(self._source)
        with self._stoppable():
            index.add_many(self._waiting, workers=1)
        self._waiting, self._characters = [], 0
        return index

    @contextlib.contextmanager
    def _stoppable(self) -> Iterator[None]:
        """A block that ends with the host's error if the host interrupts its connection."""
        try:
            with stopped_by(self._source.refuse_interrupted):
                yield
        except Cancelled:  # the index in memory calls it so
            self._source.refuse_interrupted()
            raise


def _index_like(source: IndexSource) -> Index:
    """A new index in memory that reads texts as the first index of a connection does.

    So that the numbers are those of doc_resemblance, it has the same recipe and boilerplate.
    """
    like = source.first()
    store = Store(MEMORY, readonly=False, durability="normal", timeout_s=0.0)
    recipe = Recipe() if like is None else like.recipe
    index = Index(store, prepare(store, recipe, trusted=True))
    for template in () if like is None else like.boilerplate:
        index.boilerplate.add(template.text, name=template.name)
    return index
