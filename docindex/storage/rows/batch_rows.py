"""Convert a batch of sketches to rows of the tables `content`, `fingerprint` and `sample`.

Takes sketches and the ids of contents; returns rows with their checksums. A short text has little else to do
than to be written, so nearly all work is done for the whole batch at once, by numpy and `map`. Must never
know a key or run a statement.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from docindex.arrays.ranges import I64, Bool, ranges, starts_of
from docindex.sketching.sketches import Sketches
from docindex.storage.postings.fingerprint_bytes import NUMBER_BYTES, fingerprint_bytes
from docindex.storage.rows.slot_bytes import bytes_of_slots, slot_bytes
from docindex.storage.statements import row_sums
from docindex.storage.tables import SampleRow

# A content may have several rows of fingerprints or text, so that a document of any size can be written piece
# by piece.
PART_BITS = 20

FINGERPRINTS_A_PART = 125
"""The number of fingerprints in a row: ten full rows fill a page of 8 KB.

With one row for each content, as long as it is up to 64 KB, a sixth of the pages' space was empty.
"""

# Rows with this many fingerprints are packed at a time: all rows of a long document take too much memory.
_PACKED = 1 << 18

LONGEST_PART = FINGERPRINTS_A_PART * NUMBER_BYTES
"""The bytes of numbers that a row of fingerprints has at most. More are damage."""


def are_parts_of(content: int, ids: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether rows of `fingerprint` are all the rows of one content; the same as `are_all_parts`, but faster.

    >>> are_parts_of(7, (7 << 20, (7 << 20) + 1), [6 * 125, 0]), are_parts_of(7, (7 << 20,), [6 * 125])
    (True, False)
    """
    first, full = content << PART_BITS, FINGERPRINTS_A_PART * NUMBER_BYTES
    return (
        tuple(ids) == tuple(range(first, first + max(1, len(ids))))
        and all(size == full for size in sizes[:-1])
        and sizes[-1] < full
        and not sizes[-1] % NUMBER_BYTES
    )


def are_all_parts(
    contents: Sequence[int] | I64, ids: Sequence[int] | I64, sizes: Sequence[int] | I64
) -> bool:
    """Whether rows of `fingerprint` are all the rows of some contents, which must ascend.

    `ids` are those of the rows, and `sizes` are the lengths of their `numbers` in bytes.

    >>> are_all_parts([7], [7 << 20, (7 << 20) + 1], [6 * 125, 0]), are_all_parts([7], [7 << 20], [6 * 125])
    (True, False)
    """
    rows, lengths = np.asarray(ids, np.int64), np.asarray(sizes, np.int64)
    # Each content ends with the only row of it that is not full.
    ends = (lengths != LONGEST_PART).nonzero()[0]
    if len(ends) != len(contents) or len(rows) != ends.max(initial=-1) + 1:
        return False
    parts = ends + 1
    parts[1:] -= parts[:-1].copy()
    return (
        np.array_equal(rows, ranges(np.asarray(contents, np.int64) << PART_BITS, parts))
        and not (lengths % NUMBER_BYTES).any()
        and bool(lengths.max(initial=0) <= LONGEST_PART)
    )


_Rows = Iterator[tuple[Any, ...]]
"""Rows with their checksums, which a statement can insert."""


class BatchRows:
    """The rows of a batch of sketches whose contents get some ids."""

    def __init__(self, sketches: Sketches, contents: I64) -> None:
        """`contents` must be ascending."""
        self._sketches = sketches
        self._contents = contents
        self.counts = np.diff(sketches.starts)
        """The number of fingerprints of each content."""

    def contents(
        self, text_hashes: list[bytes], characters: list[int], kept: Bool
    ) -> tuple[Sequence[Sequence[Any]], list[int]]:
        """The columns of `content`, given the hashes and lengths of the texts, and which of these are stored.

        Also the checksums of the rows.
        """
        sketches = self._sketches
        slots = slot_bytes(sketches.slots)
        size = bytes_of_slots(sketches.slots.shape[1])
        columns = (
            self._contents.tolist(),
            sketches.symbols.tolist(),
            sketches.shingles.tolist(),
            kept.astype(np.int64).tolist(),
            sketches.different.tolist(),
            text_hashes,
            sketches.words_hashes,
            characters,
            self.counts.tolist(),
            sketches.simhashes.view(np.int64).tolist(),
            [slots[begin : begin + size] for begin in range(0, len(slots), size)],
        )
        return columns, row_sums(columns)

    def samples(self) -> Iterator[SampleRow]:
        """The rows of `sample`, without their checksums."""
        for number, content in enumerate(self._contents.tolist()):
            sketch = self._sketches[number]
            values = (sketch.min_s, sketch.mod_m, sketch.level)
            yield SampleRow(content, *(sample.astype("<u8").tobytes() for sample in values))

    def fingerprints(self, window: int) -> Iterator[tuple[Any, ...]]:
        """The rows of `fingerprint`. The last one of each content is not full, and may be empty."""
        starts = self._sketches.starts
        parts = self.counts // FINGERPRINTS_A_PART + 1
        part = np.arange(parts.sum()) - np.repeat(starts_of(parts)[:-1], parts)
        ids = np.repeat(self._contents << PART_BITS, parts) + part
        borders = np.append(np.repeat(starts[:-1], parts) + part * FINGERPRINTS_A_PART, starts[-1])
        at_a_time = max(1, _PACKED // FINGERPRINTS_A_PART)
        for begin in range(0, len(ids), at_a_time):
            some = ids[begin : begin + at_a_time]
            yield from self._packed(window, some.tolist(), borders[begin : begin + len(some) + 1])

    def _packed(self, window: int, ids: list[int], borders: I64) -> _Rows:
        """The rows of `fingerprint` with some ids, whose fingerprints begin at `borders`."""
        which = slice(borders[0], borders[-1])
        numbers, highs = fingerprint_bytes(
            self._sketches.hashes[which], self._sketches.gaps[which], borders - borders[0], window
        )
        return zip(ids, numbers, highs, row_sums((ids, numbers, highs)), strict=True)


def only(sketches: Sketches, numbers: I64) -> Sketches:
    """Some sketches of a batch as a batch."""
    if np.array_equal(numbers, np.arange(len(sketches))):
        return sketches

    def part(values: Any, starts: I64) -> tuple[Any, I64]:
        sizes = np.diff(starts)[numbers]
        return values[ranges(starts[numbers], sizes)], starts_of(sizes)

    hashes, starts = part(sketches.hashes, sketches.starts)
    return Sketches(
        recipe=sketches.recipe,
        symbols=sketches.symbols[numbers],
        hashes=hashes,
        gaps=part(sketches.gaps, sketches.starts)[0],
        starts=starts,
        different=sketches.different[numbers],
        shingles=sketches.shingles[numbers],
        slots=sketches.slots[numbers],
        features=sketches.features[numbers],
        simhashes=sketches.simhashes[numbers],
        words_hashes=[sketches.words_hashes[number] for number in numbers.tolist()],
        min_s=part(*sketches.min_s),
        mod_m=part(*sketches.mod_m),
        level=part(*sketches.level),
    )
