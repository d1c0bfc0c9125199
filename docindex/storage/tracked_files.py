"""The record of a file that a scan has seen.

Kept apart from `rows.files`, which stores records, so that a search without an index need not import numpy.
"""

from typing import NamedTuple

TEXT, BINARY, UNDETECTED, CONTAINER = "text", "binary", "undetected", "container"

NOT_ASKED, NO_DOCUMENT, NO_ARCHIVE = "", "none-1", "none-2"
"""The readings of plain text and binary files: no front end was asked, those of documents were, or those of
archives, too."""

PLAIN_READINGS = frozenset((NOT_ASKED, NO_DOCUMENT, NO_ARCHIVE))


class Tracked(NamedTuple):  # a scan makes one for each file, and a dataclass takes longer
    """A file as it was when a scan last looked at it."""

    key: str
    """The path of the file as a key; see `docindex.folders.walking.path_keys`."""
    size: int
    mtime_ns: int
    """When the file was changed; -1 if another change might leave this time the same."""
    ctime_ns: int
    """When the bytes or the status were changed, which no program can set; on Windows when it was made."""
    device: int
    inode: int
    kind: str
    """"text" for a file that has a document, "container" for one that has only documents inside it, and
    "binary" for a file in no format that was read. Otherwise why it
    has no document: "undetected" for text in an encoding that was not detected, or the reason of
    `NotExtracted`."""
    reading: str
    """The name and version of the front end that was asked; NOT_ASKED, NO_DOCUMENT or NO_ARCHIVE for plain
    text and for binary files."""
    parts: int
    """The number of documents inside the file. Their keys begin with that of the file and ``!/``."""
    problem: str
    """What could not be read in the file, in sentences for a person; "" if all was read."""
    digest: bytes | None
    """The xxh3-128 of the file's bytes; None for a binary file until another file has the same size."""
