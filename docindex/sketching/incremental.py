"""A text that comes in slices; out what a batch of the whole would give, in bounded memory.

Each class takes the slices one after the other and has the whole at the end. Must never
depend on where the slices were cut.
"""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from docindex.kernels import minhash, samples
from docindex.kernels.arrays import U8, U16, U64, mix, starts_of
from docindex.kernels.shingles import shingles
from docindex.kernels.winnow import NOTHING, fingerprints
from docindex.recipe import Recipe

Number = TypeVar("Number", np.uint64, np.uint16)

# A long document's different shingles are counted exactly up to this many (8 MB of them); above it
# from those that are 0 modulo a power of two, with a standard error of 0.1 to 0.14%.
_COUNTED = 1 << 20


class Growing(Generic[Number]):
    """An array that grows at its end where it lies: joining a list of pieces would take its memory twice."""

    def __init__(self, dtype: type[Number]) -> None:
        self._array: NDArray[Number] = np.empty(0, dtype)
        self._size = 0

    def extend(self, more: NDArray[Number]) -> None:
        """Put some more at the end."""
        size = self._size + len(more)
        if size > len(self._array):
            # In small steps, for numpy writes zeros to all that is added.
            self._array.resize(max(size, len(self._array) * 9 // 8), refcheck=False)
        self._array[self._size : size] = more
        self._size = size

    def taken(self) -> NDArray[Number]:
        """The array, for good: nothing can be added after."""
        self._array.resize(self._size, refcheck=False)
        return self._array


class Winnower:
    """Fingerprints of one text that comes in slices."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._open = np.empty(0, np.uint8)
        """Symbols whose windows are not all complete, from `_at` on."""
        self._at = 0
        self._carry = NOTHING
        self._hashes = Growing(np.uint64)
        self._gaps = Growing(np.uint16)  # no window is larger
        self._last = 0

    def add(self, symbols: U8) -> None:
        """The symbols of the next slice."""
        self._open = np.concatenate([self._open, symbols])
        self._winnow(closed=False)
        done = max(0, len(self._open) - (self._recipe.guarantee - 1))
        self._carry = self._carry.moved(done)
        self._open = self._open[done:]
        self._at += done

    def end(self) -> tuple[U64, U16]:
        """The hashes and the gaps of the whole text."""
        # Once more, for a text so short that it never filled a window.
        self._winnow(closed=True)
        return self._hashes.taken(), self._gaps.taken()

    def _winnow(self, *, closed: bool) -> None:
        recipe = self._recipe
        positions, hashes, self._carry = fingerprints(
            self._open,
            starts_of(np.array([len(self._open)])),
            recipe.k,
            recipe.window,
            robust=recipe.selector == "robust",
            carry=self._carry,
            closed=closed,
        )
        self._hashes.extend(mix(hashes))
        positions += self._at
        self._gaps.extend(np.diff(positions, prepend=self._last).astype(np.uint16))
        self._last = int(positions[-1]) if len(positions) else self._last


class Shingler:
    """Shingles of one text that comes in slices."""

    def __init__(self, recipe: Recipe) -> None:
        self._q = recipe.shingle
        self._open: U8 | U64 = np.empty(0, np.uint8) if recipe.token == "letter" else np.empty(0, np.uint64)
        """The last tokens, fewer than a shingle's."""
        self._found = False

    def add(self, tokens: U8 | U64) -> U64:
        """The shingles that the next slice completes."""
        together = np.concatenate([self._open, tokens])
        self._open = together[max(0, len(together) - (self._q - 1)) :]
        if len(together) < self._q:
            return np.empty(0, np.uint64)
        self._found = True
        return shingles(together, starts_of(np.array([len(together)])), self._q)[0]

    def end(self) -> U64:
        """The one shingle of a text that is shorter than a shingle."""
        rest = self._open[:0] if self._found else self._open
        return shingles(rest, starts_of(np.array([len(rest)])), self._q)[0]


class Counter:
    """All that is known of a set of shingles that comes in pieces, in bounded memory."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        nothing = np.empty(0, np.uint64)
        self.keys = minhash.keys(nothing, np.zeros(2, np.int64), recipe.slots)
        self.min_s = self.mod_m = self._sample = nothing
        self._level = 0

    def add(self, hashes: U64) -> None:
        """Some more shingles; repeats change nothing."""
        recipe, starts = self._recipe, starts_of(np.array([len(hashes)]))
        self.keys = np.minimum(self.keys, minhash.keys(hashes, starts, recipe.slots))
        if recipe.min_s:
            self.min_s = union(self.min_s, samples.min_s(hashes, starts, recipe.min_s)[0])[: recipe.min_s]
        if recipe.mod_m:
            self.mod_m = union(self.mod_m, samples.mod_m(hashes, starts, recipe.mod_m)[0])
        self._sample = union(self._sample, samples.mod_m(hashes, starts, 1 << self._level)[0])
        while len(self._sample) > _COUNTED:
            self._level += 1
            self._sample = samples.coarsen(self._sample, self._level)

    @property
    def size(self) -> int:
        """How many different shingles there are; above 2^20 an estimate."""
        return max(len(self._sample) << self._level, _COUNTED + 1) if self._level else len(self._sample)

    @property
    def level(self) -> U64:
        """The L_i sketch, if the recipe asks for one."""
        if not self._recipe.level:
            return self._sample[:0]
        level = int(samples.levels(np.array([self.size]), self._recipe.level)[0])
        return samples.coarsen(self._sample, max(level, self._level))


def union(*arrays: U64) -> U64:
    """The different numbers in some arrays, sorted.

    >>> union(np.array([3, 1], np.uint64), np.array([3], np.uint64)).tolist()
    [1, 3]
    """
    together = np.sort(np.concatenate(arrays))
    different: U64 = together[np.append(True, together[1:] != together[:-1])[: len(together)]]
    return different
