import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels import equal_slots
from docindex.kernels.minhash import EMPTY_SLOT

# Few different slots, so that many are equal.
SLOT = st.sampled_from([0, 1, 2, 4000, int(EMPTY_SLOT)])


@st.composite
def sketches(draw):
    width = draw(st.integers(1, 4))
    rows = st.lists(st.lists(SLOT, min_size=width, max_size=width), max_size=6)
    return tuple(np.array(draw(rows), np.uint16).reshape(-1, width) for _ in range(2))


@pytest.mark.parametrize("pairs", [1, 7, 1 << 20])  # batches of different sizes
@given(sketches())
def test_the_pairs_with_equal_slots_are_those_of_the_definition(pairs, given_slots):
    few, many = given_slots
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_slots, "_PAIRS", pairs)
        found = [column.tolist() for column in equal_slots.equal_slot_pairs(few, many)]
    expected = []
    for row, slots in enumerate(many.tolist()):
        for of_few, others in enumerate(few.tolist()):
            equal = sum(a == b != EMPTY_SLOT for a, b in zip(others, slots, strict=True))
            if equal:
                expected.append((of_few, row, equal))
    assert list(zip(*found, strict=True)) == expected
