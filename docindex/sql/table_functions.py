"""The table functions of SQL, such as `doc_search`: their columns, their parameters, and how they get rows.

A function takes an index and SQL values, and gives rows. Must never know SQLite: `virtual_tables` turns these
functions into virtual tables, and `register` turns them into functions that return JSON.
"""

import dataclasses
import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from docindex.arguments import shown, whole_number
from docindex.cancellation import checkpoint
from docindex.index.index import Index
from docindex.index.texts import fingerprints
from docindex.sketching.sketches import HASH_SHIFT
from docindex.sql.sources import IndexSource, asked, full_text
from docindex.sql.sql_values import Value, schema_name, type_name, writable
from docindex.storage.file.user_sql import HarmlessCondition

Row = tuple[Any, ...]


# This many rows are written between two checkpoints; they take some milliseconds.
_ROWS_AT_A_TIME = 1024


ANY_SHARE = 1e-9
"""The threshold that every pair with something in common reaches: no text has a thousand million shingles."""


class Bound(NamedTuple):
    """A result column whose values a parameter limits. A condition on the column can set the parameter."""

    column: str
    parameter: str
    widest: float
    """The value of the parameter that leaves out no row. An int if the parameter is a whole number."""
    narrowest: float = 1.0
    """The opposite extreme. If it is smaller than `widest`, the parameter is an upper limit."""

    @property
    def is_upper(self) -> bool:
        """Whether the parameter is an upper limit, like a distance."""
        return self.narrowest < self.widest

    @property
    def name(self) -> str:
        """The name of the limit in a condition."""
        return self.column + ("<=" if self.is_upper else ">=")

    def as_parameter(self, limit: Value) -> float:
        """The value of the parameter that lets through every row that meets a condition with this limit."""
        if not isinstance(limit, (int, float)):
            return self.widest
        low, high = sorted((self.widest, self.narrowest))
        value = min(max(limit, low), high)
        if isinstance(self.widest, float):
            return float(value)
        return math.floor(value) if self.is_upper else math.ceil(value)


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
    bounds: tuple[Bound, ...] = ()
    """The thresholds that a condition on a column can set; of several such conditions, the first one here."""
    numbers: tuple[str, ...] = ()
    """The columns that say how much is shared; any comparison with one of them replaces the default."""
    limit: str | None = None
    """The parameter that limits the number of rows. A negative number means all rows, as in SQL."""

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

    def thresholds(self, given: Mapping[str, Value], *, compared: bool) -> dict[str, Value]:
        """The threshold that conditions set, given the caller's arguments and the limits, by `Bound.name`.

        An argument is the threshold. Without one, the limit in a condition is. Without a limit, the default
        is, unless the statement compares one of the `numbers`: then nothing is left out. SQLite checks every
        condition on every row as well. So a threshold may let too many rows through, but never too few.
        """
        if any(given.get(bound.parameter) is not None for bound in self.bounds):
            return {}
        for bound in self.bounds:
            if bound.name in given:
                return {bound.parameter: bound.as_parameter(given[bound.name])}
        return {bound.parameter: bound.widest for bound in self.bounds[:1] if compared}

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


# A result column has the name that the parameter has in Python.
PYTHON_NAMES = {"max_distance": "distance"}
"""The parameters that have another name in Python."""


