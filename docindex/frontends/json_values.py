"""Extract the values of JSON: the strings and numbers, without names, marks and comments.

Also reads a sequence of values (JSON Lines) and JSON with comments. A place is a line. A source that is not
JSON is given as it is. The values are found with a regular expression and not with Python's parser, because
it knows lines, reads files that were cut off, and needs no memory for each level of nesting.
"""

import json
import re

from docindex.frontends.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import LinePlaces, add_lines

# Every character belongs to a match, and no match goes back, so that the time is linear.
_TOKEN = re.compile(
    r'"(?P<string>[^"\\]*+(?:\\.[^"\\]*+)*+)(?:"|\\?\Z)(?P<name>\s*+:)?+'
    r"|(?P<number>-?[0-9][0-9.eE+-]*+)"
    r"|[\s{}\[\],]++"
    r"|(?:true|false|null|NaN|-?Infinity)\b"
    r"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
    r"|(?P<other>.)",
    re.DOTALL,
)

_STRINGS = json.JSONDecoder(strict=False)  # which takes line ends in a string


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The values of a JSON source."""
    source = decode_source(data)
    builder = TextBuilder()
    places = LinePlaces(source, builder)
    for token in _TOKEN.finditer(source):
        kind = token.lastgroup
        if kind == "other":
            return _as_it_is(source)
        value = _string(token["string"]) if kind == "string" else token["number"]
        if value:
            places.begin(token.start())
            builder.add(f"{value}\n")
    return builder.extracted()


def _string(written: str) -> str:
    if "\\" not in written:
        return written
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
