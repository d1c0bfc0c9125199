"""Keep tallies: how many rows some tables have, and the checksums of their rows combined by exclusive or.

A checksum of a row cannot tell that a row is missing. A tally can: `check()` compares it with the rows. The
tally of the contents also tells whether they have changed since they were read. The writers of a table note
each row that they add, change or remove. Must never compute a tally from the rows of a table to store it:
that would hide damage.
"""

import functools
import operator
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

import apsw

from docindex.errors import CorruptIndex
from docindex.storage.statements import rows

Name = Literal["boilerplate", "content", "document", "extraction", "file"]
"""The tables that have a tally."""

NAMES: tuple[Name, ...] = get_args(Name)

# `(a | b) - (a & b)` is the exclusive or of a and b, which SQLite does not have. It cannot overflow.
_NOTE = "update main.docindex_tally set rows = rows + ?1, total = (total | ?2) - (total & ?2) where name = ?3"
_STORED = "select rows, total from main.docindex_tally where name = ?"


class Tally(NamedTuple):
    """The number of some rows, and their checksums combined."""

    rows: int
    total: int
    """64 bits as a signed integer."""


def tally_of(sums: Iterable[int]) -> Tally:
    """The tally of rows with these checksums.

    >>> tally_of([5, 3])
    Tally(rows=2, total=6)
    """
    found = list(sums)
    return Tally(len(found), functools.reduce(operator.xor, found, 0))


def note(db: apsw.Connection, name: Name, *, added: Iterable[int] = (), removed: Iterable[int] = ()) -> None:
    """Note the checksums of rows that were added to a table, and of rows that were removed."""
    put, gone = tally_of(added), tally_of(removed)
    if put != gone:
        db.execute(_NOTE, (put.rows - gone.rows, put.total ^ gone.total, name))


def stored(db: apsw.Connection, name: Name) -> Tally:
    """What the file says of its rows."""
    found = rows(db, _STORED, (name,))
    if not found:
        raise CorruptIndex(f"the tally of {name} is missing; restore a backup, or index again", db.filename)
    return Tally(*found[0])


def other_rows(db: apsw.Connection, name: Name) -> CorruptIndex:
    """The error for rows that do not match their tally."""
    return CorruptIndex(
        f"rows of {name} are missing, or were changed; restore a backup, or index again", db.filename
    )
