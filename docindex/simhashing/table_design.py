"""Design sorted tables that find all fingerprints within a Hamming distance (Manku et al., section 3).

G. Manku, A. Jain and A. Das Sarma, "Detecting Near-Duplicates for Web Crawling" (2007): cut the bits into
more than k blocks; two fingerprints that differ in at most k bits agree in at least one block. For every
choice of blocks, keep one table that is sorted with these bits first, and compare a query only with the
entries that agree with it in these bits.

In: the number of bits, the distance, and how many fingerprints there are. Out: which bits each table puts
first. Must never hold fingerprints: `SortedTables` does that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, islice
from math import comb, exp2, prod

import numpy as np

from docindex.arrays.ranges import U64


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The order of the bits in one sorted table, and how many of them must agree with the query.

    `order` holds half-open ranges that cover all bits, where bit 0 is the most significant. The first
    `prefix` bits in this order must agree.
    """

    order: tuple[tuple[int, int], ...]
    prefix: int

    def permute(self, values: U64) -> U64:
        """The values with their bits in this order: a bijection that preserves all distances.

        >>> f"{TableLayout(((4, 8), (0, 4)), prefix=4).permute(np.array([0b1110_0001], np.uint64))[0]:08b}"
        '00011110'
        """
        bits = max(stop for _, stop in self.order)
        moved = np.zeros_like(values)
        left = bits
        for start, stop in self.order:
            left -= stop - start
            block = values >> np.uint64(bits - stop)
            block &= np.uint64((1 << (stop - start)) - 1)
            block <<= np.uint64(left)
            moved |= block
        return moved


@dataclass(frozen=True, slots=True)
class TableDesign:
    """A set of tables that together find every fingerprint within `distance`.

    The bits are cut into `blocks[0]` blocks; if these cannot be equal, the first blocks are one bit wider.
    Fingerprints within `distance` differ in at most `distance` blocks. Each table suspects a different choice
    of that many blocks, and puts the other blocks first. The suspected bits are cut into `blocks[1]` blocks
    in the same way, and so on. If `blocks` is empty, there is one table, and every fingerprint is a
    candidate. Raises `ValueError` if the numbers do not make a design.

    >>> design = TableDesign(64, 3, (4, 4))
    >>> design.tables, design.shortest_prefix
    (16, 28)
    >>> design.layouts[1]
    TableLayout(order=((0, 16), (28, 40), (16, 28), (40, 64)), prefix=28)
    """

    bits: int
    distance: int
    blocks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check(self.bits, self.distance)
        free = self.bits
        for blocks in self.blocks:
            if not self.distance < blocks <= free:
                raise ValueError(
                    f"cannot cut {free} bits into {blocks} blocks: "
                    f"there must be more than {self.distance} blocks, and no block may be empty"
                )
            free -= sum(_widths(free, blocks)[: blocks - self.distance])

    @property
    def tables(self) -> int:
        """The number of tables. It determines the memory, and the number of probes for each query."""
        return prod(comb(blocks, self.distance) for blocks in self.blocks)

    @property
    def shortest_prefix(self) -> int:
        """The length of the prefix in the table whose leading blocks are the narrowest."""
        # One more suspected bit makes the deeper prefix at most one bit longer, and never shorter. So the
        # narrowest leading blocks on every level give the shortest prefix.
        suspects = self.bits
        for blocks in self.blocks:
            suspects = sum(_widths(suspects, blocks)[: self.distance])
        return self.bits - suspects

    @property
    def layouts(self) -> tuple[TableLayout, ...]:
        """The layout of each table. Two fingerprints within the distance agree in at least one prefix."""
        found = []
        for lead in _leads(tuple(range(self.bits)), self.blocks, self.distance):
            rest = [bit for bit in range(self.bits) if bit not in lead]
            found.append(TableLayout(_ranges(lead) + _ranges(rest), len(lead)))
        return tuple(found)

    def candidates(self, log2_count: float) -> float:
        """The expected number of candidates of one probe, among 2^log2_count random fingerprints.

        A probe is the look-up of a query in one table. This is the number for the table with the shortest
        prefix, which has the most candidates.

        >>> TableDesign(64, 3, (4, 4)).candidates(34)
        64.0
        """
        return exp2(log2_count - self.shortest_prefix)


