"""Sum up the space of files that could go: by kind of file, by folder and by age.

Takes the files of a report, and returns rows for a chart. Must never open a file.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from docindex.folders.walking.file_kinds import media_counts
from docindex.report.groups import ReportFile

_ROWS = 12
"""Rows of a chart. The smallest folders are summed up in the last row."""

_MEDIA = {"photo": "photos and pictures", "song": "music", "video": "videos"}
_DOCUMENTS = frozenset(
    "txt md rst pdf doc docx odt rtf tex epub htm html xls xlsx ods csv ppt pptx odp eml msg".split()  # noqa: SIM905 - shorter
)
_ARCHIVES = frozenset(("zip", "tar", "gz", "tgz", "xz", "7z", "rar", "iso", "img"))

_DAY_NS = 86_400 * 10**9
_AGES = (
    (30, "less than a month"),
    (365, "a month to a year"),
    (2 * 365, "1 to 2 years"),
    (5 * 365, "2 to 5 years"),
    (10 * 365, "5 to 10 years"),
)


class SpaceRow(NamedTuple):
    """A row of a chart."""

    label: str
    bytes: int
    files: int


def space_by_kind(files: Iterable[ReportFile]) -> list[SpaceRow]:
    """The space by kind of file, the largest first.

    >>> space_by_kind([ReportFile("/a/b.jpg", 5), ReportFile("/a/c", 1), ReportFile("/a/d.JPG", 2)])
    [SpaceRow(label='photos and pictures', bytes=7, files=2), SpaceRow(label='other files', bytes=1, files=1)]
    """
    return _largest_first(_sums(files, _kind))


def space_by_folder(files: Iterable[ReportFile], names: Mapping[str, str]) -> list[SpaceRow]:
    """The space by the outermost folder of the name that a page shows, the largest first."""
    rows = _largest_first(_sums(files, lambda file: _folder(names[file.key])))
    if len(rows) <= _ROWS:
        return rows
    rest = rows[_ROWS - 1 :]
    others = SpaceRow(
        f"{len(rest):,} other folders", sum(row.bytes for row in rest), sum(row.files for row in rest)
    )
    return [*rows[: _ROWS - 1], others]


def space_by_age(files: Iterable[ReportFile], now_ns: int | None = None) -> list[SpaceRow]:
    """The space by the time since the last change, the youngest first; ages without a file are left out."""
    now = time.time_ns() if now_ns is None else now_ns
    sums = _sums(files, lambda file: _age(now - file.mtime_ns) if file.mtime_ns != -1 else "unknown")
    order = [*(label for _, label in _AGES), "more than 10 years", "unknown"]
    return [sums[label] for label in order if label in sums]


def _sums(files: Iterable[ReportFile], label_of: Callable[[ReportFile], str]) -> dict[str, SpaceRow]:
    sums: dict[str, SpaceRow] = {}
    for file in files:
        label = label_of(file)
        _, size, count = sums.get(label, SpaceRow(label, 0, 0))
        sums[label] = SpaceRow(label, size + file.size, count + 1)
    return sums


def _largest_first(sums: Mapping[str, SpaceRow]) -> list[SpaceRow]:
    return sorted(sums.values(), key=lambda row: (-row.bytes, row.label))


def _kind(file: ReportFile) -> str:
    if media := media_counts([file.key.encode()]):
        return _MEDIA[next(iter(media))]
    extension = file.key.rpartition("/")[2].rpartition(".")[2].lower()
    if extension in _DOCUMENTS:
        return "documents"
    return "archives and disk images" if extension in _ARCHIVES else "other files"


def _folder(name: str) -> str:
    parts = name.split("/")[:-1]
    # The folder that was scanned has a number instead of its path.
    depth = 2 if parts and parts[0].startswith("folder ") and len(parts) > 1 else 1
    return "/".join(parts[:depth]) or "not in a folder"


def _age(age_ns: int) -> str:
    return next((label for days, label in _AGES if age_ns < days * _DAY_NS), "more than 10 years")
