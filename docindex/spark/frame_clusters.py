"""Group the documents of a DataFrame of sketches that belong together: connected clusters.

In: a DataFrame that `sketch` made, and a minimum resemblance. Out: a DataFrame with the cluster of each
document, set for set the connected clusters of `docindex.Index.clusters`. Must never list the pairs of a
crowd, and never connect texts whose pair was not verified.

Many texts that resemble each other, a *crowd*, share many bands, and each band has all of them. In a first
round, the members of a large band are compared with one of them only; each band draws another one. Where all
members of a band are then in one component, their pairs would change nothing. Only the other bands, which are
few, come to the second round, in which two texts of one component do not meet.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it
from pyspark.sql.pandas.types import from_arrow_schema

from docindex.arrays.joins import components
from docindex.arrays.ranges import I64
from docindex.query.defaults import SAME_WORK
from docindex.query.pairs.candidates import LARGE
from docindex.spark.frame_pairs import FrameQuestion
from docindex.spark.missed_pairs import MOST_MISSED

# Connect the nodes of pairs: the fourth phase of Broder et al. (1997), by union-find over partitions.
#
# In: a DataFrame of pairs. Out: a DataFrame with the component of each node. Each partition keeps a forest of
# its pairs, which has fewer edges than nodes. One task then joins the forests. It holds two numbers for each
# node that is in a pair. Must never hold all pairs.

# Edges are joined when this many have been read. A batch of the result has at most this many rows.
_JOINED = 1 << 22
_ROWS = 1 << 17

_NOTHING = np.empty(0, np.int64)
_EDGES = pa.schema([("u", pa.int64()), ("v", pa.int64())])


class SpanningForest:
    """The components of the nodes that edges connect."""

    def __init__(self) -> None:
        self._nodes: I64 = _NOTHING
        """The nodes with an edge, ascending."""
        self._labels: I64 = _NOTHING
        """The least node of the component of each."""

    def add(self, a: I64, b: I64) -> None:
        """Take edges."""
        firsts, seconds = np.concatenate([self._nodes, a]), np.concatenate([self._labels, b])
        self._nodes, places = np.unique(np.concatenate([firsts, seconds]), return_inverse=True)
        labels = components(places[: len(firsts)], places[len(firsts) :], len(self._nodes))
        self._labels = self._nodes[labels]

    def edges(self) -> tuple[I64, I64]:
        """Each node that is not the least of its component, and the least."""
        inner = self._nodes != self._labels
        return self._nodes[inner], self._labels[inner]


def connected_nodes(edges: DataFrame) -> DataFrame:
    """The nodes of edges `u`, `v`, and the least node of the component of each: columns `node` and `label`.

    The node that a component is named after has no row.
    """
    schema = from_arrow_schema(_EDGES)
    forests = edges.select("u", "v").mapInArrow(_forest, schema)
    return forests.repartition(1).mapInArrow(_forest, schema).toDF("node", "label")


def _forest(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The edges of a forest that connects the same nodes."""
    forest = SpanningForest()
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) > _JOINED:
            _join(forest, waiting)
            waiting = []
    _join(forest, waiting)
    found = pa.RecordBatch.from_arrays(list(map(pa.array, forest.edges())), schema=_EDGES)
    for begin in range(0, len(found), _ROWS):
        yield found.slice(begin, _ROWS)


def _join(forest: SpanningForest, waiting: list[pa.RecordBatch]) -> None:
    edges = pa.Table.from_batches(waiting, schema=_EDGES)
    forest.add(edges["u"].to_numpy(), edges["v"].to_numpy())


def clusters(
    frame: DataFrame, min_resemblance: float = SAME_WORK, *, max_missed: float = MOST_MISSED
) -> DataFrame:
    """Groups of similar documents: the columns `cluster` and `key`, a row for each document in a group.

    A pair is two documents with at least this resemblance, and any two documents of a group are linked by a
    chain of pairs. `cluster` is the lowest key of the group. Documents that resemble no other one have no
    row. The parameters are those of `pairs`, but far fewer pairs are compared if many texts are alike.

    One task connects all texts. It needs about 180 bytes for each text that is in a pair: 3.6 GB for 20
    million.

        groups = spark.clusters(sketches, 0.8)
        groups.where("key != cluster")                      # documents that could go
    """
    question = FrameQuestion.of(frame, None, min_resemblance, max_missed=max_missed)
    is_large = F.col("size") > LARGE
    small, large = question.members.where(~is_large), question.members.where(is_large)
    labels = connected_nodes(question.verified(small.pairs().union(large.stars()).distinct()))
    found = question.verified(large.pairs_apart(labels)).select("u", "v")
    labels = connected_nodes(labels.toDF("u", "v").unionAll(found)).withColumnRenamed("node", "value")
    documents = question.documents.join(labels, "value", "left")
    documents = documents.withColumn("label", F.coalesce("label", "value"))
    group = Window.partitionBy("label")
    rows = documents.select(
        F.min("key").over(group).alias("cluster"), "key", F.count("*").over(group).alias("size")
    )
    return rows.where("size > 1").drop("size")
