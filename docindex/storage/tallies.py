"""Keep tallies: how many rows some tables have, and a number of each row combined by exclusive or.

A checksum of a row cannot tell that a row is missing. A tally can. The writers of a table note each row that
they add, change or remove; `check()`, and questions that read a whole table, compare. Schema/0001 says which
number of a row counts. Must never compute a tally from the rows of a table to store it: that would hide
damage.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import apsw
import numpy as np

from docindex.arrays.ranges import I64, U64, mix
from docindex.errors import CorruptIndex
from docindex.storage.statements import rows
from docindex.storage.values import signed

Name = Literal[
    "boilerplate",
    "dead",
    "document",
    "extraction",
    "file",
    "lengths",
    "link",
    "segment",
    "simhash",
    "words",
]
"""What is tallied."""

# `(a | b) - (a & b)` is the exclusive or of a and b, which SQLite does not have. It cannot overflow.
_NOTE = "update main.docindex_tally set rows = rows + ?1, total = (total | ?2) - (total & ?2) where name = ?3"
_STORED = "select rows, total from main.docindex_tally where name = ?"

# For fewer rows than this, numbers are mixed without numpy, whose calls take longer than the work. The
# constants are those of `docindex.arrays.ranges.mix`.
_FEW = 40
_BITS = (1 << 64) - 1
_MIX_1, _MIX_2 = 0x3C79AC492BA7B653, 0x1C69B3F74AC4AE35


class Tally(NamedTuple):
    """The number of some rows, and the numbers of these rows combined."""

    rows: int
    total: int
    """64 bits as a signed integer."""

    def plus(self, other: "Tally") -> "Tally":
        """The tally of these rows and others."""
        return Tally(self.rows + other.rows, self.total ^ other.total)

    def without(self, other: "Tally") -> "Tally":
        """The change that adds these rows and removes others."""
        return Tally(self.rows - other.rows, self.total ^ other.total)


NOTHING = Tally(0, 0)
"""The tally of no rows."""


def tally_of(numbers: Iterable[int]) -> Tally:
    """The tally of rows with these numbers.

    >>> tally_of([5, 3])
    Tally(rows=2, total=6)
    """
    rows = total = 0
    for number in numbers:
        rows += 1
        total ^= number
    return Tally(rows, total)


def mixed_tally(*columns: Sequence[int] | I64) -> Tally:
    """The tally of rows with these columns, where the columns of each row are mixed into one number.

    >>> mixed_tally([1], [0])
    Tally(rows=1, total=-3257427492575004017)
    """
    if len(columns[0]) < _FEW:
        return tally_of(signed(functools.reduce(_mixed, row, 0)) for row in zip(*columns, strict=True))
    mixed = mixed_numbers(*columns)
    return Tally(len(mixed), combined(mixed))


def mixed_numbers(*columns: Sequence[int] | I64) -> U64:
    """The number of each row for its tally: its columns, mixed.

    >>> mixed_numbers([1], [0]).view(np.int64).tolist()
    [-3257427492575004017]
    """
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed ^= np.asarray(column, np.int64).view(np.uint64)
        mixed = mix(mixed)
    return mixed


def _mixed(before: int, number: int) -> int:
    """The number that `mix` makes of the exclusive or of two numbers."""
    both = (before ^ int(number)) & _BITS
    both = (both ^ both >> 27) * _MIX_1 & _BITS
    both = (both ^ both >> 33) * _MIX_2 & _BITS
    return both ^ both >> 27


def combined(numbers: U64) -> int:
    """The exclusive or of some numbers, as a signed integer."""
    return signed(int(np.bitwise_xor.reduce(numbers)))


def note(db: apsw.Connection, changes: Mapping[Name, Tally]) -> None:
    """Note that rows were added, removed or changed; the number of rows in a change may be negative."""
    db.executemany(_NOTE, [(*change, name) for name, change in changes.items() if change != NOTHING])


def stored(db: apsw.Connection, name: Name) -> Tally:
    """What the file says of its rows."""
    found = rows(db, _STORED, (name,))
    if not found:
        raise CorruptIndex(f"the tally of {name} is missing; restore a backup, or index again", db.filename)
    return Tally(*found[0])


def refuse_other(db: apsw.Connection, name: Name, found: Tally) -> None:
    """`CorruptIndex` if rows of a whole table are not those that were written."""
    if found != stored(db, name):
        raise other_rows(db, name)


def other_rows(db: apsw.Connection, name: str) -> CorruptIndex:
    """The error for rows that do not match their tally."""
    return CorruptIndex(
        f"rows of {_TABLES.get(name, name)} are missing, or were changed; restore a backup, or index again",
        db.filename,
    )


_TABLES = {"words": "content", "simhash": "content", "lengths": "content", "link": "document"}
"""The table that a tally is about, if it is not its name."""
