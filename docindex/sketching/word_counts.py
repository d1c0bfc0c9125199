"""Compute the simhash of texts: count their words and pairs of neighbouring words, and add their weights.

In: the hashes of the words of a batch of texts, or of one text in slices. Out: 64 bits for each text. The
result must never depend on how the texts were batched or cut.
"""

import numpy as np

from docindex.kernels.arrays import I64, U64, mix, mix_in_place, starts_of
from docindex.kernels.kgrams import grams
from docindex.kernels.simhash_bits import simhashes_of
from docindex.sketching.word_weights import WordWeights, count_weights

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
