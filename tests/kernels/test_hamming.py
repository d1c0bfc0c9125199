import tracemalloc
from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels import sorted_tables
from docindex.kernels.arrays import CHUNK, U64
from docindex.kernels.hamming import as_bits, hamming_distance
from docindex.kernels.sorted_tables import SortedTables
from docindex.kernels.study.compressed import BLOCK, Compressed, compress
from docindex.kernels.table_design import TableDesign, TableLayout, fewest_tables, useful_designs

INTEGERS = st.integers(-(2**63), 2**64 - 1)
LARGEST = 2**64 - 1


def plain_distance(x: int, y: int) -> int:
    return ((x ^ y) % 2**64).bit_count()


def plain_permute(layout: TableLayout, bits: int, value: int) -> int:
    text = f"{value:0{bits}b}"
    return int("".join(text[start:stop] for start, stop in layout.order), 2)


def plain_near(values: list[int], query: int, within: int) -> list[tuple[int, int]]:
    pairs = [(id_, plain_distance(value, query)) for id_, value in enumerate(values)]
    return [(id_, differing) for id_, differing in pairs if differing <= within]


def leading(layout: TableLayout) -> set[int]:
    return set([bit for start, stop in layout.order for bit in range(start, stop)][: layout.prefix])


def plain_designs(bits: int, within: int) -> list[TableDesign]:
    """Every design there is, found by trying all."""
    found, unexplored = [], [TableDesign(bits, within)]
    while unexplored:
        found.append(unexplored.pop())
        for more in range(1, bits + 1):
            with suppress(ValueError):
                unexplored.append(TableDesign(bits, within, (*found[-1].blocks, more)))
    return found


@st.composite
def some_designs(draw, most_bits: int = 64, most_tables: int = 300) -> TableDesign:
    bits = draw(st.integers(1, most_bits))
    within = draw(st.integers(0, min(8, bits - 1)))
    design = TableDesign(bits, within)
    while draw(st.booleans()):
        blocks = draw(st.integers(within + 1, max(within + 1, min(bits, within + 6))))
        try:
            deeper = TableDesign(bits, within, (*design.blocks, blocks))
        except ValueError:
            break
        if deeper.tables > most_tables:
            break
        design = deeper
    return design


@st.composite
def designs_values_and_queries(draw) -> tuple[TableDesign, list[int], list[int]]:
    """Values and queries that lie around a few centres, so that many pairs are near."""
    design = draw(some_designs(most_tables=60))
    centres = draw(st.lists(st.integers(0, 2**design.bits - 1), min_size=1, max_size=3))
    flips = st.lists(st.integers(0, design.bits - 1), max_size=design.distance + 1)

    def around(centre: int, bits: list[int]) -> int:
        for bit in bits:
            centre ^= 1 << bit
        return centre

    near_centres = st.lists(st.builds(around, st.sampled_from(centres), flips), max_size=12)
    return design, draw(near_centres), draw(near_centres)


@pytest.fixture
def traced_peak():
    """How many bytes a piece of work holds at its height, what it returns included."""

    def peak(work) -> int:
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return peak


# Bits and distance


@given(st.lists(INTEGERS))
def test_as_bits_keeps_the_64_bits_of_every_integer(numbers):
    assert as_bits(numbers).dtype == np.uint64
    assert as_bits(numbers).tolist() == [number % 2**64 for number in numbers]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64, ">i8", object])
def test_as_bits_reads_arrays_of_every_integer_type_and_shape(dtype):
    smallest = -1 if np.dtype(dtype).kind == "i" else 0
    assert as_bits(np.array([[smallest, 7]], dtype)).tolist() == [[smallest % 2**64, 7]]
    assert as_bits(np.array(smallest, dtype)).shape == as_bits(np.array(smallest, dtype)[()]).shape == ()


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_a_number_beyond_64_bits_is_refused_by_name(number):
    with pytest.raises(ValueError, match=f"{number} does not fit in 64 bits"):
        hamming_distance(number, 0)


@pytest.mark.parametrize("value", [1.0, "1", None, [1, 2.5], np.array([1.0]), np.array([True])])
def test_what_is_not_an_integer_is_refused(value):
    with pytest.raises(TypeError, match="integer"):
        hamming_distance(value, 0)


@given(st.lists(st.tuples(INTEGERS, INTEGERS)))
def test_distance_is_the_number_of_differing_bits(pairs):
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    assert hamming_distance(xs, ys).dtype == np.int64
    assert hamming_distance(xs, ys).tolist() == [plain_distance(x, y) for x, y in pairs]


@given(INTEGERS, st.lists(INTEGERS))
def test_distance_broadcasts_one_number_against_many(number, numbers):
    expected = [plain_distance(number, other) for other in numbers]
    assert hamming_distance(number, numbers).tolist() == expected
    assert hamming_distance(as_bits(numbers)[:, None], as_bits([number])).ravel().tolist() == expected


