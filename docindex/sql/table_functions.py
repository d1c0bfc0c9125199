"""The table functions of SQL, such as `doc_search`: their columns, their parameters, and how they get rows.

A function takes an index and SQL values, and gives rows. Must never know SQLite: `virtual_tables` turns these
functions into virtual tables, and `register` turns them into functions that return JSON.
"""

import dataclasses
import json
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from docindex.checkpoints import checkpoint
from docindex.index.reader import IndexReader
from docindex.index.texts import fingerprints
from docindex.query.fingerprint_positions import SHIFT
from docindex.sql.arguments import asked
from docindex.sql.parameters import options_in_json, python_arguments
from docindex.sql.sources import IndexSource, full_text
from docindex.sql.sql_values import Value, schema_name, writable
from docindex.sql.thresholds import ANY_SHARE, NO_THRESHOLDS, Bound, Thresholds

Row = tuple[Any, ...]


# This many rows are written between two checkpoints; they take some milliseconds.
_ROWS_AT_A_TIME = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class TableFunction:
    """A table function. Every table function has a last parameter `schema`, which is not listed."""

    name: str
    columns: tuple[str, ...]
    parameters: tuple[str, ...]
    """The parameters, with the names and the order of the Python method `asks`."""
    required: int
    """The number of parameters, from the first, that must be given."""
    answer: Callable[..., Iterable[Row]]
    """Gives the rows; takes an index, the required arguments, and the others by their names in Python."""
    asks: Callable[..., Any]
    """The method or function of Python that answers the question."""
    order: tuple[tuple[str, bool], ...]
    """The columns that order the rows, with True for descending. No TEXT: databases sort it differently."""
    thresholds: Thresholds = NO_THRESHOLDS
    limit: str | None = None
    """The parameter that limits the number of rows. A negative number means all rows, as in SQL."""
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

    def rows_for(self, source: IndexSource, arguments: Mapping[str, Any]) -> Iterable[Row]:
        """The rows for some arguments; no rows if a required argument is NULL or missing."""
        given = {name: value for name, value in arguments.items() if value is not None}
        schema = schema_name(given.pop("schema", None))
        if any(name not in given for name in self.parameters[: self.required]):
            return []
        return self.answer(source.reader(schema), **python_arguments(given))

    def as_json(self, source: IndexSource, *values: Value) -> Value:
        """The rows as a JSON array of objects."""
        # Row by row: as JSON a row takes a quarter of the memory, and there may be millions.
        written = []
        for number, row in enumerate(self.rows_for(source, self._arguments(values))):
            if not number % _ROWS_AT_A_TIME:
                checkpoint()
            written.append(json.dumps(dict(zip(self.columns, row, strict=True))))
        return f"[{', '.join(written)}]"

    def _arguments(self, values: tuple[Value, ...]) -> dict[str, Any]:
        """The arguments of a call with values in their order, or with a JSON object of options."""
        names = self.hidden
        if len(values) > len(names) or len(values) < self.required:
            raise TypeError(
                f"expected {self.required} to {len(names)} arguments ({', '.join(names)}), not {len(values)}"
            )
        if len(values) == self.required + 1:
            options = options_in_json(values[-1], names[self.required :])
            if options is not None:
                return dict(zip(names, values[:-1], strict=False)) | options
        return dict(zip(names, values, strict=False))


MEASURES = (
    *("containment", "reverse_containment", "resemblance", "shared", "basis"),
    *("containment_error", "reverse_containment_error", "resemblance_error"),
)
"""The columns of every table that shows how much two texts share, as in `docindex.Measures`."""
_NUMBERS = MEASURES[:4]
_PAIR = ("a", "b", "a_id", "b_id", *MEASURES)
_MEMBER = ("key", "id", "why", "like", "like_id", "resemblance")

_REGION = (
    *("query_start", "query_end", "start", "end", "kind", "score", "sentences", "shared_words"),
    *("query_line", "line", "query_place", "place"),
)

