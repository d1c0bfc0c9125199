"""``docindex act`` removes or links the copies of a plan; ``docindex undo`` brings them back."""

import sys
from pathlib import Path
from typing import Any

import click

from docindex import folders
from docindex.cli.options import Command, form_options, one_of
from docindex.cli.output import NOTHING_FOUND, remark, show
from docindex.cli.wording import several, shown, size


@click.command(cls=Command)
@click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False, allow_dash=True))
@one_of(
    "how",
    {
        "trash": "move copies to the trash",
        "hardlink": "replace them by links to the kept file",
        "reflink": "let them share the kept file's place on the disk (Btrfs, XFS)",
        "delete": "delete them",
    },
)
@click.option("--dry-run/--no-dry-run", default=True, show_default=True, help="only say what would be done")
@click.option("--journal", type=click.Path(dir_okay=False), help="where to write down what is done")
@form_options
def act(plan_path: str, how: Any, dry_run: bool, journal: str | None, form: str | None) -> int:
    """Remove or link the exact copies of a plan.

    PLAN is what `docindex dups --json` printed. Every file is compared byte by byte with one that is kept,
    just before; what has changed since is left as it is. Without --no-dry-run nothing is done.

    \b
    Examples:
      docindex act plan.json --trash
      docindex act plan.json --trash --no-dry-run
    """
    if how is None:
        raise click.UsageError(f"say what to do: {', '.join(f'--{name}' for name in folders.HOW)}")
    plan = sys.stdin.buffer.read() if plan_path == "-" else Path(plan_path).read_bytes()
    done: list[folders.FileOutcome] = []
    try:
        folders.act(folders.Plan.from_json(plan), how, dry_run=dry_run, journal=journal, on_file=done.append)
    except KeyboardInterrupt:
        remark(_acted(done, how, dry_run=dry_run))
        raise
    records = [
        {"key": one.key, "kept": one.kept, "outcome": one.outcome, "why": one.reason, "size": one.size,
         "trashed": one.trashed}
        for one in done
    ]  # fmt: skip
    code = show(records, form, lambda: _acted(done, how, dry_run=dry_run))
    return code if any(one.outcome != "left" for one in done) else NOTHING_FOUND


@click.command(cls=Command)
@click.argument("journal", metavar="[JOURNAL]", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--dry-run/--no-dry-run", default=True, show_default=True, help="only say what would be done")
@form_options
def undo(journal: str | None, dry_run: bool, form: str | None) -> int:
    """Bring back what act removed or linked.

    The JOURNAL is that of `docindex act`, without one your own. A file comes back from the trash, or is
    copied from the one that was kept, if that still has the same bytes. A file that has come in the place of
    one since is left as it is.

    \b
    Examples:
      docindex undo
      docindex undo --no-dry-run
    """
    done = folders.undo(journal, dry_run=dry_run).files
    records = [{"key": one.key, "outcome": one.outcome, "why": one.reason} for one in done]
    lines = [f"{one.outcome}: {shown(one.key)}" + (f" ({one.reason})" if one.reason else "") for one in done]
    if dry_run and done:
        lines.append("nothing was done; say --no-dry-run to do it")
    return show(records, form, lambda: "\n".join(lines) or "nothing to undo")


_WHAT = {
    "trash": "moved to the trash",
    "delete": "deleted",
    "hardlink": "linked",
    "reflink": "made to share their place",
}


def _acted(done: list[folders.FileOutcome], how: str, *, dry_run: bool) -> str:
    lines = [f"{one.outcome}: {shown(one.key)}" + (f" ({one.reason})" if one.reason else "") for one in done]
    acted = [one for one in done if one.outcome in ("done", "would be done")]
    left = sum(one.outcome == "left" for one in done)
    lines.append(
        f"{'would be ' if dry_run else ''}{_WHAT[how]}: {several(len(acted), 'file')}, "
        f"{size(sum(one.size for one in acted))}; left as they are: {left:,}"
    )
    if dry_run and acted:
        lines.append("nothing was done; say --no-dry-run to do it")
    return "\n".join(lines)
