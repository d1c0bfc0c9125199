"""Find copies among more text than one machine holds, with Apache Spark.

Spark makes the sketches that an index stores, and answers the same questions with them.

    from pyspark.sql import SparkSession
    from docindex import spark

    session = SparkSession.builder.getOrCreate()
    sketches = spark.sketch(session.read.parquet("texts"))      # columns: key, text
    sketches.write.parquet("sketches")
    kept = spark.deduplicate(sketches, keep="longest")          # one of each cluster of similar texts
    spark.write_index(sketches, "/shared/shards")               # one index file for each partition

Needs ``pip install 'docindex[spark]'`` on the driver and on each worker, and Java 17 or newer.

How the cost grows
==================
Measured on two cores, for notes of 570 characters and a minimum resemblance of 0.8: seconds of processor
time, and shuffled bytes. (``python -m tests.bench spark growth`` in a checkout measures this.)

    notes        pairs found   sketch    pairs, shuffled    clusters, shuffled    near, shuffled
    10,000               237      2 s     15 s    14 MB      27 s        21 MB      6 s     2 MB
    100,000           24,392      7 s     24 s   191 MB      28 s       254 MB      7 s    20 MB

About 5 s of `pairs` and 7 s of `clusters` are the cost of Spark's stages, however few the notes are. From
10,000 notes to 100,000, the shuffled bytes grow with the exponent 1.1. As long as the texts fit into one
index, that is faster.

What breaks first:

- `clusters` joins the forests of all partitions in one task, which needs about 180 bytes for each text that
  is in a pair: 3.6 GB for 20 million.
- A set of shingles travels to each cell of two blocks in which it has a pair. A block has 8 MB of shingles:
  10^8 notes make 8,000 blocks, and then each set travels about once for each of its pairs.
- Among 10^10 notes, two different texts are taken for one with a probability of .9, because a text is known
  by 64 bits.
"""

from docindex.spark.deduplication import deduplicate
from docindex.spark.frame_clusters import clusters
from docindex.spark.frame_pairs import pairs
from docindex.spark.index_files import write_index
from docindex.spark.missed_pairs import band_design, missed_share
from docindex.spark.near_pairs import near
from docindex.spark.sketching import sketch

__all__ = [
    "band_design",
    "clusters",
    "deduplicate",
    "missed_share",
    "near",
    "pairs",
    "sketch",
    "write_index",
]
