"""Check the numbers that callers pass: counts and shares between 0 and 1.

Each function takes the name and the value of a parameter. If the value is wrong, it raises an error that
names the parameter.
"""

import numbers
import operator


def whole_number(name: str, number: object, least: int = 1, most: int | None = None) -> None:
    """Raise `TypeError` if a value is not a whole number, and `ValueError` if it is out of bounds.

    >>> whole_number("limit", 5)
    """
    if isinstance(number, bool) or not isinstance(number, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {number!r}")
    if operator.index(number) < least or (most is not None and operator.index(number) > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {bounds}, not {number!r}")


def share(name: str, number: object, *, above_zero: bool = False) -> None:
    """Raise `TypeError` if a value is not a number, and `ValueError` if it is not from 0 to 1.

    With `above_zero`, 0 is refused too.

    >>> share("min_containment", 0.5)
    """
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise TypeError(f"{name} must be a number from 0 to 1, not {number!r}")
    if not (0 < float(number) <= 1 if above_zero else 0 <= float(number) <= 1):
        bounds = "above 0 and up to 1" if above_zero else "from 0 to 1"
        raise ValueError(f"{name} must be a share {bounds}, not {number!r}")
