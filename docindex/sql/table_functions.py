"""The table functions of SQL, such as `doc_search`: their columns, their parameters, and how they get rows.

A function takes an index and SQL values, and gives rows. Must never know SQLite: `virtual_tables` turns these
functions into virtual tables, and `register` turns them into functions that return JSON.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from docindex.index.reader import IndexReader
from docindex.index.texts import fingerprints
from docindex.query import argument_checks
from docindex.query.fingerprint_positions import SHIFT
from docindex.query.resolve import Id
from docindex.sql.sources import IndexSource, full_text
from docindex.sql.sql_values import Value, schema_name, text_or_id

Row = tuple[Any, ...]


class Bound(NamedTuple):
    """A result column whose values a parameter limits: a condition on the column narrows the question."""

    column: str
    parameter: str
    default: float
    """The limit if the argument is not given."""


@dataclasses.dataclass(frozen=True, slots=True)
class TableFunction:
    """A table function. Every table function has a last parameter `schema`, which is not listed."""

    name: str
    columns: tuple[str, ...]
    parameters: tuple[str, ...]
    required: int
    """The number of parameters, from the first, that must be given."""
    answer: Callable[..., Iterable[Row]]
    """Gives the rows; takes an index, and the arguments by their names."""
    order: tuple[tuple[str, bool], ...]
    """The columns that order the rows, with True for descending. No TEXT: databases sort it differently."""
    least: Bound | None = None
    """The column whose lower limit is a parameter."""
    most: Bound | None = None
    """The column whose upper limit is a parameter."""
    limit: str | None = None
    """The parameter that limits the number of rows."""
    cost: float = 0.0
    """The cost of a call, in rows that SQLite reads."""
    cost_per_document: float = 0.0
    """The additional cost of a call for each document of the index."""
    rows: int = 20
    """The estimated number of rows."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """The hidden columns of the virtual table: all parameters."""
        return (*self.parameters, "schema")

    def rows_for(self, source: IndexSource, arguments: dict[str, Value]) -> Iterable[Row]:
        """The rows for some arguments; no rows if a required argument is NULL or missing."""
        given = {name: value for name, value in arguments.items() if value is not None}
        schema = schema_name(given.pop("schema", None))
        if any(name not in given for name in self.parameters[: self.required]):
            return []
        return self.answer(source.reader(schema), **given)

    def as_json(self, source: IndexSource, *values: Value) -> Value:
        """The rows as a JSON array of objects."""
        names = self.hidden
        if len(values) > len(names) or len(values) < self.required:
            raise TypeError(
                f"expected {self.required} to {len(names)} arguments ({', '.join(names)}), not {len(values)}"
            )
        rows = self.rows_for(source, dict(zip(names, values, strict=False)))
        return json.dumps([dict(zip(self.columns, row, strict=True)) for row in rows])


def _key_or_text(value: Value) -> str | Id:
    """The document with a key or an id; a string that is not a key is a text."""
    return value if isinstance(value, str) else text_or_id(value)


def _search(
    reader: IndexReader,
    query: Value,
    window: Any = None,
    budget: Any = None,
    min_containment: Any = 0.0,
    max_rows: Any = None,
) -> Iterable[Row]:
    if max_rows is not None:
        argument_checks.whole_number("max_rows", max_rows)
    found = reader.search(
        text_or_id(query), window=window, budget=budget, min_containment=min_containment, limit=max_rows
    )
    for match in found:
        yield (
            *(match.key, match.id, match.score, match.containment),
            *(match.reverse_containment, match.resemblance, match.shared),
        )


def _similar(reader: IndexReader, query: Value, min_resemblance: Any = 0.8) -> Iterable[Row]:
    for match in reader.similar(_key_or_text(query), min_resemblance):
        yield (
            *(match.key, match.id, match.resemblance, match.containment),
            *(match.reverse_containment, match.shared, match.basis, match.resemblance_error),
        )


def _near(reader: IndexReader, query: Value, within: Any = 3) -> Iterable[Row]:
    argument_checks.whole_number("within", within, least=0, most=63)
    for found in reader.near(_key_or_text(query), within):
        yield found.key, found.id, found.distance


def _passages(reader: IndexReader, a: Value, b: Value) -> Iterable[Row]:
    query_a, query_b = text_or_id(a), text_or_id(b)
    text = full_text(reader, query_a)
    full_text(reader, query_b)  # raises TextNotKept, where `compare` would give no passages
    for p in reader.compare(query_a, query_b).passages:
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
    found = fingerprints(full_text(reader, text_or_id(query)), reader.recipe)
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


# The unit of cost is a row that SQLite reads: 0.2 us. Measured on 17,209 files of 7 KB: doc_search takes
# 1.6 ms, doc_similar 1 ms, doc_near 0.05 ms, doc_passages 2 ms for two texts of 7 KB, and doc_pairs 0.2 s,
# which is 12 us for each document.
TABLES = (
    TableFunction(
        name="doc_search",
        columns=("key", "id", "score", "containment", "reverse_containment", "resemblance", "shared"),
        parameters=("query", "window", "budget", "min_containment", "max_rows"),
        required=1,
        answer=_search,
        order=(("score", True),),
        least=Bound("containment", "min_containment", 0.0),
        limit="max_rows",
        cost=8_000,
        rows=50,
    ),
    TableFunction(
        name="doc_similar",
        columns=(
            "key",
            "id",
            "resemblance",
            "containment",
            "reverse_containment",
            "shared",
            "basis",
            "resemblance_error",
        ),
        parameters=("query", "min_resemblance"),
        required=1,
        answer=_similar,
        order=(("resemblance", True),),
        least=Bound("resemblance", "min_resemblance", 0.8),
        cost=5_000,
        rows=5,
    ),
    TableFunction(
        name="doc_near",
        columns=("key", "id", "distance"),
        parameters=("query", "within"),
        required=1,
        answer=_near,
        order=(("distance", False),),
        most=Bound("distance", "within", 3),
        cost=250,
        rows=5,
    ),
    TableFunction(
        name="doc_passages",
        columns=("query_start", "query_end", "start", "end", "length", "query_line", "line", "text"),
        parameters=("a", "b"),
        required=2,
        answer=_passages,
        order=(("query_start", False), ("start", False)),
        cost=10_000,
        rows=5,
    ),
    TableFunction(
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
    TableFunction(
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
    TableFunction(
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
