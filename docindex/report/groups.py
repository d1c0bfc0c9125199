"""The groups of files that a page lists. Holds values only."""

import base64
import contextlib
import dataclasses
import os
import struct
from collections.abc import Sequence
from typing import Any

from docindex.folders import CopyGroup, Findings, FolderGroup, LikeFile, LikenessGroup
from docindex.folders.walking.file_reader import NotReadable, read_bytes
from docindex.folders.walking.path_keys import path_of
from docindex.frontends.failures import NotExtracted
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.picture import FRONT_END
from docindex.shown.groups import (
    KIND_HEADINGS,
    Group,
    copy_of,
    freed_by,
    freed_by_file,
    group_remarks,
    group_summary,
)
from docindex.shown.wording import percent


def changed_at(key: str) -> int:
    """When a file or a folder was changed last, in nanoseconds since 1970; -1 if that cannot be read."""
    try:
        return os.stat(path_of(key)).st_mtime_ns
    except (OSError, ValueError):
        return -1


# Show small images of picture files on a page, as data URLs.
#
# Takes paths, and returns URLs. With Pillow, a picture is made small, in the process that extracts texts;
# without it, only a small file is shown as it is. Only JPEG, PNG, GIF and WebP are shown, which can hold no
# scripts. Must never read or embed more bytes than the limits below, decode a picture in this process, or
# fail for a damaged one.

_MOST_UNSCALED = 4_000_000
"""Pixels of a picture that a browser makes small."""

_EMBEDDED = 24_000
"""Bytes of an image on the page."""

_FORMATS = {b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n\x1a\n": "png", b"GIF8": "gif"}


def thumbnail(path: bytes, extractor: Extractor) -> str:
    """The data URL of a small image; "" if the file is no such picture, or too large, or cannot be read."""
    data = _picture(path)
    if data is None:
        return ""
    kind = _kind_of(data)
    if (small := _scaled(data, extractor)) is not None:
        return small
    width, height = _dimensions(data, kind)
    return _url(data, kind) if len(data) <= _EMBEDDED and 0 < width * height <= _MOST_UNSCALED else ""


def _picture(path: bytes) -> bytes | None:
    """The bytes of a picture file."""
    try:
        if os.stat(path).st_size > FRONT_END.most_bytes:
            return None
        return read_bytes(path, lambda head: _kind_of(head) != "")[1]
    except (NotReadable, OSError, ValueError):
        return None


def _kind_of(head: bytes) -> str:
    """The format of a picture by its first bytes; "" for any other file."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":  # songs and videos begin with RIFF, too
        return "webp"
    return next((name for start, name in _FORMATS.items() if head.startswith(start)), "")


def _scaled(data: bytes, extractor: Extractor) -> str | None:
    """The data URL that Pillow makes; "" for a picture that it cannot read, None without Pillow."""
    try:
        (small,) = extractor.extract(Source(data, format=FRONT_END.name)).parts
    except NotExtracted as error:
        return None if error.reason == "not installed" else ""
    return _url(small.data, "jpeg") if len(small.data) <= _EMBEDDED else ""


def _dimensions(data: bytes, kind: str) -> tuple[int, int]:
    """The width and the height that the header of a picture names; zeros if it names none."""
    with contextlib.suppress(struct.error):
        if kind == "png":
            return struct.unpack_from(">II", data, 16)
        if kind == "gif":
            return struct.unpack_from("<HH", data, 6)
        if kind == "jpeg":
            return _jpeg_dimensions(data)
    return 0, 0


def _jpeg_dimensions(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        marker, code, length = struct.unpack_from(">BBH", data, at)
        if marker != 0xFF or length < 2:
            return 0, 0
        if 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length


def _url(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


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
    freed: int = 0
    """The bytes that are freed if it goes."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReportGroup:
    """A group of files as the page lists it."""

    kind: str
    files: Sequence[ReportFile]
    bytes: int
    """The bytes that are freed if all its files but the kept or the largest one are removed."""
    summary: str = ""
    """How much the group has, and what its removal frees."""
    remarks: Sequence[str] = ()
    """Why the kept file is kept, and what else the folders have."""
    copy_of: str = ""
    """What stands between the names of a copied folder and the kept one."""
    contents: Sequence[Sequence[ReportFile]] = ()
    """For a copied folder, the groups of copied files in it."""
    picture: str = ""
    """The data URL of a small image of the files. May be empty."""

    @property
    def going(self) -> list[ReportFile]:
        """The files that could go."""
        copies = self.contents or (self.files,)
        return [file for files in copies for file in files if file.keep is False]


# Groups of copies and similar texts as the page of ``docindex report`` lists them.

_PICTURES = 200
"""The most groups with a small image, so that all images take less than 7 MB of a page."""

_TRIED = 1000
"""The groups whose kept file is opened to see whether it is a picture: those that free the most."""


def report_groups(found: Findings) -> list[ReportGroup]:
    """The groups for a page: copied folders, exact copies with small images, and similar texts."""
    groups = [_of_folder(group) for group in found.folders]
    pictures = 0
    with Extractor() as extractor:  # its process starts when the first picture is met
        for number, copies in enumerate(found.copies):
            picture = ""
            if pictures < _PICTURES and number < _TRIED:
                picture = thumbnail(path_of(copies.kept[0].key), extractor)
                pictures += bool(picture)
            groups.append(_shown(copies, _planned(copies), picture=picture))
    return [*groups, *map(_of_likeness, found.likenesses)]


def _of_folder(group: FolderGroup) -> ReportGroup:
    folders = (
        ReportFile(group.kept, group.size, keep=True),
        ReportFile(group.folder, group.size, keep=group.keep),
    )
    listed = [_planned(each, stay=group.keep) for each in group.copies]
    return _shown(group, folders, copy_of=copy_of(group), contents=listed)


def _of_likeness(group: LikenessGroup) -> ReportGroup:
    files = [
        ReportFile(file.key, file.size, _likeness_note(group, file), changed_at(file.key))
        for file in group.files
    ]
    return _shown(group, files)


def _shown(group: Group, files: Sequence[ReportFile], **others: Any) -> ReportGroup:
    words = group_summary(group), tuple(group_remarks(group))
    return ReportGroup(KIND_HEADINGS[group.kind], files, freed_by(group), *words, **others)


def _likeness_note(group: LikenessGroup, file: LikeFile) -> str:
    if not file.like:
        return ""
    other = "the first file" if file.like == group.files[0].key else "another file here"
    if group.kind == "contained":
        return f"{percent(file.share)} of its text is in {other}"
    return f"{percent(file.share)} like {other}"


def _planned(group: CopyGroup, *, stay: bool = False) -> list[ReportFile]:
    freed = {file.key: count for file, count in freed_by_file(group)}
    return [
        ReportFile(
            file.key,
            file.size,
            group.remark(file),
            changed_at(file.key) if file.mtime_ns == -1 else file.mtime_ns,
            stay or file.keep,
            freed.get(file.key, 0),
        )
        for file in group.files
    ]
