from collections.abc import Iterable
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.ranges import U64
from docindex.shingling.samples import (
    containment_of_mod_m,
    probability_within,
    resemblance_of_min_s,
    resemblance_of_mod_m,
)

samples = st.sets(st.integers(0, 40), max_size=25)


def ascending(numbers: Iterable[int]) -> U64:
    return np.array(sorted(numbers), np.uint64)


def plain_within(s: int, r: Fraction, epsilon: Fraction) -> float:
    low, high = s * (r - epsilon), s * (r + epsilon)
    return float(sum(comb(s, k) * r**k * (1 - r) ** (s - k) for k in range(s + 1) if low <= k <= high))


@given(samples, samples, st.integers(1, 30))
def test_resemblance_of_min_s_is_the_resemblance_of_the_s_smallest_values_of_the_union(a, b, s):
    smallest = set(sorted(a | b)[:s]) if max(len(a), len(b)) >= s else a | b
    expected = len(smallest & a & b) / len(smallest) if smallest else 1.0
    first, second = ascending(sorted(a)[:s]), ascending(sorted(b)[:s])
    assert resemblance_of_min_s(first, second, s).value == expected
    assert resemblance_of_min_s(ascending(a), ascending(b), s) == resemblance_of_min_s(second, first, s)


@given(samples, samples)
def test_resemblance_of_mod_m_is_the_resemblance_of_the_samples(a, b):
    expected = len(a & b) / len(a | b) if a | b else 1.0
    assert resemblance_of_mod_m(ascending(a), ascending(b)).value == expected


@given(samples.filter(len), samples)
def test_containment_of_mod_m_is_the_containment_of_the_samples(a, b):
    assert containment_of_mod_m(ascending(a), ascending(b)).value == len(a & b) / len(a)


@given(samples, st.integers(1, 30))
def test_a_document_compared_with_itself_gives_1_even_if_its_sample_is_empty(a, s):
    sample = ascending(a)
    assert resemblance_of_min_s(sample[:s], sample[:s], s).value == 1.0
    assert resemblance_of_mod_m(sample, sample).value == 1.0
    assert containment_of_mod_m(sample, sample).value == 1.0


def test_an_empty_sample_is_no_evidence_of_a_copy():
    nothing, something = ascending([]), ascending([4, 8])
    assert resemblance_of_min_s(nothing, something, 2).value == 0.0
    assert resemblance_of_mod_m(nothing, something).value == 0.0
    assert containment_of_mod_m(nothing, something).value == 0.0
    assert containment_of_mod_m(something, nothing).value == 0.0


@given(samples, samples)
def test_an_error_is_0_exactly_if_both_sets_were_seen_whole(a, b):
    first, second = ascending(a), ascending(b)
    for s in range(1, 30):
        whole = len(a) < s and len(b) < s
        assert (resemblance_of_min_s(first[:s], second[:s], s).error == 0) == whole
    for estimate in (resemblance_of_mod_m, containment_of_mod_m):
        assert estimate(first, second, m=1).error == 0
        assert 0 < estimate(first, second, m=2).error < estimate(first, second).error


@given(st.integers(1, 60), st.integers(0, 100), st.integers(0, 100))
def test_probability_within_is_the_binomial_sum_with_both_ends(s, r, epsilon):
    expected = plain_within(s, Fraction(r, 100), Fraction(epsilon, 100))
    assert probability_within(s, r / 100, epsilon / 100) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("s", "r", "epsilon"),
    [(100, 0.7, 0.1), (100, 0.57, 0.01), (10, 0.1, 0.2), (1000, 0.29, 0.28), (100, 0.04, 0.03)],
)
def test_probability_within_counts_ends_that_doubles_miss(s, r, epsilon):
    expected = plain_within(s, Fraction(str(r)), Fraction(str(epsilon)))
    assert probability_within(s, r, epsilon) == pytest.approx(expected, rel=1e-11)


def test_probability_within_is_1_if_no_error_can_be_greater():
    assert probability_within(5000, 0.3, 0.7) == pytest.approx(1, rel=1e-11)
    assert probability_within(100, 0.0, 0.0) == probability_within(100, 1.0, 0.0) == 1.0


def test_probability_within_is_0_if_every_error_is_greater():
    assert probability_within(10, 0.55, 0.04) == 0.0


def test_an_impossible_estimate_is_refused():
    sample = ascending([1, 2, 3])
    for refused, message in (
        (lambda: resemblance_of_min_s(sample, sample, 0), "s=0"),
        (lambda: probability_within(0, 0.5, 0.1), "s=0"),
        (lambda: probability_within(1, 1.5, 0.1), "r=1.5"),
        (lambda: probability_within(1, 0.5, -0.1), "epsilon=-0.1"),
    ):
        with pytest.raises(ValueError, match=message):
            refused()
