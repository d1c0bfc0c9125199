import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.sorted_blocks import found_in_blocks, packed_blocks, unpacked_blocks


@st.composite
def blocks(draw):
    bits = draw(st.integers(1, 64))
    number = st.integers(0, (1 << bits) - 1)
    return bits, draw(st.lists(st.lists(number, max_size=20).map(sorted), max_size=8))


def packed(bits, lists):
    flat = [number for numbers in lists for number in numbers]
    return packed_blocks(np.array(flat, np.uint64), np.array([len(each) for each in lists], np.int64), bits)


def plain(numbers, bits):
    """The definition: whole low bytes, then a bitmap with a bit at high + place."""
    width = max(1, (bits - 3) // 8)
    bitmap = sum(1 << (number >> 8 * width) + place for place, number in enumerate(numbers))
    size = len(numbers) + (1 << max(0, bits - 8 * width))
    lows = b"".join((number % (1 << 8 * width)).to_bytes(width, "little") for number in numbers)
    return lows + bitmap.to_bytes(-(-size // 8), "little") if numbers else b""


@given(blocks())
def test_blocks_have_the_bytes_of_the_definition_and_give_their_numbers_back(given_blocks):
    bits, lists = given_blocks
    made = packed(bits, lists)
    assert made == [plain(numbers, bits) for numbers in lists]
    numbers, counts = unpacked_blocks(made, bits)
    assert numbers.tolist() == [number for each in lists for number in each]
    assert counts.tolist() == [len(each) for each in lists]


@given(blocks(), st.data())
def test_the_numbers_in_a_range_are_found_in_its_block(given_blocks, data):
    bits, lists = given_blocks
    number = st.integers(0, (1 << bits) - 1) | st.sampled_from(list(itertools.chain(*lists)) or [0])
    which = st.integers(0, len(lists) - 1)
    wanted = data.draw(st.lists(st.tuples(which, number, number), max_size=8)) if lists else []
    wanted = [(block, min(ends), max(ends)) for block, *ends in wanted]
    places, numbers, size = found_in_blocks(
        packed(bits, lists),
        bits,
        np.array([block for block, _, _ in wanted], np.int64),
        np.array([least for _, least, _ in wanted], np.uint64),
        np.array([most for _, _, most in wanted], np.uint64),
    )
    assert list(zip(places.tolist(), numbers.tolist(), strict=True)) == [
        (place, number)
        for place, (block, least, most) in enumerate(wanted)
        for number in lists[block]
        if least <= number <= most
    ]
    assert size == sum(map(len, lists))


@given(blocks(), st.integers(0, 1 << 30), st.integers(0, 255))
def test_other_bytes_are_refused_or_give_other_numbers_of_the_range(given_blocks, place, octet):
    bits, lists = given_blocks
    made = packed(bits, lists)
    for block in filter(None, made):
        changed = bytearray(block)
        changed[place % len(block)] = octet
        least, most = np.array([[0], [(1 << bits) - 1]], np.uint64)
        try:
            places, numbers, size = found_in_blocks(
                [bytes(changed)], bits, np.zeros(1, np.int64), least, most
            )
        except ValueError:
            continue
        assert len(places) == len(numbers) <= size
        assert int(numbers.max(initial=0)) >> bits == 0


@given(blocks(), st.integers(0, 1 << 30), st.integers(0, 255))
def test_other_bytes_are_refused_or_are_other_numbers(given_blocks, place, octet):
    bits, lists = given_blocks
    made = packed(bits, lists)
    for number, block in enumerate(made):
        if block:
            changed = bytearray(block)
            changed[place % len(block)] = octet
            try:
                numbers, counts = unpacked_blocks([bytes(changed)], bits)
            except ValueError:
                continue
            assert counts.tolist() == [len(lists[number])]
            assert bits < 8 or not int(numbers.max(initial=0)) >> bits  # a low byte has 8 bits


@pytest.mark.parametrize("block", [b"1", b"1234567", b"12345678" * 9])
def test_a_block_of_an_impossible_length_is_refused(block):
    with pytest.raises(ValueError, match="impossible length"):
        unpacked_blocks([block], 40)


def test_numbers_of_30_bits_take_less_than_4_bytes():
    numbers = np.sort(np.random.default_rng(1).integers(0, 1 << 30, 256).astype(np.uint64))
    (block,) = packed_blocks(numbers, np.array([256]), 30)
    assert len(block) / 256 < 3.2