def fewest_tables(bits: int, distance: int, min_prefix: int) -> TableDesign:
    """The design with the fewest tables whose prefixes all have at least `min_prefix` bits.

    If several designs have equally few tables, this is the design with the longest prefix. It is the paper's
    X(f, k, d), in whole bits. For 2^d fingerprints, the paper ends the recursion when d minus the matched
    bits is below d - `min_prefix`. The d cancels out, so it is not an argument here. (The paper writes "<",
    but reaching `min_prefix` is enough: otherwise its own example of 4 tables would miss its 16 bits.)

    Raises `ValueError` if no design reaches `min_prefix`: each suspected block needs at least one bit.

    >>> fewest_tables(64, 3, min_prefix=28)
    TableDesign(bits=64, distance=3, blocks=(4, 4))
    """
    _check(bits, distance)
    if not 0 <= min_prefix <= bits - distance:
        raise ValueError(f"no design has a prefix of {min_prefix} bits: expected 0 to {bits - distance}")

    @cache
    def best(free: int, wanted: int) -> tuple[int, int, tuple[int, ...]]:
        if wanted <= 0:
            return 1, 0, ()
        cuts = []
        for blocks in range(distance + 1, free + 1):
            suspects = sum(_widths(free, blocks)[:distance])
            tables, deeper, more = best(suspects, wanted - (free - suspects))
            cuts.append((comb(blocks, distance) * tables, deeper - (free - suspects), (blocks, *more)))
        return min(cuts)

    # For distance 0 one table with all bits as its prefix is enough.
    return TableDesign(bits, distance, best(bits, min_prefix if distance else bits)[-1])


def useful_designs(bits: int, distance: int, log2_count: float) -> list[TableDesign]:
    """All useful designs for 2^log2_count fingerprints: each has more tables and a longer prefix.

    With the first design, every query scans all fingerprints. The last design expects at most one candidate
    for each probe, or has the longest possible prefix. For distance 0 there is one design. If the number of
    tables is limited, take the last design within the limit.

    >>> for design in useful_designs(64, 3, log2_count=30):
    ...     print(design.blocks, design.tables, design.shortest_prefix, design.candidates(30))
    () 1 0 1073741824.0
    (4,) 4 16 16384.0
    (5,) 10 25 32.0
    (4, 4) 16 28 4.0
    (6,) 20 31 0.5
    """
    found = [fewest_tables(bits, distance, 0)]
    while found[-1].shortest_prefix < min(log2_count, bits - distance):
        found.append(fewest_tables(bits, distance, found[-1].shortest_prefix + 1))
    return found


def _check(bits: int, distance: int) -> None:
    if not 1 <= bits <= 64:
        raise ValueError(f"a fingerprint of {bits} bits: expected 1 to 64 bits")
    if not 0 <= distance < bits:
        raise ValueError(f"a distance of {distance}: expected 0 to {bits - 1}, below the number of bits")


def _widths(bits: int, blocks: int) -> list[int]:
    """The widths of blocks that are as equal as possible, the wider ones first.

    >>> _widths(64, 6)
    [11, 11, 11, 11, 10, 10]
    """
    width, wider = divmod(bits, blocks)
    return [width + 1] * wider + [width] * (blocks - wider)


def _leads(free: tuple[int, ...], blocks: tuple[int, ...], distance: int) -> Iterator[tuple[int, ...]]:
    """For each table, the bits that come first: cut the free bits, and leave out `distance` blocks."""
    if not blocks:
        yield ()
        return
    remaining = iter(free)
    cut = [tuple(islice(remaining, width)) for width in _widths(len(free), blocks[0])]
    for lead in combinations(cut, blocks[0] - distance):
        chosen = tuple(chain.from_iterable(lead))
        suspects = tuple(bit for bit in free if bit not in chosen)
        for deeper in _leads(suspects, blocks[1:], distance):
            yield chosen + deeper


def _ranges(bits: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """The ranges that contain exactly these bits, ascending.

    >>> _ranges([4, 5, 0, 1, 2])
    ((0, 3), (4, 6))
    """
    found: list[tuple[int, int]] = []
    for bit in sorted(bits):
        start = found.pop()[0] if found and found[-1][1] == bit else bit
        found.append((start, bit + 1))
    return tuple(found)
