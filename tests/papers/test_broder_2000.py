"""Broder, "Identifying and Filtering Near-Duplicate Documents" (2000): its figures for k=6, s=14, r=2."""

from math import exp

import pytest

from docindex.kernels.feature_filter import acceptance, half_point, propose_filter
from docindex.kernels.study.group_sizes import steepest_group


def test_of_pairs_at_0_975_one_in_a_hundred_shares_fewer_than_two_features():
    # "Less than 0.01" in the paper; it is 0.0107, so the sentence holds from 0.976 on.
    assert round(1 - acceptance(6, 14, 2, 0.975), 2) == 0.01
    assert 1 - acceptance(6, 14, 2, 0.975) == pytest.approx(0.01067, abs=0.000005)
    assert 1 - acceptance(6, 14, 2, 0.976) < 0.01


def test_of_pairs_above_0_99_less_than_0_00022_share_fewer_than_two_features():
    assert 1 - acceptance(6, 14, 2, 0.99) < 0.00022


def test_of_pairs_below_0_77_less_than_0_01_share_two_features():
    assert acceptance(6, 14, 2, 0.77) < 0.01


def test_of_pairs_below_0_5_less_than_0_6e_minus_7_share_two_features():
    assert 0.55e-7 < acceptance(6, 14, 2, 0.5) < 0.6e-7


def test_every_second_pair_at_0_909_shares_two_features():
    assert half_point(6, 14, 2) == pytest.approx(0.909, abs=0.0005)


def test_groups_of_14_slots_are_steepest_at_0_931():
    assert steepest_group(exp(-1 / 14)) == pytest.approx(14)
    assert exp(-1 / 14) == pytest.approx(0.931, abs=0.0005)


def test_six_features_at_the_papers_threshold_lead_to_the_papers_filter():
    exact, generous = (propose_filter(0.975, error=error, most_features=6) for error in (0.01, 0.011))
    assert (exact.k, exact.s, exact.r) == (6, 13, 2)
    assert (generous.k, generous.s, generous.r) == (6, 14, 2)
