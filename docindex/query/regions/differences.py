"""Find the words that differ between two texts: deleted, inserted and replaced words.

Takes two texts and the recipe by which they are compared, and returns half-open ranges of both texts. The
passages that both texts have in the same order say what is the same. Between two of them lies a gap, in which
difflib compares the words. Must never leave out a word that differs.
"""

import bisect
import dataclasses
import difflib
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from docindex.arrays.ranges import I64, Bool
from docindex.cancellation import checkpoint
from docindex.query.regions.passages import comparable, passage_runs
from docindex.reading.protocol import SymbolReader
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe

DifferenceKind = Literal["deleted", "inserted", "replaced"]

_STEPS = 200
"""Steps of difflib for each word of a gap. If it may take more, the whole gap is one difference.

Gaps of about 150 words of prose take as many.
"""

_LONGEST_CHANCE = 3
"""Words that agree between two larger differences by chance, at most, such as "of the"."""


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """Words that differ between two texts, as half-open ranges of characters.

    The range in a text without these words is empty, and lies where they would be.
    """

    kind: DifferenceKind
    query_start: int
    """Where the words begin in the first text, in characters."""
    query_end: int
    start: int
    """Where the words begin in the second text."""
    end: int
    query_words: int
    """How many words the range of the first text has."""
    words: int
    """How many words the range of the second text has."""


class _Gap(NamedTuple):
    """A stretch of one text and a stretch of another, in words."""

    a: int
    a_end: int
    b: int
    b_end: int

    @property
    def size(self) -> int:
        return max(self.a_end - self.a, self.b_end - self.b)


def differences(a: str, b: str, recipe: Recipe) -> list[Difference]:
    """The differences between the words of two texts, in their order.

    Words are the same if they read the same: case, accents and punctuation do not count. Words that were
    moved are deleted at one place and inserted at another.

    >>> one, two = "the quick brown fox jumps", "The slow brown fox jumps, too"
    >>> for each in differences(one, two, Recipe()):
    ...     print(each.kind, one[each.query_start : each.query_end], "|", two[each.start : each.end])
    replaced quick | slow
    inserted  | too
    """
    ids: dict[object, int] = {}
    reader = symbol_reader(recipe.reading)
    of_a, of_b = _Words(a, reader, ids), _Words(b, reader, ids)
    found = []
    for gap in _joined(_gaps(of_a, of_b, _common(of_a, of_b, a, b, recipe))):
        kind: DifferenceKind = "replaced"
        if gap.a == gap.a_end or gap.b == gap.b_end:
            kind = "inserted" if gap.a == gap.a_end else "deleted"
        ranges = *of_a.characters(gap.a, gap.a_end), *of_b.characters(gap.b, gap.b_end)
        found.append(Difference(kind, *ranges, gap.a_end - gap.a, gap.b_end - gap.b))
    return found


class _Words:
    """The words of a text as numbers, and where they are."""

    def __init__(self, text: str, reader: SymbolReader, ids: dict[object, int]) -> None:
        symbols, begins, before = [], [np.empty(0, np.int64)], 0
        for reading in reader.readings(text):
            symbols.append(reading.symbols.tobytes())
            begins.append(reading.words + before)
            before += len(reading.symbols)
        joined, self.first = b"".join(symbols), np.concatenate(begins)
        """The symbols with which words begin."""
        behind = np.append(self.first[1:], before)[: len(self.first)]
        self._starts = reader.offsets(text, self.first).tolist()
        self._ends = reader.ends(text, behind - 1).tolist()
        self._length = len(text)
        numbers = []
        ranges = zip(self._starts, self._ends, self.first.tolist(), behind.tolist(), strict=True)
        for start, end, at, until in ranges:
            word: object = joined[at:until]
            if not joined[at:until].isascii():  # two letters may share a symbol
                word = unicodedata.normalize("NFKC", text[start:end]).casefold()
            numbers.append(ids.setdefault(word, len(ids)))
        self.ids: I64 = np.array(numbers, np.int64)

    def characters(self, first: int, behind: int) -> tuple[int, int]:
        """The range of characters of some words; for no words, where they would be."""
        if first < behind:
            return self._starts[first], self._ends[behind - 1]
        at = self._starts[first] if first < len(self._starts) else self._length
        return at, at


