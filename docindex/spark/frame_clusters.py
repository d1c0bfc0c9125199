"""Group the documents of a DataFrame of sketches that belong together: connected clusters.

In: a DataFrame that `sketch` made, and a minimum resemblance. Out: a DataFrame with the cluster of each
document, set for set the connected clusters of `docindex.Index.clusters`. Must never list the pairs of a
crowd, and never connect texts whose pair was not verified.

Many texts that resemble each other, a *crowd*, share many bands, and each band has all of them. In a first
round, the members of a large band are compared with one of them only; each band draws another one. Where all
members of a band are then in one component, their pairs would change nothing. Only the other bands, which are
few, come to the second round, in which two texts of one component do not meet.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.query.defaults import SAME_WORK
from docindex.query.pairs.candidates import LARGE
from docindex.spark.frame_pairs import FrameQuestion
from docindex.spark.missed_pairs import MOST_MISSED
from docindex.spark.spanning_forests import connected_nodes


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
