"""The questions that an index and Spark must answer alike, in a form that can be compared.

An answer is a dict or a set of plain values. `is_work` says whether Spark works on it for so long that a
worker can be killed in the middle.
"""

import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Callable
from typing import Any

import docindex
from docindex import spark
from docindex.sketching.sketch_tables import SCHEMA

DISTANCE = 3
RESEMBLANCE = 0.5
SAME = 0.8
"""The minimum resemblance of documents in a cluster."""
PAIR_COLUMNS = ("a", "b", "containment", "reverse_containment", "resemblance", "shared", "basis")
SKETCHES_AT_A_TIME = 500


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """One question: its name, how an index answers it, and how Spark does from a frame of sketches."""

    name: str
    of: Callable[[docindex.Index], Any]
    by_spark: Callable[[Any], Any]
    is_work: bool = True


def index_sketches(index):
    """A digest of all columns of the sketch of each document, by key."""
    return digests(index.export_sketches())


def spark_sketches(frame):
    """The same of a frame of sketches."""
    return digests(frame.toArrow().to_batches(SKETCHES_AT_A_TIME))


def digests(batches):
    """A digest of each row of some record batches, by key; `AssertionError` if a key occurs twice."""
    rows = itertools.chain.from_iterable(batch.select(SCHEMA.names).to_pylist() for batch in batches)
    found = {}
    for row in rows:
        assert row["key"] not in found, f"the key {row['key']} occurs twice"
        found[row["key"]] = hashlib.sha256(repr(row).encode()).hexdigest()
    return found


def compare(found, expected):
    """An empty string if two answers are equal; otherwise what differs, with some examples."""
    if found == expected:
        return ""
    if isinstance(found, dict):
        found, expected = set(found.items()), set(expected.items())
    missing, extra = expected - found, found - expected
    return (
        f"DIFFERS: {len(missing):,} missing, such as {sorted(missing, key=repr)[:3]}; "
        f"{len(extra):,} too many, such as {sorted(extra, key=repr)[:3]}"
    )


def index_near(index):
    """All pairs of different documents within the distance, as (a, b, distance) with `a` before `b`."""
    keys = list(index)
    asked = [docindex.Key(key) for key in keys]
    return {
        (key, neighbour.key, neighbour.distance)
        for key, found in zip(keys, index.near_many(asked, DISTANCE), strict=True)
        for neighbour in found
        if key < neighbour.key
    }


def spark_near(frame):
    """The same of a frame of sketches."""
    return rows_of(spark.near(frame, DISTANCE), ("a", "b", "distance"))


def index_clusters(index):
    """The lowest key of the cluster of each document that is in one, by key."""
    return {key: min(cluster.keys) for cluster in index.clusters(SAME) for key in cluster.keys}


def spark_clusters(frame):
    """The same of a frame of sketches."""
    return dict(rows_of(spark.clusters(frame, SAME), ("key", "cluster")))


def index_deduplicated(index):
    """The keys of the documents that stay if of each cluster only the longest text is kept."""
    removed = set()
    for cluster in index.clusters(SAME):
        kept = min(cluster.keys, key=lambda key: (-len(index.text(key)), key))
        removed.update(set(cluster.keys) - {kept})
    return set(index) - removed


def spark_deduplicated(frame):
    """The same of a frame of sketches."""
    found = spark.deduplicate(frame, min_resemblance=SAME, keep="longest")
    return {key for (key,) in rows_of(found, ("key",))}


def rows_of(frame, columns):
    """The rows of a frame as a set of tuples; `AssertionError` if a row occurs twice."""
    table = frame.select(*columns).toArrow()
    found = set(zip(*(table.column(name).to_pylist() for name in columns), strict=True))
    assert len(found) == table.num_rows, f"{table.num_rows - len(found):,} rows occur twice"
    return found


def index_pairs(index, **threshold):
    """All pairs with their numbers."""
    return of_pairs(index.pairs(**threshold))


def of_pairs(pairs):
    """Pairs of an index as a set of tuples; `AssertionError` if it did not consider all shingles."""
    assert pairs.ignore_above is None, f"the index ignored shingles of more than {pairs.ignore_above} texts"
    return {tuple(getattr(pair, name) for name in PAIR_COLUMNS) for pair in pairs}


def spark_pairs(frame, **threshold):
    """The same of a frame of sketches."""
    return rows_of(spark.pairs(frame, **threshold), PAIR_COLUMNS)


QUESTIONS = (
    Question("sketches", index_sketches, spark_sketches, is_work=False),
    Question("near", index_near, spark_near),
    Question(
        "pairs",
        functools.partial(index_pairs, min_resemblance=RESEMBLANCE),
        functools.partial(spark_pairs, min_resemblance=RESEMBLANCE),
    ),
    Question("clusters", index_clusters, spark_clusters),
    Question("deduplicate", index_deduplicated, spark_deduplicated),
)
