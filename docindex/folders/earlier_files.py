"""Know the files of earlier scans: what the index noted of them, and which are read again: `EarlierFiles`.

Takes the records of the files under a root; answers questions about them. Must never open a file.
"""

import dataclasses
from collections.abc import Iterable

from docindex.folders.file_changes import is_outdated, may_be_decoded_otherwise, reads_less
from docindex.folders.walk import WalkOptions
from docindex.storage.tracked_files import Tracked


@dataclasses.dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How to find and read files."""

    options: WalkOptions
    encoding: str | None
    workers: int | None


class EarlierFiles:
    """The files that the index knows under a root."""

    def __init__(self, files: Iterable[Tracked], reading: ReadingOptions) -> None:
        self.by_key = {file.key: file for file in files}
        self.reading = reading

    def is_read_again(self, file: Tracked) -> bool:
        """Whether a known file is read even if it is unchanged.

        If the caller forces an encoding, a file that may declare none is. So is a file that another front end
        would read, and one that was not read as a whole if the caller wants to try again. A file that only an
        earlier scan could read, because it also read archives or other formats, keeps its documents.
        """
        if reads_less(file, self.reading.options.formats):
            return False
        is_forced = self.reading.encoding is not None and may_be_decoded_otherwise(file)
        is_retried = self.reading.options.retry and file.problem != ""
        return is_forced or is_retried or is_outdated(file, self.reading.options.formats)

    def was_read(self, key: str) -> bool:
        """Whether an earlier scan read a file. A scan that is stopped may only have announced it."""
        return self.read_before(key) is not None

    def read_before(self, key: str) -> Tracked | None:
        """What an earlier scan that read a file noted of it; None if no scan has read it."""
        known = self.by_key.get(key)
        return None if known is None or known.inode == 0 else known
