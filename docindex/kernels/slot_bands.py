"""Join neighbouring slots of sketches into bands, so that few texts share a band unless they are alike.

In: slots, and how many of them a pair has in common, or its resemblance. Out: the width of the bands, and one
number for the slots of a band. Two texts share a band if all its slots are equal.

A search for pairs meets each pair in every slot that it shares. Bands are fewer than slots, and texts that
are not alike hardly ever share one. Among 900,000 notes, the candidates of resemblance .8 took 37 s by 128
slots, 14 s by 64 bands of 2, and 6 s by 42 bands of 3. Must never miss a pair, except as `likely_bands` says.
"""

import dataclasses
from typing import Final

import numpy as np

from docindex.kernels.arrays import U32, Bool
from docindex.kernels.minhash import EMPTY_SLOT, fewest_equal_slots

# A pair shares at least so many bands: a search may then leave out the band that most texts have. If a pair
# need share only one, of 22 bands of 2 slots, the same search took 26 s.
_SHARED: Final = 2
# An odd factor. The high half of a product depends on all bits of the other factor.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@dataclasses.dataclass(frozen=True, slots=True)
class Bands:
    """How slots are joined, and how many bands a pair shares."""

    width: int
    """The number of slots in a band."""
    count: int
    """The number of bands. Slots that are left over are in no band."""
    shared: int
    """How many bands a pair has in common at least."""


def certain_bands(slots: int, equal: int) -> Bands:
    """The widest bands of which all pairs with so many equal slots share several; `equal` must be 1 or more.

    Each slot that differs spoils one band at most. If there are no such bands, each slot is a band.

    >>> certain_bands(128, 73)
    Bands(width=2, count=64, shared=9)
    >>> certain_bands(128, 20)
    Bands(width=1, count=128, shared=20)
    """
    for width in range(slots // _SHARED, 1, -1):
        count = slots // width
        if (shared := count - (slots - equal)) >= _SHARED:
            return Bands(width, count, shared)
    return Bands(1, slots, equal)


def likely_bands(slots: int, resemblance: float) -> Bands:
    """The widest bands of which a pair of at least this resemblance shares several, except by chance.

    It shares fewer only with the probability `minhash.MISSED`. The number of shared bands is taken as
    binomial. Among 326,000 pairs of 5 to 500 shingles, bands of 1 to 3 slots had .71 to .96 of that variance,
    and the lower tail was lighter. If there are no such bands, each slot is a band.

    >>> likely_bands(128, 0.8)
    Bands(width=3, count=42, shared=3)
    >>> likely_bands(128, 0.5)
    Bands(width=1, count=128, shared=31)
    """
    for width in range(slots // _SHARED, 0, -1):
        shared = fewest_equal_slots(slots // width, resemblance**width)
        if shared >= _SHARED:
            return Bands(width, slots // width, shared)
    return Bands(1, slots, max(1, fewest_equal_slots(slots, resemblance)))


def band_numbers(slots: U32) -> tuple[U32, Bool]:
    """A number for the slots of one band of each text, and True for texts without slots.

    Slots are columns here: one row for each slot of the band. Different slots may rarely give one number.

    >>> numbers, empty = band_numbers(np.array([[1, 1, 3], [2, 2, 2]], np.uint32))
    >>> bool(numbers[0] == numbers[1]), bool(numbers[0] == numbers[2]), empty.tolist()
    (True, False, [False, False, False])
    """
    empty: Bool = slots[0] == EMPTY_SLOT
    numbers = slots[0].astype(np.uint64)
    for more in slots[1:]:
        numbers *= _FACTOR
        numbers >>= _HALF
        numbers ^= more.astype(np.uint64) << _HALF
    if len(slots) > 1:
        numbers *= _FACTOR
        numbers >>= _HALF
    return numbers.astype(np.uint32), empty
