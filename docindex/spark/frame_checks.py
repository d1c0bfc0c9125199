"""Check a DataFrame of sketches before it is compared, and count its rows and shingles.

In: a DataFrame. Out: its recipe and sizes, or an error that says what is wrong and what to do. Runs one job,
which reads narrow columns of all rows. Must never read a text.
"""

import dataclasses

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.arguments import shown
from docindex.errors import RecipeMismatch
from docindex.recipe import Recipe

_NEEDED = ("key", "text", "recipe", "text_hash", "words_hash", "shingles", "slots")


@dataclasses.dataclass(frozen=True, slots=True)
class FrameSizes:
    """The sizes of a DataFrame of sketches, which a question needs to know."""

    recipe: Recipe | None
    """The recipe of all rows; None if there are no rows."""
    rows: int
    shingles: int
    """The shingles of all rows together."""
    kept: int
    """How many rows have a text."""


def checked_sizes(frame: DataFrame) -> FrameSizes:
    """The sizes of a DataFrame of sketches.

    `ValueError` if a column is missing, a key is null, or two rows have one key; `TypeError` if it is not a
    DataFrame; `RecipeMismatch` if rows have different recipes.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"sketches must be a DataFrame of Spark, not {shown(frame)}")
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise ValueError(
            f"a DataFrame of sketches must have the column {missing[0]}; make it with docindex.spark.sketch "
            f"(it has {', '.join(frame.columns) or 'no columns'})"
        )
    by_key = frame.groupBy("key").agg(
        F.count("*").alias("rows"),
        F.sum("shingles").alias("shingles"),
        F.count("text").alias("kept"),
        F.min("recipe").alias("least"),
        F.max("recipe").alias("greatest"),
    )
    repeated = F.when(F.col("rows") > 1, F.col("key"))
    (found,) = by_key.agg(
        F.sum("rows").alias("rows"),
        F.sum("shingles").alias("shingles"),
        F.sum("kept").alias("kept"),
        F.min("least").alias("least"),
        F.max("greatest").alias("greatest"),
        F.min(repeated).alias("repeated"),
        F.count_if(F.col("key").isNull()).alias("nameless"),
    ).collect()
    if found.nameless:
        raise ValueError("a row of the sketches has no key; leave such rows out")
    if found.repeated is not None:
        raise ValueError(
            f"several rows of the sketches have the key {shown(found.repeated)}; give each document a key of "
            "its own, or leave rows out with dropDuplicates(['key'])"
        )
    if found.least != found.greatest:
        recipes = Recipe.from_json(found.least), Recipe.from_json(found.greatest)
        raise _recipe_mismatch(*recipes)
    recipe = None if found.least is None else Recipe.from_json(found.least)
    return FrameSizes(recipe, found.rows or 0, found.shingles or 0, found.kept or 0)


def sizes_of_both(first: FrameSizes, second: FrameSizes) -> FrameSizes:
    """The sizes of two DataFrames together; `RecipeMismatch` if their recipes differ."""
    if first.recipe and second.recipe and first.recipe != second.recipe:
        raise _recipe_mismatch(first.recipe, second.recipe)
    return FrameSizes(
        first.recipe or second.recipe,
        first.rows + second.rows,
        first.shingles + second.shingles,
        first.kept + second.kept,
    )


def _recipe_mismatch(first: Recipe, second: Recipe) -> RecipeMismatch:
    """The error for sketches that cannot be compared."""
    return RecipeMismatch(
        "the sketches were made with different recipes, so they cannot be compared; sketch all texts with "
        f"one recipe (found {first.to_json()} and {second.to_json()})",
        first,
        second,
    )
