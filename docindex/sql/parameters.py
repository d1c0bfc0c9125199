"""Convert the values of parameters from SQL to Python: the same names, but SQL has fewer types.

Takes the name and the value of a parameter of a table function; returns the argument for the Python method.
Must never read an index.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from docindex import argument_checks
from docindex.argument_checks import shown
from docindex.sql.sql_values import Value, type_name
from docindex.storage.user_sql import HarmlessCondition

# A result column has the name that the parameter has in Python.
PYTHON_NAMES = {"max_distance": "distance"}
"""The parameters that have another name in Python."""


def python_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the Python method.

    >>> python_arguments({"min_resemblance": 0.5, "boilerplate": '["licence"]', "max_distance": 2})
    {'min_resemblance': 0.5, 'boilerplate': ['licence'], 'distance': 2}
    """
    return {
        PYTHON_NAMES.get(name, name): _CONVERSIONS[name](value) if name in _CONVERSIONS else value
        for name, value in given.items()
    }


def options_in_json(value: Value, names: tuple[str, ...]) -> dict[str, Any] | None:
    """The parameters in a JSON object, by their names; None if the value is not TEXT that begins with "{".

    >>> options_in_json('{"min_resemblance": 0.5}', ("min_resemblance", "where"))
    {'min_resemblance': 0.5}
    """
    if not (isinstance(value, str) and value.lstrip().startswith("{")):
        return None
    try:
        options: dict[str, Any] = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a JSON object of parameters, not {shown(value)} ({error})") from error
    if unknown := [name for name in options if name not in names]:
        raise TypeError(f"there is no parameter {unknown[0]!r}; the parameters are {', '.join(names)}")
    return options


def _boilerplate(value: Any) -> bool | list[str]:
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    names = _json_array(value) if isinstance(value, str) else value
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise TypeError(f"boilerplate must be 1, 0 or a JSON array of template names, not {shown(value)}")
    return names


def _json_array(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _condition(value: Any) -> HarmlessCondition:
    if not isinstance(value, str):
        raise TypeError(f"where must be a condition as TEXT, not {type_name(value)}")
    return HarmlessCondition(value)


def _between(value: Any) -> tuple[HarmlessCondition, HarmlessCondition]:
    conditions = _json_array(value) if isinstance(value, str) else value
    match conditions:
        case [str(first), str(second)]:
            return HarmlessCondition(first), HarmlessCondition(second)
    raise TypeError(f"between must be a JSON array of two conditions, not {shown(value)}")


def _limit(value: Any) -> Any:
    # SQL has no other way to ask for all rows: NULL means the default.
    return None if isinstance(value, int) and value < 0 else value


def _distance(value: Any) -> Any:
    argument_checks.whole_number("max_distance", value, least=0, most=63)
    return value


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "between": _between,
    "boilerplate": _boilerplate,
    "limit": _limit,
    "max_distance": _distance,
    "where": _condition,
}
