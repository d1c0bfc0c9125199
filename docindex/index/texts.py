"""Compare two texts, or make the fingerprints or the sketch of a text, without an index.

Takes strings and an optional `Recipe`. Resemblance and containment are exact. Must never touch a file.
"""

import dataclasses
import numbers
import operator
from collections.abc import Mapping
from functools import cached_property

import numpy as np
import xxhash

from docindex.arguments import kind_of_text, shown
from docindex.arrays.ranges import I64, U64
from docindex.reading.registry import symbol_reader
from docindex.reading.slicing import lines_and_columns
from docindex.recipe import Recipe
from docindex.simhashing import bits
from docindex.simhashing.bits import simhash_of_features
from docindex.sketching.single_text import shingle_set, simhash_of_text, text_fingerprints, words_hash
from docindex.sketching.sketcher import sketch_batches
from docindex.sketching.sketches import Sketch
from docindex.sketching.weighted_words import WordWeights

_GREATEST_WEIGHT = 1e100  # a sum of such weights is finite


@dataclasses.dataclass(frozen=True, eq=False)
class Fingerprints:
    """The fingerprints of one text, in the order of their positions."""

    hashes: U64
    """The hashes. Each is one of 2^47 values, spread evenly over 64 bits. Equal k-grams have equal hashes."""
    positions: I64
    """Where each k-gram begins, counted in symbols."""
    text: str = dataclasses.field(repr=False)
    """The text itself, to which `offsets` refers."""
    recipe: Recipe = dataclasses.field(repr=False)
    """The recipe with which the fingerprints were made."""

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def offsets(self) -> I64:
        """Where each k-gram begins in the original text, counted in characters."""
        return symbol_reader(self.recipe.reading).offsets(self.text, self.positions)

    @cached_property
    def lines_and_columns(self) -> tuple[I64, I64]:
        """Where each k-gram begins, as lines and columns, counted from 1."""
        return lines_and_columns(self.text, self.offsets)


def fingerprints(text: str, recipe: Recipe | None = None) -> Fingerprints:
    """The winnowing fingerprints of a text.

    A common run of ``recipe.guarantee`` or more symbols always gives them a common fingerprint. A run of less
    than ``recipe.k`` symbols never does.

    >>> found = fingerprints("A do run run run, a do run run", Recipe(k=5, window=4))
    >>> found.positions.tolist(), found.offsets.tolist()
    ([1, 4, 7, 9, 10, 13, 16], [2, 6, 10, 13, 14, 20, 24])
    """
    text, recipe = _text(text), _recipe(recipe)
    return Fingerprints(*text_fingerprints(text, recipe), text, recipe)


def sketch(text: str, recipe: Recipe | None = None) -> Sketch:
    """The sketch of a text: everything that an index stores of it, except the text itself.

    >>> ada = sketch("The Analytical Engine weaves algebraical patterns")
    >>> ada.shingles, len(ada.slots), len(ada.features)
    (2, 128, 6)
    """
    (batch,) = sketch_batches([_text(text)], _recipe(recipe))
    return batch[0]


def resemblance(a: str, b: str, recipe: Recipe | None = None) -> float:
    """The resemblance of two texts: the shared shingles, as a share of those of the two texts together.

    Different shingles are counted: repeats count once. Exact and symmetric; 0 to 1.

    >>> resemblance("a rose is a rose is a rose", "a rose is a flower which is a rose", Recipe(shingle=2))
    0.5
    """
    return shares(a, b, recipe)[0]


def containment(a: str, b: str, recipe: Recipe | None = None) -> float:
    """The containment of `a` in `b`: the shared shingles, as a share of those of `a`. Exact; 0 to 1.

    Different shingles are counted: repeats count once.
    A text without words, such as "?!", is contained only in a text of the same signs.

    >>> draft, final = "to be or not to be", "to be or not to be that is the question"
    >>> containment(draft, final), round(containment(final, draft), 2)
    (1.0, 0.33)
    """
    return shares(a, b, recipe)[1]


