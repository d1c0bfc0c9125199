"""Measure whether passages and regions tell how far a text was reworded: Clough and Stevenson's four classes.

People answered questions with a source at hand: without it, from it in other words (heavy), with changes
(light), or by copying (cut). A rule with three thresholds on one number gives the class of an answer. The
thresholds are chosen on all other answers.
"""

import numpy as np

import docindex
from docindex import Text
from tests.bench import corpora

CLASSES = ("non", "heavy", "light", "cut")
TARGET = 0.65


def run():
    """The share of answers that get their class, for each number."""
    texts, labels = corpora.clough()
    true = np.array([CLASSES.index(label) for *_, label in labels])
    with docindex.open(":memory:") as index:
        numbers = np.array([_numbers(index, texts[answer], texts[source]) for answer, source, _ in labels])
    names = ("containment", "coverage by passages", "alike in regions", "containment + alike in regions")
    columns = (*numbers.T, numbers[:, 0] + numbers[:, 2])
    for name, values in zip(names, columns, strict=True):
        given = np.array([_class_of(values, true, number) for number in range(len(true))])
        print(f"   {name:32}{np.mean(given == true):6.3f} (target {TARGET} by the last)")
    for number, name in enumerate(CLASSES):
        print(f"   {name:>8} was called", *np.bincount(given[true == number], minlength=4), sep="\t")


def _numbers(index, answer, source):
    """The containment, the coverage by passages, and the share in regions, times how alike these are."""
    found = index.compare(Text(answer), Text(source))
    alike = sum(region.score * (region.query_end - region.query_start) for region in found.regions)
    return found.containment, found.query_coverage, alike / len(answer)


def _class_of(values, true, left_out):
    others = np.arange(len(values)) != left_out
    return np.searchsorted(thresholds(values[others], true[others]), values[left_out])


def thresholds(values, true):
    """The ascending thresholds that separate most values right, where a larger class has larger values.

    >>> thresholds(np.array([0.0, 0.5, 0.75, 0.25, 1.0]), np.array([0, 1, 2, 0, 3])).tolist()
    [0.375, 0.625, 0.875]
    """
    edges = np.unique(values)
    edges = np.concatenate([[-np.inf], (edges[1:] + edges[:-1]) / 2, [np.inf]])
    below = np.array([[np.count_nonzero(values[true == each] < edge) for edge in edges] for each in range(4)])
    # The number of right values below each edge if it is the last threshold, and the thresholds before it.
    right, chosen = below[0], [(number,) for number in range(len(edges))]
    for each in (1, 2):
        gain = right - below[each]
        best = [int(np.argmax(gain[: last + 1])) for last in range(len(edges))]
        right = gain[best] + below[each]
        chosen = [(*chosen[before], last) for last, before in enumerate(best)]
    last = int(np.argmax(right - below[3]))
    return edges[list(chosen[last])]
