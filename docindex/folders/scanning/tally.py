"""Count what a scan finds, while it runs: `ScanTally`.

Takes the records of files; holds counts, and the keys of files that a person should know of. Must never ask
the system or the index.
"""

import dataclasses
from typing import NamedTuple

from docindex.folders.walking.walk import Skipped
from docindex.storage.tracked_files import BINARY, CONTAINER, PLAIN_READINGS, TEXT, UNDETECTED, Tracked


class UnreadFormat(NamedTuple):
    """A file in a known format whose text could not be read."""

    key: str
    format: str
    """The name of the front end, such as "pdf"; "" if no front end could be asked."""
    reason: str
    """"encrypted", "damaged", "no text", "too large", "too slow", "too much work" or "not installed"."""


@dataclasses.dataclass(slots=True)
class ScanTally:
    """The counts of a scan while it runs, for all its roots."""

    unchanged: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    texts: int = 0
    binaries: int = 0
    bytes: int = 0
    bytes_read: int = 0
    skipped: Skipped = dataclasses.field(default_factory=Skipped)
    guessed: dict[str, str] = dataclasses.field(default_factory=dict)
    undetected: list[str] = dataclasses.field(default_factory=list)
    unread: list[UnreadFormat] = dataclasses.field(default_factory=list)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    seen: set[str] = dataclasses.field(default_factory=set)

    def count(self, file: Tracked) -> None:
        """Count a file that exists."""
        self.bytes += file.size
        if file.kind in (TEXT, CONTAINER):
            self.texts += 1
        else:
            self.binaries += 1
        if file.kind == UNDETECTED:
            self.undetected.append(file.key)
        elif file.kind not in (TEXT, CONTAINER, BINARY):
            asked = "" if file.reading in PLAIN_READINGS else file.reading.rpartition("-")[0]
            self.unread.append(UnreadFormat(file.key, asked, file.kind))
        if file.problem:
            self.problems[file.key] = file.problem
