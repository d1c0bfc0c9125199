import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.minhash.feature_filter import steepest_group


@given(st.floats(0.01, 0.99))
def test_the_power_is_less_steep_with_slightly_more_or_fewer_slots(x):
    steepest = steepest_group(x)

    def slope(s: float) -> float:
        return float(s * x ** (s - 1))

    assert slope(steepest) >= max(slope(steepest * 0.99), slope(steepest * 1.01))


@pytest.mark.parametrize("x", [0.0, 1.0])
def test_a_resemblance_without_a_steepest_group_is_refused(x):
    with pytest.raises(ValueError, match="resemblance must be between 0 and 1"):
        steepest_group(x)
