import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays import joins
from docindex.arrays.ranges import mix

SMALL = st.integers(0, 7)
GROUPS = st.lists(st.sets(SMALL, min_size=1), max_size=8)


def laid_out(groups):
    """Groups as sizes and members; the members of each group ascend."""
    sizes = np.array([len(group) for group in groups], np.int64)
    return sizes, np.array([member for group in groups for member in sorted(group)], np.int64)


@given(st.lists(st.integers(0, 3)))
def test_runs_begin_where_neighbours_differ(values):
    lengths = [len(list(run)) for _, run in itertools.groupby(values)]
    found = joins.starts_of_runs(np.array(values, np.uint64))
    assert found.tolist() == [0, *itertools.accumulate(lengths)]


@given(GROUPS, st.randoms())
def test_members_are_sorted_within_their_groups(groups, rng):
    shuffled = [rng.sample(sorted(group), len(group)) for group in groups]
    members = np.array([member for group in shuffled for member in group], np.int64)
    sizes, ordered = laid_out(groups)
    assert joins.sorted_in_groups(sizes, members).tolist() == ordered.tolist()


@given(st.lists(st.integers(1, 2**40)))
def test_a_level_is_the_bit_length_of_a_size_minus_one(sizes):
    found = joins.size_levels(np.array(sizes, np.int64))
    assert found.tolist() == [(size - 1).bit_length() for size in sizes]


@given(GROUPS, st.data())
def test_late_members_meet_the_early_members_before_them(groups, data):
    sizes, members = laid_out(groups)
    flags = st.lists(st.booleans(), min_size=len(members), max_size=len(members))
    early, late = (np.array(data.draw(flags), bool) for _ in range(2))
    lowest = [data.draw(st.integers(0, member)) for member in range(8)]
    highest = data.draw(st.none() | st.lists(st.integers(0, 8), min_size=8, max_size=8))
    expected, at = Counter(), 0
    for group in groups:
        own = range(at, at + len(group))
        expected.update(
            (members[i], members[j])
            for i, j in itertools.combinations(own, 2)
            if early[i]
            and late[j]
            and members[i] >= lowest[members[j]]
            and (highest is None or members[i] < highest[members[j]])
        )
        at += len(group)
    limits = joins.Limits(np.array(lowest), None if highest is None else np.array(highest))
    early_members, late_members, begins, counts = joins.meetings(sizes, members, early, late, limits)
    assert (counts >= 0).all()
    pairs, times = joins.count_pairs(joins.meeting_pairs(early_members, late_members, begins, counts))
    assert sorted(pairs.tolist()) == pairs.tolist()
    found = zip(*(part.tolist() for part in (*joins.split_pairs(pairs), times)), strict=True)
    assert {(a, b): n for a, b, n in found} == expected


@given(st.lists(st.tuples(SMALL, st.integers(1, 9))))
def test_the_counts_of_equal_pairs_are_added(pairs):
    expected = Counter()
    for pair, times in pairs:
        expected[pair] += times
    keys = np.array([pair for pair, _ in pairs], np.uint64)
    found, times = joins.count_pairs(keys, np.array([times for _, times in pairs], np.int64))
    assert dict(zip(found.tolist(), times.tolist(), strict=True)) == expected
    assert found.tolist() == sorted(expected)


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_a_query_is_found_if_it_is_a_key(keys, queries):
    found = joins.found_in(np.array(keys, np.uint64), np.array(queries, np.uint64))
    assert found.tolist() == [query in keys for query in queries]


def test_many_keys_are_found_although_they_displace_each_other():
    keys = mix(np.arange(50_000, dtype=np.uint64))
    queries = mix(np.arange(25_000, 75_000, dtype=np.uint64))
    assert joins.found_in(keys, queries).tolist() == np.isin(queries, keys).tolist()


def test_keys_that_were_chosen_to_displace_each_other_are_found():
    # For each factor there are 50 keys whose products have the same high bits.
    inverses = [pow(int(factor), -1, 2**64) for factor in joins._FACTORS]
    keys = np.array([inverse * low % 2**64 for inverse in inverses for low in range(50)], np.uint64)
    queries = np.concatenate([keys, keys + np.uint64(1)])
    assert joins.found_in(keys, queries).tolist() == np.isin(queries, keys).tolist()
    again = keys[:50]  # after the last table, all keys but one are still left
    assert joins.found_in(again, queries).tolist() == np.isin(queries, again).tolist()


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15))))
def test_a_component_is_everything_that_pairs_connect(pairs):
    least = list(range(16))
    for _ in range(16):
        for a, b in pairs:
            least[a] = least[b] = min(least[a], least[b])
    a, b = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    assert joins.components(a, b, 16).tolist() == least


def test_a_long_chain_is_one_component():
    order = np.argsort(mix(np.arange(100_000, dtype=np.uint64)))
    assert not joins.components(order[1:], order[:-1], len(order)).any()


@given(st.data())
def test_members_of_one_crowd_do_not_meet(data):
    sizes = data.draw(st.lists(st.integers(1, 6), max_size=6))
    groups = [sorted(data.draw(st.sets(st.integers(0, 9), min_size=size, max_size=size))) for size in sizes]
    members = np.array([member for group in groups for member in group], np.int64)
    flags = st.lists(st.booleans(), min_size=len(members), max_size=len(members))
    early, late = (np.array(data.draw(flags), bool) for _ in range(2))
    crowd_of = np.array(data.draw(st.lists(st.integers(0, 5), min_size=10, max_size=10)), np.int64)
    limits = joins.Limits(np.array([data.draw(st.integers(0, member)) for member in range(10)], np.int64))

    def met(parts):
        pairs = [joins.meeting_pairs(*part) for part in parts]
        return sorted(np.concatenate([np.empty(0, np.uint64), *pairs]).tolist())

    sizes = np.array(sizes, np.int64)
    every = met([joins.meetings(sizes, members, early, late, limits)])
    expected = [
        pair for pair in every for a, b in [(pair & 2**32 - 1, pair >> 32)]
        if not crowd_of[a] or crowd_of[a] != crowd_of[b]
    ]  # fmt: skip
    crowds = crowd_of[members] if len(members) else members
    assert met(joins.meetings_between(sizes, members, (early, late), crowds, limits)) == expected


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), max_size=5))
def test_groups_of_one_value_are_alike(groups):
    sizes = np.array([len(group) for group in groups], np.int64)
    values = np.array([value for group in groups for value in group], np.int64)
    alike = joins.are_alike(sizes, values, but=0).tolist()
    assert alike == [len(set(group)) == 1 and group[0] != 0 for group in groups]


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15))), st.integers(0, 30))
def test_components_can_be_found_in_two_steps(edges, cut):
    ends = np.array(edges, np.int64).reshape(-1, 2).T
    first = joins.components(*ends[:, :cut], 16)
    before = first.copy()
    assert joins.components(*ends[:, cut:], 16, first).tolist() == joins.components(*ends, 16).tolist()
    assert (first == before).all()
