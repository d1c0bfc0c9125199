"""Extract the values of JSON: the strings and numbers, without names, marks and comments.

Also reads a sequence of values (JSON Lines) and JSON with comments. A place is a line. A source that is not
JSON is given as it is. The values are found with a regular expression and not with Python's parser, because
it knows lines, reads files that were cut off, and needs no memory for each level of nesting.
"""

import json
import re

import numpy as np

from docindex.frontends.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import add_lines, places_of_lines
from docindex.kernels.arrays import I64

# What lies before a value: names, marks, comments and words. No part goes back, and `_VALUE` matches any
# text, so that the time is linear.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+'
_BEFORE = (
    rf'(?:[\s{{}}\[\],]++|{_STRING}"\s*+:|(?:true|false|null|NaN|-?Infinity)\b'
    r"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+"
)
_VALUE = re.compile(rf'({_BEFORE})(?:({_STRING})(?:"|\\?\Z)|(-?[0-9][0-9.eE+-]*+)|\Z|(.+))', re.DOTALL)
"""The groups: what lies before a value, a string without its last quote, a number, and what is no JSON."""

_STRINGS = json.JSONDecoder(strict=False)  # which takes line ends in a string


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The values of a JSON source."""
    source = decode_source(data)
    pieces = _VALUE.split(source)  # takes half the time of a loop over matches
    if any(pieces[4::5]):
        return _as_it_is(source)
    strings, numbers = pieces[2::5], pieces[3::5]
    values = [
        (number or "") if string is None else string[1:]
        for string, number in zip(strings, numbers, strict=True)
    ]
    sizes = _lengths(values) + 2 * np.array([string is not None for string in strings], np.bool_)
    offsets = np.cumsum(_lengths(pieces[1::5]) + sizes) - sizes
    if "\\" in source:
        values = [_decoded(value) if "\\" in value else value for value in values]
    is_given = np.array([bool(value) for value in values], np.bool_)
    given = [value for value in values if value]
    sizes = _lengths(given) + 1
    places = places_of_lines(source, offsets[is_given], np.cumsum(sizes) - sizes)
    return TextBuilder().add("\n".join([*given, ""])).extracted(places=places)


def _lengths(texts: list[str]) -> I64:
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _decoded(written: str) -> str:
    """A string with its escapes decoded."""
    try:
        return str(_STRINGS.decode(f'"{written}"'))
    except ValueError:  # an escape that JSON does not have
        return written


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
)
