"""Turn a reading into tokens for shingles, and into words for simhash.

In: the reading of a batch or of one slice of a text, and the recipe. Out: token hashes, and where each text's
tokens begin. Must never read a text itself; the reading that the recipe names does that.

A reading never cuts a word or line of up to `longest_unit` symbols. Words are cut into pieces of half that
length: no word of a natural language is longer, and a line of base64 is not one word. Lines are cut into
pieces of the full length, which is the longest that `token_hashes` hashes well.
"""

from functools import lru_cache

import numpy as np

from docindex.kernels.arrays import I64, U8, U64
from docindex.kernels.shingling import token_hashes, token_spans
from docindex.reading.english import STOP_WORDS, stemmed
from docindex.reading.protocol import Reading
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe

WordSpans = tuple[I64, I64, U64]
"""Where words begin and end among the symbols, and their hashes."""


def words_of(reading: Reading, recipe: Recipe) -> WordSpans:
    """The words of a reading, with overlong ones cut into pieces."""
    longest = symbol_reader(recipe.reading).longest_unit // 2
    begins, ends = token_spans(reading.words, len(reading.symbols), longest)
    if reading.word_hashes is not None:
        return begins, ends, reading.word_hashes
    return begins, ends, token_hashes(reading.symbols, begins, ends)


def shingle_tokens(reading: Reading, recipe: Recipe, words: WordSpans | None = None) -> tuple[U8 | U64, I64]:
    """The tokens that shingles consist of, and where each text's tokens begin.

    A caller that already has the words passes them as `words`, so that they are not computed again.
    """
    if recipe.token == "letter":
        return reading.symbols, reading.starts
    if recipe.token == "line":
        longest = symbol_reader(recipe.reading).longest_unit
        begins, ends = token_spans(reading.lines, len(reading.symbols), longest)
        return token_hashes(reading.symbols, begins, ends), np.searchsorted(begins, reading.starts)
    begins, _, hashes = words or words_of(reading, recipe)
    return hashes, np.searchsorted(begins, reading.starts)


def simhash_words(reading: Reading, recipe: Recipe, words: WordSpans) -> tuple[U64, I64]:
    """The hashes of the words that simhash uses, and where each text's words begin."""
    begins, ends, hashes = words
    if recipe.stop_words == "english":
        kept = ~np.isin(hashes, _stop_word_hashes(recipe))
        begins, ends, hashes = begins[kept], ends[kept], hashes[kept]
    if recipe.stemming == "english":
        hashes = token_hashes(reading.symbols, begins, stemmed(reading.symbols, begins, ends))
    return hashes, np.searchsorted(begins, reading.starts)


@lru_cache(maxsize=4)
def _stop_word_hashes(recipe: Recipe) -> U64:
    return words_of(symbol_reader(recipe.reading).read([" ".join(STOP_WORDS)]), recipe)[2]
