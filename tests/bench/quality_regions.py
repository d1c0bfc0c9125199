"""Measure regions on PAN 2013 as its contest did: plagdet, for each kind of copy, and the time of a pair."""

import collections
import itertools
import math
import time

from docindex.query.regions.passages import passages
from docindex.query.regions.regions import regions
from docindex.recipe import Recipe
from tests.bench import corpora

KINDS = ("verbatim", "random", "translation", "summary")


def run():
    """Regions of suspicious texts and sources, compared with the stretches that were really taken."""
    texts, pairs = corpora.pan13()
    recipe = Recipe()
    rows = collections.defaultdict(lambda: ([], []))  # true and found stretches, for each half and kind
    sizes, falsely = collections.Counter(), collections.Counter()
    seconds = of_passages = 0.0
    for pair in pairs:
        half, query, text = corpora.half(pair.suspicious), texts[pair.suspicious], texts[pair.source]
        begin = time.process_time()
        common = passages(query, text, recipe)
        middle = time.process_time()
        found = regions(query, text, recipe, common)
        of_passages += middle - begin
        seconds += time.process_time() - begin
        sizes[half, pair.kind] += 1
        falsely[half] += pair.kind == "none" and bool(found)
        true = [(a, a + length, b, b + size) for a, length, b, size in pair.spans]
        ranges = [(one.query_start, one.query_end, one.start, one.end) for one in found]
        for kind in (pair.kind, "all"):
            for stretches, of_pair in zip(rows[half, kind], (true, ranges), strict=True):
                stretches += [((pair.suspicious, pair.source), *each) for each in of_pair]
    print(
        "plagdet (recall/precision/granularity), and the share of pairs with a region where nothing was taken"
    )
    for half, name in enumerate(("chosen on this half", "reported on the other half")):
        print(f"  {name}: {falsely[half] / sizes[half, 'none']:.4f}")
        for kind in (*KINDS, "all"):
            total, recall, precision, granularity = plagdet(*rows[half, kind])
            print(f"{kind:>14}  {total:.3f}  ({recall:.3f}/{precision:.3f}/{granularity:.3f})")
    milliseconds = 1000 / len(pairs)
    print(f"{seconds * milliseconds:.1f} ms a pair, {of_passages * milliseconds:.1f} of them for passages")


def plagdet(true, found):
    """PAN's measure, with recall and precision averaged over stretches, and granularity.

    Both are lists of (pair, start and end in the suspicious text, start and end in the source).

    >>> halves = [("a", 0, 5, 0, 5), ("a", 5, 10, 5, 10)]
    >>> [round(number, 2) for number in plagdet([("a", 0, 10, 0, 10)], halves)]
    [0.63, 1.0, 1.0, 2.0]
    """
    of_true, of_found = _by_pair(true), _by_pair(found)
    recall, precision = _covered(true, of_found), _covered(found, of_true)
    hits = [sum(_meet(one, other) for other in of_found[one[0]]) for one in true]
    detected = sum(hit > 0 for hit in hits)
    granularity = sum(hits) / detected if detected else 1.0
    both = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    return both / math.log2(1 + granularity), recall, precision, granularity


def _by_pair(stretches):
    found = collections.defaultdict(list)
    for stretch in stretches:
        found[stretch[0]].append(stretch)
    return found


def _meet(a, b):
    return a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4]


def _covered(stretches, others):
    """The mean share of the characters of a stretch, in both texts, that lie in the others that it meets."""
    total = 0.0
    for one in stretches:
        meeting = [other for other in others[one[0]] if _meet(one, other)]
        size = sum(_length_within(one, meeting, side) for side in (1, 3))
        total += size / (one[2] - one[1] + one[4] - one[3])
    return total / len(stretches) if stretches else float(not others)


def _length_within(one, others, side):
    """How many characters of a stretch lie in others, in the text whose range begins at field `side`."""
    begin, end = one[side : side + 2]
    edges = sorted((max(begin, other[side]), min(end, other[side + 1])) for other in others)
    reached = itertools.accumulate((high for _, high in edges), max, initial=begin)
    return sum(max(0, high - max(low, before)) for (low, high), before in zip(edges, reached, strict=False))
