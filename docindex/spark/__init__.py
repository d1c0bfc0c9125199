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
    10,000               164    1.3 s      3 s    14 MB       4 s        16 MB      5 s     2 MB
    100,000           15,857    4.8 s     11 s   370 MB      12 s       617 MB      6 s    21 MB
    1,000,000      1,636,816     33 s    479 s    12 GB     507 s        16 GB     29 s   243 MB

From 100,000 notes to a million, the time of `pairs` grows with the exponent 1.6, and its bytes with 1.5. The
number of pairs grows with the exponent 2.0, because the notes of this sample are pieces of files that
overlap. A worker needed 330 MB. As long as the texts fit into one index, that is faster: 4.2 times for 100 MB
of files.

The following figures are computed from these. They assume that a text has as many similar ones as among the
million.

- 10^8 notes (57 GB): an hour of one core to sketch, 13 hours of one core and 1.2 TB of shuffles for `pairs`.
  A task still holds one bucket of 2 MB of hashes, and what arrives for it. The stage that forms pairs breaks
  first: it makes a row for each two buckets. 31,000 buckets make 10^9 rows, which are more than the pairs.
  Next step: buckets of two levels. `clusters` joins its forests in one task up to 20 million documents. Above
  that it works in rounds, and needs a checkpoint directory.
- 10^10 notes (6 TB): 90 hours of one core to sketch, 1,300 hours and 120 TB for `pairs`. A text is known by
  64 bits, so with a probability of .9 two different texts are taken for one. Next step: 128 bits. The first
  shuffle moves 650 bytes for each note, mostly hashes that only one text has. Next step: a first pass that
  builds a filter of the hashes that occur twice, or ``method="bands"``, with 200 bytes.
- Skew: a header that a tenth of the notes have does not make the largest of 32 tasks larger. It reads .09 of
  all bytes, three times an even share, because Spark spreads 32 buckets by hash. Larger inputs have more
  buckets for each task, and are spread more evenly.
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
