import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.winnowing.common_runs import run_chains, seed_clusters

RUNS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 12)), max_size=12)


@given(RUNS, st.integers(0, 9))
def test_each_run_of_a_chain_follows_the_run_before_it_closely_in_both_texts(runs, gap):
    runs.sort()
    columns = np.array(runs, np.int64).reshape(-1, 3).T
    chains = run_chains(*columns, gap, lambda: None).tolist()
    firsts = dict.fromkeys(chains)
    assert list(firsts) == list(range(len(firsts)))
    for number in firsts:
        members = [run for run, chain in zip(runs, chains, strict=True) if chain == number]
        for (i, j, length), (next_i, next_j, _) in itertools.pairwise(members):
            assert i < next_i <= i + length + gap
            assert j < next_j <= j + length + gap


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=9))
def test_runs_with_short_gaps_between_them_are_one_chain(pieces):
    i = j = 0
    runs = []
    for length, gap_i, gap_j in pieces:
        runs.append((i, j, length))
        i, j = i + length + gap_i, j + length + gap_j
    assert set(run_chains(*np.array(runs, np.int64).T, 5, lambda: None).tolist()) == {0}


def defined(pairs, gap):
    """The groups of pairs, split until no neighbours in either sequence are far apart."""
    for side in (0, 1):
        ordered = sorted(pairs, key=lambda pair: pair[side])
        for at, (one, other) in enumerate(itertools.pairwise(ordered), 1):
            if other[side] - one[side] > gap + 1:
                return defined(ordered[:at], gap) + defined(ordered[at:], gap)
    return [set(pairs)]


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30))), st.integers(0, 5))
def test_groups_are_split_until_no_neighbours_are_far_apart(pairs, gap):
    pairs = sorted(pairs)
    i, j = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    groups = seed_clusters(i, j, gap, lambda: None).tolist()
    found = {
        frozenset(pair for pair, group in zip(pairs, groups, strict=True) if group == number)
        for number in groups
    }
    assert found == {frozenset(group) for group in defined(pairs, gap) if group}
    assert not groups or set(groups) == set(range(max(groups) + 1))
