"""Draw a progress bar on a terminal: how much is done, how fast, and how long the rest will take.

Must be imported only when there is a terminal: rich is slow to import.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

_INTERVAL_S = 0.1
"""Seconds between two updates. Drawing each of a hundred thousand steps would take longer than the work."""


class _Rate(ProgressColumn):
    """The number of files per second."""

    def render(self, task: Task) -> str:
        return f"{task.speed:,.0f}/s" if task.speed else ""


@contextlib.contextmanager
def bar(label: str, *, of_bytes: bool) -> Iterator[Callable[[int, int | None], object]]:
    """Draw a bar until the block ends.

    Yields a function to call with the amount done and the total (None while it is unknown).
    """
    counts = (DownloadColumn(), TransferSpeedColumn()) if of_bytes else (MofNCompleteColumn(), _Rate())
    columns = (SpinnerColumn(), TextColumn(label), BarColumn(), *counts, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawing:
        task = drawing.add_task(label, total=None)
        known_total, drawn_at = None, 0.0

        def advance(done: int, total: int | None) -> None:
            nonlocal known_total, drawn_at
            if total != known_total:
                known_total = total
                drawing.reset(task, total=total)
            elif done != total and time.monotonic() - drawn_at < _INTERVAL_S:
                return
            drawn_at = time.monotonic()
            drawing.update(task, completed=done)

        yield advance
