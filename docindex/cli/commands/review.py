"""``docindex review [PLAN]``: choose which copies to keep, group by group, with single keys."""

import os
import sys
from collections.abc import Iterable

import click

from docindex import folders
from docindex.cli.exit_codes import DONE, NOTHING_FOUND
from docindex.cli.options import Command
from docindex.cli.output import emit, fitted, progress
from docindex.cli.review.session import ReviewSession
from docindex.cli.review.text import summary_text
from docindex.cli.scan_summary import existing_roots
from docindex.cli.settings import read_settings
from docindex.cli.typed_paths import typed_path
from docindex.default_path import default_path
from docindex.errors import UnreadableFile
from docindex.private_files import private_opener
from docindex.shown.wording import one_line


@click.command("review", cls=Command)
@click.argument("paths", metavar="[PLAN | FOLDER...]", nargs=-1, type=click.Path())
def review_command(paths: tuple[str, ...]) -> int:
    """Choose which copies to keep, group by group.

    PLAN is a file that `docindex dups --json` wrote. For a FOLDER, it first finds the copied folders and the
    exact copies, and saves them as a plan in the current folder. Without an argument, it does this for the
    folders of your settings, or for the current folder.

    Each group shows its files with their sizes and dates, which file stays, and why. Single keys choose
    another file, keep all, open a file or show a difference; ? lists the keys. The plan is saved after each
    choice, and `docindex review PLAN` goes on where you stopped. This command removes no file: `docindex
    act` does.

    \b
    Examples:
      docindex review ~/Pictures
      docindex dups --json ~/Documents > plan.json; docindex review plan.json
      docindex act plan.json --trash
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ValueError("review needs a terminal for its keys; docindex dups shows copies without one")
    missing = DONE
    if len(paths) == 1 and not os.path.isdir(typed_path(paths[0])):  # noqa: PTH112
        name: str | None = paths[0]
    else:
        name, missing = _new_plan(paths)
    file = None if name is None else folders.ReviewFile.read(name)
    if name is None or file is None or not len(file.review):
        emit("no copies" if name is None else f"{one_line(name)} has no groups of exact copies")
        return missing or NOTHING_FOUND
    session = ReviewSession(file, one_line(name))
    try:
        with session.terminal.keys:
            session.run()
    except (KeyboardInterrupt, EOFError):
        _finish(file, name)
        raise click.Abort from None
    _finish(file, name)
    return missing


def _finish(file: folders.ReviewFile, name: str) -> None:
    """Save the plan, also the place where the review goes on, and say what comes next."""
    file.save()
    emit(fitted(f"\n{summary_text(file.review, name)}", sys.stdout))


def _new_plan(paths: Iterable[str]) -> tuple[str | None, int]:
    """The name of a new plan for what is in some folders now, and the exit code if some do not exist.

    The name is None if there are no copies.
    """
    settings = read_settings()
    typed = [typed_path(path) for path in paths] or [typed_path(path) for path in settings.folders or (".",)]
    roots, missing = existing_roots(typed)
    with progress("comparing", of_bytes=True) as advance:
        found = folders.find_exact(
            roots,
            options=folders.WalkOptions(exclude=settings.exclude),
            **settings.policy(),
            without=[settings.index_path or str(default_path())],
            progress=advance,
        )
    if not found.groups:
        return None, missing
    text = found.plan().to_json()
    for number in range(1, 10_000):
        name = f"docindex-plan{'' if number == 1 else f'-{number}'}.json"
        try:
            with open(name, "x", encoding="utf-8", opener=private_opener) as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            raise UnreadableFile(f"{name} cannot be written: {error.strerror}", name) from error
        return name, missing
    raise UnreadableFile("there are too many plans in this folder; remove some", ".")
