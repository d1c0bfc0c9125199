"""Pack arrays of numbers into rows of a Spark DataFrame, and work on them bucket by bucket.

A row of Spark for each shingle would cost ten times the shingle. Here a row has arrays: the shingles of many
documents that go to one *bucket*. A stage gets the rows of its buckets one bucket after the other, ordered by
kind, and returns rows for the next stage. So a task holds one bucket, however many buckets it gets.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from docindex.kernels.arrays import I64, U64, ranges

_TYPES: dict[str, np.dtype[Any]] = {
    "ids": np.dtype("<u8"),  # the node of each text
    "contents": np.dtype("<u8"),  # the text hash of each text
    "sides": np.dtype("u1"),  # 1: in the first frame, 2: in the second, 3: in both
    "sizes": np.dtype("<i8"),  # how many shingles each node has
    "lost": np.dtype("<u4"),  # how many shingles of each node are ignored
    "documents": np.dtype("<u4"),  # how many documents each node has
    "counts": np.dtype("<u4"),  # how many of the values each node has
    "values": np.dtype("<u8"),  # shingles, bands or slots, of one node after the other
    "frequencies": np.dtype("<u4"),  # how many nodes have each value
    "labels": np.dtype("<u8"),  # the component of each node
    "firsts": np.dtype("<u8"),  # the first node of each pair
    "seconds": np.dtype("<u8"),  # the second node of each pair
}
_NUMBERS = ("bucket", "kind", "other")
_KEYS = ("key_sizes", "key_bytes")
_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.int32()) for name in _NUMBERS),
        *(pa.field(name, pa.binary()) for name in (*_TYPES, *_KEYS)),
    ]
)
_SPARK_SCHEMA = from_arrow_schema(_SCHEMA)

# The rows of a batch have at most about this many bytes together.
_BATCH_BYTES = 1 << 22

Arrays = Mapping[str, Any]
"""Arrays by the names in `_TYPES`, and perhaps `keys`, a `pyarrow.StringArray`."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PackedRow:
    """Arrays for one bucket."""

    bucket: int
    kind: int
    """What the arrays stand for. The rows of a bucket come in the order of their kinds."""
    arrays: Arrays
    other: int = 0
    """The rows of one kind come in the order of these numbers."""


Stage = Callable[[int, Iterator[PackedRow]], Iterator[PackedRow]]
"""Work on a bucket: takes its number and its rows, and gives rows for the next stage."""


def bucketed(frame: DataFrame) -> DataFrame:
    """The rows, so that each bucket is in one partition, and ordered by bucket, kind and `other`."""
    return frame.repartition("bucket").sortWithinPartitions(*_NUMBERS)


def with_stage(frame: DataFrame, stage: Stage) -> DataFrame:
    """The rows that a stage makes of packed rows."""
    return bucketed(frame).mapInArrow(_Staged(stage), _SPARK_SCHEMA)


def packed_frame(frame: DataFrame, pack: Callable[[pa.RecordBatch], Iterator[PackedRow]]) -> DataFrame:
    """The rows that `pack` makes of the record batches of any frame."""
    return frame.mapInArrow(_Packing(pack), _SPARK_SCHEMA)


@dataclasses.dataclass(frozen=True, slots=True)
class _Packing:
    pack: Callable[[pa.RecordBatch], Iterator[PackedRow]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return to_batches(row for batch in batches if len(batch) for row in self.pack(batch))


@dataclasses.dataclass(frozen=True, slots=True)
class _Staged:
    stage: Stage

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return to_batches(row for bucket, rows in by_bucket(batches) for row in self.stage(bucket, rows))


def to_batches(rows: Iterable[PackedRow]) -> Iterator[pa.RecordBatch]:
    """The rows as record batches of bounded size."""
    waiting: list[dict[str, Any]] = []
    held = 0
    for row in rows:
        cells = _cells(row)
        waiting.append(cells)
        held += sum(len(cell) for name, cell in cells.items() if name not in _NUMBERS)
        if held > _BATCH_BYTES:
            yield pa.RecordBatch.from_pylist(waiting, _SCHEMA)
            waiting, held = [], 0
    if waiting:
        yield pa.RecordBatch.from_pylist(waiting, _SCHEMA)


def by_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[PackedRow]]]:
    """The rows of each bucket in turn; rows that nobody read are skipped."""
    rows = (row for batch in batches for row in _rows(batch))
    return itertools.groupby(rows, lambda row: row.bucket)


def gathered(rows: Iterable[PackedRow]) -> dict[str, Any]:
    """The arrays of rows of one kind end to end; empty arrays if there are no rows."""
    all_arrays = [row.arrays for row in rows]
    found: dict[str, Any] = {
        name: np.concatenate([arrays[name] for arrays in all_arrays])
        if all_arrays and name in all_arrays[0]
        else np.empty(0, kind)
        for name, kind in _TYPES.items()
    }
    keys = [arrays["keys"] for arrays in all_arrays if "keys" in arrays]
    found["keys"] = pa.concat_arrays(keys) if keys else pa.array([], pa.large_string())
    return found


