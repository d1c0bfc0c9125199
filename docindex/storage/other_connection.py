"""What storage asks of a connection that is not one of apsw: the few places where the libraries differ.

`sqlite3_connection` implements it for Python's sqlite3. Must never know a table.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import apsw

from docindex.arrays.ranges import I64


class OtherConnection(ABC):
    """A connection of another library, with the methods of `apsw.Connection` that storage calls."""

    @abstractmethod
    def array(self, values: I64 | Sequence[str] | Sequence[bytes]) -> Any:
        """The binding for ``carray(?)``."""

    @abstractmethod
    def empty_index(self) -> apsw.Connection:
        """An empty index in memory, on which conditions are checked: no authorizer can be set here."""


def bound_array(db: apsw.Connection, values: I64 | Sequence[str] | Sequence[bytes]) -> Any:
    """The binding for ``carray(?)``, whose rows are the values of an array. The array must not be empty."""
    return db.array(values) if isinstance(db, OtherConnection) else apsw.carray(values)
