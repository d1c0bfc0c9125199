"""Groups of copies and similar texts as JSON objects and as rows, and their headings for a person."""

from collections.abc import Iterable, Iterator
from typing import Any

from docindex.folders import CopyGroup, FolderGroup, LikenessGroup

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
