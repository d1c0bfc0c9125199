"""Compute one part of the sketch of one text: shingle set, fingerprints, hash of the words, or simhash.

In: a text of any length and a recipe. Out: arrays or bytes. Queries use these functions because each is
cheaper than a whole sketch. Long texts are read in slices; the result must never depend on the slices.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from docindex.arrays.ranges import I64, U64, mix, starts_of, union
from docindex.reading import slicing
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.shingling.shingles import labelled_bag
from docindex.sketching.incremental import GrowingArray, Winnower, shingle_hashes
from docindex.sketching.tokens import simhash_words, words_of
from docindex.sketching.weighted_words import WordCounter, WordWeights
from docindex.sketching.words_hashing import WordsHasher
from docindex.winnowing.selection import select_fingerprints


def shingle_set(text: str, recipe: Recipe) -> U64:
    """The different shingles of a text as sorted hashes; resemblance and containment compare these sets.

    >>> len(shingle_set("a rose is a rose is a rose", Recipe(shingle=4)))
    3
    """
    found = GrowingArray(np.uint64)
    for hashes in shingle_hashes(text, recipe):
        found.extend(hashes)
    hashes = found.taken()
    return union(labelled_bag(hashes, starts_of(np.array([len(hashes)]))) if recipe.bag else hashes)


def text_fingerprints(text: str, recipe: Recipe) -> tuple[U64, I64]:
    """The fingerprints of one text: their hashes, spread over 64 bits, and their positions in symbols.

    >>> hashes, positions = text_fingerprints("abcdefgh", Recipe(k=3, window=2))
    >>> len(hashes) == len(positions) >= 3
    True
    """
    winnower = Winnower(recipe)
    reader = symbol_reader(recipe.reading)
    for reading in reader.readings(text):
        winnower.add(reading.symbols)
    hashes, gaps = winnower.end()
    return hashes, np.cumsum(gaps, dtype=np.int64)


def window_hashes(text: str, recipe: Recipe, windows: Sequence[int]) -> list[U64]:
    """For each window size, the hashes of the fingerprints that winnowing selects from one text.

    >>> [len(hashes) for hashes in window_hashes("abcdefgh", Recipe(k=3), [1, 6])]
    [6, 1]
    """
    if len(text) > slicing.PIECE_CHARACTERS:
        return [text_fingerprints(text, dataclasses.replace(recipe, window=window))[0] for window in windows]
    # A short text is read only once and not winnowed in slices, which takes half the time.
    symbols = symbol_reader(recipe.reading).symbols(text)
    starts, robust = starts_of(np.array([len(symbols)])), recipe.selector == "robust"
    return [
        mix(select_fingerprints(symbols, starts, recipe.k, window, robust=robust)[1]) for window in windows
    ]


def words_hash(text: str, recipe: Recipe) -> bytes:
    """The hash that texts share only if they have the same words (see `words_hashing`).

    >>> words_hash("Ada's Éclair", Recipe()) == words_hash("ADA S: eclair!", Recipe())
    True
    >>> words_hash("1.25", Recipe()) == words_hash("125", Recipe())
    False
    """
    reader = symbol_reader(recipe.reading)
    hasher = WordsHasher(reader)
    for reading in reader.readings(text):
        hasher.add(reading)
    return hasher.end(text)


def word_hashes(text: str, recipe: Recipe) -> Iterator[U64]:
    """The hashes of the words that simhash uses, in the order of the text: one array for each slice.

    >>> [len(hashes) for hashes in word_hashes("one two one", Recipe())]
    [3]
    """
    for reading in symbol_reader(recipe.reading).readings(text):
        yield simhash_words(reading, recipe, words_of(reading, recipe))[0]


def simhash_of_text(text: str, recipe: Recipe, idf: WordWeights | None = None) -> int:
    """The simhash of one text; with `idf`, rare words weigh more, and the result is not that of a sketch.

    >>> simhash_of_text("one, two", Recipe()) == simhash_of_text("One Two", Recipe())
    True
    """
    counter = WordCounter(idf)
    for hashes in word_hashes(text, recipe):
        counter.add(hashes)
    return int(counter.simhash[0])
