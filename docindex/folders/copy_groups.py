"""Groups of exact copies, with the files to keep.

Holds values only. Must never import what a search for exact copies does not need, such as json or the index.
"""

from typing import Literal, NamedTuple


class PlannedFile(NamedTuple):
    """A file of a group of exact copies."""

    key: str
    keep: bool
    size: int
    mtime_ns: int
    """The time of the last change; -1 if that was too recent to trust."""


class CopyGroup(NamedTuple):
    """Files with the same bytes. At least one of them is kept."""

    files: tuple[PlannedFile, ...]
    digest: str
    """The xxh3-128 of the bytes, in hexadecimal."""
    reclaimable: int
    """The bytes that are freed if the other files are removed."""

    @property
    def kind(self) -> Literal["exact"]:
        """The kind of group, like `LikenessGroup.kind`."""
        return "exact"

    @property
    def kept(self) -> list[PlannedFile]:
        """The files that stay."""
        return [file for file in self.files if file.keep]

    @property
    def others(self) -> list[PlannedFile]:
        """The files that `act` removes or links."""
        return [file for file in self.files if not file.keep]
