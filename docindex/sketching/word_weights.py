"""The weights of the words and pairs of words that make a simhash, and the rarity of words in an index.

In: how often a feature occurs in a text, and in how many texts a word occurs. Out: weights. All weights are
whole numbers, computed from whole numbers: a logarithm of the machine's could be rounded differently on
another machine, and sums of fractions depend on their order.
"""

import dataclasses
from collections.abc import Iterable
from functools import cache

import numpy as np

from docindex.kernels.arrays import I64, U32, U64, union
from docindex.recipe import Recipe

# The weights of a word and of a pair of words that occur once. A feature that occurs n times weighs 1 + ln n
# times as much. Measured at distance 5: precision/recall of the pairs with a resemblance of at least .8, in
# Reuters-21578 and in seven releases of Django's documentation. Measured at the best distance: F1 of finding
# the other releases of a file, in the same documentation and in three releases of manual pages. Each figure
# is the average of four or six choices of the hash, which change it by .01 to .02.
#
#   weight of a word, of a pair       Reuters >= .8   Django >= .8   Django, files   manual pages
#   n, n                                .62/.96         .65/.96          .807            .607
#   1, 1                                .89/.91         .94/.82          .822            .556
#   min(n, 2), the same                 .85/.93         .92/.84          .830            .601
#   sqrt n, the same                    .85/.93         .88/.88          .840            .595
#   sqrt n, 2 sqrt n                    .91/.90         .92/.84          .836            .600
#   1 + log2 n, the same                .80/.94         .88/.88          .841            .614
#   1 + log2 n, 2 (1 + log2 n)          .89/.92         .91/.85          .834            .632
#   1 + ln n, the same                  .83/.93         .90/.87          .841            .607
#   1 + ln n, 1.5 (1 + ln n)            .89/.91         .91/.86          .837            .613
#   1 + ln n, 2 (1 + ln n)              .90/.90         .92/.84          .832            .619
#   1 + ln n, no pairs                  .61/.97         .81/.93          .839            .525
#   no words, 1 + ln n                  .91/.89         .94/.81          .836            .615
#
# Logarithms win over n and over 1. Among them, a pair that weighs 1.5 times as much as a word has the largest
# smallest figure in the first two columns.
WORD, PAIR = 8, 12

# A feature that occurs more often weighs as much as one that occurs this often.
_TABULATED = 1 << 12

_CLASS_BITS = 22


def count_weights(counts: I64, pairs: I64) -> U64:
    """The weights of features that occur this often in a text; `pairs` is 1 for a pair and 0 for a word.

    >>> count_weights(np.array([1, 1, 2, 8]), np.array([0, 1, 0, 0])).tolist()
    [8, 12, 13, 24]
    """
    return _table()[2 * np.minimum(counts, _TABULATED) + pairs]


@cache
def _table() -> U64:
    """The weights of a word that occurs n times at 2 n, and of a pair at 2 n + 1."""
    logarithms = [0, *(_sixteenths_of_ln(count, 1) for count in range(1, _TABULATED + 1))]
    return np.array([once * (16 + ln) // 16 for ln in logarithms for once in (WORD, PAIR)], np.uint64)


def _sixteenths_of_ln(a: int, b: int) -> int:
    """The logarithm of a / b in units of 1/16, rounded down: 11 log2(a / b), because 16 ln 2 is 11.09."""
    return int(a**11 // b**11).bit_length() - 1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class WordWeights:
    """How rare each word is among the texts of an index: the argument `idf` of `docindex.simhash`.

    A word that n of N texts have weighs 1 + 16 ln((N + 1) / n), rounded down. A pair of words weighs as much
    as the rarer one.

    At the best distance, F1 of finding the releases of manual pages, which share a template, is .87 instead
    of .62; of Django's documentation, .82 instead of .85. The best distance is 11 or 12 instead of 5.
    (If pairs are counted, too, or weigh as much as the average of their words, F1 differs by less than .01.)
    """

    recipe: Recipe
    """The recipe of the index."""
    texts: int
    """The number of texts that were counted."""
    counts: U32 = dataclasses.field(repr=False)
    """For each of 2^22 classes of words, the number of texts that have a word of the class.

    Words are classed by their hashes, so that the counts take 16 MB, however many words there are.
    """

    def of(self, words: U64) -> U64:
        """The weights of words, which are given by their hashes."""
        found, which = np.unique(self.counts[_classes_of(words)], return_inverse=True)
        weights = [1 + _sixteenths_of_ln(self.texts + 1, max(1, count)) for count in found.tolist()]
        return np.array(weights, np.uint64)[which]


def word_weights(texts: Iterable[Iterable[U64]], recipe: Recipe) -> WordWeights:
    """Count the words of many texts. Each text is one or more arrays of the hashes of its words.

    >>> common, rare = np.array([7 << 60], np.uint64), np.array([1 << 60], np.uint64)
    >>> word_weights([[common], [common], [common, rare]], Recipe()).of(np.append(common, rare)).tolist()
    [5, 23]
    """
    counts, count = np.zeros(1 << _CLASS_BITS, np.uint32), 0
    for parts in texts:
        counts[union(*map(_classes_of, parts))] += np.uint32(1)
        count += 1
    return WordWeights(recipe, count, counts)


def _classes_of(words: U64) -> U64:
    return words >> np.uint64(64 - _CLASS_BITS)
