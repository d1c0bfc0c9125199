"""A batch of sketches in, the rows out that are stored of them. Must never know a key, nor write."""

from collections.abc import Iterator

import numpy as np

from docindex.kernels.arrays import U64
from docindex.kernels.packing import packed
from docindex.recipe import Recipe
from docindex.sketching.sketches import HASH_BYTES, HASH_SHIFT, Sketches
from docindex.storage.rows import row_sum

# What belongs to a content may take several rows, so that a document of any size passes through in pieces.
PART_BITS = 20
FINGERPRINTS_A_PART = 1 << 16
SLOT_BYTES = 4


def gap_type(window: int) -> np.dtype[np.unsignedinteger]:
    """How gaps lie in the file: no gap is larger than the window.

    >>> gap_type(255).itemsize, gap_type(256).itemsize
    (1, 2)
    """
    return np.dtype("<u1" if window < 256 else "<u2")


class Columns:
    """The values of a batch's rows, made for all of them at once: numpy's price per call is that of a row."""

    def __init__(self, sketches: Sketches, recipe: Recipe) -> None:
        self.sketches = sketches
        self._starts = sketches.starts.tolist()
        self._gap_type = gap_type(recipe.window)
        # Of a long document one part at a time, when it is written.
        self._packed = self._forward(0, len(sketches.hashes)) if len(sketches) > 1 else None
        self._slots = sketches.slots.astype("<u4").tobytes()
        self._slots_size = SLOT_BYTES * recipe.slots
        self._symbols = sketches.symbols.tolist()
        self._shingles = sketches.shingles.tolist()
        self._different = sketches.different.tolist()
        self._simhashes = sketches.simhashes.view(np.int64).tolist()

    def content(
        self, number: int, content: int, text_hash: bytes, characters: int, recipe: Recipe
    ) -> tuple[object, ...]:
        """A row of `content`; its text comes later."""
        row = (
            content,
            text_hash,
            recipe.reading,
            self.sketches.symbols_hashes[number],
            characters,
            self._symbols[number],
            self._shingles[number],
            self._starts[number + 1] - self._starts[number],
            self._different[number],
            self._simhashes[number],
            self._slots[number * self._slots_size : (number + 1) * self._slots_size],
            0,
        )
        return (*row, row_sum(*row))

    def sample(self, number: int, content: int) -> tuple[object, ...]:
        """A row of `sample`."""
        sketch = self.sketches[number]
        samples = (sketch.min_s, sketch.mod_m, sketch.level)
        row = (content, *(values.astype("<u8").tobytes() for values in samples))
        return (*row, row_sum(*row))

    def hashes(self, number: int) -> U64:
        """A text's hashes, whole."""
        return self.sketches.hashes[self._starts[number] : self._starts[number + 1]]

    def forward(self, number: int, content: int) -> Iterator[tuple[object, ...]]:
        """The rows of `fingerprint`: one at least."""
        begin, end = self._starts[number : number + 2]
        for part, first in enumerate(range(begin, max(end, begin + 1), FINGERPRINTS_A_PART)):
            last = min(first + FINGERPRINTS_A_PART, end)
            if self._packed is None:
                hashes, gaps = self._forward(first, last)
            else:
                size = self._gap_type.itemsize
                hashes = self._packed[0][HASH_BYTES * first : HASH_BYTES * last]
                gaps = self._packed[1][size * first : size * last]
            row = (content << PART_BITS | part, hashes, gaps)
            yield (*row, row_sum(*row))

    def _forward(self, first: int, last: int) -> tuple[bytes, bytes]:
        """Hashes and gaps as they are stored."""
        hashes = packed(self.sketches.hashes[first:last] >> HASH_SHIFT, HASH_BYTES)
        return hashes, self.sketches.gaps[first:last].astype(self._gap_type).tobytes()
