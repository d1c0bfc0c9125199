"""What ``docindex review`` shows: a group with its files, a list of groups, the keys, the summary.

Takes a review, and returns lines for a person. Must never read the content of a file.
"""

import os
import shlex
import textwrap
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from docindex.folders import CopyGroup, Decision, FolderGroup, LikenessGroup, PlannedFile, PlanReview
from docindex.folders.review import going_in
from docindex.folders.walking.path_keys import path_of
from docindex.shown.groups import group_heading, group_remarks
from docindex.shown.paths import display_path
from docindex.shown.wording import local_time, one_line, percent, several, size

_KEYS = {
    "Enter": 'agree: the files marked "keep" stay, the others go',
    "1, 2, ...": "keep only this file, or this folder; with more than 9 files, type the number and Enter",
    "+": "keep another file, too",
    "k": "keep all of them",
    "n, right": "next group; decide about this one later",
    "b, left": "back to the group before",
    "g": "go to a group by its number",
    "l": "list the groups",
    "u": "undo your last choice",
    "o": "open a file or a folder with its program",
    "d": "show the difference between two texts",
    "f": "show all files",
    "a": "keep all files of all groups that you have not reviewed",
    "q": "save and quit",
    "?": "show these keys",
}

_WIDE = 72
"""Columns from which on the date and the path of a file fit on one line, and the prompt, too."""


class Screen(NamedTuple):
    """How much fits on the terminal, and how the paths are shown."""

    columns: int
    lines: int
    below: str
    """Paths that begin with this are shown without it."""

    def path(self, key: str) -> str:
        """The path of a key for a person."""
        return display_path(key, self.below)


def group_screen(
    review: PlanReview, number: int, screen: Screen, *, all_files: bool = False
) -> Iterable[str]:
    """The lines of a group: its files, which stay and why, and what has happened to them."""
    group, changes = review.group(number), review.changes(number)
    yield f"Group {number + 1:,} of {len(review):,}{_DECIDED[review.decision(number)]}"
    yield group_heading(group, screen.below)
    if isinstance(group, FolderGroup):
        yield from _folder_screen(group, screen, changes)
    else:
        yield from _copy_screen(group, screen, changes, all_files=all_files)


_DECIDED: dict[Decision, str] = {
    "open": "",
    "agreed": " (you agreed)",
    "chosen": " (you chose)",
    "skipped": " (you keep all)",
}


