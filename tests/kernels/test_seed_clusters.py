import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.run_chains import seed_clusters


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
