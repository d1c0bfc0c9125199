"""Measure what `min_length` of passages keeps and removes: the table by which its default was chosen."""

import collections

import numpy as np

from docindex.query.regions.passages import passages
from docindex.recipe import Recipe
from tests.bench import corpora

FLOORS = (20, 25, 30, 32, 34, 36, 40, 50)
KINDS = ("verbatim", "random", "translation", "summary")


def run():
    """Passages of suspicious texts and sources, compared with the ranges that were really taken."""
    texts, pairs = corpora.pan13()
    recipe = Recipe()
    rows = collections.defaultdict(lambda: np.zeros(4))  # characters: true, found, both; pairs with a passage
    for pair in pairs:
        text = texts[pair.suspicious]
        truth = np.zeros(len(text), bool)
        for start, length, _, _ in pair.spans:
            truth[start : start + length] = True
        found = {floor: passages(text, texts[pair.source], recipe, floor) for floor in FLOORS}
        for floor in FLOORS:
            shown = np.zeros(len(text), bool)
            for passage in found[floor]:
                shown[passage.query_start : passage.query_end] = True
            counts = truth.sum(), shown.sum(), (truth & shown).sum(), shown.any()
            rows[corpora.half(pair.suspicious), pair.kind, floor] += counts
    sizes = collections.Counter((corpora.half(pair.suspicious), pair.kind) for pair in pairs)
    print(
        "false: the share of pairs that have a passage although nothing was taken. The others: the share of\n"
        "the taken characters that lie in passages / of the characters in passages that were taken"
    )
    for half, name in enumerate(("chosen on this half", "reported on the other half")):
        print(f"{'min_length':>10}{'false':>8}{''.join(f'{kind:>14}' for kind in KINDS)}   {name}")
        for floor in FLOORS:
            shares = "".join(
                f"{f'{both / true:.3f}/{both / shown:.3f}':>14}"
                for kind in KINDS
                for true, shown, both, _ in [rows[half, kind, floor]]
            )
            print(f"{floor:10}{rows[half, 'none', floor][3] / sizes[half, 'none']:8.3f}{shares}")
