"""A value that very many nodes have is split into parts, and each two nodes still meet."""

import collections
import itertools

import numpy as np
import pytest

from docindex import Recipe
from docindex.query.joined_pairs import Threshold
from docindex.spark.packed_rows import bucket_of
from docindex.spark.pair_question import PairQuestion
from docindex.spark.rarest_values import RarestValues

QUESTION = PairQuestion(
    recipe=Recipe(),
    threshold=Threshold(measure="resemblance", least=0.5),
    method="shingles",
    buckets=32,
    rows=1000,
)


def split(ids, frequency, most):
    """The members of each group into which one value of all nodes is split."""
    nodes, value = np.arange(len(ids)), np.uint64(0xA5A5_0000_0000_0001)
    frequencies = np.full(len(ids), frequency, np.uint32)
    values = np.full(len(ids), value)
    owners, found = RarestValues(QUESTION, most)._split(ids, nodes, values, frequencies)
    assert (np.diff(owners) >= 0).all()
    assert (found & np.uint64(1)).all(), "the mark of an early node is lost"
    groups = collections.defaultdict(set)
    for owner, group in zip(owners.tolist(), found.tolist(), strict=True):
        groups[group].add(owner)
    return groups


def ids_of(count):
    return np.random.default_rng(6).integers(0, 2**63, count).astype(np.uint64)


@pytest.mark.parametrize("count", [11, 25, 100])
def test_each_two_nodes_of_a_split_value_meet(count):
    groups = split(ids_of(count), count, most=10)
    met = {pair for group in groups.values() for pair in itertools.combinations(sorted(group), 2)}
    assert met == set(itertools.combinations(range(count), 2))


def test_a_value_that_is_not_common_is_one_group():
    assert split(ids_of(10), 10, most=10).popitem()[1] == set(range(10))


def test_the_groups_of_a_split_value_are_of_like_sizes_and_in_different_buckets():
    count, most = 20_000, 1000
    groups = split(ids_of(count), count, most)
    assert len(groups) == 20 * 19 // 2
    assert max(map(len, groups.values())) < 2.3 * most
    used = bucket_of(np.array(list(groups), np.uint64), QUESTION.buckets)
    assert np.bincount(used, minlength=QUESTION.buckets).max() < 190 / QUESTION.buckets * 2.5
