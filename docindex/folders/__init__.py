"""Find copies among the files of folders and remove them safely: scan, find, plan, act, undo.

    with docindex.open() as index:
        seen = folders.scan(index, ["~/Documents"])
        findings = folders.find(index, ["~/Documents"], keep="newest", scan=seen)
        plan = findings.plan()                        # plan.to_json() for a person to edit
        folders.act(plan, "trash", dry_run=True)      # what would be done
        outcome = folders.act(plan, "trash")
        folders.undo(outcome)                         # or undo() for the last act; acts() lists them

    file = folders.ReviewFile.read("plan.json")   # a person decides, group by group
    file.review.choose(0, ["/home/ada/b.txt"])    # also skip, agree, undo; nothing is removed before act
    file.save()

    folders.find_exact(["~/Pictures"]).plan()     # exact copies alone need no index

`Findings.folders` are copied folders (`FolderGroup`), whose files are in no other group. A `Plan` has them,
too; `Plan.steps` are all its groups in the order in which `act` takes them. Program folders such as
node_modules are left out unless `WalkOptions.programs` is true.

`act` and `undo` do their work unless you pass ``dry_run=True``; the commands of the same names only show what
they would do unless ``--no-dry-run`` is given.

Paths are given as `str`, `bytes` or `os.PathLike`; a leading ``~`` stands for the home folder. Results name
files by their keys, which are text; `key_of` and `path_of` convert paths to keys and back. A progress
callback receives the amount done and the total, which is None while it is unknown. `docindex.cancelling` and
`Index.cancel` stop `scan` and `find`; `act` and `undo` take a `cancel` flag. Errors are the error classes of
`docindex`; a wrong argument is a `ValueError` or a `TypeError`.

The package is tested on Linux. On macOS and Windows `scan`, `find` and dry runs are expected to work; `act`
and `undo` raise `UnsupportedPlatform`.
"""

# From the bottom up: walking, scanning, planning, finding, review, acting.

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docindex.cancellation import CancelFlag
    from docindex.folders.acting.actions import Outcome, UndoOutcome, act, acts, undo
    from docindex.folders.acting.acts import Act
    from docindex.folders.acting.removal import HOW, FileOutcome, How
    from docindex.folders.acting.restore import UndoneFile
    from docindex.folders.acting.write_guard import Guard
    from docindex.folders.finding.exact_findings import find_exact
    from docindex.folders.finding.findings import find
    from docindex.folders.finding.folder_differences import DifferingFiles, differing_files
    from docindex.folders.finding.groups import (
        EXACT_KINDS,
        KINDS,
        ExactKind,
        FindingKind,
        Findings,
        LikeFile,
        LikenessGroup,
        LikenessKind,
        Walked,
    )
    from docindex.folders.planning.copy_groups import CopyGroup, FolderGroup, PlannedFile
    from docindex.folders.planning.keep_rules import KEEP, KeepRule
    from docindex.folders.planning.plan import Plan
    from docindex.folders.review import Decision, PlanReview, ReviewFile, ReviewSummary
    from docindex.folders.scanning.scanner import Scan, scan
    from docindex.folders.walking.file_kinds import MediaKind
    from docindex.folders.walking.path_keys import Root, key_of, path_of
    from docindex.folders.walking.walk import FailedFile, FolderProgress, WalkOptions

# The same modules and names as above, for `__getattr__`. A test compares them.
_HOMES = {
    "docindex.cancellation": ("CancelFlag",),
    "docindex.folders.acting.actions": ("Outcome", "UndoOutcome", "act", "acts", "undo"),
    "docindex.folders.acting.acts": ("Act",),
    "docindex.folders.planning.copy_groups": ("CopyGroup", "FolderGroup", "PlannedFile"),
    "docindex.folders.finding.exact_findings": ("find_exact",),
    "docindex.folders.walking.file_kinds": ("MediaKind",),
    "docindex.folders.finding.findings": ("find",),
    "docindex.folders.finding.folder_differences": ("DifferingFiles", "differing_files"),
    "docindex.folders.finding.groups": (
        *("EXACT_KINDS", "KINDS", "ExactKind", "FindingKind", "Findings", "LikeFile", "LikenessGroup"),
        *("LikenessKind", "Walked"),
    ),
    "docindex.folders.planning.keep_rules": ("KEEP", "KeepRule"),
    "docindex.folders.walking.path_keys": ("Root", "key_of", "path_of"),
    "docindex.folders.planning.plan": ("Plan",),
    "docindex.folders.review": ("Decision", "PlanReview", "ReviewFile", "ReviewSummary"),
    "docindex.folders.acting.removal": ("HOW", "FileOutcome", "How"),
    "docindex.folders.acting.restore": ("UndoneFile",),
    "docindex.folders.scanning.scanner": ("Scan", "scan"),
    "docindex.folders.walking.walk": ("FailedFile", "FolderProgress", "WalkOptions"),
    "docindex.folders.acting.write_guard": ("Guard",),
}

__all__ = [
    "EXACT_KINDS",
    "HOW",
    "KEEP",
    "KINDS",
    "Act",
    "CancelFlag",
    "CopyGroup",
    "Decision",
    "DifferingFiles",
    "ExactKind",
    "FailedFile",
    "FileOutcome",
    "FindingKind",
    "Findings",
    "FolderGroup",
    "FolderProgress",
    "Guard",
    "How",
    "KeepRule",
    "LikeFile",
    "LikenessGroup",
    "LikenessKind",
    "MediaKind",
    "Outcome",
    "Plan",
    "PlanReview",
    "PlannedFile",
    "ReviewFile",
    "ReviewSummary",
    "Root",
    "Scan",
    "UndoOutcome",
    "UndoneFile",
    "WalkOptions",
    "Walked",
    "act",
    "acts",
    "differing_files",
    "find",
    "find_exact",
    "key_of",
    "path_of",
    "scan",
    "undo",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is used for the first time: exact copies need no index, nor numpy."""
    for module, names in _HOMES.items():
        if name in names:
            member = getattr(importlib.import_module(module), name)
            globals()[name] = member
            return member
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
