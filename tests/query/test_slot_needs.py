"""Test how many equal slots a pair needs: never more than a pair at the threshold has."""

import itertools
import math

import numpy as np
import pytest

from docindex.kernels.minhash import MISSED, fewest_equal_slots
from docindex.query.slot_needs import SlotNeeds

SIZES = np.array([0, 1, 7, 60, 70, 71, 300, 5000, (1 << 20) + 1])


@pytest.mark.parametrize("least", [0.1, 0.3, 0.5, 0.8, 0.97, 1.0])
def test_the_slots_that_are_compared_first_miss_hardly_any_pair(least):
    for estimated in (False, True):
        first, fewest = SlotNeeds(128, "resemblance", least, estimated).first
        assert fewest <= fewest_equal_slots(first, least)
        assert fewest or first == 128
        assert SlotNeeds(128, "containment", least, estimated).first == (128, 0)
    # The slots of a pair are like cards: so many of all are equal, and the first ones are dealt.
    equal = SlotNeeds(128, "resemblance", least, estimated=True).of_all
    hands = [math.comb(equal, each) * math.comb(128 - equal, first - each) for each in range(fewest)]
    assert sum(hands) / math.comb(128, first) <= MISSED


@pytest.mark.parametrize("estimated", [True, False])
@pytest.mark.parametrize("least", [0.2, 0.5, 1.0])
def test_a_text_needs_as_few_equal_slots_as_the_pair_that_needs_fewest(least, estimated):
    for measure in ("resemblance", "containment"):
        needs = SlotNeeds(128, measure, least, estimated)
        for few in itertools.combinations(SIZES[1:].tolist(), 3):
            found = needs.of_texts(SIZES, np.array([0, *few]))
            assert found[0] == 0
            for size, fewest in zip(SIZES[1:], found[1:], strict=True):
                of_pairs = needs.of_pairs(np.full(3, size), np.array(few)).min()
                unsure = max(size, *few) > 1 << 20 and measure == "containment" and not estimated
                assert fewest == (0 if unsure else of_pairs)
        assert not needs.of_texts(SIZES, np.array([0, 0])).any()


def test_the_needs_of_a_pair_follow_from_its_resemblance():
    needs = SlotNeeds(128, "containment", 0.5, estimated=False)
    # Of 60 and 120 shingles, 30 are common: a resemblance of .2.
    assert (
        needs.of_pairs(np.array([60, 120]), np.array([120, 60])).tolist()
        == [fewest_equal_slots(128, 0.195)] * 2
    )
    estimates = SlotNeeds(128, "containment", 0.5, estimated=True)
    assert estimates.of_pairs(np.array([60]), np.array([120])).tolist() == [26]
    assert SlotNeeds(128, "resemblance", 0.5, estimated=True).of_all == 64
    assert SlotNeeds(128, "resemblance", 0.5, estimated=False).of_all == fewest_equal_slots(128, 0.5)
    assert SlotNeeds(128, "resemblance", 0.1, estimated=False).of_all == 0
