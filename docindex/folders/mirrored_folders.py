"""Keep the other one of two copied folders: exchange the files that stay and the files that go.

Takes the groups of a plan, and returns those that change. Must never plan to remove the last file of a group.
"""

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence

from docindex.folders.copy_groups import CopyGroup, FolderGroup, PlannedFile
from docindex.folders.path_keys import is_under

PlannedGroup = CopyGroup | FolderGroup
"""A group of a plan."""


def mirrored(groups: Sequence[PlannedGroup], number: int) -> dict[int, PlannedGroup]:
    """The groups that change, by number, if the other folder of a group of copied folders is kept.

    Each copied file is exchanged with its copy in the other folder, also in the other groups. A
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
    by_digest: dict[str, dict[str, PlannedFile]] = {}
    for each in itertools.chain.from_iterable(map(copies_in, groups)):
        by_digest.setdefault(each.digest, {}).update((file.key, file) for file in each.files)
    copies: list[CopyGroup] = []
    exchanged: dict[str, PlannedFile] = {}
    for each in folder.copies:
        if len(each.others) != 1:
            continue  # somebody has edited the plan: both files stay
        own = each.others[0]
        partner = _partner(own, by_digest[each.digest].values(), folder, exchanged)
        if partner is not None:
            exchanged[partner.key] = own
            staying = [file for file in each.kept if not is_under(file.key, folder.kept)]
            files = (own._replace(keep=True), *staying, partner._replace(keep=False))
            copies.append(each._replace(files=files, reason=""))
    if not copies:
        raise ValueError(f"{folder.kept} stays: its files are not in the plan")
    changed: dict[int, PlannedGroup] = {}
    for place, group in enumerate(groups):
        if place != number and any(file.key in exchanged for each in copies_in(group) for file in each.files):
            changed[place] = (
                group._replace(copies=tuple(_exchanged(each, exchanged) for each in group.copies))
                if isinstance(group, FolderGroup)
                else _exchanged(group, exchanged)
            )
    changed[number] = folder._replace(
        folder=folder.kept,
        kept=folder.folder,
        copies=tuple(copies),
        only_here=folder.only_in_kept,
        only_in_kept=folder.only_here,
        other_disk=False,  # a person has decided
    )
    return changed


def copies_in(group: PlannedGroup) -> tuple[CopyGroup, ...]:
    """The groups of files in a group of a plan."""
    return group.copies if isinstance(group, FolderGroup) else (group,)


def _exchanged(group: CopyGroup, exchanged: Mapping[str, PlannedFile]) -> CopyGroup:
    """The group with the files that stay now in the places of their copies."""
    files: dict[str, PlannedFile] = {}
    for file in group.files:
        other = exchanged.get(file.key)
        new = file if other is None else other._replace(keep=file.keep)
        twice = files.get(new.key)  # only in a plan that somebody has edited
        files[new.key] = new if twice is None else new._replace(keep=new.keep or twice.keep)
    return group._replace(files=tuple(files.values()))


def _partner(
    own: PlannedFile, same: Iterable[PlannedFile], folder: FolderGroup, taken: Container[str]
) -> PlannedFile | None:
    """The copy of a file in the kept folder, at the same path in it if possible; None without a copy."""
    found = [file for file in same if is_under(file.key, folder.kept) and file.key not in taken]
    same_place = folder.kept + own.key[len(folder.folder) :]
    return min(found, key=lambda file: (file.key != same_place, file.key), default=None)
