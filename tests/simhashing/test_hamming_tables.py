import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.simhashing import hamming_tables
from docindex.simhashing.hamming_tables import SortedTables
from docindex.simhashing.table_design import TableDesign, useful_designs
from tests import plain
from tests.simhashing.designs import table_designs

LARGEST = 2**64 - 1


def plain_near(values: list[int], query: int, within: int) -> list[tuple[int, int]]:
    pairs = [(id_, plain.distance(value, query)) for id_, value in enumerate(values)]
    return [(id_, differing) for id_, differing in pairs if differing <= within]


@st.composite
def designs_values_and_queries(draw) -> tuple[TableDesign, list[int], list[int]]:
    """Values and queries close to a few centres, so that many pairs are near."""
    design = draw(table_designs(most_tables=60))
    centres = draw(st.lists(st.integers(0, 2**design.bits - 1), min_size=1, max_size=3))
    flips = st.lists(st.integers(0, design.bits - 1), max_size=design.distance + 1)

    def around(centre: int, bits: list[int]) -> int:
        for bit in bits:
            centre ^= 1 << bit
        return centre

    near_centres = st.lists(st.builds(around, st.sampled_from(centres), flips), max_size=12)
    return design, draw(near_centres), draw(near_centres)


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
        places, ids, distances = (column.tolist() for column in tables.near_many([query]))
        assert places == [0] * len(ids)
        assert list(zip(ids, distances, strict=True)) == plain_near(values, query, design.distance)


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
    monkeypatch.setattr(hamming_tables, "PIECE", piece)
    assert len(expected[0]) > 150
    for whole, pieces in zip(expected, tables.near_many(queries), strict=True):
        assert np.array_equal(whole, pieces)


def test_millions_of_candidates_take_the_memory_of_one_piece(traced_peak):
    # 5,000 values times 2,000 queries would take 80 MB if all pairs were compared at once.
    values = np.arange(5_000, dtype=np.uint64) << np.uint64(32)
    queries = values[:2_000] + np.uint64(0b1111)
    tables = SortedTables(values, TableDesign(64, 3))
    assert traced_peak(lambda: tables.near_many(queries)) < 8 * 8 * hamming_tables.PIECE


def test_negative_values_and_queries_are_found_by_their_bits():
    tables = SortedTables(np.array([-1, -2, 0, 2**62]), TableDesign(64, 1, (2,)))
    assert [part.tolist() for part in tables.near_many([-1])] == [[0, 0], [0, 1], [0, 1]]
    assert [part.tolist() for part in tables.near_many([LARGEST])] == [[0, 0], [0, 1], [0, 1]]


def test_without_values_or_without_queries_there_are_no_neighbours():
    nothing = np.zeros(0, np.uint64)
    design = TableDesign(64, 3, (4,))
    assert [part.tolist() for part in SortedTables(nothing, design).near_many([1, 2])] == [[], [], []]
    assert [part.tolist() for part in SortedTables([1, 2], design).near_many(nothing)] == [[], [], []]
    assert [part.tolist() for part in SortedTables([], design).near_many([0])] == [[], [], []]


def test_each_of_many_equal_values_is_found_once():
    tables = SortedTables([9] * 1000, TableDesign(64, 3, (5,)))
    _, ids, distances = tables.near_many([8])
    assert ids.tolist() == list(range(1000))
    assert set(distances.tolist()) == {1}


def test_values_and_queries_wider_than_the_design_are_refused():
    with pytest.raises(ValueError, match="256 does not fit in the design's 8 bits"):
        SortedTables([1, 256], TableDesign(8, 1, (2,)))
    with pytest.raises(ValueError, match="256 does not fit in the design's 8 bits"):
        SortedTables([1], TableDesign(8, 1, (2,))).near_many([256])


def test_an_array_of_two_dimensions_is_refused():
    with pytest.raises(ValueError, match="found 2 dimensions"):
        SortedTables([[1, 2]], TableDesign(8, 1, (2,)))
