"""Extract the values of tables in text files (.csv, .tsv): one line for each row, with tabs between values.

A place is a row, counted as spreadsheets do: from 1, with the row of names. A file in which no character
divides the lines into columns is given as it is, such as a list or prose.
"""

import csv
import itertools
from collections import Counter
from collections.abc import Iterator

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import MOST_CHARACTERS, Extracted, Places, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import NumberedPlaces

_DELIMITERS = ",;\t|"
_SAMPLE = 100_000
"""So many characters show the delimiter."""
_ROWS = 200
_REGULAR = 0.8
"""The share of the first rows that have the same number of columns, at least."""
_MOST_PLACES = 200_000


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The values of a table."""
    source = decode_source(data, forced=options.encoding).rstrip("\n")
    delimiter = _delimiter(source)
    builder = TextBuilder()
    rows = _rows(source, delimiter) if delimiter else ([line] for line in source.split("\n"))
    lines: list[str] = []
    try:
        for row in rows:
            lines.append("\t".join(row).rstrip())  # noqa: PERF401 - rows before an error must stay
    except csv.Error as error:
        builder.warn(f"Rows after row {len(lines)} are left out: {error}.")
    given = [line for line in lines if line]
    return builder.add("\n".join([*given, ""])).extracted(places=_places(lines))


def _places(lines: list[str]) -> Places:
    """A place for each row that is not empty, or for some rows of a large table."""
    import numpy as np

    span = (len(lines) - 1) // _MOST_PLACES + 1
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    sizes = lengths + (lengths > 0)
    starts = np.cumsum(sizes) - sizes
    chosen = np.flatnonzero(sizes) if span == 1 else np.arange(0, len(lines), span)
    chosen = chosen[np.diff(starts[chosen], prepend=-1) > 0]  # some of many rows may all be empty
    numbers = NumberedPlaces("row", tuple((chosen + 1).tolist()), span=span)
    return Places(tuple(starts[chosen].tolist()), numbers)


def _rows(source: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MOST_CHARACTERS)  # Python's limit for all readers is 131,072
    lines = source.split("\n")
    return csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, skipinitialspace=True)


def _delimiter(source: str) -> str | None:
    """The character between the values of most rows, in the same number; None if no character is."""
    sample = source[:_SAMPLE]
    if len(source) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, most = None, 0.0
    for delimiter in _DELIMITERS:
        if delimiter not in sample:
            continue
        share = _regularity(sample, delimiter)
        if share > most:
            best, most = delimiter, share
        if most == 1:
            break
    return best if most >= _REGULAR else None


def _regularity(sample: str, delimiter: str) -> float:
    """The share of the rows that have the most frequent number of columns; 0 if that is one column."""
    try:
        rows = [row for row in itertools.islice(_rows(sample, delimiter), _ROWS) if row]
    except csv.Error:
        return 0.0
    if not rows:
        return 0.0
    columns, number = Counter(map(len, rows)).most_common(1)[0]
    return number / len(rows) if columns > 1 else 0.0


FRONT_END = FrontEnd(
    "csv",
    1,
    extract,
    extensions=frozenset({".csv", ".tsv", ".tab"}),
    media_types=frozenset({"text/csv", "text/tab-separated-values"}),
    is_text=True,
    most_bytes=100_000_000,
)
