"""64-bit fingerprints in; which of them differ in at most k bits out.

Section 3 of Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (2007): cut the bits into
more than k blocks, and two fingerprints at distance k or less agree in some of them. For every choice of
blocks keep one table, sorted with these bits in front, and look only at what agrees with the query there.

Must never know what a fingerprint stands for: ids are places in the array the tables were built from.
"""

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, islice
from math import comb, exp2, prod
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from docindex.kernels.arrays import I64, U64, owners, ranges, starts_of

# How many queries are looked up, and how many candidates compared, at a time. Their buffers take 10 MB,
# however many there are in all. By the 2^15 a query takes half as long again, as each piece walks through the
# whole table; by the 2^18 a seventh less, for twice the memory.
PIECE = 1 << 17


def as_bits(values: ArrayLike) -> U64:
    """The values as unsigned 64-bit numbers, of the same shape; a negative one is the same bits read signed.

    Arrays of any integer type, or Python numbers from -2^63 to 2^64 - 1: beyond that a ValueError, and a
    TypeError for what is not an integer. Python numbers are read one by one; large sets belong in arrays.

    >>> as_bits([-1, 2**64 - 1, 5]).tolist()
    [18446744073709551615, 18446744073709551615, 5]
    """
    # Left to choose, numpy reads [-1, 2**63] as floating point and rounds both.
    array = values if isinstance(values, np.ndarray) else np.asarray(values, object)
    if array.dtype == object:
        return np.array([_unsigned(value) for value in array.ravel()], np.uint64).reshape(array.shape)
    if array.dtype.kind not in "iu":
        raise TypeError(f"fingerprints are integers, not {array.dtype}")
    return array.astype(np.uint64, copy=False)


def _unsigned(value: SupportsIndex) -> int:
    number = operator.index(value)
    if not -(1 << 63) <= number < 1 << 64:
        raise ValueError(f"{number} does not fit in 64 bits: expected -2^63 to 2^64 - 1")
    return number % (1 << 64)


