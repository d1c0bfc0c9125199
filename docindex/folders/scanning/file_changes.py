"""Decide whether a file is the one that an earlier scan noted: unchanged, changed, or moved.

Compares size, times, inode and device, and the digest if these are not enough. Must never call a file
unchanged if its time is too recent to trust.
"""

import dataclasses
from collections.abc import Iterable

from docindex.folders.scanning.file_content import FileContent
from docindex.folders.walking.file_reader import NotReadable, digest_of, trusted_time
from docindex.folders.walking.path_keys import path_of
from docindex.folders.walking.walk import Formats, WalkedFile, WalkOptions
from docindex.frontends.recognition import by_extension, is_archive, named
from docindex.storage.tracked_files import (
    BINARY,
    NO_ARCHIVE,
    NO_DOCUMENT,
    PLAIN_READINGS,
    TEXT,
    UNDETECTED,
    Tracked,
)

_LONGEST_PROBLEM = 1000


def tracked_file(key: str, content: FileContent, began_ns: int) -> Tracked:
    """The record that the index keeps of a file that was read.

    Its time is -1 if the file was changed shortly before `began_ns`, the time when reading began.
    """
    status = content.status
    time_ns = trusted_time(status.st_mtime_ns, began_ns)
    problem = _storable(content.problem) if content.problem else ""
    facts = content.kind, content.reading, len(content.parts), problem, content.digest
    return Tracked(key, status.st_size, time_ns, status.st_ctime_ns, status.st_dev, status.st_ino, *facts)


def _storable(problem: str) -> str:
    """Sentences that can be stored. They may quote a damaged file."""
    return problem[:_LONGEST_PROBLEM].replace("\0", " ").encode("utf-8", "backslashreplace").decode()


def is_unchanged(known: Tracked, found: WalkedFile) -> bool:
    """Whether a file has the size, times, inode and device that the index noted."""
    status = found.status
    return (
        known.mtime_ns == status.st_mtime_ns
        and known.ctime_ns == status.st_ctime_ns
        and known.size == status.st_size
        and known.inode == status.st_ino
        and known.device == status.st_dev
    )


def has_same_bytes(known: Tracked, found: WalkedFile) -> bool:
    """Whether only the status of a file was changed, for example its name or its mode. Reads the file.

    A program can change the bytes of a file and set its time back, but not the time of its status.
    """
    same_status = known._replace(ctime_ns=found.status.st_ctime_ns)
    if known.digest is None or not is_unchanged(same_status, found):
        return False
    try:
        return digest_of(found.path, known.size, known.mtime_ns) == known.digest
    except NotReadable:
        return False


def is_outdated(file: Tracked, formats: Formats) -> bool:
    """Whether a front end that no scan has asked yet, or a newer one, would read an unchanged file."""
    if formats == "plain":
        return False
    archives = formats == "archives"
    if file.reading in PLAIN_READINGS:
        asked = NO_ARCHIVE if archives else NO_DOCUMENT
        return file.reading < asked or by_extension(file.key, archives=archives) is not None
    front_end = named(file.reading.rpartition("-")[0])
    if front_end is None:
        return False
    if file.kind == "not installed":
        return front_end.is_installed
    return file.reading != front_end.reading


def reads_less(file: Tracked, formats: Formats) -> bool:
    """Whether a scan of these formats finds less in an unchanged file than the scan that read it."""
    front_end = None if file.reading in PLAIN_READINGS else named(file.reading.rpartition("-")[0])
    if front_end is None or formats == "archives":
        return False
    if formats == "plain":
        return bool(file.parts) or not front_end.is_text
    return is_archive(front_end)


def keeps_documents(known: Tracked, content: FileContent, formats: Formats) -> bool:
    """Whether a file that was read again has the bytes in which an earlier scan found more than this one."""
    status = content.status
    if not reads_less(known, formats) or known.size != status.st_size or known.digest is None:
        return False
    try:
        digest = content.digest or digest_of(path_of(known.key), known.size, status.st_mtime_ns)
    except NotReadable:
        return False
    return digest == known.digest


def with_documents_of(known: Tracked, file: Tracked) -> Tracked:
    """The new record of a file that keeps its documents."""
    return known._replace(
        mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, device=file.device, inode=file.inode
    )


def may_be_decoded_otherwise(file: Tracked) -> bool:
    """Whether the text of a file, or of a document inside it, may depend on the encoding of a scan."""
    if file.kind == UNDETECTED or file.parts:
        return True
    front_end = None if file.reading in PLAIN_READINGS else named(file.reading.rpartition("-")[0])
    return file.kind == TEXT and (front_end is None or front_end.is_text)


def has_changed(known: Tracked, file: Tracked) -> bool:
    """Whether a file that was read again differs from what the index noted."""
    if known.digest and file.digest:
        return known.digest != file.digest
    if known.digest and known.ctime_ns != file.ctime_ns:
        return True  # `has_same_bytes` has compared them
    # Bytes that were never compared count as unchanged, also if the noted time was too recent to trust.
    facts = known.mtime_ns in (-1, file.mtime_ns), known.size, known.inode
    return facts != (True, file.size, file.inode)


def is_same_file(file: Tracked, found: WalkedFile) -> bool:
    """Whether a file at another path is a known file that was moved.

    The caller has checked that size, inode and device are the same.
    """
    if file.kind == BINARY or file.digest is None:
        return file.mtime_ns == found.status.st_mtime_ns
    try:
        # The system may give the inode of a removed file to a new file, and even the times may agree.
        return digest_of(found.path, file.size, file.mtime_ns) == file.digest
    except NotReadable:
        return False


# Know the files of earlier scans: what the index noted of them, and which are read again: `EarlierFiles`.
#
# Takes the records of the files under a root; answers questions about them. Must never open a file.


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
