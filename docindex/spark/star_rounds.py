"""Connect more nodes than one task holds: rounds of large stars and small stars.

In: a DataFrame of edges. Out: a DataFrame with the component of each node. Kiveris et al. ("Connected
Components in MapReduce and Beyond", 2014): in each round, each node tells its neighbours the least of them,
first those that are larger than itself, and then the others. The edges never become more, and no node ever
lists its neighbours' neighbours, so a crowd costs no squares. Must never hold the edges of a node in memory.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it


def connected_nodes(edges: DataFrame) -> DataFrame:
    """The nodes of edges, and the least node of the component of each: columns `node` and `label`.

    `edges` has the columns `a` and `b`, whole numbers. The node that a component is named after has no row.
    Runs a job for each round. A path of n nodes takes about the logarithm of n rounds.
    """
    larger, smaller = F.greatest("a", "b"), F.least("a", "b")
    now = checkpointed(edges.where("a != b").select(larger.alias("a"), smaller.alias("b")).distinct())
    seen, state = None, _state(now)
    while state != seen:
        following = checkpointed(_small_star(_large_star(now)))
        seen, state = state, _state(following)
        now = following
    return now.select(F.col("a").alias("node"), F.col("b").alias("label"))


def _large_star(edges: DataFrame) -> DataFrame:
    """Each larger neighbour of a node, with the least of the node and its neighbours."""
    both = edges.select("a", "b").union(edges.select(F.col("b").alias("a"), F.col("a").alias("b")))
    least = F.least(F.col("a"), F.min("b").over(Window.partitionBy("a")))
    found = both.select("a", "b", least.alias("least")).where("b > a")
    return found.select(F.col("b").alias("a"), F.col("least").alias("b")).distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Each node and its smaller neighbours, with the least of these."""
    least = F.min("b").over(Window.partitionBy("a"))
    found = edges.select("a", "b", least.alias("least"))
    own = found.select("a", F.col("least").alias("b"))
    others = found.where("b != least").select(F.col("b").alias("a"), F.col("least").alias("b"))
    return own.union(others).distinct()


def checkpointed(frame: DataFrame) -> DataFrame:
    """The rows, computed now; later jobs do not compute them again, and do not know how they came about.

    They are in the checkpoint directory of the Spark context, if it has one. Otherwise they are on the disks
    of the executors, and the work has to be started again if one of these is lost. A plan that holds the
    plans of all rounds would take more memory than the driver has.
    """
    has_directory = frame.sparkSession.sparkContext.getCheckpointDir() is not None
    return frame.checkpoint() if has_directory else frame.localCheckpoint()


def _state(edges: DataFrame) -> tuple[int, ...]:
    """Numbers that differ if the edges do."""
    (found,) = edges.agg(
        F.count("*").alias("count"),
        F.bit_xor(F.xxhash64("a", "b")).alias("first"),
        F.bit_xor(F.xxhash64("b", "a", F.lit(1))).alias("second"),
    ).collect()
    return tuple(number or 0 for number in found)
