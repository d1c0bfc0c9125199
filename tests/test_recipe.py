import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex import DocIndexError, Recipe, RecipeError
from docindex.recipe import LIMITS


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_out_of_its_limits_is_refused_with_the_limits(name):
    least, most = LIMITS[name]
    for value in (least - 1, most + 1, "5", 2.0, True, None, np.bool_(True)):
        with pytest.raises(ValueError, match=f"{name} must be a whole number from {least} to {most}"):
            Recipe(**{name: value})
    smallest_features = {"features": (1, 1, 1)} if name == "slots" else {}
    assert getattr(Recipe(**{name: least}, **smallest_features), name) == least
    assert getattr(Recipe(**{name: most}), name) == most
    assert Recipe(**{name: np.int64(most)}) == Recipe(**{name: most})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("selector", "left"),
        ("token", "sentence"),
        ("stop_words", "german"),
        ("stemming", True),
        ("reading", "text/9"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_choices(field, value):
    with pytest.raises(ValueError, match=f"{field} must be one of .+, not {value!r}"):
        Recipe(**{field: value})


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ((6, 14), "three whole numbers"),
        (5, "three whole numbers"),
        ({6, 14, 2}, "three whole numbers"),
        ((0, 1, 1), "above 0"),
        ((2.0, 1, 1), "whole numbers"),
        ((2, 3, 3), "r must not exceed k"),
        ((10, 13, 2), "need 130 slots"),
    ],
)
def test_impossible_features_are_refused_with_the_reason(features, words):
    with pytest.raises(ValueError, match=words):
        Recipe(features=features)


def test_a_bag_is_a_bool():
    with pytest.raises(ValueError, match="bag must be True or False, not 1"):
        Recipe(bag=1)


def test_a_recipe_never_changes():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Recipe().k = 5


@given(st.builds(Recipe, k=st.integers(1, 4096), bag=st.booleans(), features=st.just([4, 5, 2])))
def test_a_recipe_is_read_back_from_json_unchanged(recipe):
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert json.loads(recipe.to_json())["features"] == [4, 5, 2]


def test_the_id_of_the_default_recipe_does_not_change():
    # If it changes, older indexes can no longer be used.
    assert Recipe().id == "6849826eb24620b2"
    assert Recipe(k=24).id != Recipe().id


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5000, "not JSON"),
        (Recipe(k=25).to_json().replace('"k":25', '"k":0'), "k must be a whole number"),
        (Recipe(k=25).to_json().replace('"k":25', '"colour":1'), "unknown: colour; missing: k"),
    ],
)
def test_a_stored_recipe_that_cannot_be_used_is_refused_with_the_reason(text, words):
    with pytest.raises(RecipeError, match=words) as caught:
        Recipe.from_json(text)
    assert isinstance(caught.value, DocIndexError)
