"""How far some work has come in, a bar on a terminal out. Must never be imported where there is none."""

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

_BETWEEN_S = 0.1
"""Seconds between two looks that a person gets: a hundred thousand steps cannot each be drawn."""


class _Rate(ProgressColumn):
    """How many files in a second."""

    def render(self, task: Task) -> str:
        return f"{task.speed:,.0f}/s" if task.speed else ""


@contextlib.contextmanager
def bar(what: str, *, of_bytes: bool) -> Iterator[Callable[[int, int | None], object]]:
    """Show how much is done, of how much (None if nobody knows), how fast, and how long it will take."""
    counts = (DownloadColumn(), TransferSpeedColumn()) if of_bytes else (MofNCompleteColumn(), _Rate())
    columns = (SpinnerColumn(), TextColumn(what), BarColumn(), *counts, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawing:
        task = drawing.add_task(what, total=None)
        known, drawn = None, 0.0

        def show(done: int, total: int | None) -> None:
            nonlocal known, drawn
            if total != known:
                known = total
                drawing.reset(task, total=total)
            elif time.monotonic() - drawn < _BETWEEN_S:
                return
            drawn = time.monotonic()
            drawing.update(task, completed=done)

        yield show
