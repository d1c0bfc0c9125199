"""Join slots of sketches into bands, so that few texts share a band unless they are alike.

In: slots, and how many of them a pair has in common, or its resemblance. Out: the slots of each band, and one
number for the slots of a band. Two texts share a band if all its slots are equal. Must never miss a pair,
except as `likely_bands` says.

A search for pairs meets each pair in every slot that it shares. Bands of neighbouring slots are fewer than
slots, and texts that are not alike hardly ever share one. Among 900,000 notes, the candidates of resemblance
.8 took 37 s by 128 slots, 14 s by 64 bands of 2, and 6 s by 42 bands of 3. Pairs of a smaller resemblance
need more bands than neighbours give. So each slot is joined with each of the next ones: a pair with many
equal slots has two of them close together.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Final

import numpy as np

from docindex.kernels.arrays import U16, U32, Bool
from docindex.kernels.minhash import EMPTY_SLOT, MISSED, fewest_equal_slots

SHARED: Final = 2
"""A pair shares at least this many bands: a search may then leave out the band that most texts have. If a
pair need share only one, of 22 bands of 2 slots, the same search took 26 s."""
FARTHEST: Final = 16
"""Each slot is joined with at most this many of the next slots."""
SORTED_FOR: Final = 500
"""To join each slot with the next one costs as much for each text as to look for this many pairs by single
slots, in which two texts meet by chance with the probability .0014."""
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
    reach: int
    """0 if a slot is in one band, with its neighbours. Otherwise each slot is joined with each of this many
    slots after it, and the width is 2."""
    shared: int
    """How many bands a pair has in common at least."""

    @property
    def members(self) -> Sequence[tuple[int, ...]]:
        """The slots of each band, ascending by the first one. Slots that are left over are in no band.

        >>> Bands(5, 2, 0, 1).members, Bands(4, 2, 2, 1).members
        ([(0, 1), (2, 3)], [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
        """
        if not self.reach:
            return [
                tuple(range(first, first + self.width))
                for first in range(0, self.slots - self.width + 1, self.width)
            ]
        return [
            (first, second)
            for first in range(self.slots - 1)
            for second in range(first + 1, min(first + self.reach, self.slots - 1) + 1)
        ]

    def work(self, texts: int) -> float:
        """The work for each text in a search among this many texts, in bands to sort.

        >>> Bands(128, 2, 0, 9).work(1000), Bands(128, 1, 0, 9).work(1000)
        (64.0, 256.0)
        """
        by_chance = texts / 2 / SORTED_FOR * self.slots if self.width == 1 else 0.0
        return len(self.members) + by_chance


def certain_bands(slots: int, equal: int, texts: int) -> Bands:
    """The best bands of which all pairs with this many equal slots share several; `equal` must be 1 or more.

    Each slot that differs spoils one band of neighbours at most. Of r + 1 neighbouring slots, all those that
    are equal are joined. Where the number of texts does not make up for that, each slot is a band.

    >>> certain_bands(128, 73, 10_000)
    Bands(slots=128, width=2, reach=0, shared=9)
    >>> certain_bands(128, 40, 10_000), certain_bands(128, 40, 1000)
    (Bands(slots=128, width=2, reach=3, shared=8), Bands(slots=128, width=1, reach=0, shared=40))
    """
    for width in range(slots // SHARED, 1, -1):
        if (shared := slots // width - (slots - equal)) >= SHARED:
            return Bands(slots, width, 0, shared)
    for reach in _reaches(slots, texts):
        if equal >= joined_from(slots, reach):
            return Bands(slots, 2, reach, SHARED + equal - joined_from(slots, reach))
    return Bands(slots, 1, 0, equal)


def joined_from(slots: int, reach: int) -> int:
    """How many equal slots make sure that a pair shares several bands if slots are joined so far.

    >>> joined_from(128, 3)
    34
    """
    return -(-slots // (reach + 1)) + SHARED


@functools.cache
def likely_bands(slots: int, resemblance: float, texts: int) -> Bands:
    """The best bands of which a pair of at least this resemblance shares several, except by chance.

    It shares fewer only with the probability `minhash.MISSED`. Slots are taken as equal independently of each
    other. Among 326,000 pairs of 5 to 500 shingles, bands of 1 to 3 slots had .71 to .96 of the variance that
    follows, and the lower tail was lighter. If there are no such bands, each slot is a band.

    >>> likely_bands(128, 0.8, 10_000)
    Bands(slots=128, width=3, reach=0, shared=3)
    >>> likely_bands(128, 0.5, 10_000)
    Bands(slots=128, width=2, reach=1, shared=2)
    """
    for width in range(slots // SHARED, 1, -1):
        shared = fewest_equal_slots(slots // width, resemblance**width)
        if shared >= SHARED:
            return Bands(slots, width, 0, shared)
    for reach in _reaches(slots, texts):
        if _missed(slots, reach, resemblance) <= MISSED:
            return Bands(slots, 2, reach, SHARED)
    return Bands(slots, 1, 0, max(1, fewest_equal_slots(slots, resemblance)))


def _reaches(slots: int, texts: int) -> range:
    """How far slots may be joined if there are this many texts."""
    return range(1, min(FARTHEST, slots - 1, texts // SORTED_FOR) + 1)


def _missed(slots: int, reach: int, resemblance: float) -> float:
    """The probability that a pair shares fewer than two bands, if each slot is joined with the next ones."""
    # How likely it is to share no band, and to share one, by how far back the last equal slot lies. Far away
    # is the last entry. The equal slot before the last one lies farther back: a slot that is equal now shares
    # a band with it only if two bands are shared, or more.
    none, one = [0.0] * reach + [1.0], [0.0] * (reach + 1)
    for _ in range(slots):
        near = sum(none[:reach])
        none, one = (
            [resemblance * none[-1]] + [(1 - resemblance) * share for share in _farther(none)],
            [resemblance * (near + one[-1])] + [(1 - resemblance) * share for share in _farther(one)],
        )
    return sum(none) + sum(one)


def _farther(shares: list[float]) -> list[float]:
    """The shares of the next slot's distances, without the nearest one."""
    return [*shares[:-2], shares[-2] + shares[-1]]


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
