"""Time the changes of an index of a million notes, and how building grows, by processor time.

Named sections (default: all): ``build`` adds 10,000, 100,000 and a million notes of 570 characters in one
process; ``pairs`` asks for `pairs` and `clusters`; ``remove`` removes every tenth note of a million; then
``optimize`` runs. Their texts are not kept. All of it takes three minutes on an idle machine.
"""

import itertools
import math
import sys
import tempfile
import time
from pathlib import Path

import docindex
from tests.bench import memory, questions

COUNTS = (10_000, 100_000, 1_000_000)
REMOVED = 10
SECTIONS = ("build", "pairs", "remove")


def run(options):
    """Build the indexes, and change the largest one."""
    sections = options.folders or SECTIONS
    if unknown := set(sections) - set(SECTIONS):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    texts = questions.notes(COUNTS[-1])
    with tempfile.TemporaryDirectory() as folder:
        counts = COUNTS if "build" in sections else COUNTS[-1:]
        speeds = {count: built(texts[:count], Path(folder, f"{count}")) for count in counts}
        for few, many in itertools.pairwise(counts):
            exponent = 1 + math.log(speeds[few] / speeds[many]) / math.log(many / few)
            print(
                f"build: {many:,} at {speeds[many] / speeds[few]:.2f} of the speed of {few:,} (target 0.9), "
                f"exponent {exponent:.3f} (target 1.05)",
                flush=True,
            )
        texts.clear()
        with docindex.open(Path(folder, f"{COUNTS[-1]}")) as index:
            if "pairs" in sections:
                timed("pairs(.8)", 60, lambda: len(index.pairs(min_resemblance=0.8)))
                timed("clusters(.8)", 60, lambda: len(index.clusters(min_resemblance=0.8)))
            if "remove" in sections:
                keys = [f"{number:07}" for number in range(0, COUNTS[-1], REMOVED)]
                timed(f"remove_many of {len(keys):,}", 30, lambda: index.remove_many(keys))
                timed("optimize", 60, index.optimize)


def built(texts, path):
    """Build an index, and return its speed in MB per second of processor time."""
    size = sum(map(len, texts)) / 1e6
    begin = time.process_time()
    with docindex.open(path) as index:
        index.add_many(
            ((f"{number:07}", text) for number, text in enumerate(texts)), workers=1, store_text=False
        )
    took = time.process_time() - begin
    print(
        f"build of {len(texts):,}: {took:.1f} s, {size / took:.1f} MB/s, "
        f"file {path.stat().st_size / 1e6 / size:.2f} of the text",
        flush=True,
    )
    return size / took


def timed(name, target, work):
    """Run something, and print its processor time and how much memory it takes."""
    before, begin = memory.reset_peak(), time.process_time()
    found = work()
    took = time.process_time() - begin
    more = (memory.peak() - before) / 1e9
    print(f"{name}: {took:.1f} s (target {target} s), {more:.2f} GB more; result {found}", flush=True)
