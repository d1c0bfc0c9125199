import re
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from docindex.kernels.feature_filter import acceptance, binomial, half_point, propose_filter, resemblance_at
from docindex.kernels.feature_hashes import features
from docindex.kernels.study.group_sizes import steepest_group

shapes = st.tuples(st.integers(1, 5), st.integers(1, 5))
slot_rows = hnp.arrays(np.uint32, st.tuples(st.integers(0, 4), st.integers(25, 30)))
shares = st.floats(0, 1)


def plain_mix(number: int) -> int:
    for shift, multiplier in (27, 0x3C79AC492BA7B653), (33, 0x1C69B3F74AC4AE35), (27, 1):
        number = (number ^ number >> shift) * multiplier % 2**64
    return number


def plain_feature(slots: list[int], group: int, s: int) -> int:
    hashed = plain_mix(group + 1)
    for slot in slots[group * s : (group + 1) * s]:
        hashed = plain_mix(hashed ^ slot)
    return hashed


def plain_acceptance(k: int, s: int, r: int, x: float) -> Fraction:
    equal = Fraction(x) ** s
    return sum((comb(k, i) * equal**i * (1 - equal) ** (k - i) for i in range(r, k + 1)), Fraction(0))


def plain_passed(k: int, s: int, r: int, threshold: float) -> Fraction:
    """The integral of P from 0 to the threshold, from its coefficients."""
    total = Fraction(0)
    for i in range(r, k + 1):
        for j in range(k - i + 1):
            power = s * (i + j) + 1
            total += (-1) ** j * comb(k, i) * comb(k - i, j) * Fraction(threshold) ** power / power
    return total


@given(slot_rows, shapes)
def test_a_feature_is_the_hash_of_its_group_of_slots_and_its_number(rows, shape):
    k, s = shape
    expected = [[plain_feature(row, group, s) for group in range(k)] for row in rows.tolist()]
    found = features(rows, k, s)
    assert found.tolist() == expected
    assert found.dtype == np.uint64
    assert found.shape == (len(rows), k)


@given(slot_rows, shapes)
def test_a_batch_of_documents_gives_each_the_features_it_has_alone(rows, shape):
    together = features(rows, *shape)
    for row, found in zip(rows, together, strict=True):
        assert np.array_equal(features(row[np.newaxis], *shape)[0], found)


@given(slot_rows, shapes)
def test_features_are_the_same_whatever_the_byte_order_and_layout_of_the_slots(rows, shape):
    expected = features(rows, *shape)
    assert np.array_equal(features(rows.astype(">u4"), *shape), expected)
    assert np.array_equal(features(rows.astype("<u4"), *shape), expected)
    assert np.array_equal(features(np.asfortranarray(rows), *shape), expected)


def test_features_that_lie_in_files_never_change():
    slots = np.arange(6, dtype=np.uint32)[np.newaxis]
    assert features(slots, 2, 3).tolist() == [[6012304641945066921, 17990778764338000193]]


@given(st.integers(0, 2**32 - 1), shapes)
def test_equal_groups_at_different_places_never_make_equal_features(slot, shape):
    k, s = shape
    row = features(np.full((1, k * s), slot, np.uint32), k, s)[0]
    assert len(set(row.tolist())) == k


@given(slot_rows.filter(len), shapes, st.data())
def test_one_changed_slot_always_changes_its_feature_and_no_other(rows, shape, data):
    k, s = shape
    place = data.draw(st.integers(0, k * s - 1))
    changed = rows.copy()
    changed[:, place] ^= np.uint32(data.draw(st.integers(1, 2**32 - 1)))
    differs = features(rows, k, s) != features(changed, k, s)
    assert np.all(differs == (np.arange(k) == place // s))


@pytest.mark.parametrize("place", [0, 6, 13])
def test_every_bit_of_a_slot_reaches_every_bit_of_its_feature(place):
    rows = np.tile(np.arange(512, dtype=np.uint32)[:, np.newaxis], 14)
    before = features(rows, 1, 14)
    for bit in range(32):
        changed = rows.copy()
        changed[:, place] ^= np.uint32(1 << bit)
        flipped = (before ^ features(changed, 1, 14)) >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        # The share of 512 fair coins: a deviation of 0.022, here five of them.
        assert np.all(np.abs(flipped.mean(axis=0) - 0.5) < 0.11)


def test_features_that_need_more_slots_than_there_are_get_a_clear_error():
    with pytest.raises(ValueError, match="6 features of 14 slots need 84 slots, but a document has 83"):
        features(np.zeros((1, 83), np.uint32), 6, 14)
    with pytest.raises(ValueError, match="k=0 and s=14"):
        features(np.zeros((1, 83), np.uint32), 0, 14)


@given(st.integers(1, 40), shares)
def test_binomial_probabilities_are_the_exact_ones_but_for_rounding(trials, chance):
    exact = Fraction(chance)
    expected = [comb(trials, i) * exact**i * (1 - exact) ** (trials - i) for i in range(trials + 1)]
    found = binomial(trials, np.array(chance), np.array(float(1 - exact)))
    assert found.tolist() == pytest.approx([float(share) for share in expected], rel=1e-11, abs=1e-300)


def test_binomial_probabilities_of_many_trials_neither_overflow_nor_drift():
    probabilities = binomial(100_000, np.array([0.3]), np.array([0.7]))[0]
    assert probabilities.sum() == pytest.approx(1, rel=1e-8)
    assert probabilities.argmax() == 30_000


@given(st.integers(1, 12), st.integers(1, 20), st.data())
def test_acceptance_is_the_exact_binomial_tail_however_small(k, s, data):
    r, x = data.draw(st.integers(1, k)), data.draw(shares)
    expected = float(plain_acceptance(k, s, r, x))
    assert acceptance(k, s, r, x) == pytest.approx(expected, rel=1e-11, abs=1e-300)


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=2), elements=shares))
def test_acceptance_of_an_array_is_that_of_its_elements(resemblances):
    found = acceptance(6, 14, 2, resemblances)
    assert found.shape == resemblances.shape
    assert found.ravel().tolist() == [acceptance(6, 14, 2, x) for x in resemblances.ravel().tolist()]


