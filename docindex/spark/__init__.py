"""The same sketches on a cluster: find copies among more text than one machine holds, with Apache Spark.

    from pyspark.sql import SparkSession
    from docindex import spark

    session = SparkSession.builder.getOrCreate()
    sketches = spark.sketch(session.read.parquet("texts"))      # columns: key, text
    sketches.write.parquet("sketches")
    kept = spark.deduplicate(sketches, keep="longest")          # one of each cluster of similar texts
    spark.write_index(sketches, "/shared/shards")               # one index file for each partition

Needs ``pip install 'docindex[spark]'`` on the driver and on each worker, and Java 17 or newer.

How it grows: seconds of processor time and shuffled bytes on two cores, for notes of 570 characters, with a
minimum resemblance of 0.8 (``python -m tests.bench spark growth`` in a checkout):

    notes        pairs found   sketch    pairs, shuffled    clusters, shuffled    near, shuffled
    10,000               164    1.3 s      3 s    14 MB       4 s        16 MB      5 s     2 MB
    100,000           15,857    4.8 s     11 s   370 MB      12 s       617 MB      6 s    21 MB
    1,000,000      1,636,816     33 s    479 s    12 GB     507 s        16 GB     29 s   243 MB

From 100,000 to a million, `pairs` grows with the exponents 1.6 (time) and 1.5 (bytes), and the pairs of
this sample with 2.0, because its notes are pieces of files that overlap. A worker needed 330 MB. One index on
one machine is faster as long as it fits: 4.2 times for 100 MB of files.

From here on, figures are computed from those above, for texts that have as many similar ones as the million.

- 10^8 notes (57 GB): an hour of one core to sketch, 13 hours of one core and 1.2 TB of shuffles for `pairs`.
  A task still holds one bucket of 2 MB of hashes, and what arrives for it. The stage that forms pairs breaks
  first: it puts them into a row for each two buckets, and 31,000 buckets have 10^9 of these, more than there
  are pairs. Next step: buckets of two levels. `clusters` joins its forests in one task up to 20 million
  documents only; above that it needs a checkpoint directory, for its rounds.
- 10^10 notes (6 TB): 90 hours of one core to sketch, 1,300 hours and 120 TB for `pairs`. Two texts among them
  are taken for one with a probability of .9, because a text is known by 64 bits: that must become 128. The
  first shuffle moves 650 bytes for each note, mostly hashes that one text has. Next step: a first pass that
  builds a filter of the hashes that occur twice, or ``method="bands"``, with 200 bytes.
- Skew: if a tenth of the notes have one header, no task reads more than without it: .09 of the bytes of 32
  tasks. That is three times an even share, because Spark spreads 32 buckets by hash. Larger inputs have more
  buckets for each task, and are spread more evenly.
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