def _common(of_a: _Words, of_b: _Words, a: str, b: str, recipe: Recipe) -> Iterator[tuple[int, int, int]]:
    """The passages in words: where each begins in both texts, and its length. The longest come first."""
    i, j, length = passage_runs(comparable(a, recipe), comparable(b, recipe), recipe)
    begins, ends = (np.searchsorted(of_a.first, places) for places in (i, i + length))
    others = np.searchsorted(of_b.first, j)
    sizes = np.minimum(ends - begins, np.searchsorted(of_b.first, j + length) - others)
    order = np.lexsort((abs(begins - others), -sizes))
    return zip(begins[order].tolist(), others[order].tolist(), sizes[order].tolist(), strict=True)


def _gaps(of_a: _Words, of_b: _Words, common: Iterable[tuple[int, int, int]]) -> Iterator[_Gap]:
    """The stretches that differ, between the words that both texts have in the same order."""
    chosen = [(0, 0, 0), (len(of_a.ids), len(of_b.ids), 0)]  # disjoint and ascending in both texts
    for number, (a, b, size) in enumerate(common):
        if not number % 1024:
            checkpoint()
        place = bisect.bisect_right(chosen, (a, len(of_b.ids), 0), 1, len(chosen) - 1)
        (left_a, left_b, left), (right_a, right_b, _) = chosen[place - 1], chosen[place]
        skipped = max(0, left_a + left - a, left_b + left - b)
        left_over = min(size, right_a - a, right_b - b) - skipped
        if 2 * left_over > size:  # else it hardly fits: periodic texts have passages at many places
            chosen.insert(place, (a + skipped, b + skipped, left_over))
    for (left_a, left_b, size), (right_a, right_b, _) in itertools.pairwise(chosen):
        # Two letters may share a symbol, so words of a passage may differ.
        same = of_a.ids[left_a : left_a + size] == of_b.ids[left_b : left_b + size]
        for at in np.flatnonzero(~same).tolist():
            yield _Gap(left_a + at, left_a + at + 1, left_b + at, left_b + at + 1)
        yield from _within(of_a.ids, of_b.ids, _Gap(left_a + size, right_a, left_b + size, right_b))


def _within(of_a: I64, of_b: I64, gap: _Gap) -> Iterator[_Gap]:
    """The differences in a gap."""
    checkpoint()
    a, b = of_a[gap.a : gap.a_end], of_b[gap.b : gap.b_end]
    size = min(len(a), len(b))
    head = _equal(a[:size] == b[:size])
    tail = _equal((a[len(a) - size + head :] == b[len(b) - size + head :])[::-1])
    gap = _Gap(gap.a + head, gap.a_end - tail, gap.b + head, gap.b_end - tail)
    a, b = of_a[gap.a : gap.a_end], of_b[gap.b : gap.b_end]
    if not (len(a) and len(b)) or _steps(a, b) > _STEPS * (len(a) + len(b)):
        if gap.size:
            yield gap
        return
    matcher = difflib.SequenceMatcher(None, a.tolist(), b.tolist(), autojunk=False)
    for kind, begin, end, other, other_end in matcher.get_opcodes():
        if kind != "equal":
            yield _Gap(gap.a + begin, gap.a + end, gap.b + other, gap.b + other_end)


def _equal(same: Bool) -> int:
    """How many values are true before the first that is not."""
    return len(same) if same.all() else int(same.argmin())


def _steps(a: I64, b: I64) -> int:
    """The most steps that difflib takes: it looks at all pairs of equal words, for each run that it finds."""
    words, counts = np.unique(a, return_counts=True)
    places = np.minimum(np.searchsorted(words, b), len(words) - 1)
    pairs = counts[places][words[places] == b].sum()
    return int(pairs) * min(len(a), len(b))


def _joined(gaps: Iterable[_Gap]) -> Sequence[_Gap]:
    """Ascending differences, with one for two large ones between which few words agree by chance."""
    found: list[_Gap] = []
    for gap in gaps:
        between = gap.a - found[-1].a_end if found else 0
        by_chance = between <= _LONGEST_CHANCE and found and between < min(found[-1].size, gap.size)
        if found and (by_chance or not between):
            found[-1] = found[-1]._replace(a_end=gap.a_end, b_end=gap.b_end)
        else:
            found.append(gap)
    return found
