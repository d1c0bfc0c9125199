"""The end of the output of ``docindex dups``: what was found in all, by kind and by folder."""

from collections import Counter
from collections.abc import Iterable, Sequence

from docindex.cli.group_records import KIND_HEADINGS
from docindex.cli.typed_paths import display_path
from docindex.cli.wording import several, size
from docindex.folders import CopyGroup, Findings, FolderGroup, LikenessGroup
from docindex.folders.path_keys import is_under

_FEW_GROUPS = 10
"""A person can count this many groups: there is no table for them."""

_FOLDERS = 8
"""The folders that the table lists."""


def summary_lines(found: Findings, roots: Sequence[str], shown: int) -> Iterable[str]:
    """What was found in all. `shown` is the number of groups that are shown above."""
    count = len(found.folders) + len(found.copies) + len(found.likenesses)
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
    everything: list[FolderGroup | CopyGroup | LikenessGroup]
    everything = [*found.folders, *found.copies, *found.likenesses]
    for group in everything:
        groups[group.kind] += 1
        freed[group.kind] += 0 if isinstance(group, FolderGroup) and group.keep else group.reclaimable
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
        going = group.others
        for number, file in enumerate(going):
            above = file.key.rpartition("/")[0] if file.key not in roots else file.key
            if (folder := folders.get(above)) is None:
                folder = folders[above] = _folder_below(file.key, roots)
            files[folder] += 1
            # The groups know the sum only: hard links and holes free nothing.
            before = group.reclaimable * number // len(going)
            freed[folder] += group.reclaimable * (number + 1) // len(going) - before
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