@given(st.integers(1, 128), st.integers(1, 128), st.data())
def test_no_pair_without_resemblance_passes_and_every_pair_of_equals_does(k, s, data):
    r = data.draw(st.integers(1, k))
    assert acceptance(k, s, r, 0.0) == 0.0
    assert acceptance(k, s, r, 1.0) == 1.0


@pytest.mark.parametrize(("k", "s", "r"), [(6, 14, 2), (13, 8, 2), (128, 1, 1), (128, 1, 100)])
def test_the_share_that_passes_grows_with_resemblance_and_never_exceeds_1(k, s, r):
    passing = acceptance(k, s, r, np.linspace(0, 1, 2001))
    assert np.all(np.diff(passing) >= -1e-12)
    assert passing.max() <= 1.0


@pytest.mark.parametrize("x", [-0.001, 1.001, float("nan")])
def test_what_is_no_resemblance_gets_a_clear_error(x):
    with pytest.raises(ValueError, match="resemblance must be from 0 to 1"):
        acceptance(6, 14, 2, x)


@pytest.mark.parametrize(("k", "s", "r"), [(0, 1, 1), (1, 0, 1), (6, 14, 0), (6, 14, 7)])
def test_what_is_no_filter_gets_a_clear_error(k, s, r):
    with pytest.raises(ValueError, match=r"features need k >= 1|r must be from 1 to k=6"):
        acceptance(k, s, r, 0.5)


@given(st.integers(1, 20), st.integers(1, 20), st.floats(0.001, 0.999), st.data())
def test_at_the_resemblance_found_for_a_share_that_share_passes(k, s, share, data):
    r = data.draw(st.integers(1, k))
    assert acceptance(k, s, r, resemblance_at(k, s, r, share)) == pytest.approx(share, abs=1e-9)
    assert acceptance(k, s, r, half_point(k, s, r)) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_reached_nowhere_or_everywhere_gets_a_clear_error(share):
    with pytest.raises(ValueError, match="accepted must be between 0 and 1"):
        resemblance_at(6, 14, 2, share)


@given(st.floats(0.01, 0.99))
def test_around_the_steepest_group_the_power_is_less_steep(x):
    steepest = steepest_group(x)

    def slope(s: float) -> float:
        return float(s * x ** (s - 1))

    assert slope(steepest) >= max(slope(steepest * 0.99), slope(steepest * 1.01))


@pytest.mark.parametrize("x", [0.0, 1.0])
def test_a_resemblance_without_a_steepest_group_gets_a_clear_error(x):
    with pytest.raises(ValueError, match="resemblance must be between 0 and 1"):
        steepest_group(x)


@settings(deadline=None)  # exact fractions with 600 digits are slow on a busy machine
@given(
    threshold=st.floats(0.3, 1),
    error=st.floats(0.001, 0.5),
    slots=st.integers(8, 12),
    most_features=st.integers(6, 12),
    most_shared=st.integers(1, 12),
)
def test_no_allowed_filter_with_the_wanted_recall_lets_less_through(
    threshold, error, slots, most_features, most_shared
):
    allowed = Fraction(error) * (1 + Fraction(1, 10**9))  # rounding must not turn down an exact hit
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
def test_a_proposed_filter_does_what_its_figures_say(threshold, slots):
    found = propose_filter(threshold, slots=slots)
    assert found.k * found.s <= slots
    assert found.recall == acceptance(found.k, found.s, found.r, threshold) >= 0.99
    assert acceptance(found.k, found.s, found.r, found.half_point) == pytest.approx(0.5)
    assert acceptance(found.k, found.s, found.r, found.error_point) == pytest.approx(0.01)
    assert found.error_point < found.half_point < threshold


def test_of_filters_that_let_the_same_through_the_one_with_fewest_features_is_proposed():
    found = propose_filter(1.0, slots=64, most_shared=64)  # all filters with r = k accept x^64
    assert (found.k, found.s, found.r) == (1, 64, 1)


def test_an_error_that_is_met_exactly_is_met():
    found = propose_filter(0.5, error=0.125, slots=3)
    assert (found.k, found.s, found.r) == (3, 1, 1)


@pytest.mark.parametrize(("threshold", "error"), [(0.03, 0.01), (0.001, 0.3), (0.01, 1e-12), (1e-5, 0.5)])
def test_an_impossible_filter_gets_an_error_whose_advice_works(threshold, error):
    with pytest.raises(ValueError, match="no filter of at most 128 features") as caught:
        propose_filter(threshold, error=error)
    advice = re.search(r"threshold of at least (\S+), a greater error, or (\d+) slots", str(caught.value))
    assert advice
    assert propose_filter(float(advice[1]), error=error).recall >= 1 - error - 1e-14
    if int(advice[2]) < 2000:  # with more, the search finds it but takes seconds
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
def test_limits_that_allow_no_filter_at_all_get_a_clear_error(threshold, limits):
    with pytest.raises(
        ValueError, match=r"threshold must be above 0|error must be between 0 and 1|a filter needs"
    ):
        propose_filter(threshold, **limits)
