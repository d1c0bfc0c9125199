"""Find the regions of two texts: stretches of one that were made from the other, copied or reworded.

In: two texts, a recipe, the common passages and the hashes of boilerplate. Out: regions, as half-open ranges
of both original texts. A region is evidence that a person should read. It is no proof: only passages are the
same text.

Method, after Sanchez-Perez, Sidorov and Gelbukh (2014): sentences that share many of their rarer words are
seeds; seeds that lie close together in both texts make a region. Where common passages fill a region, they
take its place, because their borders are exact. Sentences in boilerplate are no seeds. `python -m
tests.bench quality regions` measures this on PAN 2013.
"""

import bisect
import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from docindex.arrays.ranges import F64, I64, U64, Bool, are_first, ranges, starts_of
from docindex.cancellation import checkpoint
from docindex.query.regions.passages import Passage, template_runs
from docindex.reading.registry import symbol_reader
from docindex.reading.sentences import Sentences, sentences_of
from docindex.reading.slicing import lines_and_columns
from docindex.recipe import Recipe
from docindex.winnowing.common_runs import run_chains, seed_clusters

# Find the pairs of rows, one of each of two lists, that share many of their rarer words.
#
# In: two lists of rows of words, where a word is a number. Out: the pairs that are alike enough. Knows
# neither sentences nor texts. Memory is bounded by the words and the result, not by the number of possible
# pairs.

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


_NOTHING = np.empty(0, np.uint64)

LEAST_LIKE = 0.33
"""The cosine, and Dice's coefficient, that the words of two sentences have at least if they are a seed."""

COMMON_WORD = 100
"""Words in more sentences than this are not compared: they say little, and would make long texts slow."""

NEAR, FAR = 3, 32
"""In a region, neighbouring seeds have at most NEAR other sentences between them.

A summary takes sentences from a long stretch. So a second search allows FAR sentences, and its regions count
if they are more than `SUMMARY` times as long in the other text as in the query, and have `FAR_SEEDS` seeds.
"""
SUMMARY = 3
FAR_SEEDS = 3

FEWEST_SHARED = 12
"""Different words that the stretches of a reworded region have in common, at least.

Without this, 31 of 200 pairs of pages of Django's documentation have a region, most of them two short lines
of code; with it, 9 have. On PAN 2013 it makes no difference to plagdet; 20 would lose reworded regions.
"""

FEWEST_SEEDS = 2
CODE_LIKE, CODE_SEEDS = 0.6, 3
"""Instead of LEAST_LIKE and FEWEST_SEEDS, for source code, where many lines are alike by habit.

Of 40 pairs of Django's modules, 4 have a region otherwise, and 15 if names are not compared; with these, 0
and 5.
"""

SHORTEST = 80
"""Symbols that a reworded region has at least in both texts: 100 characters of English, or 40 of Chinese."""

JOINED, EXACT, FILLED = 200, 256, 0.6
"""Passages at most JOINED characters apart are joined. If the result has EXACT characters, it is a region. It
takes the place of a reworded region if such results fill the share FILLED of that."""
OVERLAP = 50
"""Characters by which joined passages may overlap in the query; of others, the longest stays."""


