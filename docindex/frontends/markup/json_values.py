"""Extract the values of JSON: the strings and numbers, without names, marks and comments.

Also reads a sequence of values (JSON Lines) and JSON with comments. A place is a line. A source that is not
JSON is given as it is. The values are found with a regular expression and not with Python's parser, because
it knows lines, reads files that were cut off, and needs no memory for each level of nesting.
"""

import json
import re
from typing import TYPE_CHECKING

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import add_lines
from docindex.patterns import compiled

if TYPE_CHECKING:
    from docindex.frontends.markup.json_marks import WrittenValues

# What lies before a value: names, marks, comments and words. No part goes back, and `_VALUE` matches any
# text, so that the time is linear.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+'
_BEFORE = (
    rf'(?:[\s{{}}\[\],]++|{_STRING}"\s*+:|(?:true|false|null|NaN|-?Infinity)\b'
    r"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+"
)
_VALUE = compiled(rf'({_BEFORE})(?:({_STRING})(?:"|\\?\Z)|(-?[0-9][0-9.eE+-]*+)|\Z|(.+))', re.DOTALL)
"""The groups: what lies before a value, a string without its last quote, a number, and what is no JSON."""

_read_string = json.JSONDecoder().parse_string  # type: ignore[attr-defined]  # Python documents the class only


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The values of a JSON source."""
    import numpy as np

    from docindex.frontends.markup.json_marks import split_values
    from docindex.frontends.markup.value_places import lengths_of, places_of_lines

    source = decode_source(data, forced=options.encoding)
    found = split_values(source) or search_values(source)
    if found is None:
        return _as_it_is(source)
    values, offsets = found
    if "\\" in source:
        values = [_decoded(value) if "\\" in value else value for value in values]
    sizes = lengths_of(values)
    is_given = sizes > 0
    sizes = sizes[is_given] + 1
    places = places_of_lines(source, offsets[is_given], np.cumsum(sizes) - sizes)
    return TextBuilder().add("\n".join([*filter(None, values), ""])).extracted(places=places)


def search_values(source: str) -> "WrittenValues | None":
    """The values of JSON that may have comments or be cut off; None if it is no JSON.

    >>> search_values('[1, // two').values[0]
    '1'
    """
    import numpy as np

    from docindex.frontends.markup.json_marks import WrittenValues
    from docindex.frontends.markup.value_places import lengths_of

    pieces = _VALUE.split(source)  # takes half the time of a loop over matches
    if any(pieces[4::5]):
        return None
    strings, numbers = pieces[2::5], pieces[3::5]
    values = [
        (number or "") if string is None else string[1:]
        for string, number in zip(strings, numbers, strict=True)
    ]
    sizes = lengths_of(values) + 2 * np.array([string is not None for string in strings], np.bool_)
    return WrittenValues(values, np.cumsum(lengths_of(pieces[1::5]) + sizes) - sizes)


def _decoded(written: str) -> str:
    """A string with its escapes decoded."""
    try:
        text: str = _read_string(f'{written}"', 0, False)[0]  # not strictly: with line ends
    except ValueError:  # an escape that JSON does not have
        return written
    return text


def _as_it_is(source: str) -> Extracted:
    builder = TextBuilder().warn("It is not valid JSON; its text is given as it is.")
    add_lines(source, builder)
    return builder.extracted()


FRONT_END = FrontEnd(
    "json",
    1,
    extract,
    extensions=frozenset({".json", ".jsonl", ".ndjson", ".jsonc", ".geojson"}),
    media_types=frozenset({"application/json", "application/jsonl", "application/x-ndjson"}),
    is_text=True,
    most_bytes=100_000_000,
)
