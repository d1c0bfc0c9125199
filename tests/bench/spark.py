"""Measure docindex on Spark: beside an index and text-dedup, its growth, and documents with one header.

Named sections (default: all), and numbers of notes (default: 10,000 and 100,000 and a million):

- ``beside``: sketches and pairs of real texts (``--megabytes``) by Spark with two cores, by an index with two
  workers, and by text-dedup's MinHash with two processes, and what share of the exact pairs each finds
- ``growth``: exponents of time and of shuffled bytes between these numbers of notes of 570 characters
- ``skew``: the largest share of a stage's bytes that one task reads, without a header, and if a tenth of the
  notes have one; of the middle one of the numbers

Processor time is that of all processes. Memory is not measured.
"""

import collections
import contextlib
import itertools
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import docindex
from docindex import spark
from tests.bench import questions, text_dedup
from tests.bench.spark_metrics import Meter, processor_seconds
from tests.spark.trial_documents import real_documents

SECTIONS = ("beside", "growth", "skew")
COUNTS = (10_000, 100_000, 1_000_000)
THRESHOLD = 0.7
"""text-dedup's own default."""
GROWTH_THRESHOLD = 0.8
FILES = 8
HEADER_WORDS = 60
HEADED = 10
"""Each tenth note has the header."""
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "6g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedStages": "100000",
    "spark.ui.retainedTasks": "1000000",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "32",
}


