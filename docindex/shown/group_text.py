"""Groups of copies and similar texts as lines for a person.

A group is a heading with what its removal frees, and one line for each file. The lines of the files that are
kept begin with "keep".
"""

from collections.abc import Iterable

from docindex.folders import CopyGroup, FolderGroup, LikenessGroup
from docindex.shown.group_records import KIND_HEADINGS
from docindex.shown.paths import display_path
from docindex.shown.wording import one_line, percent, several, size


def group_lines(group: FolderGroup | CopyGroup | LikenessGroup, below: str) -> Iterable[str]:
    """The lines of a group. Paths that begin with `below` are shown without it."""
    if isinstance(group, FolderGroup):
        return _folder_lines(group, below)
    return _copy_lines(group, below) if isinstance(group, CopyGroup) else _likeness_lines(group, below)


def _folder_lines(group: FolderGroup, below: str) -> Iterable[str]:
    folder, kept = display_path(group.folder, below), display_path(group.kept, below)
    exact = "an exact copy" if group.is_exact else "a copy"
    differing = several(group.differing, "file")
    others = [
        f"{differing} {'differs' if group.differing == 1 else 'differ'}" if group.differing else "",
        f"{group.only_here:,} only in the copied folder" if group.only_here else "",
        f"{group.only_in_kept:,} only in the kept folder" if group.only_in_kept else "",
        one_line(group.remark),
    ]
    found = f"{several(len(group.copies), 'file')}, {size(group.size)}"
    remarks = ", ".join(filter(None, others))
    yield f"{folder} is {exact} of {kept}: {found}{'; ' if remarks else ''}{remarks}"
    yield f"  keep  {kept}"
    yield f"  {'keep' if group.keep else '':4}  {folder}"
    yield from _reason_lines(group.reason)


def _copy_lines(group: CopyGroup, below: str) -> Iterable[str]:
    count, each = several(len(group.files), "file"), size(group.files[0].size)
    others = len(group.others)
    removed, freed = "one" if others == 1 else f"{others:,}", size(group.reclaimable)
    outcome = f"removing {removed} frees {freed}" if others else "all stay"
    yield f"{KIND_HEADINGS[group.kind]}: {count} of {each}; {outcome}"
    for file in group.files:
        remark = f" ({group.remark(file)})" if group.remark(file) else ""
        yield f"  {'keep' if file.keep else '':4}  {display_path(file.key, below)}{remark}"
    yield from _reason_lines(group.reason)


def _reason_lines(reason: str) -> Iterable[str]:
    if reason:
        yield f"  kept: {one_line(reason)}"


def _likeness_lines(group: LikenessGroup, below: str) -> Iterable[str]:
    count = several(len(group.files), "file")
    # Documents inside a file have no size of their own.
    freed = f"; removing all but the largest frees {size(group.reclaimable)}" if group.reclaimable else ""
    yield f"{KIND_HEADINGS[group.kind]}: {count}{freed}"
    for file in group.files:
        yield f"  {percent(file.share) if file.like else '':>4}  {display_path(file.key, below)}"
