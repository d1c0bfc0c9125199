"""SQL values in, SQL values out: the functions `doc_...` and the aggregates, the same for any connection.

TEXT is itself, an INTEGER names a document by its id, NULL gives NULL; anything else is a `TypeError` that
names the function and the type. Must never know which kind of connection calls.
"""

import json
from collections.abc import Callable

import numpy as np

from docindex.index.texts import shares
from docindex.kernels.arrays import U32, U64
from docindex.kernels.feature_filter import acceptance
from docindex.kernels.feature_hashes import features
from docindex.query.resolve import Id, Text
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set
from docindex.sketching.sketcher import sketch_batches
from docindex.sql.sources import IndexSource
from docindex.storage.values import signed
from docindex.version import __version__

Value = None | int | float | str | bytes

_MASK = (1 << 64) - 1
_MOST = 4096  # features, and slots of one: as many as a sketch can have
_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB", type(None): "NULL"}


def named(value: Value) -> str:
    """The type of a value as SQL calls it."""
    return _TYPES.get(type(value), type(value).__name__)


class naming:  # noqa: N801 - it is used as a function is; a class is entered four times as fast as a generator
    """Within, a slip in the call gets the name of the function that was called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, KeyError):
            raise ValueError(f"{self._name}: there is no document {error}") from error
        if type(error) in (TypeError, ValueError) and not str(error).startswith("doc_"):
            raise type(error)(f"{self._name}: {error}") from error  # type: ignore[misc]


def asking(value: Value) -> Text | Id:
    """What a value asks with: a text, or a document by its id."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, int):
        return Id(value)
    raise TypeError(f"expected TEXT, or the INTEGER id of a document, not {named(value)}")


def schema_of(value: Value) -> str | None:
    """The name of a schema; NULL for the first one that is an index."""
    if not (value is None or isinstance(value, str)):
        raise TypeError(f"expected the name of a schema as TEXT, not {named(value)}")
    return value


def whole(value: Value) -> int | None:
    """The whole number that a value in SQL is equal to, or None."""
    if not isinstance(value, (int, float)) or not -(1 << 63) <= value < 1 << 63 or value != int(value):
        return None
    return int(value)


