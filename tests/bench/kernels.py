"""Measure the speed from text to fingerprints and to all sketches, relative to winnowing in C (-O3).

Measure also the speed of reading for each kind of text, relative to reading ASCII.
"""

import ctypes
import importlib
import random
import shutil
import statistics
import string
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from docindex import Recipe
from docindex.reading.registry import symbol_reader
from docindex.winnowing.selection import select_fingerprints
from tests.bench import corpus

sketching = importlib.import_module("docindex.sketching.sketcher")
RECIPE = Recipe()
# One sentence of each kind; a text is made of random words from it, so that it does not repeat soon.
KINDS = {
    "ASCII": "All human beings are born free and equal in dignity and rights",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren – „größer“ für später",
    "Russian": "Все люди рождаются свободными и равными в своём достоинстве и правах",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है",
    "Arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다",
    "Chinese": "人人 生而 自由， 在 尊严 和 权利 上 一律 平等。 他们 赋有 理性 和 良心",
    "Japanese": "すべての 人間は、 生まれながらに して 自由で あり、 尊厳と 権利とに ついて 平等",
    "code with a few signs": 27 * "def name(self, value): return value  # " + "naïve — “quoted” 漢 🎉",
}
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

    read_kinds(options.rounds)
    if "C, -O3" in sides:
        ratio("text -> fingerprints", "C, -O3", 0.45)
        ratio("text -> all sketches", "C, -O3", 0.25)
    ratio("fingerprints, 1 KB documents", "fingerprints, 16 KB documents", 0.5)
    ratio("all sketches, 1 KB documents", "all sketches, 16 KB documents", 0.5)


def read_kinds(rounds):
    """Print how fast each kind of text is read; CPU time, because other programs disturb so short a run."""
    texts = {kind: made_of(sentence.split(" ")) for kind, sentence in KINDS.items()}
    seconds = {kind: [] for kind in KINDS}
    for _ in range(4 * rounds):
        for kind, given in texts.items():
            begin = time.thread_time()
            symbol_reader(RECIPE.reading).read(given)
            seconds[kind].append((time.thread_time() - begin) / sum(map(len, given)))
    for kind, found in seconds.items():
        relative = statistics.median(a / b for a, b in zip(seconds["ASCII"], found, strict=True))
        print(f"reading {kind:24}{1e-6 / min(found):7.1f} million characters/s, {relative:.2f} of ASCII")


def made_of(words):
    """Sixteen texts of random words, a million characters in all."""
    generator = random.Random(1)
    count = 1_000_000 // 16 // (sum(map(len, words)) // len(words) + 1)
    return [" ".join(generator.choices(words, k=count)) for _ in range(16)]


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
