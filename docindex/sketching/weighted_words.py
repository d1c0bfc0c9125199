"""Compute the simhash of texts: count their words and pairs of neighbouring words, and add their weights.

In: the hashes of the words of a batch of texts, or of one text in slices. Out: 64 bits for each text. The
result must never depend on how the texts were batched or cut.
"""

import dataclasses
from collections.abc import Iterable
from functools import cache

import numpy as np

from docindex.arrays.ranges import I64, U32, U64, mix, mix_in_place, starts_of, union
from docindex.recipe import Recipe
from docindex.simhashing.bits import simhashes_of
from docindex.winnowing.kgrams import grams

# The weights of the words and pairs of words that make a simhash, and the rarity of words in an index.
#
# In: how often a feature occurs in a text, and in how many texts a word occurs. Out: weights. All weights are
# whole numbers, computed from whole numbers: a logarithm of the machine's could be rounded differently on
# another machine, and sums of fractions depend on their order.

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


# The id of a feature is the 43 highest bits of its hash, and one bit that tells pairs from words. So 64 bits
# have room for the number of one of 2^20 texts. (A batch has fewer texts: each weighs at least one of its
# 2^20 characters.) Among a million features of a text, two have the same id with a probability of 6%, and the
# simhash hardly changes if they do.
_ID_BITS = 44
_ROOM = 64 - _ID_BITS

# Up to this many different features of a long text are counted; they take 16 MB. English texts reach it with
# 10 MB. If there are more, only the features are counted whose hashes are 0 modulo a power of two. So two
# similar texts have the same features counted, unless only one of them exceeds a power of two times 2^20.
# Then they differ in about 16 bits.
_COUNTED = 1 << 20

# How many features wait until they are counted together, because inserting takes longer than sorting.
_AT_ONCE = 1 << 20


def simhashes_of_words(words: U64, starts: I64) -> U64:
    """The simhash of each text of a batch, from the hashes of its words.

    >>> words = np.array([7 << 60, 5 << 50, 7 << 60, 5 << 50], np.uint64)
    >>> one, other = simhashes_of_words(words, np.array([0, 2, 4])).tolist()
    >>> one == other
    True
    """
    pairs, pair_starts = grams(words, starts, 2)
    keys = _ids(words, pairs)
    texts = np.arange(len(starts) - 1, dtype=np.uint64) << np.uint64(_ID_BITS)
    keys[: len(words)] |= np.repeat(texts, np.diff(starts))
    keys[len(words) :] |= np.repeat(texts, np.diff(pair_starts))
    keys.sort()
    ids, counts, heads = _counted(keys)
    ids &= np.uint64((1 << _ID_BITS) - 1)
    weights = count_weights(counts, _are_pairs(ids))
    mix_in_place(ids, np.empty_like(ids))
    return simhashes_of(ids, np.searchsorted(heads, starts + pair_starts), weights)


class WordCounter:
    """Computes the simhash of one text whose words come in slices; bounded memory."""

    def __init__(self, idf: WordWeights | None = None) -> None:
        self._idf = idf
        self._last = np.empty(0, np.uint64)
        """The last word so far; empty before the first word."""
        self._waiting: list[U64] = []
        """Keys that have not been counted yet. A key is an id, followed by the rarity of the feature."""
        self._keys = np.empty(0, np.uint64)
        """The keys that have been counted, ascending."""
        self._counts = np.empty(0, np.int64)
        self._level = 0
        """How many of the lowest bits of its hash are 0 in every key that is counted."""

    def add(self, words: U64) -> None:
        """Take the words of the next slice."""
        together = np.concatenate([self._last, words])
        pairs, _ = grams(together, starts_of(np.array([len(together)])), 2)
        keys = _ids(words, pairs) << np.uint64(_ROOM)
        if self._idf is not None:
            rarity = self._idf.of(together)
            keys[: len(words)] |= rarity[len(self._last) :]
            keys[len(words) :] |= np.maximum(rarity[1:], rarity[:-1])
        self._last = together[-1:]
        self._waiting.append(keys[keys & self._lowest(self._level) == 0] if self._level else keys)
        if sum(map(len, self._waiting)) >= _AT_ONCE:
            self._count()

    @property
    def simhash(self) -> U64:
        """The simhash of the words so far, as an array of one."""
        self._count()
        ids = self._keys >> np.uint64(_ROOM)
        weights = count_weights(self._counts, _are_pairs(ids))
        if self._idf is not None:
            weights *= self._keys & np.uint64((1 << _ROOM) - 1)
        return simhashes_of(mix(ids), starts_of(np.array([len(ids)])), weights)

    def _count(self) -> None:
        """Count the keys that wait."""
        keys, counts, _ = _counted(np.sort(np.concatenate([*self._waiting, self._keys[:0]])))
        self._waiting = []
        at = np.searchsorted(self._keys, keys)
        known = at < len(self._keys)
        known[known] = self._keys[at[known]] == keys[known]
        self._counts[at[known]] += counts[known]
        self._keys = np.insert(self._keys, at[~known], keys[~known])
        self._counts = np.insert(self._counts, at[~known], counts[~known])
        while len(self._keys) > _COUNTED:
            self._level += 1
            chosen = self._keys & self._lowest(self._level) == 0
            self._keys, self._counts = self._keys[chosen], self._counts[chosen]

    def _lowest(self, level: int) -> np.uint64:
        """The bits of a key that are the lowest bits of a hash in it."""
        return np.uint64(((1 << level) - 1) << _ROOM + 1)


def _ids(words: U64, pairs: U64) -> U64:
    """The ids of words, followed by the ids of pairs."""
    ids = np.concatenate([words, pairs])
    ids >>= np.uint64(_ROOM + 1)
    ids <<= np.uint64(1)
    ids[len(words) :] |= np.uint64(1)
    return ids


def _are_pairs(ids: U64) -> I64:
    """1 for the id of a pair, and 0 for the id of a word."""
    return (ids & np.uint64(1)).view(np.int64)


def _counted(ordered: U64) -> tuple[U64, I64, I64]:
    """The different numbers of an ascending array, how often each occurs, and where it first occurs."""
    differs = np.empty(len(ordered), np.bool_)
    differs[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=differs[1:])
    heads = np.flatnonzero(differs)
    return ordered[heads], np.diff(heads, append=len(ordered)), heads