class Scalars:
    """The functions, as they are called."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def all(self) -> dict[str, tuple[Callable[..., Value], tuple[int, ...]]]:
        """Each function under its name, and how many arguments it takes; the last may be a schema."""
        return {
            "doc_resemblance": (self.resemblance, (2, 3)),
            "doc_containment": (self.containment, (2, 3)),
            "doc_simhash": (self.simhash, (1, 2)),
            "doc_distance": (distance, (2,)),
            "doc_sketch": (self.sketch, (1, 2)),
            "doc_sketch_resemblance": (sketch_resemblance, (2,)),
            "doc_features": (self.features, (1, 2)),
            "doc_canonical": (self.canonical, (1, 2)),
            "doc_filter": (filtered, (4,)),
            "doc_density": (density, (1,)),
            "doc_version": (lambda: __version__, (0,)),
        }

    def resemblance(self, a: Value, b: Value, schema: Value = None) -> Value:
        """What both texts have, as a share of what either has."""
        return self._shares(a, b, schema, 0)

    def containment(self, a: Value, b: Value, schema: Value = None) -> Value:
        """The share of the first text that the second has, too."""
        return self._shares(a, b, schema, 1)

    def simhash(self, what: Value, schema: Value = None) -> Value:
        """The simhash of a text or a document: 64 bits read signed."""
        return None if what is None else signed(self._outline(what, schema)[1])

    def sketch(self, what: Value, schema: Value = None) -> Value:
        """The min-hash slots of a text or a document, 4 bytes each, little-endian."""
        return None if what is None else self._outline(what, schema)[0].astype("<u4").tobytes()

    def features(self, what: Value, schema: Value = None) -> Value:
        """The features of a text or a document, as a JSON array of 64-bit numbers read signed."""
        if what is None:
            return None
        k, s, _ = self._recipe(schema_of(schema)).features
        slots = self._outline(what, schema)[0]
        return json.dumps(features(slots.reshape(1, -1), k, s)[0].view(np.int64).tolist())

    def canonical(self, what: Value, schema: Value = None) -> Value:
        """The words of a text or a document as they are compared."""
        if what is None:
            return None
        reader = symbol_reader(self._recipe(schema_of(schema)).reading)
        return reader.canonical(self.text(what, schema))

    def text(self, what: Value, schema: Value) -> str:
        """A text, or that of a document."""
        query = asking(what)
        return query if isinstance(query, Text) else self._source.reader(schema_of(schema)).whole_text(query)

    def shingles(self, what: Value) -> U64:
        """The shingles of a text or a document that count."""
        query = asking(what)
        if isinstance(query, Text) and not self._source.has_index():
            return shingle_set(query, Recipe())
        return self._source.reader().shingles(query)

    def _shares(self, a: Value, b: Value, schema: Value, which: int) -> Value:
        if a is None or b is None:
            return None
        of_a, of_b = asking(a), asking(b)
        name = schema_of(schema)
        if (
            name is None
            and isinstance(of_a, Text)
            and isinstance(of_b, Text)
            and not self._source.has_index()
        ):
            return shares(of_a, of_b)[which]
        found = self._source.reader(name).measures(of_a, of_b)
        return (found.resemblance, found.containment)[which]

    def _recipe(self, schema: str | None) -> Recipe:
        """How texts are read: as the index does it, or in the usual way where there is none."""
        there = schema is not None or self._source.has_index()
        return self._source.reader(schema).recipe if there else Recipe()

    def _outline(self, what: Value, schema: Value) -> tuple[U32, int]:
        """The slots and the simhash."""
        query, name = asking(what), schema_of(schema)
        if isinstance(query, Id):
            stored_sketch = self._source.reader(name).stored_sketch(query)
            return stored_sketch.slots, stored_sketch.simhash
        (batch,) = sketch_batches([query], self._recipe(name))
        return batch[0].slots, batch[0].simhash


def distance(x: Value, y: Value) -> Value:
    """In how many bits two simhash values differ."""
    try:
        return ((x ^ y) & _MASK).bit_count()  # type: ignore[operator]
    except TypeError:
        if x is None or y is None:
            return None
        odd = x if not isinstance(x, int) else y
        raise TypeError(f"doc_distance: expected INTEGER simhash values, not {named(odd)}") from None


def sketch_resemblance(x: Value, y: Value) -> Value:
    """The resemblance that two sketches estimate: the share of their slots that are equal."""
    if isinstance(x, bytes) and isinstance(y, bytes) and len(x) == len(y) and x and not len(x) % 4:
        return 4 * int(np.count_nonzero(np.frombuffer(x, "<u4") == np.frombuffer(y, "<u4"))) / len(x)
    if x is None or y is None:
        return None
    with naming("doc_sketch_resemblance"):
        sizes = len(slots_of(x)), len(slots_of(y))
        raise ValueError("expected sketches of one recipe, not of {} and {} slots".format(*sizes))


def slots_of(sketch: Value) -> U32:
    """The slots that a sketch is made of."""
    if not isinstance(sketch, bytes):
        raise TypeError(f"expected sketches as doc_sketch makes them, BLOB, not {named(sketch)}")
    if not sketch or len(sketch) % 4:
        raise ValueError(f"expected sketches as doc_sketch makes them, not a BLOB of {len(sketch)} bytes")
    return np.frombuffer(sketch, "<u4")


def filtered(k: Value, s: Value, r: Value, x: Value) -> Value:
    """The share of pairs at resemblance x that have r of k features, of s slots each, in common."""
    if k is None or s is None or r is None or x is None:
        return None
    if not (isinstance(k, int) and isinstance(s, int) and isinstance(r, int) and isinstance(x, (int, float))):
        raise TypeError(
            f"expected INTEGER k, s and r and a number, not {', '.join(map(named, (k, s, r, x)))}"
        )
    if max(k, s, r) > _MOST:
        raise ValueError(f"expected k, s and r of {_MOST:,} at most, not {k}, {s} and {r}")
    return acceptance(k, s, r, float(x))


def density(window: Value) -> Value:
    """The share of the k-grams of random text that winnowing with this window selects: 2 / (window + 1)."""
    if window is None:
        return None
    if not isinstance(window, int):
        raise TypeError(f"expected a window as INTEGER, not {named(window)}")
    if window < 1:
        raise ValueError(f"expected a window of 1 or more, not {window}")
    return 2 / (window + 1)


class SketchUnion:
    """Aggregate: the sketch of all texts together, of which the sketches are given."""

    def __init__(self) -> None:
        self._union: U32 | None = None

    def step(self, sketch: Value) -> None:
        """One more; NULL is left out."""
        if sketch is None:
            return
        slots = slots_of(sketch)
        if self._union is not None and len(self._union) != len(slots):
            raise ValueError(
                f"expected sketches of one recipe, not of {len(self._union)} and {len(slots)} slots"
            )
        self._union = slots if self._union is None else np.minimum(self._union, slots)

    def finalize(self) -> Value:
        """The sketch, or NULL if there was none."""
        return None if self._union is None else self._union.astype("<u4").tobytes()


class Common:
    """Aggregate: what all texts have, as a share of what any has; of two texts it is their resemblance."""

    def __init__(self, scalars: Scalars) -> None:
        self._scalars = scalars
        self._all: U64 | None = None
        self._any: U64 | None = None

    def step(self, what: Value) -> None:
        """One more text, or document; NULL is left out."""
        if what is None:
            return
        shingles = self._scalars.shingles(what)
        self._all = shingles if self._all is None else np.intersect1d(self._all, shingles, assume_unique=True)
        self._any = shingles if self._any is None else np.union1d(self._any, shingles)

    def finalize(self) -> Value:
        """The share, or NULL if there was no text."""
        if self._all is None or self._any is None:
            return None
        return len(self._all) / len(self._any) if len(self._any) else 1.0
