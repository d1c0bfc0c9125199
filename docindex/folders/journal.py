"""What is done to a person's files, written down: a line of JSON for what was begun, and for what was done.

Each line is on the disk before the next step is made. Must never forget a line that is there.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import platformdirs


class Journal:
    """A journal to be added to; without a path nothing is written."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = path
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def write(self, **entry: object) -> None:
        """One more line, whole or not at all."""
        if self.path is None:
            return
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        line = json.dumps({"at": time.time(), **entry}).encode() + b"\n"
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        if end and os.pread(self._descriptor, 1, end - 1) != b"\n":
            line = b"\n" + line  # what was cut short, as by a power failure, must not swallow this
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, end)
            raise


def own() -> Path:
    """The journal of the person who runs this."""
    return platformdirs.user_state_path("docindex", ensure_exists=True) / "journal.jsonl"


def steps(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """What is known of each step that was begun and not undone, in their order; `done` if it ended.

    A line that is no JSON was cut short: what it was about to say of was not begun, or can be seen.
    `ValueError` for a file without a single line of a journal.
    """
    found: dict[str, dict[str, Any]] = {}
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError(f"{os.fspath(path)} is no regular file; name a journal that act wrote")
    try:
        lines = Path(path).read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return {}  # nothing was ever done
    understood = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        try:
            if "begun" in entry:
                _refuse_strange(entry)
                found[entry["step"]] = {**entry, "done": False}
            elif "done" in entry:
                if entry["step"] in found:
                    found[entry["step"]] |= {"trashed": entry["trashed"], "done": True}
            else:
                found.pop(entry["undone"], None)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"line {number} is not one that act wrote to its journal: {line[:60]!r}"
            ) from error
        understood += 1
    if lines and not understood:
        raise ValueError(f"{os.fspath(path)} is not a journal that act wrote")
    return found


_FACTS = {"step": str, "begun": str, "key": str, "kept": str, "digest": str, "aside": str, "mtime_ns": int,
          "mode": int, "owner": list, "attributes": dict}  # fmt: skip


def _refuse_strange(entry: dict[str, Any]) -> None:
    """`TypeError` or `KeyError` for a line that does not say what one that begins a step says."""
    if any(type(entry[name]) is not kind for name, kind in _FACTS.items()):
        raise TypeError("a fact of another type")
    texts = [*entry["attributes"].values(), *entry["attributes"]]
    if [type(one) for one in entry["owner"]] != [int, int] or any(type(one) is not str for one in texts):
        raise TypeError("an owner or attributes of another type")


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
