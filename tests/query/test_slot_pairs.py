"""With the slots of the default recipe, bands find the same pairs as the shingles of all texts."""

import itertools
import random

import pytest

import docindex
from docindex import Recipe
from docindex.kernels import slot_bands
from docindex.kernels.slot_bands import likely_bands
from docindex.query import pair_join, slot_pairs
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


@pytest.fixture(autouse=True, params=["few texts", "many texts"])
def joined(request, monkeypatch):
    """Slots are joined as for so many texts, and never replaced by shingles."""
    monkeypatch.setattr(pair_join, "_BANDS_A_SHINGLE", 1_000_000)
    if request.param == "many texts":
        monkeypatch.setattr(slot_bands, "SORTED_FOR", 1)
        monkeypatch.setattr(slot_pairs, "SORTED_FOR", 0)
        monkeypatch.setattr(slot_pairs, "likely_bands", likely_bands.__wrapped__)  # it remembers bands


@pytest.mark.parametrize("least", [0.3, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
def test_bands_find_the_pairs_that_all_shingles_find(index, least, monkeypatch):
    found = list(index.pairs(min_resemblance=least))
    clusters = sorted(sorted(cluster.keys) for cluster in index.clusters(least))
    monkeypatch.setattr(pair_join, "fewest_equal_slots", lambda *_: 0)
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


@pytest.mark.parametrize("least", [0.05, 0.3, 0.6, 0.9])
def test_bands_find_all_pairs_whose_slots_tell_a_containment(index, least):
    sketches = {key: docindex.sketch(index.text(key), index.recipe) for key in index}

    def containment(a, b):
        alike = (a.slots == b.slots).mean()
        common = alike / (1 + alike) * (a.shingles + b.shingles)
        return min(1.0, common / min(a.shingles, b.shingles))

    wanted = {
        (a, b)
        for a, b in itertools.combinations(sorted(sketches), 2)
        if sketches[a].shingles and sketches[b].shingles
        if sketches[a].words_hash != sketches[b].words_hash
        if containment(sketches[a], sketches[b]) >= least
    }
    found = index.pairs(min_containment=least, method="slots")
    found = {(pair.a, pair.b) for pair in found}
    same = {pair for pair in found if len({sketches[key].words_hash for key in pair}) == 1}
    assert found - same == wanted
    assert len(wanted) > 20
