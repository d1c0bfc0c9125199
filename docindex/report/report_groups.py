"""The groups of files that a page lists. Holds values only."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class ReportFile:
    """A file or a folder of a group."""

    key: str
    size: int
    note: str = ""
    """A remark that the page shows after the name of the file. May be empty."""
    mtime_ns: int = -1
    """The time of the last change in nanoseconds since 1970; -1 if it is not known."""
    keep: bool | None = None
    """Whether the file is kept; None if nobody proposes anything."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReportGroup:
    """A group of files as the page lists it."""

    kind: str
    files: Sequence[ReportFile]
    bytes: int
    """The bytes that are freed if all its files but the kept or the largest one are removed."""
    summary: str = ""
    """A sentence about the group; without it, the page counts the files."""
    reason: str = ""
    """Why the kept file is kept. May be empty."""
    contents: Sequence[Sequence[ReportFile]] = ()
    """For a copied folder, the groups of copied files in it."""
    picture: str = ""
    """The data URL of a small image of the files. May be empty."""

    @property
    def going(self) -> list[ReportFile]:
        """The files that could go."""
        copies = self.contents or (self.files,)
        return [file for files in copies for file in files if file.keep is False]
