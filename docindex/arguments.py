"""Check the values that callers pass: texts, counts, shares, seconds and switches.

Each function takes the name and the value of a parameter, and returns the value as a plain `str`, `int`,
`float` or `bool`. If the value is wrong, it raises an error that names the parameter. So a number of numpy is
as good as one of Python, and the methods of a subclass of `str` are never called.
"""

import contextlib
import numbers
import operator
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

GREATEST = 1 << 62
"""A larger count means the same as this one: no file has as many documents, or a text as many symbols.

Such a number fits in the integers of SQLite and numpy, also after a small number was added."""

_SHOWN = 100  # characters of a value in a message


def shown(value: object) -> str:
    """A value as a message shows it, at most 100 characters.

    >>> shown("ada"), shown("a" * 1000) == "'" + "a" * 96 + "..."
    ("'ada'", True)
    """
    try:
        if isinstance(value, str):
            text = repr(str.__str__(value)[:_SHOWN])
        else:
            text = repr(value[:_SHOWN] if type(value) in (bytes, bytearray) else value)  # type: ignore[index]
    except (
        Exception
    ):  # the code of the caller's class, a number of too many digits, or a list that is too deep
        return f"a value of the type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def kind_of_text(text: object) -> str:
    """The type of a value that should be a text, and what to do.

    >>> kind_of_text(b"ada"), kind_of_text(7)
    ('bytes; decode them first', 'int')
    """
    return "bytes; decode them first" if isinstance(text, (bytes, bytearray)) else type(text).__name__


def plain_text(name: str, text: object) -> str:
    """A text as a plain `str`: the methods of a subclass may say something else, or fail.

    >>> plain_text("a key", "ada.txt")
    'ada.txt'
    """
    if not isinstance(text, str):
        raise TypeError(f"{name} must be str, not {shown(text)}")
    return str.__str__(text)


def whole_number(name: str, number: object, least: int = 1, most: int | None = None) -> int:
    """A whole number of any type as an `int`, at most `GREATEST`.

    `TypeError` if the value is not a whole number, `ValueError` if it is out of bounds.

    >>> whole_number("limit", 5)
    5
    """
    if isinstance(number, bool) or not isinstance(number, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {shown(number)}")
    found = int.__index__(number) if isinstance(number, int) else operator.index(number)
    if found < least or (most is not None and found > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {bounds}, not {shown(number)}")
    return min(found, GREATEST)


def limit(number: object) -> int | None:
    """The largest number of answers as an `int`, or None for all of them.

    >>> limit(5), limit(None)
    (5, None)
    """
    return None if number is None else whole_number("limit", number)


def share(name: str, number: object, *, above_zero: bool = False) -> float:
    """A number from 0 to 1 as a `float`; with `above_zero`, 0 is refused too.

    `TypeError` if the value is not a number, `ValueError` if it is out of bounds.

    >>> share("min_containment", 0.5)
    0.5
    """
    found = _real(name, number, "a number from 0 to 1")
    if not (0 < found <= 1 if above_zero else 0 <= found <= 1):
        bounds = "above 0 and up to 1" if above_zero else "from 0 to 1"
        raise ValueError(f"{name} must be a number {bounds}, not {shown(number)}")
    return found


def seconds(name: str, number: object) -> float:
    """A number of seconds as a `float`, 0 or more, and not longer than a lock can wait.

    >>> seconds("timeout_s", 10)
    10.0
    """
    found = _real(name, number, "a number of seconds")
    if not 0 <= found <= threading.TIMEOUT_MAX:
        raise ValueError(f"{name} must be a number of seconds, 0 or more, not {shown(number)}")
    return found


def switch(name: str, value: object) -> bool:
    """A value that is true or false as a `bool`; 1 and 0 are accepted, because SQL has no others.

    >>> switch("exact", True), switch("exact", 0)
    (True, False)
    """
    if not (isinstance(value, numbers.Integral) and value in (0, 1)):
        raise TypeError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def many(name: str, values: Iterable[T]) -> Iterator[T]:
    """The things that a caller passes as a list or another iterable.

    `TypeError` if the value is not iterable, or if it is a single text.

    >>> list(many("items", ["one", "two"]))
    ['one', 'two']
    """
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, bytearray)):
        with contextlib.suppress(TypeError):  # an array of numpy without dimensions
            return iter(values)
    raise TypeError(f"{name} must be a list or another iterable, not {shown(values)}")


def choice(name: str, value: object, choices: Sequence[T]) -> T:
    """One of some words, as it stands among the choices; `ValueError` for any other value.

    >>> choice("rank", "likeness", ["likeness", "excerpt"])
    'likeness'
    """
    plain = str.__str__(value) if isinstance(value, str) else None
    if plain not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, not {shown(value)}")
    return choices[choices.index(plain)]


def _real(name: str, number: object, expected: str) -> float:
    """A real number as a `float`; one that is too large for a float as infinity."""
    try:
        if not isinstance(number, bool) and isinstance(number, numbers.Real):
            return float(number)
    except OverflowError:
        return float("inf")
    raise TypeError(f"{name} must be {expected}, not {shown(number)}")
