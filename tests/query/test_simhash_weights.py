"""Simhash values of a caller's own features, and of texts whose rare words weigh more."""

import random

import numpy as np
import pytest
import xxhash

import docindex
from docindex.reading import slicing
from docindex.sketching.single_text import word_hashes
from tests import plain

FEATURES = {"fox": 2.5, "brown": 0.1, "quick": 0.7, "größe": 3, "\ud800": 0.2}


def test_the_simhash_of_features_is_charikars_with_xxh3_64_of_the_utf_8():
    hashes = [xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass")) for name in FEATURES]
    assert docindex.simhash(features=FEATURES) == plain.simhash(hashes, list(FEATURES.values()))
    assert docindex.simhash(features={"fox": 0.01}) == xxhash.xxh3_64_intdigest(b"fox")
    assert docindex.simhash(features={}) == docindex.simhash("") == 0


def test_the_simhash_of_features_does_not_depend_on_their_order():
    rng = random.Random(1)
    features = {f"w{number}": rng.choice([0.1, 0.2, 0.3, 1e-9, 1e9]) for number in range(300)}
    shuffled = list(features.items())
    rng.shuffle(shuffled)
    assert docindex.simhash(features=dict(shuffled)) == docindex.simhash(features=features)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), 1e101, "1", None])
def test_a_weight_must_be_a_number_above_zero(weight):
    with pytest.raises(ValueError, match="the weight of 'fox' must be a number above 0, up to 1e100, not"):
        docindex.simhash(features={"fox": weight})


def test_simhash_takes_either_a_text_or_features():
    with pytest.raises(TypeError, match="either features, or a text"):
        docindex.simhash("fox", features=FEATURES)
    with pytest.raises(TypeError, match="needs features or a text"):
        docindex.simhash()
    with pytest.raises(TypeError, match="a feature must be str, not 1"):
        docindex.simhash(features={1: 1.0})
    with pytest.raises(TypeError, match=r"idf must be the result of Index\.word_weights"):
        docindex.simhash("fox", idf={"fox": 1.0})


@pytest.fixture
def index():
    """Pages that share a long template, and differ in a few words."""
    template = " ".join(f"template{number}" for number in range(60))
    with docindex.open(":memory:") as opened:
        for page in range(30):
            own = " ".join(f"page{page}word{number}" for number in range(12))
            for release in range(2):
                opened.add(f"{page} {release}", f"{own} {template} release{release}")
        yield opened


def test_rare_words_tell_texts_apart_that_share_a_template(index):
    weights = index.word_weights()

    def distances(idf):
        simhashes = {key: docindex.simhash(index.text(key), idf=idf) for key in index}
        same = [docindex.distance(simhashes[f"{n} 0"], simhashes[f"{n} 1"]) for n in range(30)]
        other = [docindex.distance(simhashes[f"{n} 0"], simhashes[f"{n + 1} 0"]) for n in range(29)]
        return np.mean(same), np.mean(other)

    _, other = distances(None)
    same_with_idf, other_with_idf = distances(weights)
    assert other_with_idf > 2 * other
    assert same_with_idf < other_with_idf / 3


def test_each_kept_text_counts_once_and_a_condition_restricts_the_texts(index):
    index.add("copy", index.text("0 0"))
    index.add("not kept", "a text that is not kept", store_text=False)
    weights = index.word_weights()
    assert weights.texts == 60
    assert index.word_weights(where="key like '%0'").texts == 30
    words = np.concatenate(list(word_hashes("template1 page3word3 release0 kept", index.recipe)))
    assert (weights.counts[words >> np.uint64(42)]).tolist() == [60, 2, 30, 0]


def test_word_weights_change_no_answer_of_the_index(index):
    before = index["3 0"].simhash
    weights = index.word_weights()
    assert (
        index["3 0"].simhash
        == before
        == docindex.simhash(index.text("3 0"))
        == docindex.sketch(index.text("3 0")).simhash
    )
    assert docindex.simhash(index.text("3 0"), idf=weights) != before


def test_the_simhash_of_a_long_text_with_rarities_does_not_depend_on_the_slices(index, monkeypatch):
    weights = index.word_weights()
    text = index.text("5 0")
    expected = docindex.simhash(text), docindex.simhash(text, idf=weights)
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 40)
    assert (docindex.simhash(text), docindex.simhash(text, idf=weights)) == expected


def test_weights_of_another_recipe_are_refused(index):
    weights = index.word_weights()
    assert docindex.simhash("fox", index.recipe, idf=weights) == docindex.simhash("fox", idf=weights)
    with pytest.raises(ValueError, match="the recipe must be that of idf"):
        docindex.simhash("fox", docindex.Recipe(stop_words="english"), idf=weights)
    with docindex.open(":memory:") as empty:
        assert docindex.simhash("fox", idf=empty.word_weights()) == docindex.simhash("fox")
