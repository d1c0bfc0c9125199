"""Groups of copies and similar texts as JSON objects and as rows, and their headings for a person."""

from collections.abc import Iterable, Iterator
from typing import Any

from docindex.folders import CopyGroup, FolderGroup, LikenessGroup
from docindex.shown.paths import display_path
from docindex.shown.wording import one_line, percent, several, size

KIND_HEADINGS = {
    "folder": "copied folders",
    "exact": "exact copies",
    "same words": "the same words",
    "near": "near copies",
    "contained": "contained in another",
}


def group_record(group: FolderGroup | CopyGroup | LikenessGroup) -> dict[str, Any]:
    """A group as a JSON object. Only copied folders and files of exact copies have `keep`."""
    files: list[dict[str, Any]]
    about: dict[str, Any] = {}
    if isinstance(group, FolderGroup):
        files = [
            {"key": file.key, "keep": file.keep, "size": file.size}
            for copies in group.copies
            for file in copies.files
        ]
        facts = ("folder", "kept", "differing", "only_here", "only_in_kept", "reason", "keep", "other_disk")
        about = {name: getattr(group, name) for name in (*facts, "not_compared")}
    elif isinstance(group, CopyGroup):
        files = [{"key": file.key, "keep": file.keep, "size": file.size} for file in group.files]
        about = {"reason": group.reason, "other_disk": group.other_disk}
    else:
        files = [
            {"key": file.key, "share": file.share, "like": file.like, "size": file.size}
            for file in group.files
        ]
    return {"kind": group.kind, "reclaimable": group.reclaimable, **about, "files": files}


def group_rows(groups: Iterable[FolderGroup | CopyGroup | LikenessGroup]) -> Iterator[dict[str, Any]]:
    """A row of a table for each file of some groups, which are numbered."""
    for number, group in enumerate(groups, 1):
        record = group_record(group)
        for file in record["files"]:
            yield {
                "group": number,
                "kind": record["kind"],
                "keep": str(file.get("keep", "")).lower(),
                "size": file["size"],
                "path": file["key"],
                "share": file.get("share", ""),
                "like": file.get("like") or "",
                "reason": record.get("reason", ""),
            }


# Groups of copies and similar texts as lines for a person.
#
# A group is a heading with what its removal frees, and one line for each file. The lines of the files that
# are kept begin with "keep".


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