@given(st.lists(INTEGERS))
def test_signed_and_unsigned_readings_of_the_same_bits_are_at_distance_0(numbers):
    bits = as_bits(numbers)
    assert not hamming_distance(bits, bits.view(np.int64)).any()


# Designs


@given(some_designs())
def test_a_layout_holds_every_bit_once(design):
    for layout in design.layouts:
        bits = [bit for start, stop in layout.order for bit in range(start, stop)]
        assert sorted(bits) == list(range(design.bits))


@given(some_designs(most_tables=30), st.lists(st.integers(0, LARGEST)))
def test_permute_moves_the_bits_as_the_order_says(design, numbers):
    values = [number % 2**design.bits for number in numbers]
    for layout in design.layouts:
        expected = [plain_permute(layout, design.bits, value) for value in values]
        assert layout.permute(np.array(values, np.uint64)).tolist() == expected


@given(some_designs(most_bits=10, most_tables=30))
def test_permute_is_a_bijection_that_keeps_distances(design):
    values = np.arange(2**design.bits, dtype=np.uint64)
    for layout in design.layouts:
        permuted = layout.permute(values)
        assert np.array_equal(np.sort(permuted), values)
        assert np.array_equal(
            hamming_distance(permuted, permuted[::-1]), hamming_distance(values, values[::-1])
        )
        assert np.array_equal(hamming_distance(permuted, permuted[0]), hamming_distance(values, 0))


@given(some_designs())
def test_a_design_knows_its_tables_and_prefixes_without_making_them(design):
    prefixes = [layout.prefix for layout in design.layouts]
    assert design.tables == len(prefixes)
    assert design.shortest_prefix == min(prefixes)
    assert design.longest_prefix == max(prefixes)


@given(some_designs(most_bits=12))
def test_wherever_the_differences_lie_one_table_has_none_in_its_prefix(design):
    prefixes = [leading(layout) for layout in design.layouts]
    for differing in combinations(range(design.bits), min(design.distance, 4)):
        assert any(prefix.isdisjoint(differing) for prefix in prefixes)


@given(some_designs(), st.data())
def test_wherever_differences_lie_in_long_fingerprints_one_table_has_none_in_its_prefix(design, data):
    bits = st.integers(0, design.bits - 1)
    differing = data.draw(st.sets(bits, min_size=design.distance, max_size=design.distance))
    assert any(leading(layout).isdisjoint(differing) for layout in design.layouts)


@pytest.mark.parametrize("within", range(9))
def test_every_distance_from_0_to_8_has_designs_for_64_bits(within):
    found = useful_designs(64, within, 20)
    assert found[0].tables == 1
    assert found[-1].shortest_prefix >= 20
    assert [design.tables for design in found[1:2]] == [within + 1] * (within > 0)


def test_distance_0_takes_one_table():
    assert useful_designs(64, 0, 20) == [fewest_tables(64, 0, 0)] == [TableDesign(64, 0, (1,))]
    assert [(layout.order, layout.prefix) for layout in TableDesign(64, 0, (1,)).layouts] == [
        (((0, 64),), 64)
    ]


@pytest.mark.parametrize(("bits", "within"), [(6, 0), (7, 1), (9, 2), (10, 3), (10, 5)])
def test_no_design_has_fewer_tables_than_fewest_tables(bits, within):
    every = plain_designs(bits, within)
    for prefix in range(bits - within + 1):
        best = min((d.tables, -d.shortest_prefix) for d in every if d.shortest_prefix >= prefix)
        found = fewest_tables(bits, within, prefix)
        assert (found.tables, -found.shortest_prefix) == best


@given(st.integers(1, 64), st.integers(0, 8), st.integers(-1, 70))
def test_designs_buy_longer_prefixes_with_tables_until_one_candidate_is_left(bits, within, log2_count):
    within = min(within, bits - 1)
    found = useful_designs(bits, within, log2_count)
    steps = [(design.tables, design.shortest_prefix) for design in found]
    assert steps == sorted(set(steps))
    assert len({prefix for _, prefix in steps}) == len(steps)
    assert found[-1].candidates(log2_count) <= 1 or found[-1].shortest_prefix == bits - within
    assert all(design.candidates(log2_count) > 1 for design in found[:-1])


@pytest.mark.parametrize(
    ("bits", "within", "blocks", "message"),
    [
        (0, 0, (), "0 bits"),
        (65, 3, (), "65 bits"),
        (64, -1, (), "distance of -1"),
        (64, 64, (), "distance of 64"),
        (64, 3, (3,), "64 bits into 3 blocks"),
        (64, 3, (65,), "64 bits into 65 blocks"),
        (8, 1, (8, 2), "1 bits into 2 blocks"),
        (64, 0, (1, 1), "0 bits into 1 blocks"),
    ],
)
def test_numbers_that_make_no_design_are_refused_by_name(bits, within, blocks, message):
    with pytest.raises(ValueError, match=message):
        TableDesign(bits, within, blocks)


