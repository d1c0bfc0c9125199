"""Measure what `Recipe.k` and `Recipe.window` find and cost, to choose their defaults."""

import collections
import random
import statistics
import tempfile
import time
from pathlib import Path

import docindex
from docindex import Recipe
from tests.bench import corpora

RECIPES = [
    *((k, 50) for k in (25, 20, 18, 16, 15, 14, 12)),
    *((15, guarantee) for guarantee in (40, 45, 55, 60)),
]
"""(k, guarantee): the first is the one that the others are compared with."""

KINDS = ("verbatim", "random", "translation", "summary", "none")


def run():
    """Sources among the first 50 answers of `search`, licences, manual pages, and the costs."""
    texts, pairs = corpora.pan13()
    sources = {key: text for key, text in texts.items() if key.startswith("src/")}
    wanted = collections.defaultdict(list)
    for pair in pairs:
        wanted[pair.suspicious].append(pair)
    with tempfile.TemporaryDirectory() as folder:
        indexes = [built(Path(folder), k, guarantee, sources) for k, guarantee in RECIPES]
        found, times = searched(indexes, texts, wanted)
        characters = sum(map(len, sources.values()))
        sizes = [index.stats().file_bytes / characters for index in indexes]
        for index in indexes:
            index.close()
    print("among the first 50: the source of a text that was copied or reworded (none: of one that was not)")
    print(f"{'':46}{'chosen on this half':^40}{'reported on the other half':^40}")
    kinds = "".join(f"{name[:6]:>8}" for name in KINDS)
    print(f"{'k/window':>8}{'t':>4}{'file':>7}{'time':>6}{'licences':>12}{'manpages':>9}{kinds}{kinds}")
    first = statistics.median(times[0])
    for number, (k, guarantee) in enumerate(RECIPES):
        recalls = "".join(f"{found[number][half, kind]:8.3f}" for half in (0, 1) for kind in KINDS)
        print(
            f"{k:>5}/{guarantee - k + 1:<2}{guarantee:4}{sizes[number]:7.3f}"
            f"{statistics.median(times[number]) / first:6.2f}"
            f"{licences(k, guarantee):>12}{manual_pages(k, guarantee):>9}{recalls}",
            flush=True,
        )


def built(folder, k, guarantee, texts):
    """An index of some texts, which it does not keep."""
    index = docindex.open(folder / f"{k}-{guarantee}", recipe=recipe_of(k, guarantee))
    index.add_many(texts.items(), workers=2, store_text=False)
    index.optimize()
    return index


def recipe_of(k, guarantee):
    return Recipe(k=k, window=guarantee - k + 1)


def searched(indexes, texts, wanted):
    """For each index, the share of pairs that are found, by half and kind, and the time of each search.

    The indexes take turns, because other programs use the machine, too.
    """
    hits = [collections.Counter() for _ in indexes]
    total, times, rng = collections.Counter(), [[] for _ in indexes], random.Random(1)
    for suspicious, pairs in wanted.items():
        half = corpora.half(suspicious)
        total.update((half, pair.kind) for pair in pairs)
        for number in rng.sample(range(len(indexes)), len(indexes)):
            begin = time.perf_counter()
            matches = indexes[number].search(docindex.Text(texts[suspicious]), limit=50)
            times[number].append(time.perf_counter() - begin)
            keys = {match.key for match in matches}
            hits[number].update((half, pair.kind) for pair in pairs if pair.source in keys)
    return [{group: found[group] / total[group] for group in total} for found in hits], times


def licences(k, guarantee):
    """The share of licence texts for which `search` gives their licence first, and among the first five."""
    if not corpora.present("licenses"):
        return "-"
    texts, queries = corpora.licenses()
    with docindex.open(":memory:", recipe=recipe_of(k, guarantee)) as index:
        index.add_many(texts.items(), workers=2, store_text=False)
        places = [
            [match.key for match in index.search(docindex.Text(text), limit=5)] for _, text, _ in queries
        ]
    right = [(key in found[:1], key in found) for found, (_, _, key) in zip(places, queries, strict=True)]
    first, among_five = (sum(column) / len(right) for column in zip(*right, strict=True))
    return f"{first:.3f}/{among_five:.3f}"


def manual_pages(k, guarantee):
    """The share of the other two releases of a manual page that are the first two answers of `search`."""
    if not corpora.present("manpages"):
        return "-"
    texts, groups = corpora.manpages()
    found = total = 0
    with docindex.open(":memory:", recipe=recipe_of(k, guarantee)) as index:
        index.add_many(texts.items(), workers=2, store_text=False)
        for group in groups:
            for key in group:
                matches = index.search(docindex.Key(key), limit=3)
                others = [match.key for match in matches if match.key != key][:2]
                total += min(2, len(group) - 1)
                found += len(set(others) & set(group))
    return f"{found / total:.3f}"
