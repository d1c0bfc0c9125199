"""Bands of slots miss as many pairs as they say."""

import random

import pytest

from docindex import Recipe, spark
from docindex.minhash.bands import Bands
from tests.spark.copied_texts import WORDS, index_of, sketches_of


@pytest.mark.parametrize("least", [0.3, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("most", [0.2, 1e-3, 1e-9])
def test_a_design_misses_at_most_the_given_share_and_no_wider_one_does(least, most):
    bands = spark.band_design(least, most)
    assert spark.missed_share(bands, least) <= most
    wider = Bands(bands.slots, bands.width + 1, 1)
    assert spark.missed_share(wider, least) > most


def test_a_design_has_the_slots_of_its_recipe():
    assert spark.band_design(0.5, recipe=Recipe(slots=256)).slots == 256
    assert spark.missed_share(spark.band_design(1.0), 1.0) == 0


def test_the_share_of_missed_pairs_is_about_the_computed_one(session):
    rng = random.Random(3)
    texts = {}
    for number in range(700):
        words = rng.choices(WORDS, k=200)
        texts[f"{number} text"] = " ".join(words)
        for place in rng.sample(range(200), 6):
            words[place] = f"changed{place}"
        texts[f"{number} copy"] = " ".join(words)
    sketches = sketches_of(session, texts)
    least, most = 0.7, 0.25
    with index_of(texts) as index:
        exact = {(pair.a, pair.b): pair.resemblance for pair in index.pairs(min_resemblance=least)}
    found = spark.pairs(sketches, min_resemblance=least, max_missed=most).collect()
    assert {(pair.a, pair.b): pair.resemblance for pair in found}.items() <= exact.items()
    bands = spark.band_design(least, most)
    stated = [spark.missed_share(bands, resemblance) for resemblance in exact.values()]
    expected = sum(stated)
    deviation = sum(share * (1 - share) for share in stated) ** 0.5
    assert expected > 50
    assert abs(len(exact) - len(found) - expected) < 4 * deviation