def shares(a: str, b: str, recipe: Recipe | None = None) -> tuple[float, float, float]:
    """The resemblance of two texts, the containment of `a` in `b`, and that of `b` in `a`. Exact.

    >>> shares("to be or not to be", "to be or not to be that is the question")
    (0.3333333333333333, 1.0, 0.3333333333333333)
    """
    a, b, recipe = _text(a), _text(b), _recipe(recipe)
    of_a, of_b = shingle_set(a, recipe), shingle_set(b, recipe)
    if not (len(of_a) and len(of_b)):
        alike = float(words_hash(a, recipe) == words_hash(b, recipe))
        return alike, alike, alike
    shared = len(np.intersect1d(of_a, of_b, assume_unique=True))
    return shared / (len(of_a) + len(of_b) - shared), shared / len(of_a), shared / len(of_b)


def simhash(
    text: str | None = None,
    recipe: Recipe | None = None,
    *,
    features: Mapping[str, float] | None = None,
    idf: WordWeights | None = None,
) -> int:
    """The simhash of a text, a number of 64 bits. The simhash values of similar texts differ in few bits.

    Its features are the words and the pairs of neighbouring words. A feature that occurs n times weighs
    1 + ln n, and a pair one and a half times as much as a word.

    With `idf`, which is the result of `Index.word_weights`, rare words weigh more. That tells texts apart
    that share a template; similar texts then differ in up to 11 bits. Compare such a value only with others
    of the same weights: the values in an index have none.

    Instead of a text, you can give your own `features`, each with its weight above 0. Bit i of the simhash is
    1 if the features that have bit i weigh more than the others, where a feature has the bits of the xxh3-64
    of its UTF-8 (with seed 0). The sums are exact, so the order of the features makes no difference.

    >>> one, other = simhash("the quick brown fox jumps"), simhash("the quick brown fox jumped")
    >>> distance(one, other) < distance(one, simhash("something else altogether"))
    True
    >>> simhash(features={"fox": 2.5, "quick": 1, "brown": 1}) == simhash(features={"fox": 1})
    True
    """
    if features is not None:
        if not (text is None and recipe is None and idf is None):
            raise TypeError("simhash takes either features, or a text with its recipe and idf")
        return _simhash_of_features(features)
    if text is None:
        raise TypeError("simhash needs features or a text; a text must be str, not NoneType")
    if idf is None:
        return simhash_of_text(_text(text), _recipe(recipe))
    if not isinstance(idf, WordWeights):
        raise TypeError(f"idf must be the result of Index.word_weights, not {shown(idf)}")
    if recipe not in (None, idf.recipe):
        raise ValueError("the recipe must be that of idf; leave it out")
    return simhash_of_text(_text(text), idf.recipe, idf)


def _simhash_of_features(features: Mapping[str, float]) -> int:
    if not isinstance(features, Mapping):
        raise TypeError(f"features must be a mapping from features to their weights, not {shown(features)}")
    hashes: list[int] = []
    weights: list[float] = []
    for feature, weight in features.items():
        if not isinstance(feature, str):
            raise TypeError(f"a feature must be str, not {shown(feature)}")
        if not (isinstance(weight, numbers.Real) and 0 < weight <= _GREATEST_WEIGHT):
            raise ValueError(
                f"the weight of {shown(feature)} must be a number above 0, up to 1e100, not {shown(weight)}"
            )
        hashes.append(xxhash.xxh3_64_intdigest(str.encode(feature, "utf-8", "surrogatepass")))
        weights.append(float(weight))
    return simhash_of_features(np.array(hashes, np.uint64), np.array(weights, np.float64))


def distance(x: int, y: int) -> int:
    """The number of bits in which two simhash values differ, 0 to 64.

    A negative number is 64 bits read as a signed integer, as SQLite stores them.

    >>> distance(0b1010, 0b0011), distance(-1, 2**64 - 1)
    (2, 0)
    """
    if not (isinstance(x, numbers.Integral) and isinstance(y, numbers.Integral)):
        raise TypeError(f"simhash values must be of type int, not {shown(x)} and {shown(y)}")
    try:
        return int(bits.hamming_distance(operator.index(x), operator.index(y)))
    except ValueError as error:
        raise ValueError(f"a simhash value is too large: {error}") from error


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text must be str, not {kind_of_text(text)}")
    return str.__str__(text)


def _recipe(recipe: Recipe | None) -> Recipe:
    if not (recipe is None or isinstance(recipe, Recipe)):
        raise TypeError(f"a recipe must be a docindex.Recipe or None, not {shown(recipe)}")
    return recipe or Recipe()
