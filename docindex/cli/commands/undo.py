"""``docindex undo [ACT|FILE]...``: restore the files that acts removed or linked, or list the acts."""

import datetime as dt
from typing import Any

import click

from docindex import folders
from docindex.cli.exit_codes import NOTHING_FOUND, exit_code_of
from docindex.cli.options import DRY_RUN, Command, dry_run_option, form_options
from docindex.cli.output import remark, show
from docindex.cli.typed_paths import typed_path
from docindex.errors import DiskFull, UnreadableFile
from docindex.shown.paths import below_current_folder, display_path
from docindex.shown.wording import local_time, several, size


@click.command("undo", cls=Command)
@click.argument("wanted", metavar="[ACT|FILE]...", nargs=-1, type=click.Path())
@click.option("--list", "is_list", is_flag=True, help="List the acts, with their numbers.")
@click.option("--all", "is_all", is_flag=True, help="Undo every act, not only the last one.")
@click.option(
    "--journal",
    type=click.Path(exists=True, dir_okay=False),
    help="Undo the acts that docindex act --journal recorded in this file.",
)
@dry_run_option
@form_options
def undo_command(
    wanted: tuple[str, ...], is_list: bool, is_all: bool, journal: str | None, dry_run: bool, form: str | None
) -> int:
    """Restore the files that act removed or linked.

    Undoes the latest act that has files left to restore. ACT chooses another one, by the number that --list
    shows. With FILE, only this file is restored, or all files below this folder. A file is taken back from
    the trash, or copied from the kept file if that still has the same bytes. If another file is at its path
    now, that file stays. Without --no-dry-run nothing is changed. The exit code is 0 only if every file is
    restored.

    \b
    Examples:
      docindex undo
      docindex undo --no-dry-run
      docindex undo --list
      docindex undo --no-dry-run 3 ~/Desktop/letter.txt
    """
    if is_list:
        return _list(journal, form)
    numbers = [int(name) for name in wanted if name.isdecimal()]
    files = [typed_path(name) for name in wanted if not name.isdecimal()]
    if len(numbers) + is_all > 1:
        raise click.UsageError("give one act, or --all")
    act: Any = numbers[0] if numbers else "all" if is_all else "last"
    done: list[folders.UndoneFile] = []
    try:
        folders.undo(act, files=files or None, journal=journal, dry_run=dry_run, on_file=done.append)
    except (KeyboardInterrupt, DiskFull):
        remark(_undone(done, dry_run=dry_run))
        raise
    records = [
        {"key": file.key, "outcome": file.outcome, "why": file.reason, "size": file.size} for file in done
    ]
    why = ": no act removed these files, or they are already restored" if files else ""
    show(records, form, lambda: _undone(done, dry_run=dry_run) if done else f"nothing to undo{why}")
    if not done:
        return NOTHING_FOUND
    return 0 if all(file.is_back for file in done) else exit_code_of(UnreadableFile("", ""))


def _list(journal: str | None, form: str | None) -> int:
    """Show the acts, and return the exit code."""
    acts = folders.acts(journal)
    times = [dt.datetime.fromtimestamp(act.at).astimezone() for act in acts]
    records = [
        {"number": act.number, "at": at.isoformat(timespec="seconds"), "how": act.how, "files": act.files,
         "bytes": act.bytes, "undone": act.undone, "state": act.state}
        for act, at in zip(acts, times, strict=True)
    ]  # fmt: skip
    lines = [
        f"{act.number:4}  {local_time(int(act.at * 10**9))}  {act.how:8}  {several(act.files, 'file')}, "
        f"{size(act.bytes)}: {_state(act)}"
        for act in acts
    ]
    return show(records, form, lambda: "\n".join(lines) or "no acts")


def _state(act: folders.Act) -> str:
    return act.state + (f" ({act.undone:,} restored)" if act.state == "partly undone" else "")


_WORDS = {"undone": "restored", "would be undone": "would be restored", "left": "not restored"}


def _undone(done: list[folders.UndoneFile], *, dry_run: bool) -> str:
    """The outcome of each file and the totals, for a person."""
    below = below_current_folder()
    back = [file for file in done if file.is_back]
    lines = [
        f"{_WORDS.get(file.outcome, file.outcome)}: {display_path(file.key, below)}"
        + (f" ({file.reason})" if file.reason else "")
        for file in done
    ]
    lines.append(
        f"{'would be ' if dry_run else ''}restored: {several(len(back), 'file')}, "
        f"{size(sum(file.size for file in back))}; not restored: {len(done) - len(back):,}"
    )
    if dry_run and back:
        lines.append(DRY_RUN)
    return "\n".join(lines)
