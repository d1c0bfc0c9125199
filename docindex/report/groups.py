"""The groups of files that a page lists. Holds values only."""

import dataclasses
from collections.abc import Sequence

from docindex.folders import CopyGroup, Findings, FolderGroup, LikeFile, LikenessGroup
from docindex.folders.planning.local_times import changed_at
from docindex.folders.walking.path_keys import path_of
from docindex.frontends.isolated.extractor import Extractor
from docindex.report.thumbnails import thumbnail
from docindex.shown.group_records import KIND_HEADINGS
from docindex.shown.wording import percent, several, size


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
            groups.append(_of_copies(copies, picture))
    return [*groups, *map(_of_likeness, found.likenesses)]


def _of_folder(group: FolderGroup) -> ReportGroup:
    stays = [
        f"{several(group.differing, 'file')} with other contents" if group.differing else "",
        f"{several(group.only_here, 'file')} that only the copy has" if group.only_here else "",
    ]
    also = " and ".join(filter(None, stays))
    count = len(group.copies)
    summary = f"{several(count, 'file')} {'is' if count == 1 else 'are'} in both; "
    freed = 0 if group.keep else group.reclaimable
    copies = "copy" if count == 1 else "copies"
    summary += "both folders stay" if group.keep else f"removing the {copies} frees {size(freed)}"
    if group.remark:
        summary += f" ({group.remark})"
    if also:
        summary += f". It also has {also}, which stay"
    if group.only_in_kept:
        summary += f". Only the kept folder has {several(group.only_in_kept, 'file')}"
    folders = (
        ReportFile(group.kept, group.size, keep=True),
        ReportFile(group.folder, group.size, keep=group.keep),
    )
    listed = [_planned(each, stay=group.keep) for each in group.copies]
    return ReportGroup(KIND_HEADINGS["folder"], folders, freed, f"{summary}.", group.reason, listed)


def _of_copies(group: CopyGroup, picture: str) -> ReportGroup:
    others = len(group.others)
    outcome = f"removing {'one' if others == 1 else f'{others:,}'} frees {size(group.reclaimable)}"
    count = f"{several(len(group.files), 'file')} of {size(group.files[0].size)}"
    summary = f"{count}; {outcome if others else 'all stay'}."
    files = _planned(group)
    return ReportGroup(KIND_HEADINGS["exact"], files, group.reclaimable, summary, group.reason, (), picture)


def _of_likeness(group: LikenessGroup) -> ReportGroup:
    files = [
        ReportFile(file.key, file.size, _likeness_note(group, file), changed_at(file.key))
        for file in group.files
    ]
    return ReportGroup(KIND_HEADINGS[group.kind], files, group.reclaimable)


def _likeness_note(group: LikenessGroup, file: LikeFile) -> str:
    if not file.like:
        return ""
    other = "the first file" if file.like == group.files[0].key else "another file here"
    if group.kind == "contained":
        return f"{percent(file.share)} of its text is in {other}"
    return f"{percent(file.share)} like {other}"


def _planned(group: CopyGroup, *, stay: bool = False) -> list[ReportFile]:
    return [
        ReportFile(
            file.key,
            file.size,
            group.remark(file),
            changed_at(file.key) if file.mtime_ns == -1 else file.mtime_ns,
            stay or file.keep,
        )
        for file in group.files
    ]
