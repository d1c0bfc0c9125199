"""Find the words that differ between two texts: deleted, inserted, replaced and moved words.

Takes two texts and the reading by which they are compared, and returns half-open ranges of both texts. The
time grows in proportion to the texts, apart from a logarithm, whatever they are: long stretches that have no
rare words in common count as replaced. Must never leave out a word that differs.
"""

import bisect
import dataclasses
import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from docindex.checkpoints import checkpoint
from docindex.kernels.arrays import I64, U64
from docindex.reading.protocol import SymbolReader

DifferenceKind = Literal["deleted", "inserted", "replaced", "moved"]

_WIDTHS = (8, 3, 1, 1)
"""Words in a run that is looked for, if it occurs once in both texts. Each step searches the gaps that the
steps before left, so that the time is linear; the last step finds words that are rare inside a gap."""

_MOST_EDITS = 40
"""A gap whose words repeat each other is compared by its edits, if it has no more of them than this."""

_MOST_STEPS = 2_000_000
"""The words of a gap times the edits that are tried are at most this."""

_SMALL_GAP = 4096
"""A gap with more edits is compared word by word if the product of its numbers of words is at most this."""

_SHORTEST_MOVE = 6
"""Words. Shorter runs occur at two places by chance."""

_LONGEST_CHANCE = 3
"""Words that agree between two larger differences by chance, at most, such as "of the"."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


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


class Run(NamedTuple):
    """A stretch of one text and a stretch of another, in words."""

    a: int
    a_end: int
    b: int
    b_end: int


def differences(a: str, b: str, reader: SymbolReader) -> list[Difference]:
    """The differences between the words of two texts, in the order of the first text.

    Words are the same if they read the same: case, accents and punctuation do not count.

    >>> from docindex.reading.registry import symbol_reader
    >>> one, two = "the quick brown fox jumps", "The slow brown fox jumps, too"
    >>> for each in differences(one, two, symbol_reader("text/2")):
    ...     print(each.kind, one[each.query_start : each.query_end], "|", two[each.start : each.end])
    replaced quick | slow
    inserted  | too
    """
    ids: dict[object, int] = {}
    words_a, words_b = _Words(a, reader, ids), _Words(b, reader, ids)
    gaps = _gaps(words_a.ids, words_b.ids)
    moves = _moves(words_a.ids, words_b.ids, gaps)
    found: list[tuple[DifferenceKind, Run]] = [("moved", move) for move in moves]
    from_a = [(move.a, move.a_end) for move in moves]
    from_b = sorted((move.b, move.b_end) for move in moves)
    for gap in gaps:
        found += _without_moves(gap, from_a, from_b)
    found.sort(key=lambda each: each[1])
    return [
        Difference(
            kind,
            *words_a.characters(run.a, run.a_end),
            *words_b.characters(run.b, run.b_end),
            run.a_end - run.a,
            run.b_end - run.b,
        )
        for kind, run in found
    ]


class _Words:
    """The words of a text as numbers, and where they are."""

    def __init__(self, text: str, reader: SymbolReader, ids: dict[object, int]) -> None:
        symbols, begins, before = [], [], 0
        hashes: list[int] = []
        for reading in reader.readings(text):
            symbols.append(reading.symbols.tobytes())
            if reading.word_hashes is not None:
                hashes += reading.word_hashes.tolist()
            begins.append(reading.words + before)
            before += len(reading.symbols)
        joined, first = b"".join(symbols), np.concatenate(begins)
        behind = np.append(first[1:], before)[: len(first)]
        self.starts = reader.offsets(text, first).tolist()
        self.ends = reader.ends(text, behind - 1).tolist()
        self._length = len(text)
        numbers = []
        for start, end, at, until in zip(
            self.starts, self.ends, first.tolist(), behind.tolist(), strict=True
        ):
            word: object = joined[at:until]
            if not joined[at:until].isascii():  # two letters may share a symbol
                word = unicodedata.normalize("NFKC", text[start:end]).casefold()
            numbers.append(ids.setdefault(word, len(ids)))
        self.ids: I64 = np.array(numbers, np.int64)

    def characters(self, first: int, behind: int) -> tuple[int, int]:
        """The range of characters of some words; for no words, where they would be."""
        if first < behind:
            return self.starts[first], self.ends[behind - 1]
        at = self.starts[first] if first < len(self.starts) else self._length
        return at, at


def _gaps(a: I64, b: I64) -> list[Run]:
    """The stretches between the words that both texts have in the same order; never empty on both sides."""
    matched: list[Run] = []
    waiting = [(Run(0, len(a), 0, len(b)), 0)]
    while waiting:
        checkpoint()
        gap, step = waiting.pop()
        head, gap, tail = _trimmed(a, b, gap)
        matched += [run for run in (head, tail) if run.a < run.a_end]
        if gap.a == gap.a_end or gap.b == gap.b_end:
            continue
        if step == len(_WIDTHS):
            matched += _matched_by_word(a, b, gap)
            continue
        anchors = _anchors(a, b, gap, _WIDTHS[step])
        matched += anchors
        waiting += [(between, step + 1) for between in _between(anchors, gap)]
    whole = Run(0, len(a), 0, len(b))
    return _between(_without_chance(_joined(sorted(matched)), whole), whole)


def _trimmed(a: I64, b: I64, gap: Run) -> tuple[Run, Run, Run]:
    """The words that both sides of a gap begin with, the rest, and the words that both sides end with."""
    size = min(gap.a_end - gap.a, gap.b_end - gap.b)
    head = _equal(a[gap.a : gap.a + size] == b[gap.b : gap.b + size])
    size -= head
    tail = _equal((a[gap.a_end - size : gap.a_end] == b[gap.b_end - size : gap.b_end])[::-1])
    rest = Run(gap.a + head, gap.a_end - tail, gap.b + head, gap.b_end - tail)
    return (
        Run(gap.a, rest.a, gap.b, rest.b),
        rest,
        Run(rest.a_end, gap.a_end, rest.b_end, gap.b_end),
    )


def _equal(same: np.ndarray) -> int:
    """How many values are true before the first that is not."""
    return len(same) if same.all() else int(same.argmin())


def _between(runs: Sequence[Run], whole: Run) -> list[Run]:
    """The stretches before, between and after ascending runs; not those that are empty on both sides."""
    ends = [Run(whole.a, whole.a, whole.b, whole.b), *runs]
    begins = [*runs, Run(whole.a_end, whole.a_end, whole.b_end, whole.b_end)]
    gaps = [Run(left.a_end, right.a, left.b_end, right.b) for left, right in zip(ends, begins, strict=True)]
    return [gap for gap in gaps if gap.a < gap.a_end or gap.b < gap.b_end]


def _anchors(a: I64, b: I64, gap: Run, width: int) -> list[Run]:
    """Runs of at least `width` words that occur once on each side of a gap, ascending on both sides."""
    at_a, at_b = _once_in_both(_hashes(a[gap.a : gap.a_end], width), _hashes(b[gap.b : gap.b_end], width))
    runs: list[Run] = []
    for i, j in _ascending(list(zip((at_a + gap.a).tolist(), (at_b + gap.b).tolist(), strict=True))):
        if runs and i - runs[-1].a == j - runs[-1].b and i <= runs[-1].a_end:
            runs[-1] = runs[-1]._replace(a_end=i + width, b_end=j + width)
        elif not runs or (i >= runs[-1].a_end and j >= runs[-1].b_end):
            runs.append(Run(i, i + width, j, j + width))
    return runs


def _hashes(words: I64, width: int) -> U64:
    """A hash of each run of `width` words, modulo 2^64 on purpose."""
    size = max(0, len(words) - width + 1)
    found = np.zeros(size, np.uint64)
    for place in range(width):
        found = (found + words[place : place + size].astype(np.uint64) + np.uint64(1)) * _FACTOR
        found ^= found >> np.uint64(29)
    return found


def _once_in_both(a: U64, b: U64) -> tuple[I64, I64]:
    """Where the values are that occur once in each of two arrays, ascending in the first array."""
    values_a, at_a, count_a = np.unique(a, return_index=True, return_counts=True)
    values_b, at_b, count_b = np.unique(b, return_index=True, return_counts=True)
    single_a, single_b = count_a == 1, count_b == 1
    _, in_a, in_b = np.intersect1d(
        values_a[single_a], values_b[single_b], assume_unique=True, return_indices=True
    )
    first, second = at_a[single_a][in_a], at_b[single_b][in_b]
    order = np.argsort(first)
    return first[order], second[order]


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of some pairs, which ascend in the first value, that ascends in the second value."""
    lowest: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        place = bisect.bisect_left(lowest, value)
        before.append(last[place - 1] if place else -1)
        lowest[place : place + 1] = [value]
        last[place : place + 1] = [number]
    chain, number = [], last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _matched_by_word(a: I64, b: I64, gap: Run) -> list[Run]:
    own_a, own_b = a[gap.a : gap.a_end].tolist(), b[gap.b : gap.b_end].tolist()
    found = _matched_by_edits(own_a, own_b, min(_MOST_EDITS, _MOST_STEPS // (len(own_a) + len(own_b))))
    if found is None and len(own_a) * len(own_b) <= _SMALL_GAP:
        matcher = difflib.SequenceMatcher(None, own_a, own_b, autojunk=False)
        found = [(i, j, size) for i, j, size in matcher.get_matching_blocks() if size]
    return [Run(gap.a + i, gap.a + i + size, gap.b + j, gap.b + j + size) for i, j, size in found or ()]


def _matched_by_edits(a: list[int], b: list[int], most: int) -> list[tuple[int, int, int]] | None:
    """The runs that the fewest deletions and insertions leave, or None if these are more than `most`.

    Each run is its place in `a`, its place in `b`, and its length. This is the greedy algorithm of Myers
    (1986).
    """
    furthest = {1: 0}
    steps: list[dict[int, int]] = []
    for edits in range(most + 1):
        steps.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            below = furthest.get(diagonal - 1, -1)
            right = furthest.get(diagonal + 1, -1)
            i = right if diagonal == -edits or (diagonal != edits and below < right) else below + 1
            j = i - diagonal
            while i < len(a) and 0 <= j < len(b) and a[i] == b[j]:
                i, j = i + 1, j + 1
            furthest[diagonal] = i
            if i >= len(a) and j >= len(b):
                return _runs_of_edits(steps, len(a), len(b))
    return None


def _runs_of_edits(steps: list[dict[int, int]], i: int, j: int) -> list[tuple[int, int, int]]:
    """The runs between the edits that lead to the ends `i` and `j`, by the states before each edit."""
    found = []
    for edits in range(len(steps) - 1, -1, -1):
        before, diagonal = steps[edits], i - j
        below, right = before.get(diagonal - 1, -1), before.get(diagonal + 1, -1)
        inserted = diagonal == -edits or (diagonal != edits and below < right)
        start = right if inserted else below + 1
        if edits == 0:
            start = 0
        if i > start:
            found.append((start, start - diagonal, i - start))
        i = start if inserted else start - 1
        j = start - diagonal - 1 if inserted else start - diagonal
    return found[::-1]


def _joined(runs: Iterable[Run]) -> list[Run]:
    """Ascending runs, with one run for those that touch on both sides."""
    found: list[Run] = []
    for run in runs:
        if found and (found[-1].a_end, found[-1].b_end) == (run.a, run.b):
            found[-1] = found[-1]._replace(a_end=run.a_end, b_end=run.b_end)
        else:
            found.append(run)
    return found


def _without_chance(runs: Sequence[Run], whole: Run) -> list[Run]:
    """The runs without those of a few words between two larger differences."""
    kept: list[Run] = []
    for number, run in enumerate(runs):
        left = kept[-1] if kept else Run(whole.a, whole.a, whole.b, whole.b)
        following = runs[number + 1] if number + 1 < len(runs) else None
        a, b = (following.a, following.b) if following else (whole.a_end, whole.b_end)
        size = run.a_end - run.a
        before = max(run.a - left.a_end, run.b - left.b_end)
        after = max(a - run.a_end, b - run.b_end)
        if size > _LONGEST_CHANCE or min(before, after) <= size:
            kept.append(run)
    return kept


def _moves(a: I64, b: I64, gaps: Sequence[Run]) -> list[Run]:
    """Runs of words in the gaps that both texts have at different places. They do not overlap."""
    only_a, place_a = _in_gaps(a, [(gap.a, gap.a_end) for gap in gaps], -1)
    only_b, place_b = _in_gaps(b, [(gap.b, gap.b_end) for gap in gaps], -2)
    at_a, at_b = _once_in_both(_hashes(only_a, _SHORTEST_MOVE), _hashes(only_b, _SHORTEST_MOVE))
    found: list[Run] = []
    taken_b: set[int] = set()
    for i, j in zip(at_a.tolist(), at_b.tolist(), strict=True):
        run = Run(place_a[i], place_a[i] + _SHORTEST_MOVE, place_b[j], place_b[j] + _SHORTEST_MOVE)
        last = found[-1] if found else None
        follows = last and run.a - last.a == run.b - last.b and run.a <= last.a_end
        new = range(last.b_end if last and follows else run.b, run.b_end)
        if taken_b.isdisjoint(new):
            if last and follows:
                found[-1] = last._replace(a_end=run.a_end, b_end=run.b_end)
            elif last is None or run.a >= last.a_end:
                found.append(run)
            else:
                continue
            taken_b.update(new)
    return found


def _in_gaps(words: I64, ranges: Sequence[tuple[int, int]], border: int) -> tuple[I64, list[int]]:
    """The words in some ranges, each followed by a `border`, which is no word; and where each word is."""
    parts: list[I64] = [np.empty(0, np.int64)]
    places: list[int] = []
    for start, end in ranges:
        if start < end:
            parts += [words[start:end], np.array([border])]
            places += range(start, end + 1)
    return np.concatenate(parts), places


_Ranges = Sequence[tuple[int, int]]


def _without_moves(gap: Run, from_a: _Ranges, from_b: _Ranges) -> list[tuple[DifferenceKind, Run]]:
    """The differences in a gap, apart from the words that were moved, whose ranges are given."""
    rest_a, rest_b = _rest(gap.a, gap.a_end, from_a), _rest(gap.b, gap.b_end, from_b)
    if len(rest_a) == len(rest_b) == 1:
        return [("replaced", Run(*rest_a[0], *rest_b[0]))]
    deleted: list[tuple[DifferenceKind, Run]] = [
        ("deleted", Run(start, end, gap.b, gap.b)) for start, end in rest_a
    ]
    return [*deleted, *(("inserted", Run(gap.a_end, gap.a_end, start, end)) for start, end in rest_b)]


def _rest(start: int, end: int, taken: _Ranges) -> list[tuple[int, int]]:
    """A range without the ascending ranges in it."""
    found = []
    first, behind_all = (bisect.bisect_left(taken, (place, place)) for place in (start, end))
    for begin, behind in taken[first:behind_all]:
        if start < begin:
            found.append((start, begin))
        start = behind
    return [*found, (start, end)] if start < end else found
