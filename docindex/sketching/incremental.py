"""Sketch one long text slice by slice, in bounded memory: `Winnower`, `Shingler`, `ShingleCounter`.

In: the slices of a text, in order. Out: the same fingerprints, shingles and counts that a batch with the
whole text gives. The result must never depend on where the slices were cut.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import U8, U16, U64, mix, starts_of, union
from docindex.minhash import slots
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.shingling import samples
from docindex.shingling.shingles import shingles
from docindex.sketching.tokens import shingle_tokens
from docindex.winnowing.selection import NO_CARRY, select_fingerprints

_Number = TypeVar("_Number", np.uint64, np.uint16)

COUNTED = 1 << 20
"""Up to this many different shingles of a document are counted exactly; they take 8 MB.

A larger count is estimated from the shingles that are 0 modulo a power of two, with a standard error
of 0.1 to 0.14%.
"""

COUNT_ERROR = 0.01
"""A count above `COUNTED` is never off by more than this share: seven standard errors."""


class GrowingArray(Generic[_Number]):
    """An array that grows at its end, in place. Joining a list of arrays would take twice the memory."""

    def __init__(self, dtype: type[_Number]) -> None:
        self._array: NDArray[_Number] = np.empty(0, dtype)
        self._size = 0

    def extend(self, more: NDArray[_Number]) -> None:
        """Append numbers."""
        size = self._size + len(more)
        if size > len(self._array):
            # Grow in small steps, because numpy fills everything it adds with zeros.
            self._array.resize(max(size, len(self._array) * 9 // 8), refcheck=False)
        self._array[self._size : size] = more
        self._size = size

    def part(self, begin: int, end: int) -> NDArray[_Number]:
        """The numbers in a range, as a view that is valid until the next call."""
        return self._array[begin : min(end, self._size)]

    def taken(self) -> NDArray[_Number]:
        """The array itself, not a copy. Nothing can be appended afterwards."""
        self._array.resize(self._size, refcheck=False)
        return self._array


class Winnower:
    """Selects the fingerprints of one text that comes in slices."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._open = np.empty(0, np.uint8)
        """The symbols that belong to windows which are not complete yet; the first is at position `_at`."""
        self._at = 0
        self._carry = NO_CARRY
        self._hashes = GrowingArray(np.uint64)
        self._gaps = GrowingArray(np.uint16)  # no window is larger than 65,535
        self._last = 0

    def add(self, symbols: U8) -> None:
        """Take the symbols of the next slice."""
        self._open = np.concatenate([self._open, symbols])
        self._winnow(closed=False)
        done = max(0, len(self._open) - (self._recipe.guarantee - 1))
        self._carry = self._carry.moved(done)
        self._open = self._open[done:]
        self._at += done

    def end(self) -> tuple[U64, U16]:
        """The hashes and the gaps of the whole text."""
        # Winnow once more: the text may be so short that it never filled a window.
        self._winnow(closed=True)
        return self._hashes.taken(), self._gaps.taken()

    def _winnow(self, *, closed: bool) -> None:
        recipe = self._recipe
        positions, hashes, self._carry = select_fingerprints(
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
    """Hashes the shingles of one text that comes in slices."""

    def __init__(self, recipe: Recipe) -> None:
        self._q = recipe.shingle
        self._open: U8 | U64 = np.empty(0, np.uint8) if recipe.token == "letter" else np.empty(0, np.uint64)
        """The last q - 1 tokens, or fewer."""
        self._found = False

    def add(self, tokens: U8 | U64) -> U64:
        """Take the tokens of the next slice, and return the shingles that end in it."""
        together = np.concatenate([self._open, tokens])
        self._open = together[max(0, len(together) - (self._q - 1)) :]
        if len(together) < self._q:
            return np.empty(0, np.uint64)
        self._found = True
        return shingles(together, starts_of(np.array([len(together)])), self._q)[0]

    def end(self) -> U64:
        """The only shingle of a text with fewer than q tokens; empty for a longer text."""
        rest = self._open[:0] if self._found else self._open
        return shingles(rest, starts_of(np.array([len(rest)])), self._q)[0]


def shingle_hashes(text: str, recipe: Recipe) -> Iterator[U64]:
    """The shingles of a text of any length, in the order of the text: one array for each slice."""
    shingler = Shingler(recipe)
    reader = symbol_reader(recipe.reading)
    for reading in reader.readings(text, lines=recipe.token == "line"):
        yield shingler.add(shingle_tokens(reading, recipe)[0])
    yield shingler.end()


class ShingleCounter:
    """Computes the slots, samples and size of a shingle set that comes in several arrays; bounded memory."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        nothing = np.empty(0, np.uint64)
        self.keys = slots.slot_keys(nothing, np.zeros(2, np.int64), recipe.slots)
        self.min_s = self.mod_m = self._sample = nothing
        self._level = 0
        self._waiting: list[U64] = []
        """Hashes that are not yet in the sample."""

    def add(self, hashes: U64) -> None:
        """Take more shingles. A shingle that was added before changes nothing."""
        recipe, starts = self._recipe, starts_of(np.array([len(hashes)]))
        self.keys = np.minimum(self.keys, slots.slot_keys(hashes, starts, recipe.slots))
        if recipe.min_s:
            self.min_s = union(self.min_s, samples.min_s(hashes, starts, recipe.min_s)[0])[: recipe.min_s]
        if recipe.mod_m:
            self.mod_m = union(self.mod_m, samples.mod_m(hashes, starts, recipe.mod_m)[0])
        self._waiting.append(hashes)
        if sum(map(len, self._waiting)) >= COUNTED:
            self._count()

    def _count(self) -> None:
        """Put the hashes that wait into the sample."""
        values = samples.permuted(np.concatenate([*self._waiting, self._sample[:0]]))
        self._waiting = []
        self._sample = union(self._sample, samples.coarsen(values, self._level) if self._level else values)
        while len(self._sample) > COUNTED:
            self._level += 1
            self._sample = samples.coarsen(self._sample, self._level)

    @property
    def size(self) -> int:
        """The number of different shingles: exact up to 2^20, then an estimate."""
        self._count()
        return max(len(self._sample) << self._level, COUNTED + 1) if self._level else len(self._sample)

    @property
    def level(self) -> U64:
        """The L_i sample; empty unless the recipe asks for it."""
        if not self._recipe.level:
            return self._sample[:0]
        level = int(samples.sample_levels(np.array([self.size]), self._recipe.level)[0])
        return samples.coarsen(self._sample, max(level, self._level))
