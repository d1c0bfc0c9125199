"""Find copies among the files of folders and remove them safely: scan, find, plan, act, undo.

    with docindex.open() as index:
        seen = folders.scan(index, ["~/Documents"])
        findings = folders.find(index, ["~/Documents"], keep="newest", scan=seen)
        plan = findings.plan()                        # plan.to_json() for a person to edit
        folders.act(plan, "trash", dry_run=True)      # what would be done
        outcome = folders.act(plan, "trash")
        folders.undo(outcome.journal)                 # every act in this journal that is not undone yet

`act` and `undo` do their work unless you pass ``dry_run=True``; the commands of the same names only show what
they would do unless ``--no-dry-run`` is given. To undo one act alone, give `act` a journal of its own.

Paths are given as `str`, `bytes` or `os.PathLike`; a leading ``~`` stands for the home folder. Results name
files by their keys, which are text; `key_of` and `path_of` convert paths to keys and back. A progress
callback receives the amount done and the total, which is None while it is unknown. `docindex.cancelling` and
`Index.cancel` stop `scan` and `find`; `act` and `undo` take a `cancel` flag. Errors are the error classes of
`docindex`; a wrong argument is a `ValueError` or a `TypeError`.

The package needs pathspec, which ``pip install '.[cli]'`` installs in a checkout. It is tested on Linux. On
macOS and Windows `scan`, `find` and dry runs are expected to work; `act` and `undo` raise
`UnsupportedPlatform`.
"""

from docindex.cancel_tokens import CancelFlag
from docindex.folders.actions import Outcome, UndoOutcome, act, undo
from docindex.folders.findings import KINDS, FindingKind, Findings, find
from docindex.folders.likeness import LikeFile, LikenessGroup, LikenessKind
from docindex.folders.path_keys import Root, key_of, path_of
from docindex.folders.plan import KEEP, CopyGroup, KeepRule, Plan, PlannedFile
from docindex.folders.removal import HOW, FileOutcome, How
from docindex.folders.restore import UndoneFile
from docindex.folders.scanner import Scan, scan
from docindex.folders.walk import FailedFile, FolderProgress, WalkOptions

__all__ = [
    "HOW",
    "KEEP",
    "KINDS",
    "CancelFlag",
    "CopyGroup",
    "FailedFile",
    "FileOutcome",
    "FindingKind",
    "Findings",
    "FolderProgress",
    "How",
    "KeepRule",
    "LikeFile",
    "LikenessGroup",
    "LikenessKind",
    "Outcome",
    "Plan",
    "PlannedFile",
    "Root",
    "Scan",
    "UndoOutcome",
    "UndoneFile",
    "WalkOptions",
    "act",
    "find",
    "key_of",
    "path_of",
    "scan",
    "undo",
]