def run(options):
    """Run the named sections."""
    counts = tuple(sorted(int(word) for word in options.folders if word.isdigit())) or COUNTS
    sections = [word for word in options.folders if not word.isdigit()] or SECTIONS
    if unknown := set(sections) - set(SECTIONS):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, session_of(folder) as session:
        bench = Bench(session, Path(folder))
        if "beside" in sections:
            bench.beside(real_documents(options.megabytes))
        if "growth" in sections:
            bench.growth(counts)
        if "skew" in sections:
            bench.skew(counts[len(counts) // 2])


@contextlib.contextmanager
def session_of(folder):
    builder = SparkSession.builder.config("spark.local.dir", folder)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


class Bench:
    """Measurements on one Spark session, with their files in one folder."""

    def __init__(self, session, folder):
        self.session, self.folder = session, folder
        self.meter = Meter(session)
        self.stored = itertools.count()

    def store(self, documents):
        """Write documents as Parquet, in several files; returns their folder."""
        folder = self.folder / f"documents-{next(self.stored)}"
        folder.mkdir()
        items = list(documents.items())
        for number in range(FILES):
            keys, texts = zip(*items[number::FILES], strict=True)
            pq.write_table(pa.table({"key": keys, "text": texts}), folder / f"{number}.parquet")
        return folder

    def sketched(self, documents, *, keep_text=True):
        """Sketch stored documents; returns the sketches, as they are read from Parquet, and the `Cost`."""
        target = str(self.folder / f"sketches-{next(self.stored)}")
        frame = self.session.read.parquet(str(documents))
        _, cost = self.meter.measured(lambda: spark.sketch(frame, keep_text=keep_text).write.parquet(target))
        return self.session.read.parquet(target), cost

    def beside(self, documents):
        """Spark, an index and text-dedup on the same texts, in one run."""
        size = sum(len(text.encode()) for text in documents.values()) / 1e6
        print(f"beside: {len(documents):,} texts, {size:.0f} MB; threshold {THRESHOLD}{load()}")
        stored = self.store(documents)
        self.warm_up(documents)
        sketches, sketching = self.sketched(stored)
        found, pairing = self.meter.measured(lambda: self.collected(sketches))
        with docindex.open(self.folder / "index") as index:
            begin, processor = time.perf_counter(), processor_seconds()
            index.add_many(documents.items(), workers=2)
            exact = {(pair.a, pair.b) for pair in index.pairs(min_resemblance=THRESHOLD)}
            own = time.perf_counter() - begin, processor_seconds() - processor
            connected = {
                key: number
                for number, cluster in enumerate(index.clusters(THRESHOLD))
                for key in cluster.keys
            }
        cost = sketching.plus(pairing)
        rows = [
            ("docindex.Index, 2 workers", *own, exact),
            ("docindex.spark, local[2]", cost.seconds, cost.processor_s, found),
        ]
        print(
            f"{'':34}{'elapsed':>9}{'/ Index':>9}{'processor':>11}{'/ Index':>9}"
            f"{'recall':>9}{'precision':>11}"
        )
        for name, seconds, processor, found in rows:
            recall = len(found & exact) / len(exact) if exact else math.nan
            precision = len(found & exact) / len(found) if found else math.nan
            self.say(name, (seconds, processor), own, (recall, precision))
        self.peer(stored, exact, connected, own)

    def warm_up(self, documents):
        """Start Python workers, and let Java compile: a long job would not notice their time."""
        sketches, _ = self.sketched(self.store(dict(itertools.islice(documents.items(), 500))))
        self.collected(sketches)

    def peer(self, stored, exact, connected, own):
        """text-dedup's MinHash. It gives clusters: a pair is found if both are in one cluster."""
        if reason := text_dedup.missing():
            print(f"text-dedup is not measured: {reason}")
            return
        begin, processor = time.perf_counter(), processor_seconds()
        clusters = text_dedup.minhash(stored / "*.parquet", THRESHOLD)
        took = time.perf_counter() - begin, processor_seconds() - processor
        found = sum(a in clusters and clusters[a] == clusters.get(b) for a, b in exact)
        joint = paired((clusters[key], connected.get(key)) for key in clusters if key in connected)
        together = paired(clusters.values())
        shares = found / len(exact) if exact else math.nan, joint / together if together else math.nan
        self.say("text-dedup MinHash, 2 processes", took, own, shares)
        print("  (its precision: the share of pairs in one cluster that are in one exact cluster)")
        if reason := text_dedup.spark_missing():
            print(f"  its program for Spark does not run here: {reason}")

    def say(self, name, took, own, shares):
        (seconds, processor), (recall, precision) = took, shares
        print(
            f"{name:34}{seconds:8.1f}s{seconds / own[0]:9.2f}{processor:10.1f}s{processor / own[1]:9.2f}"
            f"{recall:9.4f}{precision:11.4f}{load()}",
            flush=True,
        )

    def collected(self, sketches):
        """The keys of the pairs of a frame of sketches."""
        pairs = spark.pairs(sketches, min_resemblance=THRESHOLD)
        table = pairs.select("a", "b").toArrow()
        return set(zip(*(table.column(name).to_pylist() for name in ("a", "b")), strict=True))

    def growth(self, counts):
        """Time and shuffled bytes of each step, for these numbers of notes."""
        costs = collections.defaultdict(dict)
        texts = questions.notes(max(counts))
        self.warm_up({str(number): text for number, text in enumerate(texts[:500])})
        for count in counts:
            documents = {f"{number:07}": text for number, text in enumerate(texts[:count])}
            for name, found, cost in self.steps(documents):
                costs[name][count] = cost
                print(
                    f"growth: {count:>9,} notes, {name:9}{found:>11,} rows{shown(cost)}{load()}", flush=True
                )
        for name, by_count in costs.items():
            for few, many in itertools.pairwise(by_count):
                print(f"growth: {name:9}{few:>9,} to {many:>9,}: {exponents(by_count, few, many)}")

    def steps(self, documents):
        """Sketch documents, and find pairs, clusters and near pairs: each step, its rows and its `Cost`."""
        sketches, cost = self.sketched(self.store(documents))
        yield "sketch", len(documents), cost
        work = {
            "pairs": lambda: spark.pairs(sketches, min_resemblance=GROWTH_THRESHOLD).count(),
            "clusters": lambda: spark.clusters(sketches, min_resemblance=GROWTH_THRESHOLD).count(),
            "near": lambda: spark.near(sketches, 3).count(),
        }
        for name, find in work.items():
            yield name, *self.meter.measured(find)

    def skew(self, count):
        """Pairs of notes of which a tenth have one header, and of the same notes without it."""
        # Each partition is a task of its own, so that the largest partition is seen.
        self.session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
        texts = questions.notes(count)
        header = " ".join(f"header{number}" for number in range(HEADER_WORDS))
        plain = {f"{number:07}": text for number, text in enumerate(texts)}
        headed = {
            key: f"{header} {text}" if number % HEADED == 0 else text
            for number, (key, text) in enumerate(plain.items())
        }
        for name, documents in (("no header", plain), ("a tenth with one header", headed)):
            sketches, _ = self.sketched(self.store(documents))
            _, cost = self.meter.measured(
                lambda sketches=sketches: spark.pairs(sketches, min_resemblance=GROWTH_THRESHOLD).count()
            )
            print(f"skew: {count:,} notes, {name:28}{shown(cost)}{shares(cost)}{load()}", flush=True)


def paired(values):
    """How many pairs of equal values there are."""
    return sum(math.comb(count, 2) for count in collections.Counter(values).values())


def shown(cost):
    return (
        f"{cost.seconds:8.1f} s, processor {cost.processor_s:8.1f} s, "
        f"{cost.shuffled_bytes / 1e6:10.1f} MB shuffled"
    )


def shares(cost):
    read, ran = cost.largest, cost.longest
    return (
        f"; the largest task read {read.amount / 1e6:.2f} MB, {read.share:.3f} of {read.tasks} tasks; the "
        f"longest took {ran.amount / 1e3:.1f} s, {ran.share:.3f} of {ran.tasks}"
    )


def exponents(by_count, few, many):
    a, b, factor = by_count[few], by_count[many], math.log(many / few)
    found = {
        "time": (a.seconds, b.seconds),
        "processor time": (a.processor_s, b.processor_s),
        "shuffled bytes": (a.shuffled_bytes, b.shuffled_bytes),
    }
    return ", ".join(
        f"{name} exponent {math.log(y / x) / factor:.2f}" for name, (x, y) in found.items() if x and y
    )


def load():
    """The load of the machine, for the reader of elapsed times."""
    return f"   [load {os.getloadavg()[0]:.1f}]"
