from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.simhashing.bits import hamming_distance
from docindex.simhashing.table_design import TableDesign, TableLayout, fewest_tables, useful_designs
from tests.simhashing.designs import table_designs

LARGEST = 2**64 - 1


def plain_permute(layout: TableLayout, bits: int, value: int) -> int:
    text = f"{value:0{bits}b}"
    return int("".join(text[start:stop] for start, stop in layout.order), 2)


def leading(layout: TableLayout) -> set[int]:
    return set([bit for start, stop in layout.order for bit in range(start, stop)][: layout.prefix])


def plain_designs(bits: int, within: int) -> list[TableDesign]:
    """All designs, found by trying all numbers of blocks."""
    found, unexplored = [], [TableDesign(bits, within)]
    while unexplored:
        found.append(unexplored.pop())
        for more in range(1, bits + 1):
            with suppress(ValueError):
                unexplored.append(TableDesign(bits, within, (*found[-1].blocks, more)))
    return found


@given(table_designs())
def test_a_layout_holds_every_bit_once(design):
    for layout in design.layouts:
        bits = [bit for start, stop in layout.order for bit in range(start, stop)]
        assert sorted(bits) == list(range(design.bits))


@given(table_designs(most_tables=30), st.lists(st.integers(0, LARGEST)))
def test_permute_moves_the_bits_as_the_order_says(design, numbers):
    values = [number % 2**design.bits for number in numbers]
    for layout in design.layouts:
        expected = [plain_permute(layout, design.bits, value) for value in values]
        assert layout.permute(np.array(values, np.uint64)).tolist() == expected


@given(table_designs(most_bits=10, most_tables=30))
def test_permute_is_a_bijection_that_preserves_distances(design):
    values = np.arange(2**design.bits, dtype=np.uint64)
    for layout in design.layouts:
        permuted = layout.permute(values)
        assert np.array_equal(np.sort(permuted), values)
        assert np.array_equal(
            hamming_distance(permuted, permuted[::-1]), hamming_distance(values, values[::-1])
        )
        assert np.array_equal(hamming_distance(permuted, permuted[0]), hamming_distance(values, 0))


@given(table_designs())
def test_a_design_knows_its_tables_and_its_shortest_prefix_without_making_the_layouts(design):
    prefixes = [layout.prefix for layout in design.layouts]
    assert design.tables == len(prefixes)
    assert design.shortest_prefix == min(prefixes)


@given(table_designs(most_bits=12))
def test_for_any_places_of_the_differences_one_prefix_is_free_of_them(design):
    prefixes = [leading(layout) for layout in design.layouts]
    for differing in combinations(range(design.bits), min(design.distance, 4)):
        assert any(prefix.isdisjoint(differing) for prefix in prefixes)


@given(table_designs(), st.data())
def test_for_any_places_of_the_differences_in_long_fingerprints_one_prefix_is_free_of_them(design, data):
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
def test_designs_add_tables_for_longer_prefixes_until_one_candidate_is_left(bits, within, log2_count):
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
def test_numbers_that_make_no_design_are_refused_and_named(bits, within, blocks, message):
    with pytest.raises(ValueError, match=message):
        TableDesign(bits, within, blocks)


@pytest.mark.parametrize("prefix", [-1, 62])
def test_a_prefix_that_no_design_reaches_is_refused(prefix):
    with pytest.raises(ValueError, match=f"{prefix} bits: expected 0 to 61"):
        fewest_tables(64, 3, prefix)
