"""The numbers in Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007)."""

import operator
from fractions import Fraction
from functools import cache
from heapq import heapify, heappop, heappush
from math import comb

import numpy as np
import pytest

from docindex.arrays.ranges import I64, U64
from docindex.simhashing.bits import simhash_of_features, simhashes_of
from docindex.simhashing.compressed import compress
from docindex.simhashing.table_design import TableDesign, fewest_tables, useful_designs


def test_a_simhash_is_computed_from_weighted_features_as_in_section_2():
    # "We maintain an f-dimensional vector V, each of whose dimensions is initialized to zero. A feature is
    # hashed into an f-bit hash value. These f bits increment/decrement the f components of the vector by the
    # weight of that feature. When all features have been processed, the signs of components determine the
    # corresponding bits of the final fingerprint."
    random = np.random.default_rng(1)
    hashes, weights = random.integers(0, 2**64, 50, np.uint64), random.integers(1, 100, 50).astype(np.uint64)
    vector = [0] * 64
    for hash_, weight in zip(hashes.tolist(), weights.tolist(), strict=True):
        for i in range(64):
            vector[i] += weight if hash_ >> i & 1 else -weight
    fingerprint = sum((component > 0) << i for i, component in enumerate(vector))
    assert simhashes_of(hashes, np.array([0, 50]), weights).tolist() == [fingerprint]
    assert simhash_of_features(hashes, weights.astype(np.float64)) == fingerprint


# Example 3.1: blocks, tables, shortest and longest prefix, candidates among 2^34 fingerprints.
EXAMPLES = [
    ((6,), 20, 31, 33, 8),
    ((4, 4), 16, 28, 28, 64),
    ((5,), 10, 25, 26, 512),
    ((4,), 4, 16, 16, 256 * 1024),
]


@pytest.mark.parametrize(("blocks", "tables", "shortest", "longest", "candidates"), EXAMPLES)
def test_the_four_designs_of_example_3_1_have_the_papers_numbers(
    blocks, tables, shortest, longest, candidates
):
    design = TableDesign(64, 3, blocks)
    prefixes = {layout.prefix for layout in design.layouts}
    assert design.tables == len(design.layouts) == tables
    assert (min(prefixes), max(prefixes)) == (shortest, longest)
    assert design.shortest_prefix == shortest
    assert design.candidates(34) == candidates


def test_blocks_of_unequal_width_are_those_of_the_paper():
    def widths(blocks: int) -> list[int]:
        # With distance 1, each table suspects one block, from the last block to the first.
        return [64 - layout.prefix for layout in TableDesign(64, 1, (blocks,)).layouts][::-1]

    assert widths(6) == [11, 11, 11, 11, 10, 10]
    assert widths(5) == [13, 13, 13, 13, 12]


def test_a_single_table_would_need_41664_probes():
    # One probe for each choice of 3 bits to flip: as many as there are tables if every bit is a block.
    assert TableDesign(64, 3, (64,)).tables == comb(64, 3) == 41664


def test_each_design_of_example_3_1_is_the_best_for_a_range_of_prefixes():
    best = {prefix: fewest_tables(64, 3, prefix).blocks for prefix in range(1, 32)}
    assert {prefix for prefix in best if best[prefix] == (4,)} == set(range(1, 17))
    assert {prefix for prefix in best if best[prefix] == (5,)} == set(range(17, 26))
    assert {prefix for prefix in best if best[prefix] == (4, 4)} == set(range(26, 29))
    assert {prefix for prefix in best if best[prefix] == (6,)} == set(range(29, 32))


def test_the_designs_for_2_to_the_34_are_those_of_the_paper_with_a_scan_and_one_more():
    assert [design.blocks for design in useful_designs(64, 3, 34)] == [(), (4,), (5,), (4, 4), (6,), (7,)]


