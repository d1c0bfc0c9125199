"""Join slots of sketches into bands, so that few texts share a band unless they are alike.

In: slots, and how many of them a pair has in common, or its resemblance. Out: the slots of each band, and one
number for the slots of a band. Two texts share a band if all its slots are equal. Must never miss a pair,
except as `likely_bands` says.

A search for pairs meets each pair in every slot that it shares. Bands of neighbouring slots are fewer than
slots, and texts that are not alike hardly ever share one. Among 900,000 notes, the candidates of resemblance
.8 took 37 s by 128 slots, 14 s by 64 bands of 2, and 6 s by 42 bands of 3. Pairs of a resemblance below .6
share too few bands of several slots; for them, each slot is a band.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Final

import numpy as np

from docindex.arrays.ranges import U16, U32, Bool
from docindex.minhash.slots import EMPTY_SLOT, fewest_equal_slots

SHARED: Final = 2
"""A pair shares at least this many bands: a search may then leave out the band that most texts have. If a
pair need share only one, of 22 bands of 2 slots, the same search took 26 s."""
# An odd factor. The high half of a product depends on all bits of the other factor.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@dataclasses.dataclass(frozen=True, slots=True)
class Bands:
    """How slots are joined, and how many bands a pair shares."""

    slots: int
    """The number of slots in a sketch."""
    width: int
    """The number of slots in a band."""
    shared: int
    """How many bands a pair has in common at least."""

    @property
    def members(self) -> Sequence[tuple[int, ...]]:
        """The slots of each band, ascending by the first one. Slots that are left over are in no band.

        >>> Bands(5, 2, 1).members
        [(0, 1), (2, 3)]
        """
        return [
            tuple(range(first, first + self.width))
            for first in range(0, self.slots - self.width + 1, self.width)
        ]


def certain_bands(slots: int, equal: int) -> Bands:
    """The best bands of which all pairs with this many equal slots share several; `equal` must be 1 or more.

    Each slot that differs spoils one band at most. If there are no such bands, each slot is a band.

    >>> certain_bands(128, 73), certain_bands(128, 40)
    (Bands(slots=128, width=2, shared=9), Bands(slots=128, width=1, shared=40))
    """
    for width in range(slots // SHARED, 1, -1):
        if (shared := slots // width - (slots - equal)) >= SHARED:
            return Bands(slots, width, shared)
    return Bands(slots, 1, equal)


@functools.cache
def likely_bands(slots: int, resemblance: float) -> Bands | None:
    """The best bands of which a pair of at least this resemblance shares several, except by chance.

    It shares fewer only with the probability `minhash.MISSED`. Slots are taken as equal independently of each
    other. Among 326,000 pairs of 5 to 500 shingles, bands of 1 to 3 slots had .71 to .96 of the variance that
    follows, and the lower tail was lighter. None if there are no such bands.

    >>> likely_bands(128, 0.8)
    Bands(slots=128, width=3, shared=3)
    >>> likely_bands(128, 0.5), likely_bands(128, 0.1)
    (Bands(slots=128, width=1, shared=31), None)
    """
    for width in range(slots // SHARED, 0, -1):
        shared = fewest_equal_slots(slots // width, resemblance**width)
        if shared >= SHARED:
            return Bands(slots, width, shared)
    return None


def band_numbers(slots: U16) -> tuple[U32, Bool]:
    """A number for the slots of one band of each text, and True for texts without slots.

    Slots are columns here: one row for each slot of the band. Different slots may rarely give one number.

    >>> numbers, empty = band_numbers(np.array([[1, 1, 3], [2, 2, 2]], np.uint16))
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
