"""Define the tables whose rows have a checksum: their columns, and the statements that read and write rows.

A row is a named tuple with a field for each column, in the order of the schema and without `sum`. A row that
is read whole is verified; `check` reads all rows. Must never know what the values mean.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Self, TypeVar

from docindex.storage.statements import PREFIX, row_sum, row_sums

R = TypeVar("R", bound="tuple[Any, ...]")


class RecipeRow(NamedTuple):
    """A row of `recipe`."""

    id: int
    schema: int
    json: str


class ContentRow(NamedTuple):
    """A row of `content`."""

    id: int
    symbols: int
    shingles: int
    kept: int
    hashes: int
    hash: bytes
    words_hash: bytes
    characters: int
    fingerprints: int
    simhash: int
    slots: bytes


class DocumentRow(NamedTuple):
    """A row of `document`."""

    id: int
    key: str
    content: int
    meta: str | None
    added_at: int


class FingerprintRow(NamedTuple):
    """A row of `fingerprint`."""

    id: int
    numbers: bytes
    highs: bytes


class SampleRow(NamedTuple):
    """A row of `sample`."""

    content: int
    min_s: bytes
    mod_m: bytes
    level: bytes


class BoilerplateRow(NamedTuple):
    """A row of `boilerplate`."""

    id: int
    name: str
    hash: bytes
    text: str
    grams: bytes
    shingles: bytes


class ExtractionRow(NamedTuple):
    """A row of `extraction`."""

    document: int
    reading: str
    places: bytes


class FileRow(NamedTuple):
    """A row of `file`."""

    key: str
    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    kind: str
    reading: str
    parts: int
    problem: str
    digest: bytes | None


class SourceRow(NamedTuple):
    """A row of `source`."""

    name: str
    key_column: str
    text_column: str
    meta_column: str | None
    prefix: str


@dataclasses.dataclass(frozen=True, slots=True)
class SummedTable(Generic[R]):
    """A table with a column `sum`, and the named tuple for its rows."""

    name: str
    row: type[R]
    insert: str
    """The statement that inserts a row and its sum: `with_sum` gives the bindings."""
    replace: str
    """The same, but it replaces a row with the same key."""
    select: str
    """The statement that selects the columns of `row` and the sum; a `where` clause can follow."""

    @classmethod
    def of(cls, name: str, row: type[R]) -> Self:
        """Build the statements of a table.

        >>> SummedTable.of("recipe", RecipeRow).select
        'select id, schema, json, sum from main.docindex_recipe'
        """
        columns = [*row._fields, "sum"]  # type: ignore[attr-defined] # a named tuple has them
        listed = ", ".join(columns)
        values = f"into main.{PREFIX}{name} ({listed}) values ({', '.join('?' * len(columns))})"
        return cls(
            name,
            row,
            f"insert {values}",
            f"insert or replace {values}",
            f"select {listed} from main.{PREFIX}{name}",
        )

    def with_sum(self, row: R) -> tuple[Any, ...]:
        """The values of a row, followed by its checksum."""
        return (*row, row_sum(*row))

    def with_sums(self, rows: Iterable[R]) -> Iterator[tuple[Any, ...]]:
        """The same for each of many rows."""
        return map(self.with_sum, rows)

    def is_intact(self, found: Sequence[Any]) -> bool:
        """Whether the columns that `select` gave match their checksum."""
        stored: int = found[-1]
        return row_sum(*found[:-1]) == stored

    def checked(self, found: Sequence[Any]) -> R | None:
        """The row in the columns that `select` gave, or None if they do not match their checksum."""
        return self.made(found) if self.is_intact(found) else None

    def made(self, found: Sequence[Any]) -> R:
        """The row in the columns that `select` gave, without a look at their checksum."""
        row: R = self.row._make(found[:-1])  # type: ignore[attr-defined] # a named tuple has it
        return row


RECIPE = SummedTable.of("recipe", RecipeRow)
CONTENT = SummedTable.of("content", ContentRow)
DOCUMENT = SummedTable.of("document", DocumentRow)
FINGERPRINT = SummedTable.of("fingerprint", FingerprintRow)
SAMPLE = SummedTable.of("sample", SampleRow)
BOILERPLATE = SummedTable.of("boilerplate", BoilerplateRow)
EXTRACTION = SummedTable.of("extraction", ExtractionRow)
FILE = SummedTable.of("file", FileRow)
SOURCE = SummedTable.of("source", SourceRow)

SUMMED_TABLES = (RECIPE, CONTENT, DOCUMENT, FINGERPRINT, SAMPLE, BOILERPLATE, EXTRACTION, FILE, SOURCE)


def first_changed(columns: Sequence[Sequence[Any]]) -> int | None:
    """The place of the first row that does not match its checksum; the last column holds the checksums."""
    *values, sums = columns
    made = row_sums(values)
    if made == list(sums):
        return None
    return next(place for place, (one, other) in enumerate(zip(made, sums, strict=True)) if one != other)
