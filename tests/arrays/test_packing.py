import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.sorted_blocks import packed, unpacked


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.integers(1, 8))
def test_unpacking_gives_the_low_bytes_of_the_packed_numbers(numbers, width):
    data = packed(np.array(numbers, np.uint64), width)
    low = [number % 256**width for number in numbers]
    assert data == b"".join(number.to_bytes(width, "little") for number in low)
    assert unpacked(data, width).tolist() == low
