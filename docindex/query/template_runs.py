"""Find the symbols of a text that are boilerplate, and the passages that contain nothing else.

In: the symbols of a text, and the k-gram hashes of all templates, as an index stores them. A symbol is
boilerplate if it lies in a k-gram of a template. Must never hold a hash for each symbol of a long text.
"""

import dataclasses

import numpy as np

from docindex.kernels.alignment import merged_ranges
from docindex.kernels.arrays import I64, U8, U64, Bool, mix, starts_of
from docindex.kernels.joins import found_in
from docindex.kernels.kgrams import grams
from docindex.kernels.winnowing import POSITION_BITS
from docindex.sketching.sketches import HASH_SHIFT

# How many k-grams are hashed at a time: half a dozen arrays of this length take 50 MB.
_SLICE = 1 << 20
_UNHASHED_BITS = np.uint64(POSITION_BITS)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TemplateRuns:
    """Where the k-grams of templates are in a text."""

    firsts: I64
    """Where each run of places begins at which a k-gram of a template begins, ascending."""
    ends: I64
    """The place behind each of these runs."""
    k: int
    size: int
    """The number of symbols of the text."""

    @property
    def own(self) -> int:
        """The number of symbols that are not boilerplate."""
        return self.own_in(np.zeros(1, np.int64), np.array([self.size]))

    def own_in(self, begins: I64, ends: I64) -> int:
        """The number of symbols in some ranges that are not boilerplate; the ranges must not overlap."""
        if not len(self.firsts):
            return int((ends - begins).sum())
        first, last = merged_ranges(self.firsts, self.ends + self.k - 1)
        before = starts_of(last - first)

        def boilerplate_before(places: I64) -> I64:
            begun = np.searchsorted(first, places)
            return before[begun] - np.maximum(np.append(0, last)[begun] - places, 0)

        return int((ends - begins - boilerplate_before(ends) + boilerplate_before(begins)).sum())

    def fill(self, begins: I64, lengths: I64, least: int) -> Bool:
        """True for each passage that is boilerplate: no `least` neighbouring symbols of it are anything else.

        Only the k-grams inside a passage count. So the answer is the same in both texts of the passage,
        whatever surrounds it. `least` must be at least k.
        """
        last_places = begins + lengths - self.k
        first = np.searchsorted(self.ends, begins, "right")
        last = np.searchsorted(self.firsts, last_places, "right") - 1
        filled = first <= last
        begins, last_places, first, last = (of[filled] for of in (begins, last_places, first, last))
        before = self.firsts[first] - begins
        behind = last_places - (self.ends[last] - 1)
        gaps = self.firsts[1:] - (self.ends[:-1] - 1 + self.k)
        long_gaps = starts_of((gaps >= least).astype(np.int64))
        filled[filled] = (before < least) & (behind < least) & (long_gaps[last] == long_gaps[first])
        return filled


def template_runs(symbols: U8, k: int, ignored: U64) -> TemplateRuns:
    """Where the k-grams with these hashes are in a text.

    Takes 50 MB, and 16 bytes for each run of places; real texts have few runs.

    >>> from docindex.recipe import Recipe
    >>> from docindex.sketching.single_text import text_fingerprints
    >>> ignored = text_fingerprints("template", Recipe(k=3, window=1))[0] >> HASH_SHIFT << HASH_SHIFT
    >>> found = template_runs(np.frombuffer(b"xxtemplatextempo", np.uint8), 3, ignored)
    >>> found.firsts.tolist(), found.ends.tolist(), found.own
    ([2, 11], [8, 13], 4)
    """
    firsts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for begin in range(0, max(0, len(symbols) - k + 1) if len(ignored) else 0, _SLICE):
        part = symbols[begin : begin + _SLICE + k - 1]
        # The same hashes as those of fingerprints. (Winnowing with a window of 1 takes 13 times as long.)
        hashes = grams(part, np.array([0, len(part)]), k)[0] >> _UNHASHED_BITS
        marked = _among(ignored, mix(hashes) >> HASH_SHIFT << HASH_SHIFT)
        changes = np.diff(marked.view(np.int8), prepend=np.int8(0), append=np.int8(0))
        firsts.append(np.flatnonzero(changes == 1) + begin)
        ends.append(np.flatnonzero(changes == -1) + begin)
    return TemplateRuns(*merged_ranges(np.concatenate(firsts), np.concatenate(ends)), k, len(symbols))


def _among(ascending: U64, hashes: U64) -> Bool:
    """True for each hash that is among some ascending hashes."""
    if 4 * len(hashes) > len(ascending):
        return found_in(ascending, hashes)
    # For 800 hashes among 27,000, this takes 0.01 ms, and making the table of `found_in` takes 0.18 ms.
    found: Bool = ascending[np.minimum(np.searchsorted(ascending, hashes), len(ascending) - 1)] == hashes
    return found
