"""Keep one document of each cluster of similar documents in a Spark DataFrame, as before training a model.

In: a DataFrame of texts or of sketches, and a rule. Out: the rows that are kept, with all their columns. Must
never change a row, or leave out a document that is in no cluster.
"""

from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.query.defaults import SAME_WORK
from docindex.spark.frame_clusters import clusters
from docindex.spark.keep_order import KeepOrder, as_column
from docindex.spark.sketching import SPARK_SCHEMA, refuse_other_texts, sketch

_PLACE = "docindex_place"
"""The place of a document in its cluster, from 1; null for a document that is in no cluster."""


def deduplicate(
    frame: DataFrame,
    *,
    min_resemblance: float = SAME_WORK,
    keep: str = "longest",
    sketches: DataFrame | None = None,
    counts: Observation | None = None,
) -> DataFrame:
    """The rows of a DataFrame with one document of each cluster of similar documents. All columns stay.

    `frame` has the columns `key` and `text`, and perhaps others, or it is made by `sketch`. No key may occur
    twice. The clusters are those of `docindex.Index.clusters`: documents that are linked by a chain of pairs
    with at least `min_resemblance`.

    `keep` is the rule that chooses the document of a cluster:

    - "longest", "shortest": the text with the most or fewest characters
    - "first": the lowest key
    - "max:NAME", "min:NAME": the highest or lowest value in the column NAME; rows without a value come last

    If several documents are equal by the rule, the one with the lowest key is kept.

    The sketches are read several times. If `frame` has texts, they would be sketched anew each time, so give
    the `sketches` of these texts, stored or cached. `ValueError` if a sketch was made of another text.
    `counts` is an `Observation` of Spark. After the result was computed once, its `get` has the numbers of
    `documents`, `kept`, `removed` and `clusters`.

        counts = Observation()
        spark.deduplicate(texts, sketches=sketches, counts=counts).write.parquet("deduplicated")
        counts.get["removed"]
    """
    order = KeepOrder.of(keep)
    if sketches is None:
        sketches = frame if set(SPARK_SCHEMA.names) <= set(frame.columns) else sketch(frame)
    elif sketches is not frame:
        refuse_other_texts(frame, sketches)
    values = order.values(sketches, frame)
    members = clusters(sketches, min_resemblance).select("key", "cluster")
    members = members.join(values, "key")
    place = F.row_number().over(Window.partitionBy("cluster").orderBy(*order.columns()))
    found = frame.join(members.select("key", place.alias(_PLACE)), "key", "left")
    is_removed = F.coalesce(F.col(_PLACE) > 1, F.lit(False))
    if counts is not None:
        found = found.observe(
            counts,
            F.count("*").alias("documents"),
            F.count_if(~is_removed).alias("kept"),
            F.count_if(is_removed).alias("removed"),
            F.count_if(F.col(_PLACE) == 2).alias("clusters"),
        )
    return found.where(~is_removed).select(*map(as_column, frame.columns))