def _copy_screen(
    group: CopyGroup, screen: Screen, changes: Mapping[str, str], *, all_files: bool
) -> Iterable[str]:
    room = (
        len(group.files) if all_files else max(4, (screen.lines - 6) // (1 if screen.columns >= _WIDE else 2))
    )
    digits = len(str(len(group.files)))
    for number, file in enumerate(group.files[:room], 1):
        mark = f"  {number:>{digits}}  {'keep' if file.keep else '':4}  "
        said = _CHANGES.get(changes.get(file.key, ""), group.remark(file))
        yield from _file_lines(mark, file, screen, said)
    if room < len(group.files):
        yield f"  {len(group.files) - room:,} more; f shows them all"
    yield from (f"  {remark}" for remark in group_remarks(group))
    if group.others and all(file.key in changes for file in group.kept):
        yield "The kept files have changed or are gone. act removes only copies of a kept file."


def _file_lines(mark: str, file: PlannedFile, screen: Screen, said: str) -> Iterable[str]:
    date = _date(file)
    if screen.columns >= _WIDE:
        yield f"{mark}{date:16}  {screen.path(file.key)}{f' ({said})' if said else ''}"
    else:
        yield f"{mark}{screen.path(file.key)}"
        yield f"{' ' * len(mark)}{', '.join(filter(None, [date, said]))}"


_CHANGES = {"gone": "gone", "changed": "changed since the plan was made"}


def _date(file: PlannedFile) -> str:
    """The time of the last change of a file: as it is now, or as the plan says if the file is gone."""
    try:
        return local_time(os.lstat(path_of(file.key)).st_mtime_ns)
    except OSError:
        return local_time(file.mtime_ns)


def folders_of(group: FolderGroup) -> list[str]:
    """The two folders in an order that does not depend on which of them is kept."""
    return sorted((group.kept, group.folder))


def _folder_screen(group: FolderGroup, screen: Screen, changes: Mapping[str, str]) -> Iterable[str]:
    for number, key in enumerate(folders_of(group), 1):
        mark = "keep" if group.keep or key == group.kept else ""
        yield f"  {number}  {mark:4}  {screen.path(key)}"
    yield from (f"  {remark}" for remark in group_remarks(group))
    if changes:
        gone = sum(change == "gone" for change in changes.values())
        parts = [
            f"{gone:,} gone" if gone else "",
            f"{len(changes) - gone:,} changed" if gone < len(changes) else "",
        ]
        yield f"Since the plan was made: {', '.join(filter(None, parts))}"


def likeness_screen(group: LikenessGroup, number: int, count: int, screen: Screen) -> Iterable[str]:
    """The lines of a group of texts that are alike."""
    yield f"Similar texts {number + 1:,} of {count:,}"
    yield group_heading(group, screen.below)
    for place, file in enumerate(group.files, 1):
        share = percent(file.share) if file.like else ""
        yield f"  {place}  {share:>4}  {size(file.size):>8}  {screen.path(file.key)}"


def key_lines(screen: Screen) -> Iterable[str]:
    """The keys and what they do."""
    for key, text in _KEYS.items():
        first, *more = textwrap.wrap(text, max(20, screen.columns - 12))
        yield f"{key:9}  {first}"
        yield from (f"{'':9}  {line}" for line in more)


def choices(group: CopyGroup | FolderGroup, screen: Screen) -> str:
    """The prompt for a group: its most useful keys."""
    many = 2 if isinstance(group, FolderGroup) else len(group.files)
    numbers = f"1-{many}"
    if screen.columns < _WIDE:
        return f"Enter, {numbers}, k, ? for help:"
    return f"Enter: agree  {numbers}: keep that one  k: keep all  q: quit  ?: more keys >"


def overview_lines(review: PlanReview, start: int, screen: Screen) -> Iterable[str]:
    """One line for each group from `start` on, as many as fit on the terminal."""
    end = min(len(review), start + max(5, screen.lines - 4))
    digits = len(f"{len(review):,}")
    for number in range(start, end):
        group = review.group(number)
        name = group.folder if isinstance(group, FolderGroup) else (group.others or group.files)[-1].key
        freed = size(group.reclaimable) if going_in(group)[0] else "stays"
        decision = _SHORT[review.decision(number)]
        yield f"  {number + 1:>{digits},}  {decision:6}  {freed:>8}  {screen.path(name)}"


_SHORT: dict[Decision, str] = {"open": "", "agreed": "agreed", "chosen": "chosen", "skipped": "kept"}


def decided_line(group: CopyGroup | FolderGroup, screen: Screen) -> str:
    """What was decided about a group, in one line."""
    if not going_in(group)[0]:
        return "All stay."
    if isinstance(group, FolderGroup):
        return f"{screen.path(group.kept)} stays; the copies in {screen.path(group.folder)} go."
    kept = " and ".join(screen.path(file.key) for file in group.kept)
    stay, go = "stays" if len(group.kept) == 1 else "stay", "goes" if len(group.others) == 1 else "go"
    return f"{kept} {stay}; {several(len(group.others), 'file')} {go}."


def summary_text(review: PlanReview, path: str) -> str:
    """What `act` will do with the plan, and the command to type next."""
    found = review.summary
    reviewed = len(review) - found.groups.get("open", 0)
    name = shlex.quote(one_line(path))
    shown = one_line(path)
    lines = [f"{several(len(review), 'group')}, {reviewed:,} reviewed; all decisions are in {shown}"]
    if found.files:
        goes = "goes" if found.files == 1 else "go"
        lines.append(
            f"{several(found.files, 'file')} {goes}, which frees {size(found.freed)}; nothing was removed yet"
        )
    else:
        lines.append("no file goes")
    if found.open_files:
        count, files = several(found.groups["open"], "group"), several(found.open_files, "file")
        lines.append(f"{files} of these are in {count} that you have not reviewed; to go on:")
        lines.append(f"  docindex review {name}")
    if found.files:
        lines += ["next, to see what act would do:", f"  docindex act {name} --trash"]
    return "\n".join(lines)
