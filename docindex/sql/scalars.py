"""The scalar functions `doc_...` of SQL and the aggregates, the same for every kind of connection.

They take and return SQL values: TEXT is a text, an INTEGER is the id of a document, and NULL gives NULL. Must
never know which kind of connection calls them.
"""

import json
from collections.abc import Callable
from typing import Protocol

import numpy as np

from docindex.arrays.ranges import U16, U64
from docindex.index.index import Index, open_scope
from docindex.index.texts import shares
from docindex.minhash.feature_filter import acceptance
from docindex.minhash.slots import features
from docindex.query.compare import measure_texts
from docindex.query.resolve import Id, Text, kept_text, resolve
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set, words_hash
from docindex.sketching.sketcher import sketch_batches
from docindex.sql.sources import IndexSource, asked, asked_in, full_text
from docindex.sql.sql_values import Value, errors_from, schema_name, text_or_id, type_name
from docindex.storage.values import signed
from docindex.version import __version__

Functions = dict[str, tuple[Callable[..., Value], tuple[int, ...]]]
"""SQL functions by name, each with the numbers of arguments that it takes."""


class Aggregate(Protocol):
    """The state of an aggregate for one group of rows."""

    @property
    def step(self) -> Callable[..., None]:
        """Adds a row."""

    @property
    def finalize(self) -> Callable[[], Value]:
        """Gives the result."""


Aggregates = dict[str, tuple[Callable[[], Aggregate], tuple[int, ...]]]
"""Aggregates by name, each with the numbers of arguments that it takes."""

_MASK = (1 << 64) - 1
_MOST = 4096  # no sketch has more features or slots