def python_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the Python method.

    >>> python_arguments({"min_resemblance": 0.5, "boilerplate": '["licence"]', "max_distance": 2})
    {'min_resemblance': 0.5, 'boilerplate': ['licence'], 'distance': 2}
    """
    return {
        PYTHON_NAMES.get(name, name): _CONVERSIONS[name](value) if name in _CONVERSIONS else value
        for name, value in given.items()
    }


def options_in_json(value: Value, names: tuple[str, ...]) -> dict[str, Any] | None:
    """The parameters in a JSON object, by their names; None if the value is not TEXT that begins with "{".

    >>> options_in_json('{"min_resemblance": 0.5}', ("min_resemblance", "where"))
    {'min_resemblance': 0.5}
    """
    if not (isinstance(value, str) and value.lstrip().startswith("{")):
        return None
    try:
        options: dict[str, Any] = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a JSON object of parameters, not {shown(value)} ({error})") from error
    if unknown := [name for name in options if name not in names]:
        raise TypeError(f"there is no parameter {unknown[0]!r}; the parameters are {', '.join(names)}")
    return options


def _boilerplate(value: Any) -> bool | list[str]:
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    names = _json_array(value) if isinstance(value, str) else value
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise TypeError(f"boilerplate must be 1, 0 or a JSON array of template names, not {shown(value)}")
    return names


def _json_array(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _condition(value: Any) -> HarmlessCondition:
    if not isinstance(value, str):
        raise TypeError(f"where must be a condition as TEXT, not {type_name(value)}")
    return HarmlessCondition(value)


def _between(value: Any) -> tuple[HarmlessCondition, HarmlessCondition]:
    conditions = _json_array(value) if isinstance(value, str) else value
    match conditions:
        case [str(first), str(second)]:
            return HarmlessCondition(first), HarmlessCondition(second)
    raise TypeError(f"between must be a JSON array of two conditions, not {shown(value)}")


def _limit(value: Any) -> Any:
    # SQL has no other way to ask for all rows: NULL means the default.
    return None if isinstance(value, int) and value < 0 else value


def _distance(value: Any) -> Any:
    whole_number("max_distance", value, least=0, most=63)
    return value


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "between": _between,
    "boilerplate": _boilerplate,
    "limit": _limit,
    "max_distance": _distance,
    "where": _condition,
}


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


def _search(reader: Index, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    return map(_of_match, reader.search(what, **options))


def _similar(reader: Index, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    return map(_of_similar, reader.similar(what, **options))


def _near(reader: Index, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    return map(_of_neighbour, reader.near(what, **options))


def _passages(reader: Index, a: Value, b: Value, **options: Any) -> Iterable[Row]:
    query_a, query_b = asked(reader, a, b)
    text = full_text(reader, query_a)
    full_text(reader, query_b)  # raises TextNotKept, where `compare` would give no passages
    for p in reader.compare(query_a, query_b, **options).passages:
        yield (
            *(p.query_start, p.query_end, p.start, p.end, p.length, p.identical, p.query_line, p.line),
            *(p.query_place, p.place, int(p.boilerplate)),
            writable(text[p.query_start : p.query_end]),
        )


def _regions(reader: Index, a: Value, b: Value, **options: Any) -> Iterable[Row]:
    query_a, query_b = asked(reader, a, b)
    text = full_text(reader, query_a)
    full_text(reader, query_b)  # as for passages
    for region in reader.compare(query_a, query_b, **options).regions:
        yield *_of_region(region), writable(text[region.query_start : region.query_end])


def _sources(reader: Index, query: Value, **options: Any) -> Iterable[Row]:
    (what,) = asked(reader, query)
    found = reader.sources(what, **options)
    for source in found:
        stretches = json.dumps([dataclasses.asdict(stretch) for stretch in source.stretches])
        yield *_of_source(source), found.uncovered, stretches, json.dumps(source.copies)


def _pairs(reader: Index, **options: Any) -> Iterable[Row]:
    return map(_of_pair, reader.pairs(**options))


def _containments(reader: Index, **options: Any) -> Iterable[Row]:
    return map(_of_pair, reader.containments(**options))


def _clusters(reader: Index, **options: Any) -> Iterable[Row]:
    for number, cluster in enumerate(reader.clusters(**options), 1):
        for member in cluster.members:
            yield number, *_of_member(member)


def _fingerprints(reader: Index, query: Value) -> Iterable[Row]:
    (what,) = asked(reader, query)
    found = fingerprints(full_text(reader, what), reader.recipe)
    hashes = (found.hashes >> HASH_SHIFT).tolist()
    lines, columns = found.lines_and_columns
    return zip(
        hashes,
        found.positions.tolist(),
        found.offsets.tolist(),
        lines.tolist(),
        columns.tolist(),
        strict=True,
    )


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
        asks=Index.search,
        order=(("score", True),),
        bounds=(
            Bound("containment", "min_containment", 0.0),
            Bound("reverse_containment", "min_reverse_containment", 0.0),
            Bound("resemblance", "min_resemblance", 0.0),
            Bound("shared", "min_shared", 0, 1 << 62),
        ),
        limit="limit",
    ),
    TableFunction(
        name="doc_similar",
        columns=("key", "id", *MEASURES),
        parameters=("query", "min_resemblance", "limit", "where", "method", "boilerplate"),
        required=1,
        answer=_similar,
        asks=Index.similar,
        order=(("resemblance", True),),
        bounds=(Bound("resemblance", "min_resemblance", ANY_SHARE),),
        numbers=_NUMBERS,
        limit="limit",
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
        asks=Index.sources,
        order=(("added", True),),
    ),
    TableFunction(
        name="doc_near",
        columns=("key", "id", "distance"),
        parameters=("query", "max_distance", "where"),
        required=1,
        answer=_near,
        asks=Index.near,
        order=(("distance", False),),
        bounds=(Bound("distance", "max_distance", 63, 0),),
        numbers=("distance",),
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
        asks=Index.compare,
        order=(("query_start", False), ("start", False)),
        bounds=(Bound("length", "min_length", 1, 1 << 62),),
        numbers=("length",),
    ),
    TableFunction(
        name="doc_regions",
        columns=(*_REGION, "text"),
        parameters=("a", "b", "boilerplate"),
        required=2,
        answer=_regions,
        asks=Index.compare,
        order=(("query_start", False), ("start", False)),
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
        asks=Index.pairs,
        order=(),
        bounds=(
            Bound("resemblance", "min_resemblance", ANY_SHARE),
            Bound("containment", "min_containment", ANY_SHARE),
            Bound("reverse_containment", "min_containment", ANY_SHARE),
        ),
        numbers=_NUMBERS,
    ),
    TableFunction(
        name="doc_containments",
        columns=_PAIR,
        parameters=("min_containment", "where", "ignore_above", "method", "boilerplate"),
        required=0,
        answer=_containments,
        asks=Index.containments,
        order=(("containment", True),),
        bounds=(Bound("containment", "min_containment", ANY_SHARE),),
        numbers=_NUMBERS,
    ),
    TableFunction(
        name="doc_clusters",
        columns=("cluster", *_MEMBER),
        parameters=("min_resemblance", "linkage", "where", "ignore_above", "method", "boilerplate"),
        required=0,
        answer=_clusters,
        asks=Index.clusters,
        order=(("cluster", False),),
        # No numbers: another threshold makes other clusters, so other comparisons select from the default.
        bounds=(Bound("resemblance", "min_resemblance", ANY_SHARE),),
    ),
    TableFunction(
        name="doc_fingerprints",
        columns=("hash", "position", "offset", "line", "column"),
        parameters=("query",),
        required=1,
        answer=_fingerprints,
        asks=fingerprints,
        order=(("position", False),),
    ),
)
