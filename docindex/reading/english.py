"""What simhash may leave out of English words: the commonest words, and plural endings.

In: words as ranges of symbols. Out: shorter ranges, or the list of words. Must never change
what fingerprints and shingles see.
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
    """.split()  # noqa: SIM905 - a list of 118 quoted words is no pleasure to read
)
"""Articles, pronouns, prepositions, auxiliaries: what a text has whatever it is about."""


def stemmed(symbols: U8, begins: I64, ends: I64) -> I64:
    """Where each word ends without its plural ending, after Harman's s-stemmer of 1991.

    Her "-ies" becomes "-y"; here both endings go, so that "copies" and "copy" are one word.

    >>> import numpy as np
    >>> words = np.frombuffer(b"copiescopycatsglass", np.uint8)
    >>> stemmed(words, np.array([0, 6, 10, 14]), np.array([6, 10, 14, 19])).tolist()
    [3, 9, 13, 19]
    """

    def has_before(place: int, letters: bytes) -> Bool:
        """Whether the letter so many places before the end is one of these.

        In a short word that may be a letter of the word before: the lengths below see to that.
        """
        wanted = np.zeros(256, bool)
        wanted[list(letters)] = True
        return wanted[symbols[np.maximum(ends - place, 0)]]

    if not len(ends):
        return ends
    lengths = ends - begins
    ies = (
        has_before(1, b"s")
        & has_before(2, b"e")
        & has_before(3, b"i")
        & ~has_before(4, b"ae")
        & (lengths > 4)
    )
    y = has_before(1, b"y") & ~has_before(2, b"aeiou") & (lengths > 2)
    s = has_before(1, b"s") & ~has_before(2, b"us") & (lengths > 2)
    s &= ~(has_before(2, b"e") & has_before(3, b"aeo"))
    cut: I64 = np.select([ies, y, s], [3, 1, 1], 0)
    return ends - cut
