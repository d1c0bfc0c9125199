"""The numbers in Schleimer, Wilkerson and Aiken, "Winnowing" (2003)."""

import numpy as np
import pytest

import docindex
from docindex import Recipe
from docindex.winnowing.kgrams import grams
from docindex.winnowing.other_selections import (
    least_density,
    mod_p,
    mod_p_density,
    safe_mod_p,
    safe_mod_p_density,
    winnow,
)
from docindex.winnowing.selection import HASH_BITS, select_fingerprints, winnowing_density

WHOLE = np.array([0, 17])
FIGURE_2 = np.array([77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98], np.uint64)


def order(hashes):
    """The bits of hashes that winnowing compares."""
    return hashes >> np.uint64(64 - HASH_BITS)


@pytest.fixture(scope="module")
def eight_megabytes():
    return np.random.default_rng(2003).integers(ord("a"), ord("z") + 1, 8_000_000).astype(np.uint8)


@pytest.mark.parametrize("robust", [False, True])
def test_figure_2_a_window_of_4_selects_five_fingerprints(robust):
    places = winnow(FIGURE_2, WHOLE, 4, robust=robust)
    assert list(zip(FIGURE_2[places].tolist(), places.tolist(), strict=True)) == [
        (17, 3),
        (17, 6),
        (8, 8),
        (39, 11),
        (17, 15),
    ]


def test_figure_1_zero_mod_4_selects_four_hashes():
    figure_1 = FIGURE_2.copy()
    figure_1[[1, 13]] = 72  # the figures differ only in this number
    assert figure_1[mod_p(figure_1, 4)].tolist() == [72, 8, 88, 72]


def test_the_text_of_the_figures_has_17_five_grams_in_this_order():
    text = "A do run run run, a do run run"
    found = docindex.fingerprints(text, Recipe(k=5, window=1, selector="rightmost"))
    letters = "adorunrunrunadorunrun"
    five_grams = [letters[i : i + 5] for i in range(17)]
    names = dict(zip(five_grams, found.hashes.tolist(), strict=False))
    assert found.positions.tolist() == list(range(17))
    assert found.hashes.tolist() == [names[gram] for gram in five_grams]
    assert len(names) == len(set(names.values())) == len(set(five_grams))


def test_8_mb_of_random_text_have_the_expected_densities(eight_megabytes):
    starts = np.array([0, len(eight_megabytes)])
    positions, _, _ = select_fingerprints(eight_megabytes, starts, 50, 100)
    hashes, _ = grams(eight_megabytes, starts, 50)
    assert len(positions) / len(hashes) == pytest.approx(2 / 101, rel=0.005)
    assert winnowing_density(100) == pytest.approx(0.019802, abs=1e-6)
    assert len(mod_p(order(hashes), 50)) / len(hashes) == pytest.approx(0.02, rel=0.01)
    assert mod_p_density(50) == 0.02


def test_the_hashes_of_random_text_are_uniform(eight_megabytes):
    hashes, _ = grams(eight_megabytes[:1_000_000], np.array([0, 1_000_000]), 50)
    counts = np.bincount((hashes >> np.uint64(56)).astype(np.int64), minlength=256)
    # Chi-squared with 255 degrees of freedom has the mean 255 and the standard deviation 22.6.
    assert abs(((counts - counts.mean()) ** 2 / counts.mean()).sum() - 255) < 4 * 22.6


def test_safe_zero_mod_p_needs_at_least_1_plus_ln_w_fingerprints_for_each_window(eight_megabytes):
    window = 100
    hashes, starts = grams(eight_megabytes, np.array([0, len(eight_megabytes)]), 50)
    best_p = round(window / np.log(window))
    measured = len(safe_mod_p(order(hashes), starts, best_p, window)) / len(hashes)
    assert measured == pytest.approx(safe_mod_p_density(window), rel=0.02)
    assert measured > 2.5 * winnowing_density(window)


def test_winnowing_selects_a_third_more_than_the_least_that_a_local_algorithm_can():
    assert winnowing_density(100) / least_density(100) == pytest.approx(4 / 3)


def test_a_gap_of_29900_symbols_is_possible_for_zero_mod_p_but_not_for_winnowing():
    # A text of few distinct k-grams: repeat a short piece that has no k-gram with a hash of 0 mod 50.
    k, window, p = 50, 100, 50
    for seed in range(100):
        piece = np.random.default_rng(seed).integers(ord("a"), ord("z") + 1, 20).astype(np.uint8)
        text = np.tile(piece, 29_983 // len(piece) + 1)
        starts = np.array([0, len(text)])
        hashes, _ = grams(text, starts, k)
        if not len(mod_p(order(hashes), p)):
            break
    else:
        pytest.fail("none of 100 pieces was free of hashes that are 0 mod 50; two in three should be")
    for robust in (False, True):
        positions, _, _ = select_fingerprints(text, starts, k, window, robust=robust)
        assert np.diff(positions, prepend=-1, append=len(hashes)).max() <= window


def test_one_repeated_symbol_gives_one_hash_per_window_if_robust_and_nearly_all_if_rightmost():
    symbols = np.full(100_049, ord("0"), np.uint8)
    starts = np.array([0, len(symbols)])
    robust, rightmost = (
        select_fingerprints(symbols, starts, 50, 100, robust=rule)[0] for rule in (True, False)
    )
    assert len(robust) / 100_000 == pytest.approx(1 / 100, rel=0.001)
    assert len(rightmost) == 100_000 - 99
