"""Say what the transactions of an index offer: those of a `Store`, and those on a connection of the host."""

import contextlib
from typing import Protocol

import apsw


class Transactions(Protocol):
    """The transactions of an index, on the connections of a `Store` or on a connection of the host."""

    @property
    def path(self) -> str:
        """The path of the file, or the name of a database in memory."""

    def reading(self) -> contextlib.AbstractContextManager[apsw.Connection]:
        """A connection on which every statement sees the same state."""

    def writing(self) -> contextlib.AbstractContextManager[apsw.Connection]:
        """A connection inside a transaction, which is done completely or not at all."""

    def cancels(self) -> int:
        """The number of calls of `cancel` so far."""

    def refuse_cancelled(self, before: int) -> None:
        """Raise an error in a cancelled block, or after `cancel` if `cancels` had returned `before`."""
