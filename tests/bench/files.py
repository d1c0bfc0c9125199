"""Compare a scan with `add_many` and `find`, and the search for copies with rmlint and jdupes, in one run.

Debian has packages of rmlint and jdupes. The ratio to a program that is not installed is nan.
"""

import functools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import docindex
from docindex.folders.finding.exact_copies import find_copies, known_files
from docindex.folders.scanning.file_content import read_file
from docindex.folders.scanning.scanner import scan
from docindex.folders.walking.path_keys import key_of, root_of
from docindex.folders.walking.walk import Skipped
from tests.bench.corpus import distinct_files

OLD = 10**18
"""A time, in nanoseconds, that is old enough for scans to trust it."""


def run(options):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = folder / "texts"
        files = distinct_files(options.folders, options.megabytes)
        for number, path in enumerate(files):
            target = texts / str(number % 100) / f"{number}{path.suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            os.utime(target, ns=(OLD, OLD))
        size = sum(path.stat().st_size for path in texts.rglob("*") if path.is_file())
        print(f"{len(files):,} files, {size / 1e6:.0f} MB")
        scans(texts, folder, options.rounds)
        again(texts, folder, options.rounds)
        binaries(folder / "binaries", options.rounds)


def scans(texts, folder, rounds):
    """Compare a first scan with `add_many` of the same texts, which are read before the measurement."""
    ratios, burnt, took = [], [], []
    items = [
        (str(path), read_file(root_of(path)).text or "")
        for path in sorted(texts.rglob("*"))
        if path.is_file()
    ]
    for number in range(rounds):
        seconds, processor = {}, {}
        for name in ("scan", "add_many") if number % 2 else ("add_many", "scan"):
            path = folder / f"{name}-{number}"
            with docindex.open(path, durability="normal") as index:
                begin, start = time.perf_counter(), processor_time()
                if name == "scan":
                    scan(index, [root_of(texts)])
                else:
                    index.add_many(items)
                seconds[name], processor[name] = time.perf_counter() - begin, processor_time() - start
        ratios.append(seconds["add_many"] / seconds["scan"])
        burnt.append(processor["add_many"] / processor["scan"])
        took.append(seconds["scan"])
    print(
        f"scan {statistics.median(took):.2f} s: {statistics.median(ratios):.2f} of the speed of add_many, "
        f"{statistics.median(burnt):.2f} by processor time (target 0.9)"
    )


def processor_time():
    """Seconds of this process and of the workers that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def again(texts, folder, rounds):
    """Compare a scan without any change with `find`, which prints the facts that the scan compares."""
    environment = {**os.environ, "DOCINDEX": str(folder / "again")}
    command = [sys.executable, "-m", "docindex", "scan", "-q", str(texts)]
    peer = ["find", str(texts), "-printf", "%s %T@ %i\\n"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    ours, find = [], []
    for _ in range(2 * rounds + 1):
        ours.append(timed(command, environment))
        find.append(timed(peer, environment))
    ours, find = statistics.median(ours), statistics.median(find)
    print(
        f"nothing changed: {ours:.2f} s, find {find:.2f} s (target 2 * find + 0.3 = {2 * find + 0.3:.2f} s)"
    )


def binaries(folder, rounds):
    """Compare the search for exact copies among binary files, some with the same size or the same bytes."""
    rng = random.Random(1)
    for number in range(400):
        # The sizes are those of photographs; some sizes agree by chance.
        data = rng.randbytes(rng.choice([rng.randrange(50_000, 4_000_000), 200_000, 3_000_000]))
        for copy in range(rng.choice([1, 1, 2, 3])):
            path = folder / str(number % 50) / f"{number}-{copy}.bin"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, ns=(OLD, OLD))
    peers = {
        # With /dev/null as its output, rmlint would replace /dev/null with a file.
        "jdupes": ["jdupes", "-r", "-q", "-A", str(folder)],
        "rmlint": [
            "rmlint",
            "-o",
            f"json:{folder.parent / 'rmlint.json'}",
            "--types",
            "duplicates",
            str(folder),
        ],
    }
    ours = functools.partial(found, folder)
    took = {name: [] for name in ("docindex", *peers)}
    for _ in range(rounds + 1):
        took["docindex"].append(seconds_of(ours))
        for name, command in peers.items():
            took[name].append(timed(command, None) if shutil.which(name) else float("nan"))
    medians = {name: statistics.median(times[1:]) for name, times in took.items()}
    groups, back = found(folder)
    print(f"copies: {groups} groups, {back / 1e6:.0f} MB reclaimable; {medians['docindex']:.2f} s, "
          f"{medians['docindex'] / medians['jdupes']:.2f} of jdupes (target 1.5), "
          f"{medians['docindex'] / medians['rmlint']:.2f} of rmlint (target 1)")  # fmt: skip


def found(folder):
    with docindex.open(":memory:") as index:
        scan(index, [root_of(folder)])
        groups = find_copies(index, known_files(index, [key_of(root_of(folder))]), Skipped())
        return len(groups), sum(group.reclaimable for group in groups)


def seconds_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def timed(command, environment):
    return seconds_of(lambda: subprocess.run(command, env=environment, check=False, capture_output=True))
