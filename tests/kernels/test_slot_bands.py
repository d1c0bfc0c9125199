"""Pairs with enough equal slots share as many bands as promised."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.minhash import EMPTY_SLOT, MISSED, slot_keys, stored_slots
from docindex.kernels.slot_bands import (
    Bands,
    _missed,
    band_numbers,
    certain_bands,
    joined_from,
    likely_bands,
)

MANY = 1_000_000


def shared_bands(equal, bands):
    """How many bands each row has whose slots are all True."""
    return sum((equal[:, list(members)].all(axis=1) for members in bands.members), np.zeros(len(equal), int))


@given(st.integers(1, 200), st.sampled_from([10, 3000, MANY]), st.data())
def test_every_pair_with_so_many_equal_slots_shares_the_certain_bands(slots, texts, data):
    least = data.draw(st.integers(1, slots))
    bands = certain_bands(slots, least, texts)
    assert {len(members) for members in bands.members} == {bands.width}
    assert max(max(members) for members in bands.members) < slots
    different = data.draw(st.sets(st.integers(0, slots - 1), max_size=slots - least))
    worst = set(range(0, slots, bands.width)[: slots - least])  # each spoils a band of its own
    apart = {slot for slot in range(slots) if slot % (bands.reach + 1)}
    for unequal in (different, worst, set(sorted(apart)[: slots - least])):
        equal = np.ones((1, slots), bool)
        equal[0, list(unequal)] = False
        assert shared_bands(equal, bands)[0] >= bands.shared >= 1


def test_certain_bands_are_as_wide_as_possible():
    for slots in (1, 2, 16, 128):
        for least in range(1, slots + 1):
            bands = certain_bands(slots, least, MANY)
            wider = range(bands.width + 1 if not bands.reach else 2, slots + 1)
            assert all(slots // width - (slots - least) < 2 for width in wider)
            assert not bands.reach or least < joined_from(slots, bands.reach - 1)


def test_each_band_is_there_once():
    bands = Bands(30, 2, 4, 1)
    expected = {(a, b) for a in range(30) for b in range(30) if a < b <= a + 4}
    assert len(bands.members) == len(expected)
    assert set(bands.members) == expected


@pytest.mark.parametrize("resemblance", [0.3, 0.5, 0.6, 0.8, 0.9])
@pytest.mark.parametrize("union", [10, 100, 1000])
def test_similar_sets_share_the_likely_bands(resemblance, union):
    rng = np.random.default_rng(union)
    bands = likely_bands(128, resemblance, MANY)
    assert bands.shared >= 2
    pairs, shared = 3000 // union * 10 + 200, round(union * resemblance)
    hashes = rng.integers(0, 2**64, (pairs, union), np.uint64)
    starts = np.arange(pairs + 1)
    own = shared + (union - shared) // 2
    first = stored_slots(slot_keys(hashes[:, :own].reshape(-1), starts * own, 128))
    others = np.concatenate([hashes[:, :shared], hashes[:, own:]], axis=1)
    second = stored_slots(slot_keys(others.reshape(-1), starts * others.shape[1], 128))
    found = shared_bands(first == second, bands)
    assert found.min() >= bands.shared
    likely, count = resemblance**bands.width, len(bands.members)
    assert found.mean() == pytest.approx(count * likely, rel=0.05)
    if not bands.reach:
        # The binomial distribution, on which the promise rests, has no lighter tail than this.
        assert found.var() < 1.1 * count * likely * (1 - likely)


@pytest.mark.parametrize("reach", [1, 2, 5])
@pytest.mark.parametrize("resemblance", [0.1, 0.5, 0.9])
def test_the_probability_to_miss_a_pair_is_the_sum_over_all_ways_to_be_equal(reach, resemblance):
    slots = 10
    every = np.array(list(itertools.product([False, True], repeat=slots)))
    likely = np.where(every, resemblance, 1 - resemblance).prod(axis=1)
    missed = shared_bands(every, Bands(slots, 2, reach, 2)) < 2
    assert _missed(slots, reach, resemblance) == pytest.approx(likely[missed].sum())


def test_slots_are_joined_as_far_as_the_resemblance_needs():
    assert [likely_bands(128, least, MANY).reach for least in (0.55, 0.5, 0.4, 0.3, 0.25)] == [1, 1, 2, 5, 12]
    assert _missed(128, 5, 0.3) <= MISSED < _missed(128, 4, 0.3)


def test_likely_bands_are_single_slots_where_wider_ones_do_not_serve():
    assert likely_bands(128, 0.3, 1000) == Bands(128, 1, 0, 11)
    assert likely_bands(128, 0.1, MANY) == Bands(128, 1, 0, 1)
    assert likely_bands(1, 1.0, MANY) == Bands(1, 1, 0, 1)


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_bands_have_one_number_if_and_only_if_all_their_slots_are_equal(width, seed):
    rng = np.random.default_rng(seed)
    slots = rng.integers(0, 3, (width, 40)).astype(np.uint16) * np.uint16(0x0193)
    numbers, empty = band_numbers(slots)
    assert numbers.dtype == np.uint32
    assert not empty.any()
    texts = list(zip(*slots.tolist(), strict=True))
    # Different bands have one number with the probability 2^-32.
    assert len(set(numbers.tolist())) == len(set(texts))
    assert len(set(zip(numbers.tolist(), texts, strict=True))) == len(set(texts))


def test_an_empty_text_has_no_bands():
    slots = np.array([[5, EMPTY_SLOT], [6, EMPTY_SLOT]], np.uint16)
    assert band_numbers(slots)[1].tolist() == [False, True]
