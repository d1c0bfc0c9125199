"""Convert a batch of sketches to rows of the tables `content`, `fingerprint` and `sample`.

Takes sketches and the ids of contents; returns rows as named tuples. Must never know a key or run a
statement.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from docindex.kernels.arrays import I64, U64
from docindex.kernels.packing import packed
from docindex.recipe import Recipe
from docindex.sketching.sketches import HASH_BYTES, HASH_SHIFT, Sketches
from docindex.storage.tables import ContentRow, FingerprintRow, SampleRow

# A content may have several rows of fingerprints or text, so that a document of any size can be written piece
# by piece.
PART_BITS = 20
FINGERPRINTS_A_PART = 1 << 16
SLOT_BYTES = 4

LONGEST_PART = FINGERPRINTS_A_PART * HASH_BYTES
"""The bytes of hashes that a row of fingerprints has at most. More are damage."""


def gap_type(window: int) -> np.dtype[np.unsignedinteger]:
    """The type of the gaps between positions in the file: no gap is larger than the window.

    >>> gap_type(255).itemsize, gap_type(256).itemsize
    (1, 2)
    """
    return np.dtype("<u1" if window < 256 else "<u2")


def kept_column(shingles: int, *, kept: bool) -> int:
    """The column `kept` of a content with this number of shingles.

    >>> kept_column(5, kept=True), kept_column(5, kept=False)
    (5, -6)
    """
    return shingles if kept else -1 - shingles


def are_all_parts(
    contents: Sequence[int] | I64, ids: Sequence[int] | I64, sizes: Sequence[int] | I64
) -> bool:
    """Whether rows of `fingerprint` are all the rows of some contents, which must ascend.

    `ids` are those of the rows, and `sizes` are the lengths of their `hashes` in bytes.

    >>> are_all_parts([7], [7 << 20, (7 << 20) + 1], [6 << 16, 0]), are_all_parts([7], [7 << 20], [6 << 16])
    (True, False)
    """
    rows, lengths = np.asarray(ids, np.int64), np.asarray(sizes, np.int64)
    full = lengths == HASH_BYTES * FINGERPRINTS_A_PART
    expected = np.asarray(contents, np.int64) << PART_BITS
    if not full.any():  # nearly always: each content has one row
        return np.array_equal(rows, expected) and not (lengths % HASH_BYTES).any()
    begins = np.append(True, ~full[:-1])
    firsts = np.flatnonzero(begins)
    parts = np.arange(len(rows)) - np.repeat(firsts, np.diff(firsts, append=len(rows)))
    return (
        np.array_equal(rows[begins], expected)
        and np.array_equal(rows & (1 << PART_BITS) - 1, parts)
        and not (lengths % HASH_BYTES).any()
        and lengths.max() <= HASH_BYTES * FINGERPRINTS_A_PART
        and not full[-1]
    )


class BatchRows:
    """The rows of a batch. `number` is the place of a text in the batch.

    Values are converted for the whole batch at once, because a call of numpy takes as long as a row.
    """

    def __init__(self, sketches: Sketches, recipe: Recipe) -> None:
        self.sketches = sketches
        self._reading = recipe.reading
        self._starts = sketches.starts.tolist()
        self._gap_type = gap_type(recipe.window)
        # The parts of a single long document are packed one by one, when they are written.
        self._packed = self._packed_part(0, len(sketches.hashes)) if len(sketches) > 1 else None
        self._slots = sketches.slots.astype("<u4").tobytes()
        self._slots_size = SLOT_BYTES * recipe.slots
        self._symbols = sketches.symbols.tolist()
        self._shingles = sketches.shingles.tolist()
        self._different = sketches.different.tolist()
        self._simhashes = sketches.simhashes.view(np.int64).tolist()

    def content(
        self, number: int, content: int, text_hash: bytes, characters: int, *, kept: bool
    ) -> ContentRow:
        """The row of `content` for a text of the batch; `kept` says whether the text is stored."""
        shingles = self._shingles[number]
        # By place, not by name: that takes half the time, and a short text has little else to do.
        return ContentRow(
            content,
            self._symbols[number],
            shingles,
            kept_column(shingles, kept=kept),
            self._different[number],
            text_hash,
            self._reading,
            self.sketches.words_hashes[number],
            characters,
            self._starts[number + 1] - self._starts[number],
            self._simhashes[number],
            self._slots[number * self._slots_size : (number + 1) * self._slots_size],
        )

    def sample(self, number: int, content: int) -> SampleRow:
        """The row of `sample` for a text."""
        sketch = self.sketches[number]
        return SampleRow(
            content=content,
            min_s=sketch.min_s.astype("<u8").tobytes(),
            mod_m=sketch.mod_m.astype("<u8").tobytes(),
            level=sketch.level.astype("<u8").tobytes(),
        )

    def hashes(self, number: int) -> U64:
        """All hashes of a text."""
        return self.sketches.hashes[self._starts[number] : self._starts[number + 1]]

    def fingerprints(self, number: int, content: int) -> Iterator[FingerprintRow]:
        """The rows of `fingerprint` for a text. The last one is not full, and may be empty."""
        begin, end = self._starts[number : number + 2]
        for part, first in enumerate(range(begin, end + 1, FINGERPRINTS_A_PART)):
            last = min(first + FINGERPRINTS_A_PART, end)
            if self._packed is None:
                hashes, gaps = self._packed_part(first, last)
            else:
                size = self._gap_type.itemsize
                hashes = self._packed[0][HASH_BYTES * first : HASH_BYTES * last]
                gaps = self._packed[1][size * first : size * last]
            yield FingerprintRow(content << PART_BITS | part, hashes, gaps)

    def _packed_part(self, first: int, last: int) -> tuple[bytes, bytes]:
        """A range of hashes, and of gaps, as bytes for the file."""
        hashes = packed(self.sketches.hashes[first:last] >> HASH_SHIFT, HASH_BYTES)
        return hashes, self.sketches.gaps[first:last].astype(self._gap_type).tobytes()
