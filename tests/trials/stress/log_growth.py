"""``python -m tests.trials.stress.log_growth 300``: how long does the log get under readers and writers?

For some seconds, writers and readers use one file, in threads and in processes: two processes that write in
one thread and search in two, a process that searches in two threads, and a process that reads for a minute
without a break, again and again. The writers add, add many, remove and optimize. Prints the greatest size of
the log, the commits, and the longest wait of a commit. ``--unbounded`` lets the log grow, for comparison.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import docindex
from docindex.storage.file import write_ahead_log
from tests.storage.texts import prose

WRITING, SEARCHING = 2, 1  # processes
_ROOT = Path(__file__).parents[3]
_LONG_S, _PAUSE_S = 60.0, 20.0
_FIRST = 400
_WORDS = 1000


def text_of(number):
    return f"text {number} " + prose(random.Random(number % 5000), _WORDS)


def write(index, until, seed, counts):
    """Change the index until a moment. Counts what was done, and the longest call of each kind."""
    rng = random.Random(seed)
    number = 0
    while time.monotonic() < until:
        number += 1
        choice, began = rng.random(), time.monotonic()
        try:
            if choice < 0.6:
                index.add(f"{seed} {rng.randrange(300)}", text_of(rng.randrange(10**6)))
            elif choice < 0.8:
                some = [(f"{seed} {rng.randrange(300)}", text_of(rng.randrange(10**6))) for _ in range(20)]
                index.add_many(some, workers=1)
            elif choice < 0.995:
                index.remove(f"{seed} {rng.randrange(300)}")
            else:
                index.optimize()
            done = "optimize" if choice >= 0.995 else "commit"
        except KeyError:
            done = "unknown key"
        except docindex.Busy:
            done = "refusal"
        counts[done] += 1
        slowest = f"longest {done} (ms)"
        counts[slowest] = max(counts[slowest], round(1000 * (time.monotonic() - began)))


def search(index, until, seed, counts):
    """Search until a moment."""
    rng = random.Random(seed)
    while time.monotonic() < until:
        index.search(text_of(rng.randrange(10**6)), limit=10)
        counts["searches"] += 1


def read_long(index, until):
    """Read for a minute in one transaction, again and again until a moment."""
    while (now := time.monotonic()) < until:
        with index._store.reading() as db:
            db.execute("select count(*) from main.docindex_document").fetchall()
            time.sleep(min(_LONG_S, until - now))
        time.sleep(max(0.0, min(_PAUSE_S, until - time.monotonic())))


def work(role, path, seconds, seed, bound):
    """What one process does. Returns its counts."""
    write_ahead_log.BOUND = bound
    counts, errors, until = collections.Counter(), [], time.monotonic() + seconds
    options = {"durability": "normal"} if role == "write" else {"readonly": True}
    with docindex.open(path, **options) as index:
        if role == "long":
            read_long(index, until)
            return counts

        def guarded(act, number):
            try:
                act(index, until, number, counts)
            except BaseException as error:
                errors.append(error)

        acts = [write, search, search] if role == "write" else [search, search]
        threads = [
            threading.Thread(target=guarded, args=(act, 10 * seed + number))
            for number, act in enumerate(acts)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return counts


def run(folder, seconds, *, bound=write_ahead_log.BOUND, long=True):
    """Run all processes; returns the counts, and the greatest size of the log as a share of the bound."""
    path = str(Path(folder) / "index")
    with docindex.open(path, durability="normal") as index:
        index.add_many(((f"first {n}", text_of(n)) for n in range(_FIRST)), workers=1)
    roles = ["write"] * WRITING + ["search"] * SEARCHING + ["long"] * long
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.trials.stress.log_growth",
                "--role",
                role,
                path,
                str(seconds),
                str(seed),
                str(bound),
            ],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed, role in enumerate(roles)
    ]
    greatest = 0
    while any(process.poll() is None for process in processes):
        greatest = max(greatest, _size(path))
        time.sleep(0.01)
    counts = collections.Counter()
    for process in processes:
        out, _ = process.communicate()
        assert process.returncode == 0
        for name, count in json.loads(out).items():
            counts[name] = max(counts[name], count) if name.startswith("longest") else counts[name] + count
    with docindex.open(path) as index:
        assert index.check() == []
    return counts, greatest / bound


def _size(path):
    try:
        return Path(f"{path}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def main():
    """Parse the command line, run, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--unbounded", action="store_true", help="let the log grow")
    parser.add_argument("--short", action="store_true", help="without the reader that stays for a minute")
    arguments = parser.parse_args()
    bound = 1 << 60 if arguments.unbounded else write_ahead_log.BOUND
    with tempfile.TemporaryDirectory() as folder:
        counts, share = run(folder, arguments.seconds, bound=bound, long=not arguments.short)
    commits = counts["commit"] / arguments.seconds
    print(f"greatest log {share * bound / (1 << 20):.0f} MB; {commits:.1f} commits a second")
    print(", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--role"]:
        _, _, name, path, seconds, seed, bound = sys.argv
        print(json.dumps(work(name, path, float(seconds), int(seed), int(bound))))
    else:
        main()