@pytest.mark.parametrize("prefix", [-1, 62])
def test_a_prefix_that_no_design_reaches_is_refused(prefix):
    with pytest.raises(ValueError, match=f"{prefix} bits: expected 0 to 61"):
        fewest_tables(64, 3, prefix)


# Tables


@given(designs_values_and_queries())
def test_tables_find_exactly_the_pairs_within_the_distance(case):
    design, values, queries = case
    tables = SortedTables(np.array(values, np.uint64), design)
    expected = [
        (place, *pair)
        for place, query in enumerate(queries)
        for pair in plain_near(values, query, design.distance)
    ]
    found = tables.near_many(np.array(queries, np.uint64))
    assert [part.dtype for part in found] == [np.int64] * 3
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected
    for query in queries[:3]:
        ids, distances = tables.near(query)
        one = list(zip(ids.tolist(), distances.tolist(), strict=True))
        assert one == plain_near(values, query, design.distance)


@pytest.mark.parametrize("within", range(9))
@pytest.mark.parametrize("log2_count", [1, 5, 11])
def test_tables_find_planted_neighbours_at_every_distance(within, log2_count):
    random = np.random.default_rng(within)
    values = random.integers(0, 2**64, 500, np.uint64)
    queries = values.copy()
    for differing in range(within + 2):
        rows = slice(differing, None, within + 2)
        bits = random.permuted(np.tile(np.arange(64, dtype=np.uint64), (500, 1)), axis=1)[rows, :differing]
        queries[rows] ^= np.bitwise_or.reduce(np.uint64(1) << bits, axis=1, initial=0)
    places, ids, distances = SortedTables(values, useful_designs(64, within, log2_count)[-1]).near_many(
        queries
    )
    planted = [place for place in range(500) if place % (within + 2) <= within]
    assert places.tolist() == ids.tolist() == planted
    assert distances.tolist() == [place % (within + 2) for place in planted]


@pytest.mark.parametrize("piece", [1, 2, 7, 64])
def test_the_size_of_a_piece_changes_no_answer(piece, monkeypatch):
    random = np.random.default_rng(piece)
    values, queries = random.integers(0, 2**12, (2, 150))
    tables = SortedTables(values, TableDesign(12, 2, (3,)))
    expected = tables.near_many(queries)
    monkeypatch.setattr(sorted_tables, "PIECE", piece)
    assert len(expected[0]) > 150
    for whole, pieces in zip(expected, tables.near_many(queries), strict=True):
        assert np.array_equal(whole, pieces)


def test_candidates_by_the_million_take_the_memory_of_one_piece(traced_peak):
    # 5,000 values times 2,000 queries: 80 MB, if all were compared at once.
    values = np.arange(5_000, dtype=np.uint64) << np.uint64(32)
    queries = values[:2_000] + np.uint64(0b1111)
    tables = SortedTables(values, TableDesign(64, 3))
    assert traced_peak(lambda: tables.near_many(queries)) < 8 * 8 * sorted_tables.PIECE


def test_negative_values_and_queries_are_found_by_their_bits():
    tables = SortedTables(np.array([-1, -2, 0, 2**62]), TableDesign(64, 1, (2,)))
    assert [part.tolist() for part in tables.near(-1)] == [[0, 1], [0, 1]]
    assert [part.tolist() for part in tables.near(LARGEST)] == [[0, 1], [0, 1]]


def test_no_values_or_no_queries_have_no_neighbours():
    nothing = np.zeros(0, np.uint64)
    design = TableDesign(64, 3, (4,))
    assert [part.tolist() for part in SortedTables(nothing, design).near_many([1, 2])] == [[], [], []]
    assert [part.tolist() for part in SortedTables([1, 2], design).near_many(nothing)] == [[], [], []]
    assert [part.tolist() for part in SortedTables([], design).near(0)] == [[], []]


def test_equal_values_are_all_found_each_once():
    tables = SortedTables([9] * 1000, TableDesign(64, 3, (5,)))
    ids, distances = tables.near(8)
    assert ids.tolist() == list(range(1000))
    assert set(distances.tolist()) == {1}


def test_values_and_queries_wider_than_the_design_are_refused():
    with pytest.raises(ValueError, match="256 does not fit in the design's 8 bits"):
        SortedTables([1, 256], TableDesign(8, 1, (2,)))
    with pytest.raises(ValueError, match="256 does not fit in the design's 8 bits"):
        SortedTables([1], TableDesign(8, 1, (2,))).near(256)


