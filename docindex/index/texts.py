"""The questions about one or two strings that need no index.

In: `str` and, if wanted, a `Recipe`. Out: exact answers. Must never touch a file.
"""

import dataclasses
import operator
from functools import cached_property

import numpy as np

from docindex.kernels import hamming
from docindex.kernels.arrays import I64, U64
from docindex.reading.registry import symbol_reader
from docindex.reading.slicing import lines_and_columns
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set, text_fingerprints
from docindex.sketching.sketcher import sketch_batches
from docindex.sketching.sketches import Sketch


@dataclasses.dataclass(frozen=True, eq=False)
class Fingerprints:
    """The fingerprints of one text, in the order of their positions."""

    hashes: U64
    """2^47 values spread evenly over 64 bits; equal k-grams have equal hashes."""
    positions: I64
    """Where each k-gram begins, counted in symbols."""
    text: str = dataclasses.field(repr=False)
    """The text itself, which `offsets` is about."""
    recipe: Recipe = dataclasses.field(repr=False)
    """The recipe that the fingerprints were made with."""

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def offsets(self) -> I64:
        """Where each k-gram begins in the original text, counted in characters."""
        return symbol_reader(self.recipe.reading).offsets(self.text, self.positions)

    @cached_property
    def lines_and_columns(self) -> tuple[I64, I64]:
        """The same as lines and columns, counted from 1."""
        return lines_and_columns(self.text, self.offsets)


def fingerprints(text: str, recipe: Recipe | None = None) -> Fingerprints:
    """The winnowing fingerprints of a text: two texts that share enough of it share one of these.

    Every common run of ``recipe.guarantee`` symbols is found, none shorter than ``recipe.k``.

    >>> found = fingerprints("A do run run run, a do run run", Recipe(k=5, window=4))
    >>> found.positions.tolist(), found.offsets.tolist()
    ([1, 4, 7, 9, 10, 13, 16], [2, 6, 10, 13, 14, 20, 24])
    """
    recipe = _recipe(recipe)
    return Fingerprints(*text_fingerprints(_text(text), recipe), text, recipe)


def sketch(text: str, recipe: Recipe | None = None) -> Sketch:
    """All that an index would store of a text.

    >>> of_ada = sketch("The Analytical Engine weaves algebraical patterns")
    >>> of_ada.shingles, len(of_ada.slots), len(of_ada.features)
    (2, 128, 6)
    """
    (batch,) = sketch_batches([_text(text)], _recipe(recipe))
    return batch[0]


def resemblance(a: str, b: str, recipe: Recipe | None = None) -> float:
    """The share of the shingles of either text that both have: exact, symmetric, 0 to 1.

    >>> resemblance("a rose is a rose is a rose", "a rose is a flower which is a rose", Recipe(shingle=2))
    0.5
    """
    return shares(a, b, recipe)[0]


def containment(a: str, b: str, recipe: Recipe | None = None) -> float:
    """The share of the shingles of `a` that `b` has, too: exact, 0 to 1.

    A text without a single letter or digit is contained in its like alone.

    >>> draft, final = "to be or not to be", "to be or not to be that is the question"
    >>> containment(draft, final), round(containment(final, draft), 2)
    (1.0, 0.33)
    """
    return shares(a, b, recipe)[1]


def shares(a: str, b: str, recipe: Recipe | None = None) -> tuple[float, float, float]:
    """The resemblance of two texts, the containment of `a` in `b`, and that of `b` in `a`: exact.

    >>> shares("to be or not to be", "to be or not to be that is the question")
    (0.3333333333333333, 1.0, 0.3333333333333333)
    """
    recipe = _recipe(recipe)
    of_a, of_b = shingle_set(_text(a), recipe), shingle_set(_text(b), recipe)
    if not (len(of_a) and len(of_b)):
        alike = float(len(of_a) == len(of_b))
        return alike, alike, alike
    shared = len(np.intersect1d(of_a, of_b, assume_unique=True))
    return shared / (len(of_a) + len(of_b) - shared), shared / len(of_a), shared / len(of_b)


def simhash(text: str, recipe: Recipe | None = None) -> int:
    """64 bits, 0 to 2^64 - 1, that differ little between texts that differ little.

    >>> one, other = simhash("the quick brown fox jumps"), simhash("the quick brown fox jumped")
    >>> distance(one, other) < distance(one, simhash("something else altogether"))
    True
    """
    return sketch(text, recipe).simhash


def distance(x: int, y: int) -> int:
    """In how many bits two simhash values differ, 0 to 64.

    Negative numbers are taken for the same 64 bits read signed, as SQLite stores them.

    >>> distance(0b1010, 0b0011), distance(-1, 2**64 - 1)
    (2, 0)
    """
    return int(hamming.hamming_distance(operator.index(x), operator.index(y)))


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text must be str, not {type(text).__name__}; decode bytes first")
    return text


def _recipe(recipe: Recipe | None) -> Recipe:
    if not (recipe is None or isinstance(recipe, Recipe)):
        raise TypeError(f"a recipe must be a docindex.Recipe or None, not {recipe!r}")
    return recipe or Recipe()
