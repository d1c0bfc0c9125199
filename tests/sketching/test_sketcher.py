import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import docindex
from docindex import Recipe
from docindex.reading import slicing
from docindex.sketching import sketcher
from docindex.sketching.single_text import shingle_set
from tests import plain

WORDS = ["a", "rose", "is", "a", "rose", "which", "flower", "die", "Größe", "薔薇", "ばら", "don't", "42"]
words = st.sampled_from(WORDS)
texts = (
    st.lists(words, max_size=60).map(" ".join) | st.lists(words, max_size=60).map("\n".join) | st.just("?!")
)
recipes = st.builds(
    Recipe,
    k=st.integers(1, 8),
    window=st.integers(1, 8),
    selector=st.sampled_from(["robust", "rightmost"]),
    token=st.sampled_from(["word", "letter", "line"]),
    shingle=st.integers(1, 4),
    bag=st.booleans(),
    slots=st.just(16),
    features=st.just((4, 3, 2)),
    stop_words=st.sampled_from(["none", "english"]),
    stemming=st.sampled_from(["none", "english"]),
    min_s=st.sampled_from([0, 5]),
    mod_m=st.sampled_from([0, 3]),
    level=st.sampled_from([0, 4]),
)


def differing(a, b):
    """The fields in which two sketches differ."""
    names = [field.name for field in dataclasses.fields(docindex.Sketch)]
    return [name for name in names if not np.array_equal(getattr(a, name), getattr(b, name))]


@given(st.lists(texts, max_size=6), recipes)
def test_a_text_has_the_same_sketch_in_a_batch_and_alone(batch, recipe):
    together = [found[i] for found in sketcher.sketch_batches(batch, recipe) for i in range(len(found))]
    assert len(together) == len(batch)
    for text, found in zip(batch, together, strict=True):
        assert differing(found, docindex.sketch(text, recipe)) == []


long_texts = texts | st.lists(words, min_size=20, max_size=80).map(lambda found: "\t".join(found) + 200 * "x")


@given(long_texts, recipes, st.integers(1, 60))
@settings(max_examples=300)
def test_a_text_sketched_in_slices_has_the_sketch_of_the_whole(text, recipe, part):
    whole = docindex.sketch(text, recipe)
    shingles = shingle_set(text, recipe)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", part)
        assert differing(sketcher._sketch_long(text, recipe)[0], whole) == []
        assert shingle_set(text, recipe).tolist() == shingles.tolist()


def test_a_text_longer_than_a_slice_is_not_sketched_at_once(monkeypatch):
    monkeypatch.setattr(sketcher, "_sketch_short", None)
    assert docindex.sketch("word " * 250_000).shingles == 1


@given(texts, recipes)
def test_a_sketch_counts_the_shingles_of_the_text_and_samples_them(text, recipe):
    sketch = docindex.sketch(text, recipe)
    shingles = shingle_set(text, recipe)
    assert sketch.shingles == len(shingles)
    assert len(sketch.min_s) == min(recipe.min_s, len(shingles))
    assert sketch.symbols == len(plain.symbols(text))


@given(st.lists(st.sampled_from(["a", "rose", "is"]), max_size=12), st.integers(1, 4), st.booleans())
def test_a_shingle_set_is_as_large_as_the_definition_says(tokens, q, bag):
    expected = plain.shingles(tokens, q, bag=bag)
    assert len(shingle_set(" ".join(tokens), Recipe(shingle=q, bag=bag))) == len(expected)


def test_simhash_ignores_stop_words_and_plural_endings_if_the_recipe_says_so():
    recipe = Recipe(stop_words="english", stemming="english")
    assert docindex.simhash("the copies of a text", recipe) == docindex.simhash("copy text", recipe)
    assert docindex.simhash("the copies of a text") != docindex.simhash("copy text")


def test_the_number_of_shingles_is_estimated_within_3_percent_if_there_are_too_many_to_keep(monkeypatch):
    recipe = Recipe(shingle=1)
    text = " ".join(map(str, range(30_000)))
    monkeypatch.setattr("docindex.sketching.incremental.COUNTED", 10_000)
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 10_000)
    assert sketcher._sketch_long(text, recipe)[0].shingles == pytest.approx(30_000, rel=0.03)


def test_batches_keep_the_order_and_do_not_exceed_their_weight(monkeypatch):
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 10)
    weighed = sketcher.batched_by_weight(["abc", "de", "", "fghijklmnop", "q"], lambda text: 1 + len(text))
    assert list(weighed) == [
        ["abc", "de", ""],
        ["fghijklmnop"],
        ["q"],
    ]
