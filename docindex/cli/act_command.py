"""``docindex act`` removes or links the exact copies in a plan; ``docindex undo`` brings them back."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from docindex import folders
from docindex.cli.exit_codes import NOTHING_FOUND
from docindex.cli.options import Command, form_options, one_of
from docindex.cli.output import remark, show
from docindex.cli.typed_paths import display_path
from docindex.cli.wording import one_line, several, size

_DRY_RUN = "nothing was changed; repeat the command with --no-dry-run to do it"

dry_run_option = click.option(
    "--dry-run/--no-dry-run", default=True, show_default=True, help="Only show what would be done."
)


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

    PLAN is the file that `docindex dups --json` printed, or - for standard input. Just before a file is
    removed, it is compared byte by byte with a file that is kept; a file that has changed since the plan was
    made is left as it is. Without --no-dry-run nothing is changed.

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
        folders.act(plan, how, dry_run=dry_run, journal=journal, on_file=done.append)
    except KeyboardInterrupt:
        remark(_acted(done, how, dry_run=dry_run))
        raise
    records = [
        {"key": file.key, "kept": file.kept, "outcome": file.outcome, "why": file.reason, "size": file.size,
         "trashed": file.trashed}
        for file in done
    ]  # fmt: skip
    code = show(records, form, lambda: _acted(done, how, dry_run=dry_run))
    return code if any(file.outcome != "left" for file in done) else NOTHING_FOUND


@click.command("undo", cls=Command)
@click.argument("journal", metavar="[JOURNAL]", type=click.Path(exists=True, dir_okay=False), required=False)
@dry_run_option
@form_options
def undo_command(journal: str | None, dry_run: bool, form: str | None) -> int:
    """Restore the files that act removed or linked.

    JOURNAL is the file in which `docindex act` recorded its steps. If it is not given, the default journal is
    used. A file is taken back from the trash, or copied from the kept file if that still has the same bytes.
    If another file is in its place now, that file is left as it is. Without --no-dry-run nothing is changed.

    \b
    Examples:
      docindex undo
      docindex undo --no-dry-run
    """
    done = folders.undo(journal, dry_run=dry_run).files
    records = [{"key": file.key, "outcome": file.outcome, "why": file.reason} for file in done]
    lines = _outcome_lines(done)
    if dry_run and done:
        lines.append(_DRY_RUN)
    return show(records, form, lambda: "\n".join(lines) or "nothing to undo")


_DONE = {
    "trash": "moved to the trash",
    "delete": "deleted",
    "hardlink": "replaced by hard links",
    "reflink": "made to share storage",
}


def _acted(done: list[folders.FileOutcome], how: folders.How, *, dry_run: bool) -> str:
    """The outcome of each file and the totals, for a person."""
    acted = [file for file in done if file.outcome in ("done", "would be done")]
    left = sum(file.outcome == "left" for file in done)
    lines = _outcome_lines(done)
    lines.append(
        f"{'would be ' if dry_run else ''}{_DONE[how]}: {several(len(acted), 'file')}, "
        f"{size(sum(file.size for file in acted))}; left as they are: {left:,}"
    )
    if dry_run and acted:
        lines.append(_DRY_RUN)
    return "\n".join(lines)


def _outcome_lines(done: Sequence[folders.FileOutcome | folders.UndoneFile]) -> list[str]:
    return [
        f"{file.outcome}: {display_path(file.key)}" + (f" ({file.reason})" if file.reason else "")
        for file in done
    ]
