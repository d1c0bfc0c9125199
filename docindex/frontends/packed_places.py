"""Give places a form that JSON can write, and read them from it: `packed_places`, `unpacked_places`.

The same form is sent between processes and stored in an index. It holds the gaps between places and the
steps between numbers, because small numbers are short, and they compress well.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from docindex.frontends.extracted import NamedPlaces, Place, Places
from docindex.frontends.line_places import NumberedPlaces


def packed_places(places: Places) -> dict[str, Any]:
    """Lists, numbers and strings that say where some places are.

    >>> packed_places(Places((0, 9), (Place("page 1"), Place("page 2"))))
    {'gaps': [0, 9], 'places': ['page 1', 'page 2']}
    """
    gaps = _steps(places.starts)
    named = places.places
    if isinstance(named, NumberedPlaces):
        numbers = _steps(named.numbers)
        return {
            "gaps": gaps,
            "kind": named.kind,
            "steps": numbers,
            "columns": named.columns,
            "span": named.span,
        }
    if isinstance(named, NamedPlaces) and not named.boxes:
        return {"gaps": gaps, "places": list(named.names)}
    return {"gaps": gaps, "places": [place.name if place.box is None else place for place in named]}


def unpacked_places(found: dict[str, Any]) -> Places:
    """The places that `packed_places` packed; `KeyError`, `TypeError` or `ValueError` if they are damaged."""
    starts = tuple(itertools.accumulate(found["gaps"]))
    named: Sequence[Place]
    if "kind" in found:
        numbers = tuple(itertools.accumulate(found["steps"]))
        named = NumberedPlaces(found["kind"], numbers, tuple(found["columns"]), found["span"])
    else:
        named = _named(found["places"])
    if len(starts) != len(named):
        raise ValueError(f"{len(starts):,} places have {len(named):,} names")
    return Places(starts, named)


def _named(found: list[Any]) -> NamedPlaces:
    pairs = [(each, None) if isinstance(each, str) else (each[0], tuple(each[1])) for each in found]
    boxes = tuple(box for _, box in pairs)
    return NamedPlaces(tuple(name for name, _ in pairs), boxes if any(boxes) else ())


def _steps(numbers: Iterable[int]) -> list[int]:
    return [end - begin for begin, end in itertools.pairwise(itertools.chain((0,), numbers))]
