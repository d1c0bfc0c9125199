"""Sketches that Spark makes are those that an index makes, bit for bit."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest

from docindex import Recipe, spark
from docindex.sketching.sketch_tables import columns_of, documents_in
from docindex.sketching.sketcher import sketch_batch

TEXTS = {
    "empty": "",
    "short": "The Analytical Engine",
    "line ends": "one\r\ntwo\rthree\n",
    "scripts": "Die Änderung 文書の索引 עברית हिन्दी 🙂",
    "long": "It weaves algebraical patterns, number %d. " * 3000,
    "copy": "The Analytical Engine",
}
RECIPES = {
    "default": Recipe(),
    "samples": Recipe(k=5, window=4, shingle=2, min_s=20, mod_m=4, level=16),
    "lines": Recipe(token="line", shingle=1, bag=True),
}


def frame_of(session, texts):
    return session.createDataFrame(list(texts.items()), "key string, text string")


def equal(a, b):
    if isinstance(a, tuple):
        return all(map(equal, a, b))
    return np.array_equal(a, b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_sketches_are_those_of_an_index(session, recipe):
    table = spark.sketch(frame_of(session, TEXTS), recipe).orderBy("key").toArrow()
    found = documents_in(columns_of(table.combine_chunks().to_batches()[0]))
    assert list(found.keys) == sorted(TEXTS)
    made = sketch_batch([TEXTS[key] for key in found.keys], recipe)
    for field in dataclasses.fields(made):
        assert equal(getattr(found.sketches, field.name), getattr(made, field.name)), field.name


def test_texts_and_meta_travel_with_the_sketches_unless_texts_are_left_out(session):
    rows = [("a", "some words", json.dumps({"by": "Ada"})), ("b", "others", None)]
    frame = session.createDataFrame(rows, "key string, text string, meta string")
    kept, left_out = (spark.sketch(frame, keep_text=keep).orderBy("key").collect() for keep in (True, False))
    assert [(row.key, row.text, row.meta) for row in kept] == rows
    assert [(row.key, row.text, row.meta) for row in left_out] == [("a", None, rows[0][2]), ("b", None, None)]


@pytest.mark.parametrize(
    ("key", "text", "named"), [(None, "a", "a row has no key"), ("k", None, "'k' has no")]
)
def test_a_row_without_a_key_or_a_text_is_named(session, key, text, named):
    frame = session.createDataFrame([(key, text)], "key string, text string")
    with pytest.raises(Exception, match=named):
        spark.sketch(frame).collect()


def test_rows_may_be_chosen_and_ordered_anew(session):
    table = spark.sketch(frame_of(session, TEXTS)).toArrow().combine_chunks()
    (whole,) = table.to_batches()
    chosen = documents_in(columns_of(whole.take(pa.array([3, 1]))))
    both = documents_in(columns_of(whole))
    for number, place in enumerate((3, 1)):
        assert chosen.keys[number] == both.keys[place]
        assert equal(chosen.sketches[number].positions, both.sketches[place].positions)
