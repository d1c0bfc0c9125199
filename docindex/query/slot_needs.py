"""Say how many equal slots two texts have that reach a threshold of resemblance or containment.

Takes the numbers of shingles of pairs; gives the number of equal slots that a likely pair has. Must never be
too high for a pair that reaches the threshold, except with the probability that `fewest_equal_slots` allows.
"""

import dataclasses
import functools

import numpy as np

from docindex.kernels.arrays import I64
from docindex.kernels.minhash import fewest_equal_slots
from docindex.query.joined_pairs import Measure
from docindex.query.pair_needs import rounded_up
from docindex.sketching.incremental import COUNTED

# Resemblances are rounded down to one of so many shares before the equal slots that they need are looked up.
_SHARES = 200
# Two texts that are not alike have so many equal slots among 50 with a probability of 10^-6.
_BY_CHANCE = 4
# Two texts are of like sizes only if they are so by more than rounding may change.
MARGIN = 1e-9


@dataclasses.dataclass(frozen=True, slots=True)
class SlotNeeds:
    """How many equal slots the pairs have that reach a threshold."""

    slots: int
    """The number of slots of a sketch."""
    measure: Measure
    least: float
    estimated: bool
    """Whether the slots estimate the measure. Otherwise the shingles of likely pairs are counted."""

    @property
    def of_all(self) -> int | None:
        """The equal slots that all pairs need; None if that depends on their sizes. 0: perhaps none."""
        if self.measure == "containment":
            return None
        if self.estimated:
            return max(1, int(rounded_up(self.least * self.slots)))
        return fewest_equal_slots(self.slots, self.least)

    @property
    def first(self) -> tuple[int, int]:
        """How many slots to compare first, and how many of these are equal in a pair that is likely.

        By these, too, a pair is missed with the probability `minhash.MISSED`, also if it has just as many
        equal slots as it needs. Few pairs that are not alike have so many by chance.
        """
        if self.measure == "containment":
            return self.slots, 0
        return _compared_first(self.slots, self.least)

    def of_pairs(self, a: I64, b: I64) -> I64:
        """The equal slots that pairs with these numbers of shingles need; 0: perhaps none."""
        of_all = self.of_all
        if of_all is not None:
            return np.full(len(a), of_all)
        smaller, larger = np.minimum(a, b), np.maximum(a, b)
        if self.estimated:
            # Texts of resemblance r have r / (1 + r) of the sum of their sizes in common.
            part = self.least * smaller / (smaller + larger)
            return np.maximum(1, rounded_up(self.slots * part / (1 - part)))
        common = self.least * smaller
        resemblance = common / np.maximum(smaller + larger - common, 1)
        found: I64 = _fewest(self.slots)[(_SHARES * resemblance * (1 - MARGIN)).astype(np.int64)]
        return found

    def of_texts(self, sizes: I64, few: I64) -> I64:
        """The fewest equal slots that each text needs with any of a few; 0 if a pair perhaps has none.

        Takes the numbers of shingles of both. It is 0 for a text that is much larger or smaller than one of
        the few, and for a text without shingles. Those of the few without shingles do not count.
        """
        few = few[few > 0]
        if not len(few):
            return np.zeros_like(sizes)
        extremes = few.min(), few.max()
        needs = np.minimum(*(self.of_pairs(sizes, np.full_like(sizes, extreme)) for extreme in extremes))
        known = sizes > 0
        if self.of_all is None and not self.estimated:  # above `COUNTED`, sizes are estimates
            known &= (sizes <= COUNTED) & (extremes[1] <= COUNTED)
        return np.where(known, needs, 0)


@functools.cache
def _compared_first(slots: int, resemblance: float) -> tuple[int, int]:
    """The value of `SlotNeeds.first` for pairs of a resemblance that are counted."""
    for columns in range(1, slots):
        if fewest_equal_slots(columns, resemblance) >= _BY_CHANCE:
            return columns, _BY_CHANCE
    return slots, 0


@functools.cache
def _fewest(slots: int) -> I64:
    """The result of `fewest_equal_slots` for each number of `_SHARES`."""
    shares = [fewest_equal_slots(slots, share / _SHARES) if share else 0 for share in range(_SHARES + 1)]
    return np.array(shares, np.int64)
