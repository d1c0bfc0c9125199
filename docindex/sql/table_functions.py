"""The table functions: which columns and parameters each has, and how it answers.

In: what can be asked and the arguments as SQL values. Out: rows. Must never know SQLite: what makes
virtual tables of them, and JSON, is elsewhere.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable
from typing import Any

from docindex.index.reader import IndexReader
from docindex.index.texts import fingerprints
from docindex.query import argument_checks
from docindex.query.fingerprint_positions import SHIFT
from docindex.query.resolve import Id
from docindex.sql.scalars import Value, asking, schema_of
from docindex.sql.sources import IndexSource

Row = tuple[Any, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A table function; its last parameter is the name of a schema, as everywhere."""

    name: str
    columns: tuple[str, ...]
    parameters: tuple[str, ...]
    required: int
    """How many parameters it cannot do without."""
    answer: Callable[..., Iterable[Row]]
    """Gives the rows: takes what can be asked, and the arguments by their names."""
    order: tuple[tuple[str, bool], ...]
    """The order in which rows come: columns, if descending; no texts, which databases sort differently."""
    least: tuple[str, str, float] | None = None
    """A column, the parameter that says how small it may be, and what that is if not given."""
    most: tuple[str, str, float] | None = None
    """The same for how great."""
    limit: str | None = None
    """The parameter that says how many rows there may be."""
    cost: float = 0.0
    """What it costs, in units in which SQLite reads a row; measured, see `_A_ROW`."""
    cost_per_document: float = 0.0
    rows: int = 20
    """How many rows it may have."""

    def rows_for(self, source: IndexSource, arguments: dict[str, Value]) -> Iterable[Row]:
        """The rows for some arguments; NULL, or nothing, where a value must be has none."""
        given = {name: value for name, value in arguments.items() if value is not None}
        schema = schema_of(given.pop("schema", None))
        if any(name not in given for name in self.parameters[: self.required]):
            return []
        return self.answer(source.reader(schema), **given)

    def as_json(self, source: IndexSource, *values: Value) -> Value:
        """The same as a JSON array of objects."""
        names = (*self.parameters, "schema")
        if len(values) > len(names) or len(values) < self.required:
            raise TypeError(
                f"expected {', '.join(names)}, the first {self.required} at least, not {len(values)} values"
            )
        rows = self.rows_for(source, dict(zip(names, values, strict=False)))
        return json.dumps([dict(zip(self.columns, row, strict=True)) for row in rows])


def _text_or_key(value: Value) -> str | Id:
    """What a value asks with where a key is meant: a key if there is such a one, else a text."""
    return value if isinstance(value, str) else asking(value)


def _search(
    reader: IndexReader,
    query: Value,
    window: Any = None,
    budget: Any = None,
    min_containment: Any = 0.0,
    max_rows: Any = None,
) -> Iterable[Row]:
    if max_rows is not None:
        argument_checks.whole("max_rows", max_rows)
    found = reader.search(
        asking(query), window=window, budget=budget, min_containment=min_containment, limit=max_rows
    )
    for match in found:
        yield (
            *(match.key, match.id, match.score, match.containment),
            *(match.reverse_containment, match.resemblance, match.shared),
        )


def _similar(reader: IndexReader, query: Value, min_resemblance: Any = 0.8) -> Iterable[Row]:
    for match in reader.similar(_text_or_key(query), min_resemblance):
        yield (
            *(match.key, match.id, match.resemblance, match.containment),
            *(match.reverse_containment, match.shared, match.basis, match.resemblance_error),
        )


def _near(reader: IndexReader, query: Value, within: Any = 3) -> Iterable[Row]:
    for found in reader.near(_text_or_key(query), within):
        yield found.key, found.id, found.distance


def _passages(reader: IndexReader, a: Value, b: Value) -> Iterable[Row]:
    of_a, of_b = asking(a), asking(b)
    text = reader.whole_text(of_a)
    reader.whole_text(of_b)  # else no passages would seem to be the answer
    for p in reader.compare(of_a, of_b).passages:
        yield (
            *(p.query_start, p.query_end, p.start, p.end, p.length, p.query_line, p.line),
            text[p.query_start : p.query_end],
        )


