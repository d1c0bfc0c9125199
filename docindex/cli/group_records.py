"""Groups of copies, similar texts and lists of files as JSON objects, and their headings for a person."""

from typing import Any

from docindex.folders import CopyGroup, FileList, FolderGroup, LikenessGroup

KIND_HEADINGS = {
    "folder": "copied folders",
    "exact": "exact copies",
    "same words": "the same words",
    "near": "near copies",
    "contained": "contained in another",
    "empty": "empty files and folders",
    "broken link": "links that lead nowhere",
    "big": "the largest files",
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


def list_record(found: FileList) -> dict[str, Any]:
    """A list of files as a JSON object."""
    return {"kind": found.kind, "files": [file._asdict() for file in found.files]}