def tables_of_the_paper(f: int, k: int, d: int, min_prefix: int, stops=operator.le) -> int:
    """X(f, k, d) of section 3.1.2, in fractions of bits; `stops` compares the rest of d with tau."""
    tau = d - min_prefix

    @cache
    def x(f: Fraction, d: Fraction) -> int:
        if stops(d, tau):
            return 1
        # 64 blocks are enough for every prefix in these tests, and more blocks would mean more tables.
        return min(comb(r, k) * x(f * k / r, d - (r - k) * f / r) for r in range(k + 1, 65))

    return x(Fraction(f), Fraction(d))


@pytest.mark.parametrize("d", [20, 34])
def test_the_papers_recursion_needs_the_same_number_of_tables_for_any_number_of_fingerprints(d):
    for _, tables, shortest, _, _ in EXAMPLES:
        assert tables_of_the_paper(64, 3, d, shortest) == tables


def test_taken_literally_the_papers_recursion_refuses_a_prefix_that_is_just_reached():
    assert tables_of_the_paper(64, 3, 34, 16, operator.le) == fewest_tables(64, 3, 16).tables == 4
    assert tables_of_the_paper(64, 3, 34, 16, operator.lt) == 10


def test_whole_bits_never_need_fewer_tables_than_fractions_of_bits():
    for prefix in range(1, 41):
        assert tables_of_the_paper(64, 3, 34, prefix) <= fewest_tables(64, 3, prefix).tables


def size_of_the_papers_code(values: U64) -> float:
    """Bytes for each fingerprint in section 3.2: blocks of 1024 bytes, each with a key of 8 bytes."""
    powers = np.uint64(1) << np.arange(64, dtype=np.uint64)
    higher = np.searchsorted(powers, values[1:] ^ values[:-1], "right")
    # The paper does not mention equal neighbours, which differ in no bit. Here they have a code too.
    bits = huffman_widths(np.bincount(higher, minlength=65))[higher] + np.maximum(higher - 1, 0)
    ends = np.concatenate(([0], np.cumsum(bits)))
    blocks = begin = 0
    while begin < len(values):
        begin = int(np.searchsorted(ends, ends[begin] + 8 * 1024 - 64, "right"))
        blocks += 1
    return blocks * (1024 + 8) / len(values)


def huffman_widths(counts: I64) -> I64:
    widths = np.zeros(len(counts), np.int64)
    heap = [(count, [symbol]) for symbol, count in enumerate(counts.tolist()) if count]
    heapify(heap)
    while len(heap) > 1:
        (rare, zeros), (common, ones) = heappop(heap), heappop(heap)
        widths[zeros + ones] += 1
        heappush(heap, (rare + common, zeros + ones))
    return widths


def grouped(size: int, flips: int) -> U64:
    """2^20 sorted fingerprints in groups; in a group each differs from a common one in up to `flips` bits."""
    random = np.random.default_rng(3)
    values = np.repeat(random.integers(0, 2**64, 2**20 // size, np.uint64), size)
    flipped = random.integers(0, flips + 1, 2**20)
    for flip in range(flips):
        bit = np.uint64(1) << random.integers(0, 64, 2**20, np.uint64)
        values ^= np.where(flip < flipped, bit, np.uint64(0))
    return np.sort(values)


@pytest.mark.parametrize(
    ("values", "ours", "papers"),
    [
        pytest.param(grouped(1, 0), 5.73, 6.00, id="random"),
        pytest.param(grouped(8, 3), 4.46, 4.63, id="groups of 8, 0 to 3 bits flipped"),
        pytest.param(grouped(64, 3), 3.55, 3.67, id="groups of 64, 0 to 3 bits flipped"),
        pytest.param(grouped(8, 0), 0.92, 0.92, id="groups of 8, all equal"),
        # As dense as the paper's table of 2^34, whose size is "approximately half", which is 4 bytes.
        pytest.param(grouped(1, 0) >> np.uint64(14), 3.98, 4.23, id="random, as dense as 2^34"),
    ],
)
def test_gaps_take_fewer_bytes_than_the_papers_code(values, ours, papers):
    gaps, xors = compress(values).nbytes / len(values), size_of_the_papers_code(values)
    assert gaps < xors
    assert gaps == pytest.approx(ours, abs=0.005)
    assert xors == pytest.approx(papers, abs=0.005)
