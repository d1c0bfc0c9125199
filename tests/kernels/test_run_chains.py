import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.run_chains import run_chains

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
