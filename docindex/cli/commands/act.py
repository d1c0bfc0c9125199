"""``docindex act PLAN``: remove or link the exact copies in a plan."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from docindex import folders
from docindex.cli.exit_codes import NOTHING_FOUND
from docindex.cli.options import DRY_RUN, Command, dry_run_option, form_options, one_of
from docindex.cli.output import remark, show
from docindex.errors import DiskFull
from docindex.folders.walking.path_keys import is_under
from docindex.shown.paths import below_current_folder, display_path
from docindex.shown.wording import one_line, several, size


@click.command("act", cls=Command)
@click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False, allow_dash=True))
@one_of(
    "how",
    {
        "trash": "Move the copies to the trash.",
        "hardlink": "Replace the copies with hard links to the kept file.",
        "reflink": "Let the copies share the storage of the kept file (Btrfs, XFS).",
        "delete": "Remove the copies permanently.",
    },
)
@dry_run_option
@click.option(
    "--journal",
    type=click.Path(dir_okay=False),
    help="Record the steps in this file, for docindex undo, instead of in the default journal.",
)
@form_options
def act_command(
    plan_path: str, how: folders.How | None, dry_run: bool, journal: str | None, form: str | None
) -> int:
    """Remove or link the exact copies that a plan lists.

    PLAN is a file that `docindex dups --json` printed, or - for standard input. Just before a file is
    removed, it is compared byte by byte with a kept file. A file that has changed since the plan was made, or
    that another program has open for writing, is left as it is. Without --no-dry-run nothing is changed.

    \b
    Examples:
      docindex act plan.json --trash
      docindex act plan.json --trash --no-dry-run
    """
    if how is None:
        raise click.UsageError(
            f"choose what to do with the copies: {', '.join(f'--{name}' for name in folders.HOW)}"
        )
    if plan_path == "-":
        plan = folders.Plan.from_json(sys.stdin.buffer.read(), name="standard input")
    else:
        plan = folders.Plan.from_json(Path(plan_path).read_bytes(), name=one_line(plan_path))
    done: list[folders.FileOutcome] = []
    try:
        outcome = folders.act(plan, how, dry_run=dry_run, journal=journal, on_file=done.append)
    except (KeyboardInterrupt, DiskFull):
        remark(_acted(done, how, dry_run=dry_run))
        raise
    records = [
        {"key": file.key, "kept": file.kept, "outcome": file.outcome, "why": file.reason, "size": file.size,
         "freed": file.freed, "trashed": file.trashed, "guard": file.guard}
        for file in done
    ]  # fmt: skip
    records += [
        {"key": key, "kept": None, "outcome": "folder removed", "why": "it was empty", "size": 0,
         "freed": 0, "trashed": None, "guard": None}
        for key in outcome.emptied
    ]  # fmt: skip
    code = show(
        records,
        form,
        lambda: "\n".join(
            [*_staying_lines(plan.folders), _acted(done, how, outcome.emptied, dry_run=dry_run)]
        ),
    )
    return code if any(file.outcome != "left" for file in done) else NOTHING_FOUND


_WORDS = {
    "trash": ("to the trash", "would go to the trash", "moved to the trash"),
    "delete": ("deleted", "would be deleted", "deleted"),
    "hardlink": ("linked", "would be linked", "replaced by hard links"),
    "reflink": ("shares storage", "would share storage", "made to share storage"),
}
"""For each way to act: what is said of a file, what is said of it in a dry run, and the word of the total."""

_SAID_FIRST = ("already gone", "in use by another program")
"""Reasons that are short enough to begin a line."""


def _acted(
    done: list[folders.FileOutcome], how: folders.How, emptied: Sequence[str] = (), *, dry_run: bool
) -> str:
    """The outcome of each file, the folders that were emptied, and the totals, for a person."""
    acted = [file for file in done if file.outcome in ("done", "would be done")]
    left = sum(file.outcome == "left" for file in done)
    below = below_current_folder()
    lines = [_line(file, how, below) for file in done]
    lines += _folder_lines(emptied, below)
    freed = size(sum(file.freed for file in acted))
    lines.append(
        f"{'would be ' if dry_run else ''}{_WORDS[how][2]}: {several(len(acted), 'file')}, "
        f"{size(sum(file.size for file in acted))}; left as they are: {left:,}; "
        + (f"empty folders removed: {len(emptied):,}; " if emptied else "")
        + (f"emptying the trash frees {freed}" if how == "trash" else f"frees {freed}")
    )
    lines += _unguarded_lines(acted)
    if dry_run and acted:
        lines.append(DRY_RUN)
    return "\n".join(lines)


def _staying_lines(groups: Iterable[folders.FolderGroup]) -> Iterable[str]:
    """A line for each copied folder that the plan keeps, with the reason."""
    below = below_current_folder()
    for group in groups:
        if group.keep and group.remark:
            yield f"folder stays: {display_path(group.folder, below)} ({one_line(group.remark)})"


def _line(file: folders.FileOutcome, how: folders.How, below: str) -> str:
    path = display_path(file.key, below)
    if file.kept is not None:
        word = _WORDS[how][file.outcome == "would be done"]
        return f"{word}: {path} (same as {display_path(file.kept, below)})"
    if file.reason in _SAID_FIRST:
        return f"{file.reason}: {path}"
    word = "left as it is" if file.outcome == "left" else file.outcome
    return f"{word}: {path} ({file.reason})"


def _folder_lines(emptied: Sequence[str], below: str) -> Iterable[str]:
    """A line for each folder that was removed, without those inside it."""
    inside: dict[str, int] = {}
    top = None
    for key in sorted(emptied, key=lambda key: key.split("/")):  # each folder before those inside it
        if top is None or not is_under(key, top):
            top = key
        inside[top] = inside.get(top, -1) + 1
    for folder, count in inside.items():
        others = f", with {several(count, 'folder')} in it" if count else ""
        yield f"folder removed: {display_path(folder, below)} (empty now{others})"


def _unguarded_lines(acted: Iterable[folders.FileOutcome]) -> Iterable[str]:
    """Say for how many files a program of another user could not be excluded."""
    count = sum(file.guard == "own processes" for file in acted)
    if count:
        yield (
            f"not checked for {several(count, 'file')}: whether a program of another user is writing to it; "
            "the system shows only your own programs"
        )
