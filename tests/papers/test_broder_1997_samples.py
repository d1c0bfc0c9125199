"""The samples in Broder, "On the resemblance and containment of documents" (1997), sections 3 and 4."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from docindex.arrays.ranges import F64, I64, U64, starts_of
from docindex.minhash.feature_filter import acceptance
from docindex.shingling.samples import (
    Estimate,
    coarsen,
    containment_of_mod_m,
    l_i,
    min_s,
    mod_m,
    probability_within,
    resemblance_of_min_s,
    resemblance_of_mod_m,
)

PAIRS = 1000


def random_hashes(rng: np.random.Generator, count: int) -> U64:
    return rng.integers(0, 2**64, count, np.uint64)


def consecutive_numbers(rng: np.random.Generator, count: int) -> U64:
    return rng.integers(0, 2**63, 1, np.uint64) + np.arange(count, dtype=np.uint64)


@pytest.fixture(scope="module", params=[random_hashes, consecutive_numbers])
def pairs(request):
    """Pairs of sets as a batch; for each pair the resemblance, and the containment of the first set."""
    rng = np.random.default_rng(1997)
    sets, resemblance, containment = [], [], []
    for _ in range(PAIRS):
        only_a, both, only_b = rng.integers(100, 300, 3)
        union = request.param(rng, only_a + both + only_b)
        sets += [union[: only_a + both], union[only_a:]]
        resemblance.append(both / len(union))
        containment.append(both / (only_a + both))
    starts = starts_of(np.array([len(members) for members in sets]))
    return np.concatenate(sets), starts, np.array(resemblance), np.array(containment)


def estimates(sampled: tuple[U64, I64], estimate: Callable[[U64, U64], Estimate]) -> list[Estimate]:
    values, starts = sampled
    sketches = np.split(values, starts[1:-1])
    return [estimate(a, b) for a, b in zip(sketches[::2], sketches[1::2], strict=True)]


def assert_unbiased(found: list[Estimate], truth: F64) -> None:
    off = np.array([estimate.value for estimate in found]) - truth
    assert abs(off.mean()) < 3.5 * off.std() / math.sqrt(len(off))
    # The stated errors match the actual errors: for 1,000 estimates within a tenth.
    stated = np.array([estimate.error for estimate in found])
    assert 0.9 < math.sqrt(np.mean((off / stated) ** 2)) < 1.1


def test_resemblance_of_min_s_is_unbiased(pairs):
    hashes, starts, resemblance, _ = pairs
    found = estimates(min_s(hashes, starts, 40), lambda a, b: resemblance_of_min_s(a, b, 40))
    assert_unbiased(found, resemblance)


def test_resemblance_of_mod_m_is_unbiased(pairs):
    hashes, starts, resemblance, _ = pairs
    found = estimates(mod_m(hashes, starts, 8), lambda a, b: resemblance_of_mod_m(a, b, 8))
    assert_unbiased(found, resemblance)


def test_containment_of_mod_m_is_unbiased(pairs):
    hashes, starts, _, containment = pairs
    found = estimates(mod_m(hashes, starts, 8), lambda a, b: containment_of_mod_m(a, b, 8))
    assert_unbiased(found, containment)


def test_containment_is_unbiased_from_samples_of_different_levels():
    rng = np.random.default_rng(4)
    off = []
    for _ in range(300):
        union = random_hashes(rng, 3000)
        batch = np.concatenate((union[:800], union[400:])), np.array([0, 800, 3400])
        values, starts, levels = l_i(*batch)
        coarser = int(levels.max())
        a, b = (coarsen(sketch, coarser) for sketch in np.split(values, starts[1:-1]))
        off.append(containment_of_mod_m(a, b).value - 0.5)
    assert abs(np.mean(off)) < 3.5 * np.std(off) / math.sqrt(len(off))


def test_an_estimate_above_nine_tenths_is_unlikely_for_any_pair_of_the_web_below_half():
    # "Unlikely (probability less than 0.1%) that any pair": 30,000,000 documents and 100 samples.
    one_pair = acceptance(100, 1, 91, 0.5)
    assert one_pair == pytest.approx(sum(math.comb(100, k) for k in range(91, 101)) / 2**100)
    assert math.comb(30_000_000, 2) * one_pair < 0.001


def test_one_hundred_samples_are_reasonable_and_two_hundred_more_than_enough():
    assert probability_within(100, 0.8, 0.1) > 0.99
    assert probability_within(200, 0.8, 0.1) > 0.999
    assert probability_within(100, 0.5, 0.1) < probability_within(100, 0.8, 0.1)


@pytest.mark.parametrize("size", [101, 150, 200, 201, 333, 400, 1000, 1601])
def test_the_expected_size_of_l_i_is_between_50_and_100(size):
    rng = np.random.default_rng(size)
    documents = 200
    batch = random_hashes(rng, size * documents), starts_of(np.full(documents, size))
    _, starts, levels = l_i(*batch)
    kept = np.diff(starts)
    assert len(set(levels.tolist())) == 1
    expected = size / 2 ** int(levels[0])
    assert 50 <= expected <= 100
    assert abs(kept.mean() - expected) < 4 * math.sqrt(expected / documents)


def test_l_i_plus_1_is_computed_from_l_i():
    hashes = random_hashes(np.random.default_rng(7), 5000)
    values, _, levels = l_i(hashes, np.array([0, 5000]))
    i = int(levels[0])
    assert np.array_equal(coarsen(values, i + 1), mod_m(hashes, np.array([0, 5000]), 2 ** (i + 1))[0])
