import re
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from docindex.kernels.feature_filter import acceptance, binomial, half_point, propose_filter, resemblance_at

shares = st.floats(0, 1)


def plain_acceptance(k: int, s: int, r: int, x: float) -> Fraction:
    equal = Fraction(x) ** s
    return sum((comb(k, i) * equal**i * (1 - equal) ** (k - i) for i in range(r, k + 1)), Fraction(0))


def plain_passed(k: int, s: int, r: int, threshold: float) -> Fraction:
    """The integral of the acceptance from 0 to the threshold, computed from its coefficients."""
    total = Fraction(0)
    for i in range(r, k + 1):
        for j in range(k - i + 1):
            power = s * (i + j) + 1
            total += (-1) ** j * comb(k, i) * comb(k - i, j) * Fraction(threshold) ** power / power
    return total


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


@given(st.integers(1, 20), st.integers(1, 20), st.floats(0.001, 0.999), st.data())
def test_resemblance_at_a_share_is_where_that_share_passes(k, s, share, data):
    r = data.draw(st.integers(1, k))
    assert acceptance(k, s, r, resemblance_at(k, s, r, share)) == pytest.approx(share, abs=1e-9)
    assert acceptance(k, s, r, half_point(k, s, r)) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_of_0_or_1_has_no_single_resemblance_and_is_refused(share):
    with pytest.raises(ValueError, match="accepted must be between 0 and 1"):
        resemblance_at(6, 14, 2, share)


@settings(deadline=None)  # fractions with 600 digits are slow on a busy machine
@given(
    threshold=st.floats(0.3, 1),
    error=st.floats(0.001, 0.5),
    slots=st.integers(8, 12),
    most_features=st.integers(6, 12),
    most_shared=st.integers(1, 12),
)
def test_no_allowed_filter_with_enough_recall_passes_fewer_pairs(
    threshold, error, slots, most_features, most_shared
):
    allowed = Fraction(error) * (1 + Fraction(1, 10**9))  # rounding must not refuse an exact hit
    passed = {
        (k, s, r): plain_passed(k, s, r, threshold)
        for k in range(1, min(most_features, slots) + 1)
        for s in range(1, slots // k + 1)
        for r in range(1, min(most_shared, k) + 1)
        if plain_acceptance(k, s, r, threshold) >= 1 - allowed
    }
    limits = {"error": error, "slots": slots, "most_features": most_features, "most_shared": most_shared}
    if not passed:
        with pytest.raises(ValueError, match="no filter"):
            propose_filter(threshold, **limits)
        return
    found = propose_filter(threshold, **limits)
    equals = [
        shape for shape, share in passed.items() if share <= min(passed.values()) * (1 + Fraction(1e-8))
    ]
    assert (found.k, found.s, found.r) in equals
    assert found.k == min(k for k, _, _ in equals)


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8, 0.9, 0.975, 1.0])
@pytest.mark.parametrize("slots", [128, 400])
def test_the_figures_of_a_proposed_filter_are_true(threshold, slots):
    found = propose_filter(threshold, slots=slots)
    assert found.k * found.s <= slots
    assert found.recall == acceptance(found.k, found.s, found.r, threshold) >= 0.99
    assert acceptance(found.k, found.s, found.r, found.half_point) == pytest.approx(0.5)
    assert acceptance(found.k, found.s, found.r, found.error_point) == pytest.approx(0.01)
    assert found.error_point < found.half_point < threshold


def test_the_filter_with_the_fewest_features_is_proposed_if_several_are_equally_good():
    found = propose_filter(1.0, slots=64, most_shared=64)  # all filters with r = k pass the share x^64
    assert (found.k, found.s, found.r) == (1, 64, 1)


def test_a_filter_that_misses_exactly_the_allowed_error_is_accepted():
    found = propose_filter(0.5, error=0.125, slots=3)
    assert (found.k, found.s, found.r) == (3, 1, 1)


@pytest.mark.parametrize(("threshold", "error"), [(0.03, 0.01), (0.001, 0.3), (0.01, 1e-12), (1e-5, 0.5)])
def test_the_advice_in_the_error_for_an_impossible_filter_works(threshold, error):
    with pytest.raises(ValueError, match="no filter of at most 128 features") as caught:
        propose_filter(threshold, error=error)
    advice = re.search(r"threshold of at least (\S+), a greater error, or (\d+) slots", str(caught.value))
    assert advice
    assert propose_filter(float(advice[1]), error=error).recall >= 1 - error - 1e-14
    if int(advice[2]) < 2000:  # with more slots the search works too, but takes seconds
        assert propose_filter(threshold, error=error, slots=int(advice[2])).recall >= 1 - error - 1e-14


@pytest.mark.parametrize(
    ("threshold", "limits"),
    [
        (0.0, {}),
        (1.1, {}),
        (0.9, {"error": 0.0}),
        (0.9, {"error": 1.0}),
        (0.9, {"slots": 0}),
        (0.9, {"most_features": 0}),
        (0.9, {"most_shared": 0}),
    ],
)
def test_limits_that_allow_no_filter_at_all_are_refused(threshold, limits):
    with pytest.raises(
        ValueError, match=r"threshold must be above 0|error must be between 0 and 1|a filter needs"
    ):
        propose_filter(threshold, **limits)
