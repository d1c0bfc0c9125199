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
from collections.abc import Sequence

import numpy as np

from docindex.checkpoints import checkpoint
from docindex.kernels.arrays import F64, I64, U64, Bool, are_first
from docindex.kernels.like_rows import like_rows
from docindex.kernels.run_chains import run_chains, seed_clusters
from docindex.query.passages import Passage
from docindex.query.template_runs import template_runs
from docindex.reading.registry import symbol_reader
from docindex.reading.sentences import Sentences, sentences_of
from docindex.reading.slicing import lines_and_columns
from docindex.recipe import Recipe

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
