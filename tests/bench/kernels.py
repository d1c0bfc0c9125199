"""Measure the speed from text to fingerprints and to all sketches, relative to winnowing in C (-O3)."""

import ctypes
import importlib
import shutil
import statistics
import string
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from docindex import Recipe
from docindex.kernels.winnowing import select_fingerprints
from docindex.reading.registry import symbol_reader
from tests.bench import corpus

sketching = importlib.import_module("docindex.sketching.sketcher")
RECIPE = Recipe()
SMALL, LARGE = 1 << 10, 1 << 14


def run(options):
    texts = corpus.texts(options.folders, options.megabytes)
    megabytes = sum(map(len, texts)) / 1e6
    together = "".join(texts)[:32_000_000]
    small, large = (
        [together[i : i + size] for i in range(0, len(together), size)] for size in (SMALL, LARGE)
    )
    sides = {
        "text -> fingerprints": (to_fingerprints, texts, megabytes),
        "text -> all sketches": (to_sketches, texts, megabytes),
        "fingerprints, 1 KB documents": (to_fingerprints, small, len(together) / 1e6),
        "fingerprints, 16 KB documents": (to_fingerprints, large, len(together) / 1e6),
        "all sketches, 1 KB documents": (to_sketches, small, len(together) / 1e6),
        "all sketches, 16 KB documents": (to_sketches, large, len(together) / 1e6),
    }
    if shutil.which("cc"):
        sides["C, -O3"] = (in_c(), [text.encode() for text in texts], megabytes)
    else:
        print("no C compiler found: no ratios to the C program")
    # Run all sides in every round, so that a slow moment slows all of them.
    speeds = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, (work, given, size) in sides.items():
            begin = time.perf_counter()
            work(given)
            speeds[name].append(size / (time.perf_counter() - begin))
    for name, found in speeds.items():
        print(f"{name:32}{statistics.median(found):7.1f} MB/s   ({min(found):.1f} to {max(found):.1f})")

    def ratio(name, other, target):
        found = statistics.median(a / b for a, b in zip(speeds[name], speeds[other], strict=True))
        print(f"{name} / {other}: {found:.2f} (target {target})")

    if "C, -O3" in sides:
        ratio("text -> fingerprints", "C, -O3", 0.45)
        ratio("text -> all sketches", "C, -O3", 0.25)
    ratio("fingerprints, 1 KB documents", "fingerprints, 16 KB documents", 0.5)
    ratio("all sketches, 1 KB documents", "all sketches, 16 KB documents", 0.5)


def to_fingerprints(texts):
    for batch in sketching.batched_by_weight(texts, lambda text: len(text) + RECIPE.slots):
        reading = symbol_reader("text/2").read(batch)
        select_fingerprints(reading.symbols, reading.starts, RECIPE.k, RECIPE.window)


def to_sketches(texts):
    for _ in sketching.sketch_batches(texts, RECIPE):
        pass


def in_c():
    """The C program as a function that takes the bytes of texts."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "winnow.so"
        source = Path(__file__).with_name("winnow.c")
        subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        winnow = ctypes.CDLL(str(library)).winnow
    winnow.restype = ctypes.c_size_t
    kept = string.ascii_letters + string.digits
    table = bytes(ord(chr(code).lower()) if chr(code) in kept else 0 for code in range(256))

    def work(sources):
        longest = max(map(len, sources))
        hashes, positions = np.empty(longest, np.uint64), np.empty(longest, np.int64)
        for source in sources:
            winnow(
                source,
                ctypes.c_size_t(len(source)),
                table,
                RECIPE.k,
                RECIPE.window,
                ctypes.c_void_p(hashes.ctypes.data),
                ctypes.c_void_p(positions.ctypes.data),
            )

    return work
