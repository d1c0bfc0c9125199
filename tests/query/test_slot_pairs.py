"""With the slots of the default recipe, bands find the same pairs as the shingles of all texts."""

import random

import pytest

import docindex
from docindex import Recipe
from docindex.query.pairs import join
from tests.query.test_crowds import families


@pytest.fixture(scope="module")
def index():
    """Versions of a few texts, two of which are empty or almost."""
    with docindex.open(":memory:", recipe=Recipe(shingle=2)) as index:
        texts = [text for seed in range(12) for text in families(random.Random(seed), 40)]
        index.add_many(
            ((f"{number:03}", text) for number, text in enumerate([*texts, "", "?", "one"])), workers=1
        )
        yield index


@pytest.fixture(autouse=True)
def joined(monkeypatch):
    """Slots are joined, where bands of several slots serve, and never replaced by shingles."""
    monkeypatch.setattr(join, "_BANDS_A_SHINGLE", 1_000_000)


@pytest.mark.parametrize("least", [0.3, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
def test_bands_find_the_pairs_that_all_shingles_find(index, least, monkeypatch):
    found = list(index.pairs(min_resemblance=least))
    clusters = sorted(sorted(cluster.keys) for cluster in index.clusters(least))
    monkeypatch.setattr(join, "likely_bands", lambda *_: None)
    assert list(index.pairs(min_resemblance=least)) == found
    assert sorted(sorted(cluster.keys) for cluster in index.clusters(least)) == clusters
    assert len(found) > 20


@pytest.mark.parametrize("least", [0.3, 0.6, 0.8, 0.9, 1.0])
def test_bands_find_all_pairs_with_enough_equal_slots(index, least):
    sketches = {key: docindex.sketch(index.text(key), index.recipe) for key in index}
    estimates = {
        (a, b): (sketches[a].slots == sketches[b].slots).mean() if sketches[a].shingles else 0.0
        for a in sketches
        for b in sketches
        if a < b and sketches[a].words_hash != sketches[b].words_hash
    }
    wanted = {pair for pair, estimate in estimates.items() if estimate >= least}
    found = {(pair.a, pair.b) for pair in index.pairs(min_resemblance=least, method="slots")}
    same = {(a, b) for a in sketches for b in sketches if a < b} - estimates.keys()
    assert found == wanted | same


def test_slots_are_no_way_to_a_containment(index):
    with pytest.raises(ValueError, match='method="slots" estimates a resemblance only'):
        index.pairs(min_containment=0.5, method="slots")
