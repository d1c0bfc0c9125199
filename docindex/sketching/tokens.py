"""Turn a reading into tokens for shingles, and into words for simhash.

In: the reading of a batch or of one slice of a text, and the recipe. Out: token hashes, and where each text's
tokens begin. Must never read a text itself; the reading that the recipe names does that.

A reading never cuts a word or line of up to `longest_unit` symbols. Words are cut into pieces of half that
length: no word of a natural language is longer, and a line of base64 is not one word. Lines are cut into
pieces of the full length, which is the longest that `token_hashes` hashes well.
"""

from functools import lru_cache

import numpy as np

from docindex.arrays.ranges import I64, U8, U64, Bool
from docindex.reading.protocol import Reading
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.shingling.shingles import token_hashes, token_spans

# English stop words and plural endings, which a recipe may tell simhash to ignore.
#
# In: words as ranges of symbols. Out: the same ranges without plural endings. Only simhash may use this
# module: fingerprints and shingles must never ignore a word or an ending.

STOP_WORDS = tuple(
    """
    a about after all also am an and any are as at be because been before being between both but by
    can could did do does down each for from further had has have he her here him his how i if in
    into is it its just may me might more most must my no nor not now of off on once only or other
    our out over own same shall she should so some such than that the their them then there these
    they this those through to too under until up upon very was we were what when where which while
    who whom why will with would you your
    """.split()  # noqa: SIM905 - a list of 118 quoted words is hard to read
)
"""Articles, pronouns, prepositions and auxiliaries: they occur in texts about any subject."""


def stemmed(symbols: U8, begins: I64, ends: I64) -> I64:
    """The position where each word ends without its plural ending, by Harman's s-stemmer of 1991.

    Harman replaces "-ies" with "-y". This function cuts off both endings, which also makes "copies" and
    "copy" the same word.

    >>> import numpy as np
    >>> words = np.frombuffer(b"copiescopycatsglass", np.uint8)
    >>> stemmed(words, np.array([0, 6, 10, 14]), np.array([6, 10, 14, 19])).tolist()
    [3, 9, 13, 19]
    """

    def has_letter(distance: int, letters: bytes) -> Bool:
        """For each word, whether the symbol at this distance before its end is one of `letters`.

        In a short word the symbol may belong to the word before; the conditions on `lengths` exclude that.
        """
        wanted = np.zeros(256, bool)
        wanted[list(letters)] = True
        return wanted[symbols[np.maximum(ends - distance, 0)]]

    if not len(ends):
        return ends
    lengths = ends - begins
    ies = (
        has_letter(1, b"s")
        & has_letter(2, b"e")
        & has_letter(3, b"i")
        & ~has_letter(4, b"ae")
        & (lengths > 4)
    )
    y = has_letter(1, b"y") & ~has_letter(2, b"aeiou") & (lengths > 2)
    s = has_letter(1, b"s") & ~has_letter(2, b"us") & (lengths > 2)
    s &= ~(has_letter(2, b"e") & has_letter(3, b"aeo"))
    cut: I64 = np.select([ies, y, s], [3, 1, 1], 0)
    return ends - cut


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
