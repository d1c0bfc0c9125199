"""Find the pairs of rows, one of each of two lists, that share many of their rarer words.

In: two lists of rows of words, where a word is a number. Out: the pairs that are alike enough. Knows neither
sentences nor texts. Memory is bounded by the words and the result, not by the number of possible pairs.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from docindex.kernels.arrays import F64, I64, U64, Bool, are_first, ranges, starts_of

# How many common words are counted at a time. With 2^20, two texts of 2 MB took 211 MB instead of 72, in the
# same time.
_PRODUCTS = 1 << 17
_CELLS = 1 << 22  # a table with more cells takes longer than sorting


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """The different words of each row that are not common, ordered by row, with their weights."""

    row: I64
    word: I64
    weight: F64
    norms: F64
    """The length of the vector of each row, with its common words."""
    counts: I64
    """The number of different words of each row, with its common words."""


def like_rows(
    a: tuple[U64, I64],
    b: tuple[U64, I64],
    *,
    least: float,
    common: int,
    checkpoint: Callable[[], None],
) -> tuple[I64, I64, F64]:
    """The pairs of a row of a and a row of b that are alike, ascending, and the cosines of the pairs.

    A list of rows is given by the words of all rows, and where each row begins among them. The weight of a
    word in a row is its number of occurrences there, times ln(1 + rows / rows with the word), where the rows
    are those of both lists. A pair is alike if the cosine of its weights and Dice's coefficient of its
    different words are both at least `least`.

    A word in more than `common` rows counts as if no two rows shared it. So each row has a bounded number of
    partners, and in long texts rows are not alike only because a few rarer words are left of them.

    >>> a = np.array([1, 2, 3, 7, 8, 9], np.uint64), np.array([0, 3, 6])
    >>> b = np.array([8, 9, 7, 4, 5], np.uint64), np.array([0, 3, 5])
    >>> [part.tolist() for part in like_rows(a, b, least=0.5, common=10, checkpoint=lambda: None)]
    [[1], [0], [1.0]]
    """
    words, number = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    checkpoint()
    first = _counted(number[: len(a[0])], a[1], len(words))
    checkpoint()
    second = _counted(number[len(a[0]) :], b[1], len(words))
    checkpoint()
    rows_with = np.bincount(first[1], minlength=len(words)) + np.bincount(second[1], minlength=len(words))
    rows = len(a[1]) + len(b[1]) - 2
    weights, rare = np.log1p(rows / np.maximum(rows_with, 1)), rows_with <= common
    of_a = _weighted(first, weights, rare, len(a[1]) - 1)
    of_b = _weighted(second, weights, rare, len(b[1]) - 1)
    by_word = np.argsort(of_b.word, kind="stable")
    begins = starts_of(np.bincount(of_b.word, minlength=len(words)).astype(np.int64))
    meeting = begins[of_a.word + 1] - begins[of_a.word]
    i, j, cosines = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for low, high in _blocks(of_a.row, meeting):
        checkpoint()
        left = np.repeat(np.arange(low, high), meeting[low:high])
        right = by_word[ranges(begins[of_a.word[low:high]], meeting[low:high])]
        row_a, row_b, shared, dot = _summed(
            of_a.row[left] * len(of_b.norms) + of_b.row[right],
            of_a.weight[left] * of_b.weight[right],
            len(of_b.norms),
        )
        cosine = np.minimum(dot / (of_a.norms[row_a] * of_b.norms[row_b]), 1.0)
        dice = 2 * shared / (of_a.counts[row_a] + of_b.counts[row_b])
        alike = (cosine >= least) & (dice >= least)
        i.append(row_a[alike])
        j.append(row_b[alike])
        cosines.append(cosine[alike])
    return np.concatenate(i), np.concatenate(j), np.concatenate(cosines)


def _counted(words: I64, starts: I64, vocabulary: int) -> tuple[I64, I64, I64]:
    """The rows and words that occur together, ordered by row, and how often each does."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys, times = np.unique(rows * vocabulary + words, return_counts=True)
    return keys // max(vocabulary, 1), keys % max(vocabulary, 1), times


def _weighted(counted: tuple[I64, I64, I64], weights: F64, rare: Bool, rows: int) -> _Entries:
    """The entries of the rare words, and the norms and counts of all words."""
    row, word, times = counted
    weight = times * weights[word]
    norms = np.sqrt(np.bincount(row, weight * weight, rows))
    counts = np.bincount(row, minlength=rows)
    kept = rare[word]
    return _Entries(row[kept], word[kept], weight[kept], norms, counts)


def _blocks(rows: I64, meeting: I64) -> list[tuple[int, int]]:
    """Ranges of entries that have whole rows, and `_PRODUCTS` meetings or one row each."""
    firsts = np.append(np.flatnonzero(are_first(rows)), len(rows))
    before = starts_of(meeting)[firsts]
    blocks, at = [], 0
    while at < len(firsts) - 1:
        to = max(at + 1, int(np.searchsorted(before, before[at] + _PRODUCTS, "right")) - 1)
        blocks.append((int(firsts[at]), int(firsts[to])))
        at = to
    return blocks


def _summed(keys: I64, products: F64, columns: int) -> tuple[I64, I64, I64, F64]:
    """The different keys as rows and columns, how often each occurs, and the sum of its products."""
    found, cells = np.empty(0, np.int64), keys
    if len(keys) and int(keys.max() - keys.min()) > _CELLS:
        found, cells = np.unique(keys, return_inverse=True)
    elif len(keys):
        # Counting in all cells takes a tenth of the time of sorting.
        found = np.arange(keys.min(), keys.max() + 1)
        cells = keys - keys.min()
    times = np.bincount(cells, minlength=len(found)).astype(np.int64)
    sums: F64 = np.bincount(cells, products, len(found)).astype(np.float64, copy=False)
    used = np.flatnonzero(times)
    return found[used] // columns, found[used] % columns, times[used], sums[used]
