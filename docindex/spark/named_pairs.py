"""Name the documents of pairs: the last stage of each question for pairs.

In: documents with a value each, such as a simhash or a hash of their words, and pairs of values. Out: pairs
of documents. Each value is compared once, however many documents have it; this stage lists them all. Must
never give all documents of one value to a single task.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.spark.crowd_parts import BOTH, FIRST, SECOND, CrowdParts


def placed_documents(frame: DataFrame, between: DataFrame | None, value: Column) -> DataFrame:
    """The `key` and `value` of each document, and the `side`: in which of the DataFrames it is."""
    if between is None:
        return frame.select("key", value.alias("value"), F.lit(BOTH).alias("side"))
    first, second = (
        each.select("key", value.alias("value"), F.lit(side).alias("side"))
        for each, side in ((frame, FIRST), (between, SECOND))
    )
    return first.unionAll(second).groupBy("key", "value").agg(F.bit_or("side").alias("side"))


def named_pairs(documents: DataFrame, found: DataFrame, tasks: int, *, directed: bool) -> DataFrame:
    """The pairs `a`, `b` of documents that have the pairs `u`, `v` of values. Other columns stay.

    `documents` are those of `placed_documents`. Each pair of values comes once, and may be a value with
    itself. `a` is the lower key; if the pairs are `directed`, `a` is in the first DataFrame and `b` in the
    second, unless both documents are in both. `is_turned` says whether `a` has the value `v`.
    """
    crowds = CrowdParts.of(documents, ("value",))
    parts = crowds.parted(documents, "key").groupBy("value", "part")
    members = parts.agg(F.collect_list(F.struct("key", "side")).alias("members"))
    for value in ("u", "v"):
        found = crowds.all_parts(found.withColumnRenamed(value, "value"), f"part_{value}")
        found = found.withColumnRenamed("value", value)
    # A pair of two parts of one crowd is needed only once.
    u, v, later = F.col("u"), F.col("v"), F.col("part_u") < F.col("part_v")
    if not directed:
        found = found.where((u != v) | (F.col("part_u") <= F.col("part_v")))
    found = found.repartition(tasks, "u", "v", "part_u", "part_v")
    for value, name in (("u", "first"), ("v", "second")):
        of_value = members.toDF(value, f"part_{value}", name)
        found = found.join(of_value, [value, f"part_{value}"])
    rows = found.withColumn("first", F.explode("first")).withColumn("second", F.explode("second"))
    first, second = F.col("first.key"), F.col("second.key")
    if directed:
        a, b, turned = first, second, F.lit(False)
        rows = rows.where(_between())
    else:
        a, b, turned = F.least(first, second), F.greatest(first, second), first > second
        rows = rows.where((u != v) | later | (first < second))
    rows = rows.select("*", a.alias("a"), b.alias("b"), turned.alias("is_turned"))
    return rows.drop("u", "v", "part_u", "part_v", "first", "second")


def _between() -> Column:
    """Whether `first` is in the first DataFrame, `second` in the second, and the pair is not listed twice."""
    first, second = F.col("first.side"), F.col("second.side")
    twice = (first == BOTH) & (second == BOTH) & (F.col("first.key") > F.col("second.key"))
    wanted = (first.bitwiseAND(F.lit(FIRST)) > 0) & (second.bitwiseAND(F.lit(SECOND)) > 0)
    return wanted & (F.col("first.key") != F.col("second.key")) & ~twice
