"""The figures for k=6, s=14, r=2 in Broder, "Identifying and Filtering Near-Duplicate Documents" (2000)."""

from math import exp

import pytest

from docindex.minhash.feature_filter import acceptance, steepest_group


def test_at_0_975_one_pair_in_a_hundred_shares_fewer_than_two_features():
    # The paper says "less than 0.01". It is 0.0107; the sentence is true from 0.976.
    assert round(1 - acceptance(6, 14, 2, 0.975), 2) == 0.01
    assert 1 - acceptance(6, 14, 2, 0.975) == pytest.approx(0.01067, abs=0.000005)
    assert 1 - acceptance(6, 14, 2, 0.976) < 0.01


def test_above_0_99_less_than_0_00022_of_pairs_share_fewer_than_two_features():
    assert 1 - acceptance(6, 14, 2, 0.99) < 0.00022


def test_below_0_77_less_than_0_01_of_pairs_share_two_features():
    assert acceptance(6, 14, 2, 0.77) < 0.01


def test_below_0_5_less_than_0_6e_minus_7_of_pairs_share_two_features():
    assert 0.55e-7 < acceptance(6, 14, 2, 0.5) < 0.6e-7


def test_at_0_909_half_of_the_pairs_share_two_features():
    assert acceptance(6, 14, 2, 0.9085) < 0.5 < acceptance(6, 14, 2, 0.9095)


def test_groups_of_14_slots_are_steepest_at_0_931():
    assert steepest_group(exp(-1 / 14)) == pytest.approx(14)
    assert exp(-1 / 14) == pytest.approx(0.931, abs=0.0005)
