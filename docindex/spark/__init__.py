"""The same sketches on a cluster: find copies among more text than one machine holds, with Apache Spark.

    from pyspark.sql import SparkSession
    from docindex import spark

    session = SparkSession.builder.getOrCreate()
    sketches = spark.sketch(session.read.parquet("texts"))      # columns: key, text
    sketches.write.parquet("sketches")
    kept = spark.deduplicate(sketches, keep="longest")          # one of each cluster of similar texts
    spark.write_index(sketches, "/shared/shards")               # one index file for each partition

Needs ``pip install 'docindex[spark]'`` on the driver and on each worker, and Java 17 or newer.
"""

from docindex.spark.deduplication import deduplicate
from docindex.spark.frame_clusters import clusters
from docindex.spark.frame_pairs import containments, pairs
from docindex.spark.index_files import write_index
from docindex.spark.missed_pairs import band_design, missed_share
from docindex.spark.near_pairs import near
from docindex.spark.searching import search
from docindex.spark.sketching import sketch

__all__ = [
    "band_design",
    "clusters",
    "containments",
    "deduplicate",
    "missed_share",
    "near",
    "pairs",
    "search",
    "sketch",
    "write_index",
]
