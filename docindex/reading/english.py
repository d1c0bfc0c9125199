"""English stop words and plural endings, which a recipe may tell simhash to ignore.

In: words as ranges of symbols. Out: the same ranges without plural endings. Only simhash may use this
module: fingerprints and shingles must never ignore a word or an ending.
"""

import numpy as np

from docindex.kernels.arrays import I64, U8, Bool

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
