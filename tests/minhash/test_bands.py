"""Pairs with enough equal slots share as many bands as promised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.minhash.bands import band_numbers, certain_bands, likely_bands
from docindex.minhash.slots import EMPTY_SLOT, slot_keys, stored_slots


def shared_bands(equal, bands):
    """How many bands each row has whose slots are all True."""
    return sum((equal[:, list(members)].all(axis=1) for members in bands.members), np.zeros(len(equal), int))


@given(st.integers(1, 200), st.data())
def test_every_pair_with_so_many_equal_slots_shares_the_certain_bands(slots, data):
    least = data.draw(st.integers(1, slots))
    bands = certain_bands(slots, least)
    assert {len(members) for members in bands.members} == {bands.width}
    assert max(max(members) for members in bands.members) < slots
    different = data.draw(st.sets(st.integers(0, slots - 1), max_size=slots - least))
    worst = set(range(0, slots, bands.width)[: slots - least])  # each spoils a band of its own
    for unequal in (different, worst):
        equal = np.ones((1, slots), bool)
        equal[0, list(unequal)] = False
        assert shared_bands(equal, bands)[0] >= bands.shared >= 1


def test_certain_bands_are_as_wide_as_possible():
    for slots in (1, 2, 16, 128):
        for least in range(1, slots + 1):
            bands = certain_bands(slots, least)
            assert all(slots // width - (slots - least) < 2 for width in range(bands.width + 1, slots + 1))


@pytest.mark.parametrize("resemblance", [0.2, 0.5, 0.6, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("union", [10, 100, 1000])
def test_similar_sets_share_the_likely_bands(resemblance, union):
    rng = np.random.default_rng(union)
    bands = likely_bands(128, resemblance)
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
    # The binomial distribution, on which the promise rests, has no lighter tail than this.
    assert found.var() < 1.1 * count * likely * (1 - likely)


def test_there_are_no_likely_bands_for_a_low_resemblance():
    assert likely_bands(128, 0.1) is None
    assert likely_bands(1, 1.0) is None


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
