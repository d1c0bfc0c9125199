import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.ranges import CHUNK, U64
from docindex.simhashing.compressed import BLOCK, Compressed, compress

LARGEST = 2**64 - 1


@st.composite
def sorted_values(draw) -> U64:
    """Arrays of up to a few blocks: spread out, or within a range of some bits, with repeats."""
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
def test_decompressed_values_equal_the_original_ones(values):
    assert np.array_equal(compress(values).values(), values)


@given(sorted_values(), st.integers(0, 64), st.data())
def test_a_part_is_exactly_the_values_with_the_prefix(values, length, data):
    # Take the prefix of one of the values, or of the least or greatest number.
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
def test_the_ends_of_the_range_and_equal_values_are_decompressed(numbers):
    packed = compress(np.array(numbers, np.uint64))
    assert packed.values().tolist() == packed.part(0, 0).tolist() == numbers
    for number in (0, 5, 2**63, LARGEST):
        assert packed.part(number, 64).tolist() == [number] * numbers.count(number)


def test_many_chunks_take_the_memory_of_one_chunk_in_addition_to_the_result(traced_peak):
    values = np.sort(np.random.default_rng(5).integers(0, 2**64, 300_000, np.uint64))
    packed = compress(values)
    assert np.array_equal(packed.values(), values)
    assert traced_peak(packed.values) < values.nbytes + 25 * 8 * CHUNK
    assert traced_peak(lambda: compress(values)) < packed.nbytes + 25 * 8 * CHUNK


def test_a_part_is_read_from_its_own_blocks_only(monkeypatch):
    values = np.sort(np.random.default_rng(6).integers(0, 2**64, 200 * BLOCK, np.uint64))
    packed, read, grid = compress(values), [], Compressed._grid

    def counted(self, first, stop):
        read.append(stop - first)
        return grid(self, first, stop)

    monkeypatch.setattr(Compressed, "_grid", counted)
    for value in values[::1000].tolist():
        packed.part(value >> 44, 20)
    assert max(read) <= 2


def test_no_code_is_too_long_for_the_table_of_codes():
    # Counts that are Fibonacci numbers would give the longest possible Huffman codes.
    counts = [1, 1]
    while sum(counts) < 400_000:
        counts.append(counts[-1] + counts[-2])
    gaps = np.repeat(np.uint64(1) << np.arange(len(counts), dtype=np.uint64), counts)
    values = np.cumsum(np.random.default_rng(7).permutation(gaps), dtype=np.uint64)
    packed = compress(values)
    assert packed.code_widths.max() <= 16 < len(counts) - 1
    assert np.array_equal(packed.values(), values)


def test_a_value_below_the_one_before_is_refused_with_its_place():
    with pytest.raises(ValueError, match="value 2 is below the one before it"):
        compress(np.array([1, 5, 4], np.uint64))


@pytest.mark.parametrize(("prefix", "length"), [(0, -1), (0, 65), (-1, 3), (8, 3), (1, 0)])
def test_a_prefix_that_does_not_fit_its_length_is_refused(prefix, length):
    with pytest.raises(ValueError, match=f"prefix {prefix} of {length} bits"):
        compress(np.zeros(3, np.uint64)).part(prefix, length)
