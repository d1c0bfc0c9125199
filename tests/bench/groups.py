"""Measure pairs and clusters where all pairs are too many: notes, and near-identical logs of 20 KB.

``--megabytes`` sets the number of logs, and of notes: 5,000 logs and 175,000 notes for 100 MB. The growth of
the notes is the exponent between a tenth of them and all: 1 is linear.
"""

import contextlib
import math
import random
import resource
import tempfile
import time
from pathlib import Path

import docindex
from tests.bench.corpus import texts

LOG, NOTE = 20_000, 570


def run(options):
    with tempfile.TemporaryDirectory() as folder:
        logs(Path(folder), options.megabytes * 1_000_000 // LOG)
        notes(Path(folder), texts(options.folders, options.megabytes))


def logs(folder, count):
    """Compare clusters with those of all pairs among 300 logs, then find those of all."""
    lines = log_lines(random.Random(1))
    with indexed(folder / "some", made_logs(lines, 300)) as index:
        (every,) = index.clusters(
            0.8, linkage="greedy"
        )  # the leader is near all others, and all pairs are found
        (cluster,) = index.clusters(0.8)
        assert sorted(cluster.keys) == sorted(every.keys)
        whole = timed(lambda: index.clusters(0.8, linkage="greedy")) / 300**2
    with indexed(folder / "logs", made_logs(lines, count)) as index:
        took = timed(lambda: index.clusters(0.8))
    print(f"{count:,} logs of 20 KB: clusters {took:.1f} s (target 60 for 10,000), {peak():,} MB; "
          f"all pairs would take {whole * count**2:,.0f} s")  # fmt: skip


def log_lines(rng):
    words = [f"w{rng.randrange(10**5)}" for _ in range(400)]
    return ["2024-01-01 12:00:00 INFO " + " ".join(rng.choices(words, k=10)) for _ in range(230)]


def made_logs(lines, count):
    rng = random.Random(2)
    for number in range(count):
        own = list(lines)
        for _ in range(3):
            own[rng.randrange(len(own))] = (
                f"run {number} value {rng.randrange(10**9)} in {rng.randrange(10**6)} ms"
            )
        yield f"{number:05}.log", "\n".join(own)


def notes(folder, found):
    """Print how long pairs and clusters of notes take, and how this grows."""
    pieces = [text[at : at + NOTE] for text in found for at in range(0, len(text) - NOTE, NOTE)]
    random.Random(1).shuffle(pieces)
    took = {}
    for count in (len(pieces) // 10, len(pieces)):
        items = ((f"{number:07}", text) for number, text in enumerate(pieces[:count]))
        with indexed(folder / f"notes-{count}", items) as index:
            took[count] = timed(lambda: index.pairs(min_resemblance=0.8)), timed(lambda: index.clusters(0.8))
    (few, many), (before, after) = took, took.values()
    for name, first, last in zip(("pairs", "clusters"), before, after, strict=True):
        exponent = math.log(last / first, many / few)
        print(f"{many:,} notes: {name} {last:.1f} s (target 60 for a million), {peak():,} MB; "
              f"exponent {exponent:.2f} (target 1.15)")  # fmt: skip


@contextlib.contextmanager
def indexed(path, items):
    with docindex.open(path, durability="normal") as index:
        index.add_many(items)
        yield index


def timed(work):
    """The seconds of processor time that work takes, because the growth must not depend on other programs."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
