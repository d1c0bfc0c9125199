"""Compare building with two workers and in one process, at sizes from 1 to 80 MB.

Each round measures both, one after the other, and each column takes the best round. Other programs disturb
elapsed time, so three ratios of two workers to one process stand side by side:

- ``elapsed``: of elapsed time. Two cores must be free for it to mean anything: ``others`` is the share of the
  machine's processor time that other programs took in these rounds.
- ``in turn``: without the time in which this process was ready to run, but other programs had the core. Only
  Linux tells it. A worker that waits for its turn does less, so on two free cores the ratio is better.
- ``possible``: by processor time. Two cores need at least the time of this process, and half of the sum.
"""

import os
import resource
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import docindex
from tests.bench import material

SIZES = (1, 5, 10, 20, 40, 80)
LEAST = 0.97


class Build(NamedTuple):
    """Seconds of one build."""

    elapsed: float
    in_turn: float
    own: float
    """Processor time of this process."""
    workers: float
    others: float

    @property
    def possible(self):
        return max(self.own, (self.own + self.workers) / 2) if self.workers else self.own


def run(options):
    """Measure the collections that are named; M if none is."""
    for name in options.folders or ["M"]:
        texts = material.COLLECTIONS[name]()
        total = sum(map(len, texts)) / 1e6
        print(f"{name}: two workers / one process (target: at least {LEAST} everywhere)")
        print("     MB  elapsed  in turn  possible  others  ms/MB: one, this process of two, worker")
        for size in SIZES:
            some = sample(texts, size)
            if some and size <= min(total, options.megabytes):  # large has texts of 5 MB
                line(some, options.rounds)


def sample(texts, megabytes):
    """Texts spread over the collection, of about this size."""
    step = max(1, round(sum(map(len, texts)) / megabytes / 1e6))
    return texts[step // 2 :: step]


def line(texts, rounds):
    """Print the ratios for some texts."""
    megabytes = sum(map(len, texts)) / 1e6
    rounds = max(rounds, round(rounds * 5 / megabytes))
    found = {workers: [] for workers in (1, 2)}
    for _ in range(rounds):
        for workers in found:
            found[workers].append(built(texts, workers))
    one, two = ([min(each) for each in zip(*found[workers], strict=True)] for workers in found)
    possible = min(build.own for build in found[1]) / min(build.possible for build in found[2])
    ratios = f"{one[0] / two[0]:9.2f}{one[1] / two[1]:9.2f}{possible:10.2f}"
    spent = ", ".join(f"{1000 * seconds / megabytes:.1f}" for seconds in (one[2], two[2], two[3]))
    print(f"{megabytes:7.1f}{ratios}{max(one[4], two[4]):8.2f}  {spent}", flush=True)


def built(texts, workers):
    """Build an index with some workers."""
    with tempfile.TemporaryDirectory() as folder:
        begin = counters()
        with docindex.open(Path(folder) / "docindex") as index:
            items = ((str(number), text) for number, text in enumerate(texts))
            index.add_many(items, workers=workers, store_text=False)
        elapsed, delayed, own, of_workers, machine = (
            end - start for start, end in zip(begin, counters(), strict=True)
        )
    share = max(0.0, (machine - own - of_workers) / elapsed / (os.cpu_count() or 1))
    return Build(elapsed, elapsed - delayed, own, of_workers, share)


def counters():
    """Seconds of the clock, of waiting for a core, of this process, of its workers, and of all programs.

    A system other than Linux does not tell the second and the last one.
    """
    spent, delayed, machine = time.process_time(), 0.0, 0.0
    waiting, cores = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat"), Path("/proc/stat")
    if waiting.exists() and cores.exists():
        delayed = int(waiting.read_text().split()[1]) / 1e9
        user, nice, system = map(int, cores.read_text().split()[1:4])
        machine = (user + nice + system) / os.sysconf("SC_CLK_TCK")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), delayed, spent, children.ru_utime + children.ru_stime, machine
