"""Find all 64-bit fingerprints within a Hamming distance of a query: sorted tables in memory.

In: fingerprints, and the `TableDesign` that says how many tables there are and which bits each puts first.
Out: pairs of a query and a fingerprint. Must never know what a fingerprint stands for: an id is a position
in the array that the tables were built from.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from docindex.arrays.ranges import I64, U64, owners, ranges, starts_of
from docindex.simhashing.bits import as_bits
from docindex.simhashing.table_design import TableDesign

# How many queries are looked up, and how many candidates are compared, in one step. The buffers take 10 MB,
# however many queries there are. With 2^15, a query takes 50% longer, because every step goes through the
# whole table. With 2^18, it takes a seventh less time and twice the memory.
PIECE = 1 << 17


class SortedTables:
    """The sorted tables of a design over some fingerprints, in memory.

    Each table takes 12 bytes for each fingerprint (16 bytes beyond 2^32 fingerprints), and one shared array
    takes 8 more. The tables are not compressed: compression would save only a fifth, because ids cannot be
    compressed, and each search would take 60 us to read a part.

    To compare many fingerprints with few, as in the paper's batch mode, build the tables from the few and
    query with the many.

    >>> tables = SortedTables([0b0000, 0b0111, 0b1111, 0b0111], TableDesign(4, 1, (2,)))
    >>> [column.tolist() for column in tables.near_many([0b0011])]
    [[0, 0], [1, 3], [1, 1]]
    """

    def __init__(self, values: ArrayLike, design: TableDesign) -> None:
        self.design = design
        numbers = self._fingerprints(values)
        self._count = len(numbers)
        self._numbers = numbers
        self._tables = []
        for layout in design.layouts:
            permuted = layout.permute(numbers)
            order = np.argsort(permuted)
            ids = order.astype(np.min_scalar_type(self._count))
            self._tables.append((layout, permuted[order], ids))
        # For each table, the bits that its prefix compares.
        single_bits = np.uint64(1) << np.arange(design.bits, dtype=np.uint64)
        self._prefixes = [
            np.bitwise_or.reduce(
                single_bits[layout.permute(single_bits) >> np.uint64(design.bits - layout.prefix) > 0]
            )
            for layout in design.layouts
        ]

    def near_many(self, queries: ArrayLike) -> tuple[I64, I64, I64]:
        """All pairs of a query and a fingerprint within the design's distance: query number, id, distance.

        Each pair occurs once. The pairs are sorted by query and then by id. Apart from the result, this takes
        the memory of one `PIECE`.

        >>> tables = SortedTables([5, -1, 4], TableDesign(64, 3, (4,)))
        >>> [column.tolist() for column in tables.near_many([7, 9, -2])]
        [[0, 0, 1, 1, 2], [0, 2, 0, 2, 1], [1, 2, 2, 3, 1]]
        """
        numbers = self._fingerprints(queries)
        parts = [np.zeros((3, 0), np.int64)]
        for begin in range(0, len(numbers), PIECE):
            keys, distances = self._pairs(numbers[begin : begin + PIECE])
            places, ids = np.divmod(keys, self._count)
            parts.append(np.stack((places + begin, ids, distances)))
        places, ids, distances = np.concatenate(parts, axis=1)
        return places, ids, distances

    def _pairs(self, queries: U64) -> tuple[I64, I64]:
        """The sorted keys of the pairs, query * count + id, and their distances.

        The keys suffice for 2^46 fingerprints: a piece of queries takes 17 of their 63 bits.
        """
        found_keys, found_distances = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number, (layout, values, ids) in enumerate(self._tables):
            permuted = layout.permute(queries)
            # Searching in the table's order is four times as fast: neighbouring queries share cache lines.
            order = np.argsort(permuted)
            permuted = permuted[order]
            free = np.uint64((1 << (self.design.bits - layout.prefix)) - 1)
            begins = np.searchsorted(values, permuted & ~free)
            lengths = np.searchsorted(values, permuted | free, "right") - begins
            for at, owner in _candidates(begins, lengths):
                distances = np.bitwise_count(values[at] ^ permuted[owner])
                near = np.flatnonzero(distances <= self.design.distance)
                places, found = order[owner[near]], ids[at[near]].astype(np.int64)
                # Only the first table whose prefix agrees reports a pair.
                differing = queries[places] ^ self._numbers[found]
                new = np.ones(len(near), bool)
                for prefix in self._prefixes[:number]:
                    new &= (differing & prefix) != 0
                found_keys.append(places[new] * self._count + found[new])
                found_distances.append(distances[near][new].astype(np.int64))
        keys = np.concatenate(found_keys)
        in_order = np.argsort(keys)
        return keys[in_order], np.concatenate(found_distances)[in_order]

    def _fingerprints(self, values: ArrayLike) -> U64:
        numbers = as_bits(values)
        if numbers.ndim != 1:
            raise ValueError(f"expected an array of one dimension; found {numbers.ndim} dimensions")
        if np.any(numbers > np.uint64((1 << self.design.bits) - 1)):
            raise ValueError(f"{numbers.max()} does not fit in the design's {self.design.bits} bits")
        return numbers


def _candidates(begins: I64, lengths: I64) -> Iterator[tuple[I64, I64]]:
    """Positions in a table and, for each, the query whose range contains it: at most `PIECE` at a time."""
    starts = starts_of(lengths)
    for begin in range(0, int(starts[-1]), PIECE):
        end = min(begin + PIECE, int(starts[-1]))
        first = int(np.searchsorted(starts, begin, "right")) - 1
        stop = int(np.searchsorted(starts, end))
        # The first and the last query may lie only partly in this piece.
        cuts = np.clip(starts[first : stop + 1], begin, end)
        yield ranges(begins[first:stop] + cuts[:-1] - starts[first:stop], np.diff(cuts)), first + owners(cuts)