def distance(x: ArrayLike, y: ArrayLike) -> I64:
    """In how many bits two fingerprints differ, or two arrays of them, broadcast against each other.

    >>> int(distance(0b1001, 0b0101)), int(distance(-1, 2**64 - 1))
    (2, 0)
    >>> distance([0, 1, -1], 0).tolist()
    [0, 1, 64]
    """
    return np.asarray(np.bitwise_count(as_bits(x) ^ as_bits(y)), np.int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of the bits in one sorted table, and how many of them must agree with the query.

    `order` holds half-open ranges that cover all bits, bit 0 being the most significant; the first `prefix`
    bits of this order lead.
    """

    order: tuple[tuple[int, int], ...]
    prefix: int

    def permute(self, values: U64) -> U64:
        """The values with their bits in this order: a bijection that keeps every distance.

        >>> f"{Layout(((4, 8), (0, 4)), prefix=4).permute(np.array([0b1110_0001], np.uint64))[0]:08b}"
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
class Design:
    """A set of tables that together find every fingerprint within `distance`.

    The bits are cut into `blocks[0]` blocks, the first ones a bit wider where they cannot be equal. At most
    `distance` of them hold a difference: each table takes that many for suspects, and the others lead. The
    bits of the suspects are cut into `blocks[1]` blocks and so on. No blocks at all make one table, in which
    every fingerprint is a candidate. A ValueError where the numbers do not make a design.

    >>> design = Design(64, 3, (4, 4))
    >>> design.tables, design.shortest_prefix, design.longest_prefix
    (16, 28, 28)
    >>> design.layouts[1]
    Layout(order=((0, 16), (28, 40), (16, 28), (40, 64)), prefix=28)
    """

    bits: int
    distance: int
    blocks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check(self.bits, self.distance)
        free = self.bits
        for blocks in self.blocks:
            if not self.distance < blocks <= free:
                fits = f"expected more than {self.distance}, and no empty block"
                raise ValueError(f"cannot cut {free} bits into {blocks} blocks: {fits}")
            free -= sum(_widths(free, blocks)[: blocks - self.distance])

    @property
    def tables(self) -> int:
        """How many tables there are: what the design costs in memory, and in probes per query."""
        return prod(comb(blocks, self.distance) for blocks in self.blocks)

    @property
    def shortest_prefix(self) -> int:
        """The prefix of the table whose leading blocks are the narrowest."""
        # One more suspect bit makes the deeper prefix at most one bit longer, and never shorter: so the
        # narrowest blocks on every level make the shortest sum.
        suspects = self.bits
        for blocks in self.blocks:
            suspects = sum(_widths(suspects, blocks)[: self.distance])
        return self.bits - suspects

    @property
    def longest_prefix(self) -> int:
        """The prefix of the table whose leading blocks are the widest."""
        suspects = self.bits
        for blocks in self.blocks:
            suspects = sum(_widths(suspects, blocks)[blocks - self.distance :])
        return self.bits - suspects

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The tables: two fingerprints within the distance agree in the prefix of at least one of them."""
        found = []
        for lead in _leads(tuple(range(self.bits)), self.blocks, self.distance):
            rest = [bit for bit in range(self.bits) if bit not in lead]
            found.append(Layout(_ranges(lead) + _ranges(rest), len(lead)))
        return tuple(found)

    def candidates(self, log2_count: float) -> float:
        """How many of 2^log2_count random fingerprints a probe must compare, where the prefix is shortest.

        >>> Design(64, 3, (4, 4)).candidates(34)
        64.0
        """
        return exp2(log2_count - self.shortest_prefix)


def fewest_tables(bits: int, distance: int, min_prefix: int) -> Design:
    """The design with the fewest tables whose prefixes all have `min_prefix` bits; of equals the longest.

    It is the paper's X(f, k, d), in whole bits. There the recursion ends where d, less what has been matched,
    is below d - min_prefix; the number of fingerprints cancels out, and so is no argument here. (The paper
    writes "<", but reaching `min_prefix` is enough: else its own example of 4 tables misses its 16 bits.)
    A ValueError when no design reaches `min_prefix`: each of `distance` blocks keeps a bit.

    >>> fewest_tables(64, 3, min_prefix=28)
    Design(bits=64, distance=3, blocks=(4, 4))
    """
    _check(bits, distance)
    if not 0 <= min_prefix <= bits - distance:
        raise ValueError(f"no prefix of {min_prefix} bits: expected 0 to {bits - distance}")

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

    # Equal fingerprints share one table, whatever its prefix.
    return Design(bits, distance, best(bits, min_prefix if distance else bits)[-1])


def designs(bits: int, distance: int, log2_count: float) -> list[Design]:
    """Every design worth having for 2^log2_count fingerprints: more tables only for a longer prefix.

    From the plain scan to the first design whose probes expect at most one candidate, or to the longest
    prefix there is; for distance 0 just one. The best under a limit of tables is the last one within it.

    >>> for design in designs(64, 3, log2_count=30):
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


class Tables:
    """The sorted tables of a design over some fingerprints, in memory.

    Each table takes 12 bytes per fingerprint (16 beyond 2^32 of them), and 8 are there once. They are
    not compressed: that would save a fifth of it, as ids stay what they are, and each search would have
    to read a part, in 60 us.

    For many queries against few fingerprints, as in the paper's batch mode, build the tables over the few.

    >>> tables = Tables([0b0000, 0b0111, 0b1111, 0b0111], Design(4, 1, (2,)))
    >>> [found.tolist() for found in tables.near(0b0011)]
    [[1, 3], [1, 1]]
    """

    def __init__(self, values: ArrayLike, design: Design) -> None:
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
        # For each table the bits that its prefix compares.
        single_bits = np.uint64(1) << np.arange(design.bits, dtype=np.uint64)
        self._prefixes = [
            np.bitwise_or.reduce(
                single_bits[layout.permute(single_bits) >> np.uint64(design.bits - layout.prefix) > 0]
            )
            for layout in design.layouts
        ]

    def near(self, query: int) -> tuple[I64, I64]:
        """The ids within the design's distance of the query, ascending, and their distances.

        >>> tables = Tables([5, -1, 4], Design(64, 3, (4,)))
        >>> [found.tolist() for found in tables.near(5)]
        [[0, 2], [0, 1]]
        """
        _, ids, distances = self.near_many([query])
        return ids, distances

    def near_many(self, queries: ArrayLike) -> tuple[I64, I64, I64]:
        """Every pair of a query and a fingerprint within the distance: query's place, id, distance.

        Exactly these pairs, each once, sorted by query and then by id. It takes the memory of one `PIECE`
        beside the answer.

        >>> tables = Tables([5, -1, 4], Design(64, 3, (4,)))
        >>> [found.tolist() for found in tables.near_many([7, 9, -2])]
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
        """Sorted keys of the pairs, query * count + id, and their distances.

        A key has room for 2^46 fingerprints: a piece of queries takes 17 of its 63 bits.
        """
        found_keys, found_distances = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number, (layout, values, ids) in enumerate(self._tables):
            permuted = layout.permute(queries)
            # Queries in the table's order search it four times as fast: neighbours share its cache lines.
            order = np.argsort(permuted)
            permuted = permuted[order]
            free = np.uint64((1 << (self.design.bits - layout.prefix)) - 1)
            begins = np.searchsorted(values, permuted & ~free)
            lengths = np.searchsorted(values, permuted | free, "right") - begins
            for at, owner in _candidates(begins, lengths):
                distances = np.bitwise_count(values[at] ^ permuted[owner])
                near = np.flatnonzero(distances <= self.design.distance)
                places, found = order[owner[near]], ids[at[near]].astype(np.int64)
                # A pair is the business of the first table whose prefix it agrees on.
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
            raise ValueError(f"expected a row of fingerprints, found {numbers.ndim} dimensions")
        if np.any(numbers > np.uint64((1 << self.design.bits) - 1)):
            raise ValueError(f"{numbers.max()} does not fit in the design's {self.design.bits} bits")
        return numbers


def _check(bits: int, distance: int) -> None:
    if not 1 <= bits <= 64:
        raise ValueError(f"fingerprints of {bits} bits: expected 1 to 64")
    if not 0 <= distance < bits:
        raise ValueError(f"a distance of {distance}: expected 0 to {bits - 1}, less than the bits")


def _widths(bits: int, blocks: int) -> list[int]:
    """As equal as can be, the wider ones first.

    >>> _widths(64, 6)
    [11, 11, 11, 11, 10, 10]
    """
    width, wider = divmod(bits, blocks)
    return [width + 1] * wider + [width] * (blocks - wider)


def _leads(free: tuple[int, ...], blocks: tuple[int, ...], distance: int) -> Iterator[tuple[int, ...]]:
    """For each table the bits that lead: of the free ones cut into blocks, all but `distance` blocks."""
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
    """The ranges that hold exactly these bits, ascending.

    >>> _ranges([4, 5, 0, 1, 2])
    ((0, 3), (4, 6))
    """
    found: list[tuple[int, int]] = []
    for bit in sorted(bits):
        start = found.pop()[0] if found and found[-1][1] == bit else bit
        found.append((start, bit + 1))
    return tuple(found)


def _candidates(begins: I64, lengths: I64) -> Iterator[tuple[I64, I64]]:
    """Places of a table and, for each, the query whose range holds it: at most `PIECE` at a time."""
    starts = starts_of(lengths)
    for begin in range(0, int(starts[-1]), PIECE):
        end = min(begin + PIECE, int(starts[-1]))
        first = int(np.searchsorted(starts, begin, "right")) - 1
        stop = int(np.searchsorted(starts, end))
        # The first and the last query may lie only partly in this piece.
        cuts = np.clip(starts[first : stop + 1], begin, end)
        yield ranges(begins[first:stop] + cuts[:-1] - starts[first:stop], np.diff(cuts)), first + owners(cuts)
