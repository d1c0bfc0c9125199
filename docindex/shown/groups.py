"""Groups of copies and similar texts as JSON objects, as rows, and as lines for a person; and their sums."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from docindex.folders import CopyGroup, Findings, FolderGroup, LikenessGroup, PlannedFile
from docindex.folders.walking.path_keys import is_under
from docindex.shown.paths import display_path
from docindex.shown.wording import one_line, percent, several, size

Group = FolderGroup | CopyGroup | LikenessGroup

KIND_HEADINGS = {
    "folder": "copied folders",
    "exact": "exact copies",
    "same words": "the same words",
    "near": "near copies",
    "contained": "contained in another",
}


def group_record(group: Group) -> dict[str, Any]:
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


def group_rows(groups: Iterable[Group]) -> Iterator[dict[str, Any]]:
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


# Groups as lines for a person: a heading with what their removal frees, one line for each file, and remarks.
# The lines of the files that are kept begin with "keep".

FOLDER_DIFFERENCES = {
    "differing": "in both with other contents",
    "only_here": "only in the copied folder",
    "only_in_kept": "only in the kept folder",
}
"""What the files of two copied folders that are not copied are called, by the names of their counts."""


def group_lines(group: Group, below: str) -> Iterable[str]:
    """The lines of a group. Paths that begin with `below` are shown without it."""
    yield group_heading(group, below)
    if isinstance(group, FolderGroup):
        yield f"  keep  {display_path(group.kept, below)}"
        yield f"  {'keep' if group.keep else '':4}  {display_path(group.folder, below)}"
    elif isinstance(group, CopyGroup):
        for file in group.files:
            remark = f" ({group.remark(file)})" if group.remark(file) else ""
            yield f"  {'keep' if file.keep else '':4}  {display_path(file.key, below)}{remark}"
    else:
        for like in group.files:
            yield f"  {percent(like.share) if like.like else '':>4}  {display_path(like.key, below)}"
    yield from (f"  {remark}" for remark in group_remarks(group))


def group_heading(group: Group, below: str) -> str:
    """What kind of group it is, how much it has, and what its removal frees."""
    kind = KIND_HEADINGS.get(group.kind, group.kind)  # a plan that somebody edited may have another kind
    if isinstance(group, FolderGroup):
        kind = f"{display_path(group.folder, below)} {copy_of(group)} {display_path(group.kept, below)}"
    return f"{kind}: {group_summary(group)}"


def copy_of(group: FolderGroup) -> str:
    """What stands between the names of a copied folder and the kept one."""
    return "is an exact copy of" if group.is_exact else "is a copy of"


def group_summary(group: Group) -> str:
    """How much a group has, and what its removal frees."""
    if isinstance(group, FolderGroup):
        copies = "copy" if len(group.copies) == 1 else "copies"
        outcome = (
            "both folders stay" if group.keep else f"removing the {copies} frees {size(freed_by(group))}"
        )
        return f"{several(len(group.copies), 'file')}, {size(group.size)}; {outcome}"
    count = several(len(group.files), "file")
    if isinstance(group, CopyGroup):
        removed = "one" if len(group.others) == 1 else f"{len(group.others):,}"
        outcome = f"removing {removed} frees {size(group.reclaimable)}" if group.others else "all stay"
        return f"{count} of {size(group.files[0].size)}; {outcome}"
    # Documents inside a file have no size of their own.
    freed = f"; removing all but the largest frees {size(group.reclaimable)}" if group.reclaimable else ""
    return f"{count}{freed}"


def group_remarks(group: Group) -> Iterable[str]:
    """Why a group is kept as it is, and what else its folders have."""
    if isinstance(group, LikenessGroup):
        return
    if group.reason and (not group.keep if isinstance(group, FolderGroup) else group.others):
        yield f"kept: {one_line(group.reason)}"
    if isinstance(group, FolderGroup):
        counts = {words: getattr(group, name) for name, words in FOLDER_DIFFERENCES.items()}
        others = ", ".join(f"{count:,} {words}" for words, count in counts.items() if count)
        if others:
            yield f"other files, which all stay: {others}"
        if group.remark:
            yield one_line(group.remark)


def freed_by(group: Group) -> int:
    """The bytes that are freed if the files of a group are removed that need not be kept."""
    return 0 if isinstance(group, FolderGroup) and group.keep else group.reclaimable


def freed_by_file(group: CopyGroup) -> Iterator[tuple[PlannedFile, int]]:
    """The files of a group that go, each with its part of the bytes that this frees.

    The group knows the sum only: hard links and holes free nothing.
    """
    going, freed = group.others, group.reclaimable
    for number, file in enumerate(going):
        yield file, freed * (number + 1) // len(going) - freed * number // len(going)


# The sums of all groups, by kind and by folder.

_FEW_GROUPS = 10
"""A person can count this many groups: there is no table for them."""

_FOLDERS = 8
"""The folders that the table lists."""


def summary_lines(found: Findings, roots: Sequence[str], shown: int) -> Iterable[str]:
    """What was found in all. `shown` is the number of groups that are shown above."""
    count = len(found.groups)
    if shown < count:
        yield f"{several(count - shown, 'more group')}; without --top all are shown"
    if count > _FEW_GROUPS:
        yield from _by_kind(found)
        yield from _by_folder(found, roots)
    copies = [several(len(found.copies), "group")]
    if found.folders:
        copies.insert(0, several(len(found.folders), "copied folder"))
    similar = several(len(found.likenesses), "group")
    yield (
        f"{' and '.join(copies)} of exact copies: removing the copies frees {size(found.reclaimable)}; "
        f"{similar} of similar texts"
    )


def _by_kind(found: Findings) -> Iterable[str]:
    groups, freed = Counter[str](), Counter[str]()
    for group in found.groups:
        groups[group.kind] += 1
        freed[group.kind] += freed_by(group)
    yield "   frees  groups  by kind"
    for kind, heading in KIND_HEADINGS.items():
        if kind in groups:
            yield f"{size(freed[kind]):>8} {groups[kind]:7,}  {heading}"
    yield ""


def _by_folder(found: Findings, roots: Sequence[str]) -> Iterable[str]:
    """The folders in which the exact copies lie that are not kept."""
    files, freed = Counter[str](), Counter[str]()
    folders: dict[str, str] = {}
    in_folders = (each for folder in found.folders if not folder.keep for each in folder.copies)
    for group in (*in_folders, *found.copies):
        for file, count in freed_by_file(group):
            above = file.key.rpartition("/")[0] if file.key not in roots else file.key
            if (folder := folders.get(above)) is None:
                folder = folders[above] = _folder_below(file.key, roots)
            files[folder] += 1
            freed[folder] += count
    if len(files) < 2:
        return
    yield "   frees  copies  by folder (exact copies)"
    for folder, count in freed.most_common(_FOLDERS):
        yield f"{size(count):>8} {files[folder]:7,}  {display_path(folder)}"
    if len(files) > _FOLDERS:
        rest = list(freed.most_common())[_FOLDERS:]
        count = sum(files[folder] for folder, _ in rest)
        others = several(len(rest), "other folder")
        yield f"{size(sum(each for _, each in rest)):>8} {count:7,}  {others}"
    yield ""


def _folder_below(key: str, roots: Sequence[str]) -> str:
    """The folder just below the root that a file is in; the root for a file that lies in the root itself."""
    root = max((root for root in roots if is_under(key, root)), key=len, default="/").rstrip("/")
    first, slash, _ = key[len(root) + 1 :].partition("/")
    return f"{root}/{first}" if slash else root or "/"