def test_a_table_of_values_is_refused_where_a_row_is_expected():
    with pytest.raises(ValueError, match="found 2 dimensions"):
        SortedTables([[1, 2]], TableDesign(8, 1, (2,)))


# Compression


@st.composite
def sorted_values(draw) -> U64:
    """Arrays of up to a few blocks: spread out, or crowded in a range of some bits, with repetitions."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    parts = [np.array(draw(st.lists(st.integers(0, LARGEST), max_size=5)), np.uint64)]
    for _ in range(draw(st.integers(0, 3))):
        size = draw(st.sampled_from([1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 700]))
        shift = np.uint64(draw(st.integers(0, 63)))
        crowd = (random.integers(0, LARGEST, size, np.uint64, endpoint=True) >> shift) + np.uint64(
            draw(st.integers(0, LARGEST))
        )
        parts.append(np.repeat(crowd, draw(st.integers(1, 3))))
    return np.sort(np.concatenate(parts))


@given(sorted_values())
def test_values_come_back_as_they_were(values):
    assert np.array_equal(compress(values).values(), values)


@given(sorted_values(), st.integers(0, 64), st.data())
def test_a_part_is_all_values_with_the_prefix_and_no_others(values, length, data):
    # Of a value's own prefix, or of any.
    source = data.draw(st.sampled_from([*values[:: max(1, len(values) // 9)].tolist(), 0, LARGEST]))
    prefix = source >> (64 - length)
    expected = [value for value in values.tolist() if value >> (64 - length) == prefix]
    assert compress(values).part(prefix, length).tolist() == expected


@pytest.mark.parametrize(
    "numbers",
    [
        [],
        [0],
        [LARGEST],
        [0, LARGEST],
        [0] * 2000,
        [LARGEST] * 2000,
        [5] * BLOCK + [6] * BLOCK,
        [0] * 1000 + [2**63] + [LARGEST] * 1000,
        list(range(3 * BLOCK)),
        [number << 40 for number in range(BLOCK)],
    ],
    ids=lambda numbers: f"{len(numbers)} from {numbers[:1]} to {numbers[-1:]}",
)
def test_the_ends_of_the_range_and_equal_values_come_back(numbers):
    packed = compress(np.array(numbers, np.uint64))
    assert packed.values().tolist() == packed.part(0, 0).tolist() == numbers
    for number in (0, 5, 2**63, LARGEST):
        assert packed.part(number, 64).tolist() == [number] * numbers.count(number)


def test_many_chunks_come_back_and_take_the_memory_of_one_chunk_beside_the_result(traced_peak):
    values = np.sort(np.random.default_rng(5).integers(0, 2**64, 300_000, np.uint64))
    packed = compress(values)
    assert np.array_equal(packed.values(), values)
    assert traced_peak(packed.values) < values.nbytes + 25 * 8 * CHUNK
    assert traced_peak(lambda: compress(values)) < packed.nbytes + 25 * 8 * CHUNK


def test_a_part_is_read_from_the_blocks_it_lies_in(monkeypatch):
    values = np.sort(np.random.default_rng(6).integers(0, 2**64, 200 * BLOCK, np.uint64))
    packed, read, grid = compress(values), [], Compressed._grid

    def counted(self, first, stop):
        read.append(stop - first)
        return grid(self, first, stop)

    monkeypatch.setattr(Compressed, "_grid", counted)
    for value in values[::1000].tolist():
        packed.part(value >> 44, 20)
    assert max(read) <= 2


def test_no_code_is_longer_than_the_table_of_codes_has_room_for():
    # As often as the Fibonacci numbers say, the lengths would have the longest Huffman codes there can be.
    counts = [1, 1]
    while sum(counts) < 400_000:
        counts.append(counts[-1] + counts[-2])
    gaps = np.repeat(np.uint64(1) << np.arange(len(counts), dtype=np.uint64), counts)
    values = np.cumsum(np.random.default_rng(7).permutation(gaps), dtype=np.uint64)
    packed = compress(values)
    assert packed.code_widths.max() <= 16 < len(counts) - 1
    assert np.array_equal(packed.values(), values)


def test_values_that_fall_are_refused_with_their_place():
    with pytest.raises(ValueError, match="value 2 is below the one before it"):
        compress(np.array([1, 5, 4], np.uint64))


@pytest.mark.parametrize(("prefix", "length"), [(0, -1), (0, 65), (-1, 3), (8, 3), (1, 0)])
def test_a_prefix_that_does_not_fit_its_length_is_refused(prefix, length):
    with pytest.raises(ValueError, match=f"prefix {prefix} of {length} bits"):
        compress(np.zeros(3, np.uint64)).part(prefix, length)
