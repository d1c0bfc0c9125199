"""Groups of exact copies, with the files to keep; and folders that are copies of other folders.

Holds values only. Must never import what a search for exact copies does not need, such as json or the index.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from docindex.storage.tracked_files import Tracked

ON_ANOTHER_DISK = "on another disk"
"""The remark for a copy that is kept because it is on another disk: it may be a backup."""


class ExactCopies(NamedTuple):
    """Two or more files with the same bytes."""

    size: int
    digest: bytes
    files: tuple[Tracked, ...]

    @property
    def reclaimable(self) -> int:
        """The bytes that are freed if only one file is kept. Hard links to a file take no extra space."""
        return self.size * (len({(file.device, file.inode) for file in self.files}) - 1)


def listed_keys(keys: Sequence[str]) -> str:
    """The keys of a few files, for a message.

    >>> listed_keys(["/a", "/b", "/c", "/d"])
    '/a, /b and 2 more'
    """
    if len(keys) > 3:
        return f"{', '.join(keys[:2])} and {len(keys) - 2:,} more"
    return ", ".join(keys)


class PlannedFile(NamedTuple):
    """A file of a group of exact copies."""

    key: str
    keep: bool
    size: int
    mtime_ns: int
    """The time of the last change; -1 if that was too recent to trust."""
    device: int = 0
    inode: int = 0
    """The device and the inode of the file; 0 if they are not known. `act` leaves a file that has others."""
    real: str = ""
    """The key without links, if a link leads to the folder that was searched. `act` follows no link."""

    @property
    def identity(self) -> tuple[int, int]:
        """The device and the inode of the file."""
        return self.device, self.inode


class CopyGroup(NamedTuple):
    """Files with the same bytes. At least one of them is kept."""

    files: tuple[PlannedFile, ...]
    digest: str
    """The xxh3-128 of the bytes, in hexadecimal."""
    reclaimable: int
    """The bytes that are freed if the other files are removed. A hole in a sparse file frees nothing."""
    reason: str = ""
    """Why the first kept file is kept, for example "not in Downloads"; "" if nobody said why."""
    other_disk: tuple[str, ...] = ()
    """The keys of the files that are kept because they are on another disk than the file to keep."""

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

    def remark(self, file: PlannedFile) -> str:
        """A remark for a person, if the file is kept because it is on another disk; otherwise ""."""
        return ON_ANOTHER_DISK if file.keep and file.key in self.other_disk else ""


class FolderGroup(NamedTuple):
    """A folder that is a copy of another folder, exactly or nearly. The other folder is kept.

    The copied files in the folder are removed one by one, each compared with a kept file. Files that differ,
    or are only in this folder, stay. Nothing that the search left out is compared or removed.
    """

    folder: str
    """The key of the folder whose copied files are removed."""
    kept: str
    """The key of the folder that is kept."""
    copies: tuple[CopyGroup, ...]
    """One group for each copied file in the folder: the file, and the files with the same bytes that stay."""
    differing: int
    """How many other files have the path of a file in the kept folder, and other bytes."""
    only_here: int
    """How many other files the kept folder has not."""
    only_in_kept: int
    """How many files of the kept folder this folder has not."""
    reason: str = ""
    """Why the kept folder is kept, for example "not in backup"."""
    keep: bool = False
    """True to keep this folder as well; then `act` leaves it as it is. A search proposes that if parts of the
    folder were not compared, or if it is on another disk."""
    other_disk: bool = False
    """Whether files of the folder are on another disk than all copies that stay."""
    unseen: tuple[str, ...] = ()
    """The keys of what was not compared in both folders, for example hidden files, links and ``.git``."""
    empty_folders: tuple[str, ...] = ()
    """The keys of the empty folders that may go with either folder. Those of a folder with unseen
    parts are left out."""

    @property
    def kind(self) -> Literal["folder"]:
        """The kind of group, like `LikenessGroup.kind`."""
        return "folder"

    @property
    def is_exact(self) -> bool:
        """Whether the kept folder has the same files, and nothing in this folder was left out."""
        return not (self.differing or self.only_here or self.only_in_kept or self.not_compared)

    @property
    def not_compared(self) -> list[str]:
        """What was not compared in this folder, as paths below it."""
        below = f"{self.folder.rstrip('/')}/"
        return [key[len(below) :] for key in self.unseen if key.startswith(below)]

    @property
    def remark(self) -> str:
        """Why the folder is kept although it is a copy, for a person; "" without a reason."""
        unseen = f"not compared: {listed_keys(self.not_compared)}" if self.not_compared else ""
        return "; ".join(filter(None, (ON_ANOTHER_DISK if self.other_disk else "", unseen)))

    @property
    def size(self) -> int:
        """The size of the copied files."""
        return sum(group.files[-1].size for group in self.copies)

    @property
    def reclaimable(self) -> int:
        """The bytes that are freed if the copied files in the folder are removed."""
        return sum(group.reclaimable for group in self.copies)
