"""Measure how well containment, counted in shingles of q words, tells copies from other texts."""

import bisect
import collections

import docindex
from tests.bench import corpora

SIZES = (3, 4, 5, 6, 8)
KINDS = ("verbatim", "random", "translation", "summary")


def run():
    """The probability that a copied pair has a larger containment than a pair of which nothing was taken."""
    texts, pairs = corpora.pan13()
    print("the probability that a pair has a larger containment than a pair of which nothing was taken")
    for half, name in enumerate(("chosen on this half", "reported on the other half")):
        print(f"{'words':>5}{''.join(f'{kind:>13}' for kind in KINDS)}{'students':>13}   {name}")
        chosen = [pair for pair in pairs if corpora.half(pair.suspicious) == half]
        for size in SIZES:
            recipe = docindex.Recipe(shingle=size)
            shares = collections.defaultdict(list)
            for pair in chosen:
                share = docindex.containment(texts[pair.suspicious], texts[pair.source], recipe)
                shares[pair.kind].append(share)
            row = [f"{larger(shares[kind], shares['none']):.3f}" for kind in KINDS]
            print(
                f"{size:5}{''.join(f'{number:>13}' for number in [*row, answers(recipe, half)])}", flush=True
            )


def answers(recipe, half):
    """The same for short answers of students who used a source, and of students who did not."""
    if not corpora.present("clough"):
        return "-"
    texts, labels = corpora.clough()
    shares = collections.defaultdict(list)
    for answer, source, label in labels:
        if corpora.half(answer) == half:
            shares[label == "non"].append(docindex.containment(texts[answer], texts[source], recipe))
    return f"{larger(shares[False], shares[True]):.3f}"


def larger(some, others):
    """The probability that one of `some` is larger than one of `others`; ties count half."""
    others = sorted(others)
    places = sum(bisect.bisect_left(others, one) + bisect.bisect_right(others, one) for one in some)
    return places / 2 / (len(some) * len(others))