class Scalars:
    """The scalar functions for the indexes of one source."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def all(self) -> Functions:
        """The functions."""
        return {
            "doc_resemblance": (self.resemblance, (2, 3)),
            "doc_containment": (self.containment, (2, 3)),
            "doc_basis": (self.basis, (2, 3)),
            "doc_simhash": (self.simhash, (1, 2)),
            "doc_distance": (simhash_distance, (2,)),
            "doc_sketch": (self.sketch, (1, 2)),
            "doc_sketch_resemblance": (sketch_resemblance, (2,)),
            "doc_features": (self.features, (1, 2)),
            "doc_canonical": (self.canonical, (1, 2)),
            "doc_filter": (share_accepted, (4,)),
            "doc_density": (selected_share, (1,)),
            "doc_version": (lambda: __version__, (0,)),
        }

    def resemblance(self, a: Value, b: Value, schema: Value = None) -> Value:
        """The shingles that two texts share, as a share of all their shingles."""
        return self._measure("resemblance", a, b, schema)

    def containment(self, a: Value, b: Value, schema: Value = None) -> Value:
        """The shingles that two texts share, as a share of the shingles of the first text."""
        return self._measure("containment", a, b, schema)

    def basis(self, a: Value, b: Value, schema: Value = None) -> Value:
        """How the resemblance and the containment of two texts are obtained."""
        return self._measure("basis", a, b, schema)

    def simhash(self, what: Value, schema: Value = None) -> Value:
        """The simhash of a text or a document: 64 bits, read as a signed integer."""
        return None if what is None else signed(self._sketched(what, schema)[1])

    def sketch(self, what: Value, schema: Value = None) -> Value:
        """The min-hash slots of a text or a document, 2 bytes each, little-endian."""
        return None if what is None else self._sketched(what, schema)[0].astype("<u2").tobytes()

    def features(self, what: Value, schema: Value = None) -> Value:
        """The features of a text or a document: a JSON array of 64-bit numbers, read as signed integers."""
        if what is None:
            return None
        slots, _, recipe = self._sketched(what, schema)
        k, s, _ = recipe.features
        return json.dumps(features(slots.reshape(1, -1), k, s)[0].view(np.int64).tolist())

    def canonical(self, what: Value, schema: Value = None) -> Value:
        """The words of a text or a document in the form that docindex compares."""
        if what is None:
            return None
        # Find the index once, because that takes longer than a short text.
        reader, recipe, (query,) = self._asked(schema, what)
        text = query if isinstance(query, Text) else full_text(_required(reader), query)
        return symbol_reader(recipe.reading).canonical(text)

    def shingles(self, what: Value) -> tuple[U64, bytes]:
        """The shingles of a query, without boilerplate, and the hash of its words if it has no shingles."""
        reader, recipe, (query,) = self._asked(None, what)
        if reader is None:
            found = shingle_set(str(query), recipe)
            return found, b"" if len(found) else words_hash(str(query), recipe)
        with open_scope(reader) as scope:
            resolved = resolve(scope.db, query)
            found = scope.shingles_of(kept_text(scope.db, resolved))
            return found, b"" if len(found) else resolved.words_hash(scope)

    def _measure(self, name: str, a: Value, b: Value, schema: Value) -> Value:
        """One of the measures of two texts or documents; None if one of them is NULL."""
        if a is None or b is None:
            return None
        reader = self._index_of(schema, a, b)
        if reader is not None:
            with open_scope(reader) as scope:
                queries = [resolve(scope.db, query) for query in asked_in(scope, a, b)]
                measure: Value = getattr(measure_texts(scope, *queries), name)
            return measure
        text_a, text_b = map(str, asked(None, a, b))
        resemblance, containment, _ = shares(text_a, text_b)
        known: dict[str, Value] = {
            "resemblance": resemblance,
            "containment": containment,
            "basis": "shingles",
        }
        return known[name]

    def _index_of(self, schema: Value, *values: Value) -> Index | None:
        """The index of a question about some arguments; None for texts on a connection without an index."""
        name = schema_name(schema)
        if name is None and not any(isinstance(text_or_id(value), Id) for value in values):
            return self._source.first()
        return self._source.reader(name)

    def _asked(self, schema: Value, *values: Value) -> tuple[Index | None, Recipe, list[Text | Id]]:
        """The index of a question with its recipe, and the texts and documents that its arguments mean.

        Without an index, there are only texts, and the recipe is the default one.
        """
        reader = self._index_of(schema, *values)
        recipe = Recipe() if reader is None else reader.recipe
        return reader, recipe, asked(reader, *values)

    def _sketched(self, what: Value, schema: Value) -> tuple[U16, int, Recipe]:
        """The slots and the simhash of a text or a document, and the recipe with which they were made."""
        reader, recipe, (query,) = self._asked(schema, what)
        if isinstance(query, Id):
            with open_scope(_required(reader), boilerplate=False) as scope:
                stored_sketch = resolve(scope.db, query).stored_sketch(scope)
            return stored_sketch.slots, stored_sketch.simhash, recipe
        (batch,) = sketch_batches([query], recipe)
        return batch[0].slots, batch[0].simhash, recipe


def _required(reader: Index | None) -> Index:
    """The index of a question about a document: without an index, no id means a document."""
    assert reader is not None
    return reader


def simhash_distance(x: Value, y: Value) -> Value:
    """The number of bits in which two simhash values differ."""
    try:
        return ((x ^ y) & _MASK).bit_count()  # type: ignore[operator]
    except TypeError:
        if x is None or y is None:
            return None
        odd = x if not isinstance(x, int) else y
        raise TypeError(f"doc_distance: expected INTEGER simhash values, not {type_name(odd)}") from None


def sketch_resemblance(x: Value, y: Value) -> Value:
    """The resemblance of two texts, estimated from their sketches: the share of equal slots."""
    if isinstance(x, bytes) and isinstance(y, bytes) and 0 < len(x) == len(y) <= 2 * _MOST and not len(x) % 2:
        return 2 * int(np.count_nonzero(np.frombuffer(x, "<u2") == np.frombuffer(y, "<u2"))) / len(x)
    if x is None or y is None:
        return None
    with errors_from("doc_sketch_resemblance"):
        sizes = len(sketch_slots(x)), len(sketch_slots(y))
        raise ValueError("expected sketches of the same recipe, not of {} and {} slots".format(*sizes))


def sketch_slots(sketch: Value) -> U16:
    """The slots in a sketch that `doc_sketch` made."""
    if not isinstance(sketch, bytes):
        raise TypeError(f"expected a BLOB from doc_sketch, not {type_name(sketch)}")
    if len(sketch) % 2 or not 0 < len(sketch) <= 2 * _MOST:
        raise ValueError(f"expected a BLOB from doc_sketch, not a BLOB of {len(sketch)} bytes")
    return np.frombuffer(sketch, "<u2")


def share_accepted(k: Value, s: Value, r: Value, x: Value) -> Value:
    """The probability that two texts of resemblance x share r or more of k features of s slots each."""
    if k is None or s is None or r is None or x is None:
        return None
    if not (isinstance(k, int) and isinstance(s, int) and isinstance(r, int) and isinstance(x, (int, float))):
        raise TypeError(
            f"expected INTEGER k, s and r and a number, not {', '.join(map(type_name, (k, s, r, x)))}"
        )
    if max(k, s, r) > _MOST:
        raise ValueError(f"expected k, s and r of at most {_MOST:,}, not {k}, {s} and {r}")
    return acceptance(k, s, r, float(x))


def selected_share(window: Value) -> Value:
    """The share of the k-grams of random text that winnowing with this window selects: 2 / (window + 1)."""
    if window is None:
        return None
    if not isinstance(window, int):
        raise TypeError(f"expected a window as INTEGER, not {type_name(window)}")
    if window < 1:
        raise ValueError(f"expected a window of 1 or more, not {window}")
    return 2 / (window + 1)


class SketchUnion:
    """Aggregate: the sketch of several texts together, made from their sketches."""

    def __init__(self) -> None:
        self._union: U16 | None = None

    def step(self, sketch: Value) -> None:
        """Add a sketch; NULL is ignored."""
        if sketch is None:
            return
        slots = sketch_slots(sketch)
        if self._union is not None and len(self._union) != len(slots):
            raise ValueError(
                f"expected sketches of the same recipe, not of {len(self._union)} and {len(slots)} slots"
            )
        self._union = slots if self._union is None else np.minimum(self._union, slots)

    def finalize(self) -> Value:
        """The sketch, or NULL if no sketch was added."""
        return None if self._union is None else self._union.astype("<u2").tobytes()


class SharedByAll:
    """Aggregate: the shingles that all texts share, as a share of all their shingles.

    For two texts, this is their resemblance. If no text has shingles, it is 1 if the symbols of all texts are
    the same, and 0 if not.
    """

    def __init__(self, scalars: Scalars) -> None:
        self._scalars = scalars
        self._symbols: set[bytes] = set()
        self._all: U64 | None = None
        self._any: U64 | None = None

    def step(self, what: Value) -> None:
        """Add a text or a document; NULL is ignored."""
        if what is None:
            return
        shingles, symbols = self._scalars.shingles(what)
        self._symbols.add(symbols)
        self._all = shingles if self._all is None else np.intersect1d(self._all, shingles, assume_unique=True)
        self._any = shingles if self._any is None else np.union1d(self._any, shingles)

    def finalize(self) -> Value:
        """The share, or NULL if no text was added."""
        if self._all is None or self._any is None:
            return None
        return len(self._all) / len(self._any) if len(self._any) else float(len(self._symbols) == 1)
