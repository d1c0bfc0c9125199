"""Decide how long a store waits for a lock: until its time-out, or until it is cancelled or closed.

Threads share an object of this module: one thread waits, and another may end the wait. Must never ask a
connection.
"""

import itertools
import time
from collections.abc import Callable
from typing import TypeVar

import apsw

from docindex.cancel_tokens import is_cancelled
from docindex.errors import CANCELLED, Cancelled

T = TypeVar("T")

_WAIT_S = 0.01


class Waiting:
    """What ends the waits of a store."""

    def __init__(self, path: str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.is_closed = False
        """Whether the store was closed. Waits that have begun end, too."""
        self.cancels = 0
        """A number that each call of `cancel` changes."""
        self._path = path
        self._numbers = itertools.count(1)  # gives each number to one thread only

    def cancel(self) -> None:
        """End all waits, and let all work that looks at `cancels` stop."""
        self.cancels = next(self._numbers)

    def refuse_cancelled(self, before: int) -> None:
        """Raise `Cancelled` if `cancel` was called since `cancels` was `before`.

        So it does in a cancelled block of `docindex.cancelling`.
        """
        if self.cancels != before or is_cancelled():
            raise Cancelled(CANCELLED, self._path)

    def busy_handler(self, until: float | None = None) -> Callable[[int], bool]:
        """A busy handler: SQLite calls it repeatedly to ask whether to keep waiting for a lock.

        Each wait may take the time-out, or all waits together last until a deadline.
        """
        deadline, before = until or 0.0, self.cancels

        def keep_waiting(tries: int) -> bool:
            nonlocal deadline, before
            if tries == 0 and until is None:
                deadline, before = time.monotonic() + self.timeout_s, self.cancels
            if self.is_closed or self.cancels != before or is_cancelled() or time.monotonic() >= deadline:
                return False
            time.sleep(_WAIT_S)
            return True

        return keep_waiting

    def repeat(self, attempt: Callable[[], T]) -> T:
        """Repeat `attempt` while the file is busy, where SQLite itself does not wait; return its result."""
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return attempt()
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_WAIT_S)