@dataclasses.dataclass(frozen=True, slots=True)
class Region:
    """A stretch of a query and a stretch of another text that are alike, sentence by sentence."""

    query_start: int
    """Where it begins in the query, in characters."""
    query_end: int
    """Where it ends in the query: ``query[region.query_start : region.query_end]``."""
    start: int
    """Where it begins in the other text, in characters."""
    end: int
    """Where it ends in the other text."""
    kind: str
    """"reworded", or "verbatim" if common passages fill it."""
    score: float
    """How alike the sentences are: the mean cosine of their words, 0 to 1; the common share if verbatim."""
    sentences: int
    """How many sentences of the query have a sentence like them in the other text; if verbatim, how many
    passages fill it."""
    shared_words: int
    """How many different words both stretches have. Long words count as the same if they begin alike."""
    query_line: int
    """The line of the query in which it begins, counted from 1."""
    line: int
    """The line of the other text in which it begins, counted from 1."""
    query_place: str = ""
    """Where it lies in the source of the query, such as "page 3"; "" for a text without places."""
    place: str = ""
    """Where it lies in the source of the other text."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Stretches:
    """Ranges of characters in both texts, with their scores."""

    ranges: I64
    """A row for each: `query_start`, `query_end`, `start` and `end`."""
    scores: F64
    counts: I64
    """How many sentences of the query have a seed, or how many passages were joined."""
    seeds: I64
    """How many seeds it has, or how many passages."""

    def only(self, which: I64) -> "_Stretches":
        return _Stretches(self.ranges[which], self.scores[which], self.counts[which], self.seeds[which])


def regions(
    query: str, text: str, recipe: Recipe, passages: Sequence[Passage], ignored: U64 = _NOTHING
) -> list[Region]:
    """The regions of two texts, ordered by where they begin in the query.

    `passages` are the common passages of the texts. Of stretches that overlap in the query, the best one is a
    region; but a verbatim region may lie at the border of another. `ignored` are the hashes of all k-grams of
    the boilerplate, as an index stores them.
    """
    reader = symbol_reader(recipe.reading)
    sides = sentences_of(query, reader), sentences_of(text, reader)
    reworded = _like_stretches(*sides, *(_boilerplate(side, recipe.k, ignored) for side in sides))
    reworded = _best(reworded, reworded.scores * np.sqrt(reworded.counts), 0)
    shared = [_shared_words(sides, each) for each in reworded.ranges.tolist()]
    reworded = reworded.only(np.flatnonzero(np.array(shared) >= FEWEST_SHARED))
    verbatim = _verbatim(passages)
    reworded, verbatim = _without_repeats(reworded, verbatim)
    kinds = ["reworded"] * len(reworded.scores) + ["verbatim"] * len(verbatim.scores)
    every = np.concatenate([reworded.ranges, verbatim.ranges])
    lines = (lines_and_columns(of, every[:, side])[0] for of, side in ((query, 0), (text, 2)))
    rows = zip(
        *every.T.tolist(),
        kinds,
        np.concatenate([reworded.scores, verbatim.scores]).tolist(),
        np.concatenate([reworded.counts, verbatim.counts]).tolist(),
        [_shared_words(sides, each) for each in every.tolist()],
        *(of.tolist() for of in lines),
        strict=True,
    )
    return sorted((Region(*row) for row in rows), key=lambda region: (region.query_start, region.start))


def _shared_words(sides: tuple[Sentences, Sentences], stretch: list[int]) -> int:
    """How many different words the two ranges of a stretch have in common."""
    query_start, query_end, start, end = stretch
    query, text = sides
    return len(np.intersect1d(query.words_within(query_start, query_end), text.words_within(start, end)))


def _boilerplate(sentences: Sentences, k: int, ignored: U64) -> Bool:
    """Whether each sentence is boilerplate: no k neighbouring symbols of it are anything else."""
    begins = sentences.first_symbols[:-1]
    return template_runs(sentences.symbols, k, ignored).fill(begins, np.diff(sentences.first_symbols), k)


def _like_stretches(
    query: Sentences, text: Sentences, query_boilerplate: Bool, boilerplate: Bool
) -> _Stretches:
    """All candidates, which may overlap."""
    i, j, cosine = like_rows(
        (query.words, query.first_words),
        (text.words, text.first_words),
        least=CODE_LIKE if query.are_lines else LEAST_LIKE,
        common=COMMON_WORD,
        checkpoint=checkpoint,
    )
    counted = ~(query_boilerplate[i] | boilerplate[j])
    i, j, cosine = i[counted], j[counted], cosine[counted]
    near, far = (
        _stretches(query, text, (i, j, cosine), seed_clusters(i, j, gap, checkpoint)) for gap in (NEAR, FAR)
    )
    length, other = (far.ranges[:, 1::2] - far.ranges[:, ::2]).T
    far = far.only(np.flatnonzero((other > SUMMARY * length) & (far.seeds >= FAR_SEEDS)))
    return _Stretches(
        np.concatenate([near.ranges, far.ranges]),
        np.concatenate([near.scores, far.scores]),
        np.concatenate([near.counts, far.counts]),
        np.concatenate([near.seeds, far.seeds]),
    )


def _stretches(query: Sentences, text: Sentences, seeds: tuple[I64, I64, F64], groups: I64) -> _Stretches:
    """The stretch of each group of seeds that is large enough."""
    i, j, cosine = seeds
    checkpoint()
    order = np.lexsort((-cosine, i, groups))
    i, j, cosine, groups = i[order], j[order], cosine[order], groups[order]
    begins = np.flatnonzero(are_first(groups))
    if not len(begins):
        return _Stretches(
            np.empty((0, 4), np.int64), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
        )
    sides = [
        (of, np.minimum.reduceat(which, begins), np.maximum.reduceat(which, begins))
        for of, which in ((query, i), (text, j))
    ]
    ranges = np.stack([edge for of, low, high in sides for edge in (of.starts[low], of.ends[high])], axis=1)
    shortest = np.min([of.first_symbols[high + 1] - of.first_symbols[low] for of, low, high in sides], axis=0)
    best = are_first(groups) | are_first(i)  # the best seed of each sentence comes first
    counts = np.add.reduceat(best.astype(np.int64), begins)
    scores = np.add.reduceat(np.where(best, cosine, 0.0), begins) / counts
    sizes = np.diff(begins, append=len(groups))
    enough = (sizes >= (CODE_SEEDS if query.are_lines else FEWEST_SEEDS)) & (shortest >= SHORTEST)
    return _Stretches(ranges, scores, counts, sizes).only(np.flatnonzero(enough))


def _best(found: _Stretches, values: F64 | I64, slack: int) -> _Stretches:
    """Of stretches that overlap in the query by more than `slack`, those with the highest values."""
    order = np.argsort(-values, kind="stable")
    begins: list[int] = []  # of those that were taken, ascending
    ends: list[int] = []
    taken = []
    for number, (begin, end) in zip(order.tolist(), found.ranges[order, :2].tolist(), strict=True):
        at = bisect.bisect(begins, begin)
        if (not at or ends[at - 1] - slack <= begin) and (at == len(begins) or end <= begins[at] + slack):
            begins.insert(at, begin)
            ends.insert(at, end)
            taken.append(number)
    return found.only(np.array(taken, np.int64))


def _verbatim(passages: Sequence[Passage]) -> _Stretches:
    """The passages that are long once neighbours are joined."""
    own = [(p.query_start, p.query_end, p.start, p.end) for p in passages if not p.boilerplate]
    ranges = np.array(own, np.int64).reshape(-1, 4)
    lengths = ranges[:, 1] - ranges[:, 0]
    chains = run_chains(ranges[:, 0], ranges[:, 2], lengths, JOINED, checkpoint)
    order = np.argsort(chains, kind="stable")
    ranges, lengths, begins = ranges[order], lengths[order], np.flatnonzero(are_first(chains[order]))
    if not len(begins):
        return _Stretches(ranges, np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
    joined = np.stack(
        [(np.maximum if side % 2 else np.minimum).reduceat(ranges[:, side], begins) for side in range(4)],
        axis=1,
    )
    size = joined[:, 1] - joined[:, 0]
    scores = np.minimum(1.0, np.add.reduceat(lengths, begins) / size)
    long = (joined[:, 1::2] - joined[:, ::2] >= EXACT).all(axis=1)
    counts = np.diff(begins, append=len(ranges))
    found = _Stretches(joined, scores, counts, counts).only(np.flatnonzero(long))
    return _best(found, size[long], OVERLAP)


def _without_repeats(reworded: _Stretches, verbatim: _Stretches) -> tuple[_Stretches, _Stretches]:
    """The regions that passages do not fill, and the joined passages that lie in none of these."""
    verbatim = verbatim.only(np.argsort(verbatim.ranges[:, 0]))
    others = verbatim.ranges.tolist()
    # The ends ascend too, because joined passages overlap by less than they are long.
    firsts = np.searchsorted(verbatim.ranges[:, 1], reworded.ranges[:, 0], "right").tolist()
    behind = np.searchsorted(verbatim.ranges[:, 0], reworded.ranges[:, 1]).tolist()
    left = []
    inside: set[int] = set()
    for number, region in enumerate(reworded.ranges.tolist()):
        within = [other for other in range(firsts[number], behind[number]) if _meet(region, others[other])]
        common = sum(min(region[1], others[other][1]) - max(region[0], others[other][0]) for other in within)
        if common < FILLED * (region[1] - region[0]):
            left.append(number)
            inside.update(within)
    outside = [number for number in range(len(verbatim.scores)) if number not in inside]
    return reworded.only(np.array(left, np.int64)), verbatim.only(np.array(outside, np.int64))


def _meet(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two stretches overlap in both texts."""
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