def bucket_of(numbers: U64, buckets: int) -> I64:
    """The bucket of each number, by its highest bits; the numbers must be mixed.

    >>> bucket_of(np.array([0, 2**63, 2**64 - 1], np.uint64), 4).tolist()
    [0, 2, 3]
    """
    return ((numbers >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def scattered(kind: int, owned: Arrays, owners: I64, values: Arrays, buckets: I64) -> Iterator[PackedRow]:
    """Rows of the values of each bucket, with the owners that have any of them.

    `owned` are arrays with an entry for each owner. `owners` ascend: the owner of each value. `values` are
    arrays with an entry for each value, and `buckets` says where each goes. A row has `counts`, too.
    """
    order = np.argsort(buckets, kind="stable")
    owner, bucket = owners[order], buckets[order]
    changed = np.ones(len(order), bool)
    changed[1:] = (owner[1:] != owner[:-1]) | (bucket[1:] != bucket[:-1])
    starts = np.append(np.flatnonzero(changed), len(order))
    counts = np.diff(starts).astype(np.uint32)
    run_owners, run_buckets = owner[starts[:-1]], bucket[starts[:-1]]
    ordered = {name: array[order] for name, array in values.items()}
    for first, last in runs(run_buckets):
        part, own = slice(starts[first], starts[last]), run_owners[first:last]
        yield PackedRow(
            int(run_buckets[first]),
            kind,
            {
                **{name: _taken(array, own) for name, array in owned.items()},
                **{name: array[part] for name, array in ordered.items()},
                "counts": counts[first:last],
            },
        )


def split_rows(kind: int, arrays: Arrays, buckets: I64) -> Iterator[PackedRow]:
    """Rows of the entries of each bucket; all arrays have an entry for each bucket in `buckets`.

    Only `values` has as many for each entry as `counts` says.
    """
    order = np.argsort(buckets, kind="stable")
    ordered = buckets[order]
    for first, last in runs(ordered):
        yield PackedRow(int(ordered[first]), kind, entries(arrays, order[first:last]))


def entries(arrays: Arrays, chosen: I64) -> dict[str, Any]:
    """Some entries of arrays; `values` has as many for each entry as `counts` says.

    >>> arrays = {"counts": np.array([2, 1]), "values": np.array([7, 8, 9])}
    >>> entries(arrays, np.array([1]))["values"].tolist()
    [9]
    """
    found = {name: _taken(array, chosen) for name, array in arrays.items() if name != "values"}
    if "values" in arrays:
        counts = arrays["counts"].astype(np.int64)
        begins = (np.cumsum(counts) - counts)[chosen]
        found["values"] = arrays["values"][ranges(begins, counts[chosen])]
    return found


def runs(ordered: I64) -> Iterator[tuple[int, int]]:
    """Where each run of equal neighbours begins and ends.

    >>> list(runs(np.array([5, 5, 7])))
    [(0, 2), (2, 3)]
    """
    borders = np.flatnonzero(np.diff(ordered)) + 1
    return itertools.pairwise([0, *borders.tolist(), len(ordered)]) if len(ordered) else iter(())


def _taken(array: Any, places: I64) -> Any:
    return array.take(pa.array(places)) if isinstance(array, pa.Array) else array[places]


def _cells(row: PackedRow) -> dict[str, Any]:
    cells: dict[str, Any] = {"bucket": row.bucket, "kind": row.kind, "other": row.other}
    for name, array in row.arrays.items():
        if name == "keys":
            cells |= _cells_of_keys(array)
        else:
            cells[name] = np.ascontiguousarray(array, _TYPES[name]).tobytes()
    return cells


def _cells_of_keys(keys: pa.Array) -> dict[str, bytes]:
    _, offsets, text = keys.buffers()
    places = np.frombuffer(offsets, "<i8")[keys.offset : keys.offset + len(keys) + 1] if len(keys) else [0]
    own = text.slice(int(places[0]), int(places[-1] - places[0])).to_pybytes() if text else b""
    return {"key_sizes": np.diff(places).astype("<u4").tobytes(), "key_bytes": own}


def _rows(batch: pa.RecordBatch) -> Iterator[PackedRow]:
    columns = {name: batch.column(name) for name in _SCHEMA.names}
    bucket, kind, other = (columns[name].to_pylist() for name in _NUMBERS)
    for row in range(len(batch)):
        arrays: dict[str, Any] = {}
        for name, numbers in _TYPES.items():
            cell = columns[name][row].as_buffer()
            if cell is not None:
                arrays[name] = np.frombuffer(cell, numbers)
        sizes, text = (columns[name][row].as_buffer() for name in _KEYS)
        if sizes is not None:
            ends = np.cumsum(np.frombuffer(sizes, "<u4"), dtype="<i8")
            offsets = pa.py_buffer(np.concatenate([np.zeros(1, "<i8"), ends]))
            arrays["keys"] = pa.LargeStringArray.from_buffers(len(ends), offsets, text)
        yield PackedRow(bucket[row], kind[row], arrays, other[row])
