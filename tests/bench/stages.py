"""Measure where the time of sketching goes: processor time per megabyte of text, stage by stage.

The functions of a stage are wrapped for the time of the measurement. A stage's time excludes the stages that
it calls. "FTS5" is the processor time of a whole build of FTS5's, in the same round.
"""

import contextlib
import importlib
import statistics
import tempfile
import time
from pathlib import Path

from docindex import Recipe
from docindex.sketching.sketcher import sketch_batches
from tests.bench import build, material

STAGES = {
    "reading": ["reading.plain_text:PlainText.read", "reading.plain_text:PlainText.readings"],
    "k-grams and winnowing": ["sketching.sketcher:_fingerprints_of_batch", "sketching.sketcher:Winnower.add"],
    "words": [
        "sketching.sketcher:words_of",
        "sketching.sketcher:word_spans",
        "winnowing.selection:RunHasher.take",
        "sketching.sketcher:simhash_words",
    ],
    "shingles": [
        "sketching.sketcher:shingles",
        "sketching.sketcher:shingle_tokens",
        "sketching.sketcher:Shingler.add",
    ],
    "min-hash": ["minhash.slots:slot_keys", "minhash.slots:stored_slots", "sketching.sketcher:features"],
    "distinct counts": [
        "sketching.sketcher:distinct_counts",
        "sketching.sketcher:_different",
        "sketching.sketcher:ShingleCounter._count",
    ],
    "simhash": [
        "sketching.sketcher:simhashes_of_words",
        "sketching.sketcher:WordCounter.add",
        "sketching.sketcher:WordCounter._count",
    ],
    "hashes of words": [
        "sketching.sketcher:words_hashes",
        "sketching.sketcher:WordsHasher.add",
        "sketching.sketcher:WordsHasher.end",
    ],
}
"""The functions of each stage, as module of docindex and name. A generator counts while it runs."""


def run(options):
    for name in options.folders or material.COLLECTIONS:
        texts = material.texts_of(name, options.megabytes)
        size = sum(map(len, texts)) / 1e6
        rounds = [measured(texts) for _ in range(options.rounds)]
        print(f"{name}: {len(texts):,} texts, {size:.0f} MB: milliseconds of processor time per MB")
        for stage in rounds[0]:
            print(f"  {stage:24}{statistics.median(1000 * found[stage] for found in rounds) / size:8.2f}")


def measured(texts):
    """The seconds that each stage takes, those of no stage, their sum, and the seconds of FTS5."""
    clock = Clock()
    with contextlib.ExitStack() as stack:
        for stage, names in STAGES.items():
            for name in names:
                stack.enter_context(wrapped(clock, stage, name))
        for _ in sketch_batches(texts, Recipe()):
            pass
        clock.switch(None)
    found = {stage: clock.seconds.get(stage, 0) for stage in [*STAGES, "rest"]}
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        build.fts5(texts, Path(folder), "unicode61")
    return {**found, "all of sketching": sum(found.values()), "FTS5": time.process_time() - begin}


class Clock:
    """Counts the processor time of the stage that runs now."""

    def __init__(self):
        self.seconds = {}
        self._stage, self._since = "rest", time.process_time()

    def switch(self, stage):
        """Charge the time so far to the stage that ran, and return that stage."""
        now, before = time.process_time(), self._stage
        self.seconds[before] = self.seconds.get(before, 0) + now - self._since
        self._stage, self._since = stage, now
        return before


@contextlib.contextmanager
def wrapped(clock, stage, name):
    """Let a function, or every step of a generator, count for a stage."""
    module, _, path = name.partition(":")
    owner = importlib.import_module(f"docindex.{module}")
    *classes, attribute = path.split(".")
    for step in classes:
        owner = getattr(owner, step)
    function = getattr(owner, attribute)

    def timed(*given, **named):
        before = clock.switch(stage)
        try:
            found = function(*given, **named)
        finally:
            clock.switch(before)
        return steps(found) if hasattr(found, "__next__") else found

    def steps(generator):
        while True:
            before = clock.switch(stage)
            try:
                found = next(generator, None)
            finally:
                clock.switch(before)
            if found is None:
                return
            yield found

    setattr(owner, attribute, timed)
    try:
        yield
    finally:
        setattr(owner, attribute, function)
