from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from docindex.minhash.feature_filter import acceptance
from docindex.shingling.samples import binomial

shares = st.floats(0, 1)


def plain_acceptance(k: int, s: int, r: int, x: float) -> Fraction:
    equal = Fraction(x) ** s
    return sum((comb(k, i) * equal**i * (1 - equal) ** (k - i) for i in range(r, k + 1)), Fraction(0))


@given(st.integers(1, 40), shares)
def test_binomial_probabilities_are_exact_except_for_rounding(trials, chance):
    exact = Fraction(chance)
    expected = [comb(trials, i) * exact**i * (1 - exact) ** (trials - i) for i in range(trials + 1)]
    found = binomial(trials, np.array(chance), np.array(float(1 - exact)))
    assert found.tolist() == pytest.approx([float(share) for share in expected], rel=1e-11, abs=1e-300)


def test_binomial_probabilities_of_many_trials_neither_overflow_nor_drift():
    probabilities = binomial(100_000, np.array([0.3]), np.array([0.7]))[0]
    assert probabilities.sum() == pytest.approx(1, rel=1e-8)
    assert probabilities.argmax() == 30_000


@given(st.integers(1, 12), st.integers(1, 20), st.data())
def test_acceptance_is_the_exact_binomial_tail_even_if_it_is_tiny(k, s, data):
    r, x = data.draw(st.integers(1, k)), data.draw(shares)
    expected = float(plain_acceptance(k, s, r, x))
    assert acceptance(k, s, r, x) == pytest.approx(expected, rel=1e-11, abs=1e-300)


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=2), elements=shares))
def test_the_acceptance_of_an_array_is_the_acceptance_of_each_element(resemblances):
    found = acceptance(6, 14, 2, resemblances)
    assert found.shape == resemblances.shape
    assert found.ravel().tolist() == [acceptance(6, 14, 2, x) for x in resemblances.ravel().tolist()]


@given(st.integers(1, 128), st.integers(1, 128), st.data())
def test_no_pair_at_resemblance_0_passes_and_every_pair_at_1_does(k, s, data):
    r = data.draw(st.integers(1, k))
    assert acceptance(k, s, r, 0.0) == 0.0
    assert acceptance(k, s, r, 1.0) == 1.0


@pytest.mark.parametrize(("k", "s", "r"), [(6, 14, 2), (13, 8, 2), (128, 1, 1), (128, 1, 100)])
def test_the_share_that_passes_grows_with_resemblance_and_never_exceeds_1(k, s, r):
    passing = acceptance(k, s, r, np.linspace(0, 1, 2001))
    assert np.all(np.diff(passing) >= -1e-12)
    assert passing.max() <= 1.0


@pytest.mark.parametrize("x", [-0.001, 1.001, float("nan")])
def test_a_number_outside_0_to_1_is_refused_as_a_resemblance(x):
    with pytest.raises(ValueError, match="resemblance must be from 0 to 1"):
        acceptance(6, 14, 2, x)


@pytest.mark.parametrize(("k", "s", "r"), [(0, 1, 1), (1, 0, 1), (6, 14, 0), (6, 14, 7)])
def test_numbers_that_make_no_filter_are_refused(k, s, r):
    with pytest.raises(ValueError, match=r"features need k >= 1|r must be from 1 to k=6"):
        acceptance(k, s, r, 0.5)
