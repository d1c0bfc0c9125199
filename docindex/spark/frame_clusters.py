"""Group the documents of a DataFrame of sketches that belong together: connected clusters.

In: a DataFrame that `sketch` made, and a minimum resemblance. Out: a DataFrame with the cluster of each
document, set for set the connected clusters of `docindex.Index.clusters`. Up to `MOST_NODES` documents are
one question of Spark, with a fixed number of shuffles: see `spanning_forests`. More are connected in rounds:
see `star_rounds`. Must never list the pairs of documents.
"""

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it
from pyspark.sql.pandas.types import from_arrow_schema

from docindex import argument_checks
from docindex.query.measures import SAME_WORK
from docindex.query.pairs import checked_threshold
from docindex.spark.candidate_rows import MeetingNodes, SentSets
from docindex.spark.document_rows import EDGES, LABELS, NODES
from docindex.spark.frame_pairs import AskedPairs, rarest_values_of
from docindex.spark.missed_pairs import MOST_MISSED
from docindex.spark.node_tables import table_of
from docindex.spark.packed_rows import PackedRow, bucketed, by_bucket, gathered, packed_frame, with_stage
from docindex.spark.pair_question import FRAME_METHODS, FrameMethod, PairQuestion
from docindex.spark.spanning_forests import (
    EDGE_SCHEMA,
    ConnectedPairs,
    JoinedForests,
    LabelledNodes,
    MeetingCrowds,
    packed_labels,
    unpacked_edges,
)
from docindex.spark.star_rounds import checkpointed, connected_nodes

MOST_NODES = 20_000_000
"""One task connects up to this many documents: it holds two numbers for each, a third of a gigabyte."""

_LABELLED = pa.schema([("label", pa.int64()), ("key", pa.string())])


def clusters(
    frame: DataFrame,
    min_resemblance: float = SAME_WORK,
    *,
    ignore_above: int | None = None,
    method: FrameMethod = "shingles",
    max_missed: float = MOST_MISSED,
    set_aside: Observation | None = None,
) -> DataFrame:
    """Groups of similar documents: the columns `cluster` and `key`, a row for each document in a group.

    A pair is two documents with at least this resemblance, and any two documents of a group are linked by a
    chain of pairs. `cluster` is the lowest key of the group. Documents that resemble no other one have no
    row. The parameters are those of `pairs`, but far fewer pairs are compared if many texts are alike.

    More than 20 million documents are connected in rounds, each of which is a job that runs at once. Give the
    Spark context a checkpoint directory then, or the loss of an executor ends the work.

        groups = spark.clusters(sketches, 0.8)
        groups.where("key != cluster")                      # documents that could go
    """
    threshold = checked_threshold(min_resemblance, None, "shingles", ignore_above)
    asked = AskedPairs(threshold, argument_checks.choice("method", method, FRAME_METHODS), max_missed)
    question, rows = rarest_values_of(frame, None, asked, set_aside)
    connect = _connected_in_one_task if question.rows <= MOST_NODES else _connected_by_stars
    rows = connect(rows, question)
    labelled = bucketed(rows).mapInArrow(_labelled_keys, from_arrow_schema(_LABELLED))
    lowest = F.min("key").over(Window.partitionBy("label"))
    return labelled.select(lowest.alias("cluster"), "key")


def _connected_in_one_task(rows: DataFrame, question: PairQuestion) -> DataFrame:
    """The nodes and their components, as packed rows."""
    for stage in (
        MeetingCrowds(question),
        SentSets(question),
        ConnectedPairs(question),
        JoinedForests(question),
        MeetingNodes(question),
        SentSets(question),
        ConnectedPairs(question),
        LabelledNodes(question),
    ):
        rows = with_stage(rows, stage)
    return rows


def _connected_by_stars(rows: DataFrame, question: PairQuestion) -> DataFrame:
    """The same, but no task holds all nodes; all pairs of a crowd that meet in a bucket are formed."""
    for stage in (MeetingNodes(question), SentSets(question), ConnectedPairs(question)):
        rows = with_stage(rows, stage)
    rows = checkpointed(rows)
    edges = rows.where(F.col("kind") == EDGES).mapInArrow(unpacked_edges, from_arrow_schema(EDGE_SCHEMA))
    labels = packed_frame(connected_nodes(edges), functools.partial(packed_labels, buckets=question.buckets))
    return rows.where(F.col("kind") == NODES).union(labels)


def _labelled_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The documents that are in a cluster, and the components of their nodes."""
    for _, rows in by_bucket(batches):
        yield from _of_bucket(rows)


def _of_bucket(rows: Iterator[PackedRow]) -> Iterator[pa.RecordBatch]:
    found = {kind: gathered(of_kind) for kind, of_kind in itertools.groupby(rows, lambda row: row.kind)}
    labels = found.pop(LABELS, None)
    for arrays in found.values():
        table = table_of(arrays)
        own, in_cluster = table.ids.copy(), table.documents > 1
        if labels is not None:
            places = np.searchsorted(table.ids, labels["ids"])
            own[places], in_cluster[places] = labels["labels"], True
        table_labels = np.repeat(own, table.documents).view(np.int64)
        chosen = np.flatnonzero(np.repeat(in_cluster, table.documents))
        keys = table.keys.take(pa.array(chosen)).cast(pa.string())
        yield pa.RecordBatch.from_arrays([pa.array(table_labels[chosen]), keys], schema=_LABELLED)