_of_match = operator.attrgetter("key", "id", "score", *MEASURES)
_of_similar = operator.attrgetter("key", "id", *MEASURES)
_of_neighbour = operator.attrgetter("key", "id", "distance")
_of_source = operator.attrgetter("key", "id", "added", "covered", "added_symbols", "basis")
_of_member = operator.attrgetter(*_MEMBER)
_of_pair = operator.attrgetter(*_PAIR)
_of_region = operator.attrgetter(*_REGION)


def _search(reader: IndexReader, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    return map(_of_match, reader.search(what, **options))


def _similar(reader: IndexReader, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    return map(_of_similar, reader.similar(what, **options))


def _near(reader: IndexReader, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    return map(_of_neighbour, reader.near(what, **options))


def _passages(reader: IndexReader, a: Value, b: Value, **options: Any) -> Iterable[Row]:
    query_a, query_b = asked(reader, a, b)
    text = full_text(reader, query_a)
    full_text(reader, query_b)  # raises TextNotKept, where `compare` would give no passages
    for p in reader.compare(query_a, query_b, **options).passages:
        yield (
            *(p.query_start, p.query_end, p.start, p.end, p.length, p.identical, p.query_line, p.line),
            *(p.query_place, p.place, int(p.boilerplate)),
            writable(text[p.query_start : p.query_end]),
        )


def _regions(reader: IndexReader, a: Value, b: Value, **options: Any) -> Iterable[Row]:
    query_a, query_b = asked(reader, a, b)
    text = full_text(reader, query_a)
    full_text(reader, query_b)  # as for passages
    for region in reader.compare(query_a, query_b, **options).regions:
        yield *_of_region(region), writable(text[region.query_start : region.query_end])


def _sources(reader: IndexReader, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    found = reader.sources(what, **options)
    for source in found:
        stretches = json.dumps([dataclasses.asdict(stretch) for stretch in source.stretches])
        yield *_of_source(source), found.uncovered, stretches, json.dumps(source.copies)


def _pairs(reader: IndexReader, **options: Any) -> Iterable[Row]:
    return map(_of_pair, reader.pairs(**options))


def _containments(reader: IndexReader, **options: Any) -> Iterable[Row]:
    return map(_of_pair, reader.containments(**options))


def _clusters(reader: IndexReader, **options: Any) -> Iterable[Row]:
    for number, cluster in enumerate(reader.clusters(**options), 1):
        for member in cluster.members:
            yield number, *_of_member(member)


def _fingerprints(reader: IndexReader, query: Value) -> Iterable[Row]:
    (what,) = asked(reader, query)
    found = fingerprints(full_text(reader, what), reader.recipe)
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
# 1.6 ms, doc_similar 1 ms, doc_near 0.05 ms, doc_passages 2 ms and doc_regions 6 ms for two texts of 7 KB,
# and doc_pairs 0.2 s, which is 12 us for each document.
TABLES = (
    TableFunction(
        name="doc_search",
        columns=("key", "id", "score", *MEASURES),
        parameters=(
            *("query", "window", "budget", "min_containment", "min_reverse_containment"),
            *("min_resemblance", "min_shared", "limit", "where", "rank", "ignore_above", "exact"),
            "boilerplate",
        ),
        required=1,
        answer=_search,
        asks=IndexReader.search,
        order=(("score", True),),
        thresholds=Thresholds(
            (
                Bound("containment", "min_containment", 0.0),
                Bound("reverse_containment", "min_reverse_containment", 0.0),
                Bound("resemblance", "min_resemblance", 0.0),
                Bound("shared", "min_shared", 0, 1 << 62),
            )
        ),
        limit="limit",
        cost=8_000,
        rows=50,
    ),
    TableFunction(
        name="doc_similar",
        columns=("key", "id", *MEASURES),
        parameters=("query", "min_resemblance", "limit", "where", "method", "boilerplate"),
        required=1,
        answer=_similar,
        asks=IndexReader.similar,
        order=(("resemblance", True),),
        thresholds=Thresholds((Bound("resemblance", "min_resemblance", ANY_SHARE),), _NUMBERS),
        limit="limit",
        cost=5_000,
        rows=5,
    ),
    TableFunction(
        name="doc_sources",
        columns=(
            *("key", "id", "added", "covered", "added_symbols", "basis"),
            *("uncovered", "stretches", "copies"),
        ),
        parameters=("query", "limit", "min_share", "where", "boilerplate"),
        required=1,
        answer=_sources,
        asks=IndexReader.sources,
        order=(("added", True),),
        cost=15_000,
        rows=5,
    ),
    TableFunction(
        name="doc_near",
        columns=("key", "id", "distance"),
        parameters=("query", "max_distance", "where"),
        required=1,
        answer=_near,
        asks=IndexReader.near,
        order=(("distance", False),),
        thresholds=Thresholds((Bound("distance", "max_distance", 63, 0),), ("distance",)),
        cost=250,
        rows=5,
    ),
    TableFunction(
        name="doc_passages",
        # The parameter is a hidden column. So the column cannot be called boilerplate, as it is in Python.
        columns=(
            *("query_start", "query_end", "start", "end", "length", "identical", "query_line", "line"),
            *("query_place", "place", "is_boilerplate", "text"),
        ),
        parameters=("a", "b", "min_length", "boilerplate", "join"),
        required=2,
        answer=_passages,
        asks=IndexReader.compare,
        order=(("query_start", False), ("start", False)),
        thresholds=Thresholds((Bound("length", "min_length", 1, 1 << 62),), ("length",)),
        cost=10_000,
        rows=5,
    ),
    TableFunction(
        name="doc_regions",
        columns=(*_REGION, "text"),
        parameters=("a", "b", "boilerplate"),
        required=2,
        answer=_regions,
        asks=IndexReader.compare,
        order=(("query_start", False), ("start", False)),
        cost=30_000,
        rows=5,
    ),
    TableFunction(
        name="doc_pairs",
        columns=_PAIR,
        parameters=(
            *("min_resemblance", "min_containment", "where", "ignore_above", "method", "boilerplate"),
            *("min_shared", "between", "rank"),
        ),
        required=0,
        answer=_pairs,
        asks=IndexReader.pairs,
        order=(),
        thresholds=Thresholds(
            (
                Bound("resemblance", "min_resemblance", ANY_SHARE),
                Bound("containment", "min_containment", ANY_SHARE),
                Bound("reverse_containment", "min_containment", ANY_SHARE),
            ),
            _NUMBERS,
            only_one=True,
        ),
        cost=10_000,
        cost_per_document=60,
        rows=10_000,
    ),
    TableFunction(
        name="doc_containments",
        columns=_PAIR,
        parameters=("min_containment", "where", "ignore_above", "method", "boilerplate"),
        required=0,
        answer=_containments,
        asks=IndexReader.containments,
        order=(("containment", True),),
        thresholds=Thresholds((Bound("containment", "min_containment", ANY_SHARE),), _NUMBERS),
        cost=10_000,
        cost_per_document=60,
        rows=10_000,
    ),
    TableFunction(
        name="doc_clusters",
        columns=("cluster", *_MEMBER),
        parameters=("min_resemblance", "linkage", "where", "ignore_above", "method", "boilerplate"),
        required=0,
        answer=_clusters,
        asks=IndexReader.clusters,
        order=(("cluster", False),),
        # Other thresholds make other clusters: a condition must not change those that the caller asked for.
        thresholds=Thresholds((Bound("resemblance", "min_resemblance", ANY_SHARE),), narrow=False),
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
        asks=fingerprints,
        order=(("position", False),),
        cost=1_000,
        rows=500,
    ),
)