def _pairs(
    reader: IndexReader, min_resemblance: Any = None, min_containment: Any = None, ignore_above: Any = None
) -> Iterable[Row]:
    if min_resemblance is None and min_containment is None:
        min_resemblance = 0.5
    found = reader.pairs(
        min_resemblance=min_resemblance, min_containment=min_containment, ignore_above=ignore_above
    )
    for pair in found:
        yield pair.a, pair.b, pair.resemblance, pair.containment, pair.reverse_containment, pair.shared


def _clusters(reader: IndexReader, min_resemblance: Any = 0.8, linkage: Any = "connected") -> Iterable[Row]:
    for number, cluster in enumerate(reader.clusters(min_resemblance, linkage=linkage), 1):
        for member in cluster.members:
            yield number, member.key, member.why, member.like, member.resemblance


def _fingerprints(reader: IndexReader, query: Value) -> Iterable[Row]:
    found = fingerprints(reader.whole_text(asking(query)), reader.recipe)
    hashes = (found.hashes >> SHIFT).tolist()
    lines, columns = found.lines_and_columns
    return zip(
        hashes,
        found.positions.tolist(),
        found.offsets.tolist(),
        lines.tolist(),
        columns.tolist(),
        strict=True,
    )


# A unit of cost is a row that SQLite reads, 0.2 us. Among 17,209 files of 7 KB a search takes 1.6 ms, similar
# 1 ms, near 0.05 ms; two texts of 7 KB are aligned in 2 ms; all pairs take 0.2 s, 12 us a document.
TABLES = (
    Table(
        name="doc_search",
        columns=("key", "id", "score", "containment", "reverse_containment", "resemblance", "shared"),
        parameters=("query", "window", "budget", "min_containment", "max_rows"),
        required=1,
        answer=_search,
        order=(("score", True),),
        least=("containment", "min_containment", 0.0),
        limit="max_rows",
        cost=8_000,
        rows=50,
    ),
    Table(
        name="doc_similar",
        columns=(
            "key",
            "id",
            "resemblance",
            "containment",
            "reverse_containment",
            "shared",
            "basis",
            "error",
        ),
        parameters=("query", "min_resemblance"),
        required=1,
        answer=_similar,
        order=(("resemblance", True),),
        least=("resemblance", "min_resemblance", 0.8),
        cost=5_000,
        rows=5,
    ),
    Table(
        name="doc_near",
        columns=("key", "id", "distance"),
        parameters=("query", "within"),
        required=1,
        answer=_near,
        order=(("distance", False),),
        most=("distance", "within", 3),
        cost=250,
        rows=5,
    ),
    Table(
        name="doc_passages",
        columns=("query_start", "query_end", "start", "end", "length", "query_line", "line", "text"),
        parameters=("a", "b"),
        required=2,
        answer=_passages,
        order=(("query_start", False), ("start", False)),
        cost=10_000,
        rows=5,
    ),
    Table(
        name="doc_pairs",
        columns=("a", "b", "resemblance", "containment", "reverse_containment", "shared"),
        parameters=("min_resemblance", "min_containment", "ignore_above"),
        required=0,
        answer=_pairs,
        order=(),
        cost=10_000,
        cost_per_document=60,
        rows=10_000,
    ),
    Table(
        name="doc_clusters",
        columns=("cluster", "key", "why", "like", "resemblance"),
        parameters=("min_resemblance", "linkage"),
        required=0,
        answer=_clusters,
        order=(("cluster", False),),
        cost=10_000,
        cost_per_document=60,
        rows=10_000,
    ),
    Table(
        name="doc_fingerprints",
        columns=("hash", "position", "offset", "line", "column"),
        parameters=("query",),
        required=1,
        answer=_fingerprints,
        order=(("position", False),),
        cost=1_000,
        rows=500,
    ),
)
