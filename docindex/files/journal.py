"""What is done to a person's files, written down: a line of JSON for what was begun, and for what was done.

Each line is on the disk before the next step is made. Must never forget a line that is there.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, TextIO

import platformdirs


class Journal:
    """A journal to be added to; without a path nothing is written."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = path
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        if self.path is not None:
            self._file = Path(self.path).open("a", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, **entry: object) -> None:
        """One more line."""
        if self._file is not None:
            self._file.write(json.dumps({"at": time.time(), **entry}) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def own() -> Path:
    """The journal of the person who runs this."""
    return platformdirs.user_state_path("docindex", ensure_exists=True) / "journal.jsonl"


def steps(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """What is known of each step that was begun and not undone, in their order; `done` if it ended."""
    found: dict[str, dict[str, Any]] = {}
    lines = Path(path).read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if "begun" in entry:
                wanted = {"begun": str, "key": str, "kept": str, "digest": str, "mtime_ns": int, "mode": int}
                if any(type(entry[name]) is not kind for name, kind in wanted.items()):
                    raise TypeError("a fact of another type")
                found[entry["step"]] = {**entry, "done": False}
            elif "done" in entry:
                found[entry["step"]] |= {"trashed": entry["trashed"], "done": True}
            else:
                found.pop(entry["undone"], None)
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                break  # cut short when the machine went down, before the step or behind it
            raise ValueError(
                f"line {number} is not one that act wrote to its journal: {line[:60]!r}"
            ) from error
    return found


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Within, no other process of this person acts or undoes; `BlockingIOError` if one is at it."""
    with (platformdirs.user_state_path("docindex", ensure_exists=True) / "act.lock").open("a") as lock:
        try:
            import fcntl
        except ImportError:  # Windows refuses by itself to remove what somebody has open
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError("another docindex act or undo is at work; wait for its end") from error
        yield
