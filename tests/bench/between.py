"""Measure the pairs of 100 new texts with many old ones, beside all pairs.

The texts are notes of 330 characters, and pieces of 1,000 to 12,000 characters, of releases of Django and of
manual pages. Half of the new texts were cut from the middle of two neighbouring old ones. Each line has, for
every number of old texts, the seconds of processor time of the first question and of later ones, which may
know the slots of the index; and the share of the first in the time of all pairs.
"""

import contextlib
import functools
import random
import time

import docindex
from tests.bench import material

NEW = 100
OLD = (10_000, 50_000, 250_000)
# All pairs of more texts take minutes: only the few are measured then.
ALL_OF = 50_000
NOTE = 330
SIDES = ("key glob 'new/*'", "key glob 'old/*'")
QUESTIONS = (
    {"min_resemblance": 0.8},
    {"min_resemblance": 0.5},
    {"min_containment": 0.8},
    {"min_containment": 0.5},
    {"min_resemblance": 0.5, "method": "slots"},
    {"min_containment": 0.5, "method": "fingerprints"},
)


def run(options):
    together = "".join(material.releases())
    notes = list(dict.fromkeys(together[begin : begin + NOTE] for begin in range(0, len(together), NOTE)))
    rng = random.Random(1)
    longer = []
    while len(longer) < len(together) // 4000:
        begin = rng.randrange(len(together) - 12_000)
        longer.append(together[begin : begin + int(1000 * 12 ** rng.random())])
    for name, texts in (("notes", notes), ("pieces", longer)):
        for kept in (True, False):
            print(f"{name}, texts {'kept' if kept else 'not kept'}", flush=True)
            compare(
                [texts_among(texts, count, rng) for count in OLD if count < len(texts)], kept, options.rounds
            )


def texts_among(texts, count, rng):
    """The old texts, some of all, and the new ones."""
    old = texts[: count * (len(texts) // count) : len(texts) // count]
    new = []
    for number in range(NEW):
        at = rng.randrange(len(old) - 1)
        one, two = old[at], old[at + 1]
        new.append(one[len(one) // 2 :] + two[: len(two) // 2] if number % 2 else "".join(reversed(one)))
    return old, new


def compare(collections, kept, rounds):
    shown = {str(question): [] for question in QUESTIONS}
    for old, new in collections:
        with indexed(old, new, kept) as index:
            for question in QUESTIONS:
                ask = functools.partial(index.pairs, between=SIDES, **question)
                first, found = least_of(1, ask)
                later, _ = least_of(1 + rounds, ask)
                figures = f"{first:.3f} s; {later:.3f} s; {len(found):,} pairs"
                if len(old) <= ALL_OF:
                    every, pairs = least_of(1, functools.partial(index.pairs, **question))
                    figures += f"; {first / every:.2f} of the time of all {len(pairs):,}"
                shown[str(question)].append(f"{len(old):,}: {figures}")
    for question, figures in shown.items():
        print(f"   {question:52}{'   '.join(figures)}", flush=True)


@contextlib.contextmanager
def indexed(old, new, kept):
    items = [(f"{side}/{number:06}", text) for side, texts in (("old", old), ("new", new))
             for number, text in enumerate(texts)]  # fmt: skip
    with docindex.open(":memory:") as index:
        index.add_many(items, store_text=kept)
        index.optimize()
        yield index


def least_of(rounds, work):
    """The fewest seconds of processor time that work takes, and its result."""
    took = []
    for _ in range(rounds):
        begin = time.process_time()
        found = work()
        took.append(time.process_time() - begin)
    return min(took), found
