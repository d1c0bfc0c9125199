"""Keep the other one of two copied folders: exchange the files that stay and the files that go.

Takes the groups of a plan, and returns those that change. Must never plan to remove the last file of a group.
"""

from collections.abc import Sequence

from docindex.folders.copy_groups import CopyGroup, FolderGroup, PlannedFile
from docindex.folders.path_keys import is_under

PlannedGroup = CopyGroup | FolderGroup
"""A group of a plan."""


def mirrored(groups: Sequence[PlannedGroup], number: int) -> dict[int, PlannedGroup]:
    """The groups that change, by number, if the other folder of a group of copied folders is kept.

    Each copied file is exchanged with its copy in the other folder, also in the groups of single files. A
    copied file without a copy of its own there stays in both folders. `ValueError` if the folder that stays
    now has to stay for another group.
    """
    folder = groups[number]
    assert isinstance(folder, FolderGroup)
    if "reference folder" in folder.reason:
        raise ValueError(f"{folder.kept} stays: {folder.reason}")
    for other in groups:
        if isinstance(other, FolderGroup) and other is not folder:
            for key in (other.folder, other.kept):
                if is_under(key, folder.kept) or is_under(folder.kept, key):
                    raise ValueError(f"{folder.kept} stays: another group needs {key}")
    single: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        if isinstance(group, CopyGroup):
            single.setdefault(group.digest, []).append(place)
    changed: dict[int, PlannedGroup] = {}
    copies: list[CopyGroup] = []
    taken: set[str] = set()
    for each in folder.copies:
        places = single.get(each.digest, [])
        listed = [*each.files, *(file for place in places for file in groups[place].files)]  # type: ignore[union-attr]
        (own,) = each.others
        partner = _partner(own, listed, folder, taken)
        if partner is None:
            continue
        taken.add(partner.key)
        staying = [file for file in each.kept if file.key != partner.key]
        files = (own._replace(keep=True), *staying, partner._replace(keep=False))
        copies.append(each._replace(files=files, reason=""))
        for place in places:
            group = changed.get(place, groups[place])
            assert isinstance(group, CopyGroup)
            changed[place] = group._replace(
                files=tuple(
                    own._replace(keep=file.keep) if file.key == partner.key else file for file in group.files
                )
            )
    if not copies:
        raise ValueError(f"{folder.kept} stays: its files are not in the plan")
    changed[number] = folder._replace(
        folder=folder.kept,
        kept=folder.folder,
        copies=tuple(copies),
        only_here=folder.only_in_kept,
        only_in_kept=folder.only_here,
    )
    return changed


def _partner(
    own: PlannedFile, listed: Sequence[PlannedFile], folder: FolderGroup, taken: set[str]
) -> PlannedFile | None:
    """The copy of a file in the kept folder, at the same path in it if possible; None if there is none."""
    found = [file for file in listed if is_under(file.key, folder.kept) and file.key not in taken]
    same_place = folder.kept + own.key[len(folder.folder) :]
    return min(found, key=lambda file: (file.key != same_place, file.key), default=None)
