"""Compare ``dups --kind exact`` with jdupes among 10,000 small files and 700 large ones, in one run.

Debian has a package of jdupes. The ratio to a program that is not installed is nan. Files that were written
just now are in the cache of the system, so this measures the programs and not the disk.
"""

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.corpus import distinct_files

SMALL, LARGE = 10_000, 700


def run(options):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty").mkdir()
        small(folder / "small", distinct_files(options.folders, options.megabytes))
        large(folder / "large")
        for kind, goal in ("empty", ""), ("small", "(target 2)"), ("large", "(target 1)"):
            compare(folder, kind, goal, 2 * options.rounds + 1)


def small(folder, files):
    """Beginnings of texts, of which many have the same size, and every ninth has a copy."""
    rng = random.Random(1)
    for number in range(SMALL * 9 // 10):
        data = files[number % len(files)].read_bytes()[: rng.randrange(200, 4000)]
        for place in ("a", "b")[: 2 if number % 9 == 0 else 1]:
            path = folder / place / f"{number % 100}" / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def large(folder):
    """Twenty files of each size, of which a quarter are copies."""
    folder.mkdir()
    for number in range(LARGE):
        kind = number % 35
        seed = number if number % 4 else LARGE + kind
        (folder / f"{number}.bin").write_bytes(random.Random(seed).randbytes(1_000_000 + kind * 100_000))


def compare(folder, kind, goal, rounds):
    # An installed package is compiled; where nothing may be, Python would compile it at each start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["DOCINDEX"] = str(folder / "own.docindex")
    commands = {
        "docindex": [sys.executable, "-m", "docindex", "dups", "-q", "--kind", "exact", str(folder / kind)],
        "jdupes": ["jdupes", "-r", "-q", "-A", str(folder / kind)],
    }
    took = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            begin = time.perf_counter()
            if shutil.which(command[0]):
                subprocess.run(command, env=environment, check=False, capture_output=True)
                took[name].append(time.perf_counter() - begin)
            else:
                took[name].append(float("nan"))
    ours, peer = (statistics.median(took[name]) for name in commands)
    print(f"{kind:5} {ours * 1000:6.0f} ms, jdupes {peer * 1000:5.0f} ms: {ours / peer:5.2f} {goal}")
