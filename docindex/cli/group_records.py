"""Groups of copies and similar texts as JSON objects, and the headings under which a person sees them."""

from typing import Any

from docindex.folders import CopyGroup, LikenessGroup

KIND_HEADINGS = {
    "exact": "exact copies",
    "same words": "the same words",
    "near": "near copies",
    "contained": "contained in another",
}


def group_record(group: CopyGroup | LikenessGroup) -> dict[str, Any]:
    """A group as a JSON object. Only files of exact copies have `keep`."""
    files: list[dict[str, Any]]
    if isinstance(group, CopyGroup):
        files = [{"key": file.key, "keep": file.keep, "size": file.size} for file in group.files]
    else:
        files = [
            {"key": file.key, "share": file.share, "like": file.like, "size": file.size}
            for file in group.files
        ]
    return {"kind": group.kind, "reclaimable": group.reclaimable, "files": files}
