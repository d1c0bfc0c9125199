"""``docindex scan PATH...``: bring an index up to date with folders."""

import contextlib
import re
from typing import Any

import click

from docindex.cli.options import Command, F, form_options, index_option, is_quiet
from docindex.cli.output import progress, remark, show
from docindex.cli.wording import given, several, shown, size
from docindex.errors import UnreadableFile
from docindex.folders.scanner import Scan
from docindex.folders.scanner import scan as scan_folders
from docindex.folders.walk import WalkOptions
from docindex.index.writer import Index
from docindex.opening import open as open_index

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?", re.IGNORECASE)


class Size(click.ParamType):  # type: ignore[type-arg]  # older ones take none
    """A number of bytes, as 500, 10k or 2.5M."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        found = _SIZE.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is no size; write it as 500, 10k or 2.5M", param, ctx)
        number, unit, binary = found.groups("")
        step = 1024 if binary.lower() == "ib" else 1000
        return int(float(number) * step ** " kmgt".index(unit.lower() or " "))


def walk_options(command: F) -> F:
    """The options that say which files are walked to."""
    for option in (
        click.option("--max-size", type=Size(), help="leave larger files out"),
        click.option("--min-size", type=Size(), default=0, help="leave smaller files out"),
        click.option("--one-file-system", is_flag=True, help="stay on the file system of each PATH"),
        click.option("--follow-symlinks", is_flag=True, help="go where symbolic links lead"),
        click.option("--exclude", multiple=True, metavar="GLOB", help="leave out names, or paths below PATH"),
        click.option("--no-ignore", is_flag=True, help="take in what .gitignore files name"),
        click.option("--hidden", is_flag=True, help="take in files and folders whose names begin with a dot"),
    ):
        command = option(command)
    return command


def options_of(wishes: dict[str, Any]) -> WalkOptions:
    """What the options say."""
    return WalkOptions(
        hidden=wishes["hidden"],
        ignore=not wishes["no_ignore"],
        exclude=wishes["exclude"],
        follow_symlinks=wishes["follow_symlinks"],
        one_file_system=wishes["one_file_system"],
        min_size=wishes["min_size"],
        max_size=wishes["max_size"],
    )


@click.command(cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@walk_options
@click.option("--watch", is_flag=True, help="go on, and scan again whenever something has changed")
@click.option("-v", "--verbose", is_flag=True, help="name every file that could not be read")
@index_option
@form_options
def scan(
    paths: tuple[str, ...],
    watch: bool,
    verbose: bool,
    index_path: str | None,
    form: str | None,
    **wishes: Any,
) -> int:
    """Bring the index up to date with the files under PATH.

    Takes in the texts, notes all other files, and forgets what is gone. What has not changed since the last
    scan is not read again. Hidden files, and what a .gitignore names, are left out unless you say otherwise.

    \b
    Examples:
      docindex scan ~/Documents
      docindex scan --exclude '*.bak' --max-size 10M ~/Documents ~/Projects
      docindex scan --watch --quiet ~/Documents
    """
    roots, options = [given(path) for path in paths], options_of(wishes)
    with open_index(index_path) as index:
        if watch:
            _watch(index, roots, options, form, verbose=verbose)
        else:
            _show(scanned(index, roots, options), form, verbose=verbose)
    return 0


def _watch(
    index: Index, roots: list[bytes], options: WalkOptions, form: str | None, *, verbose: bool
) -> None:
    """Scan until the person has enough of it."""
    if form in ("json", "csv"):
        raise click.UsageError("--watch prints one report after the other; of the forms it knows --jsonl")
    try:
        from docindex.folders.watch import changed_roots
    except ModuleNotFoundError as error:
        raise click.UsageError(
            "--watch needs watchdog; install it with pip install 'docindex[watch]'"
        ) from error
    first = True
    with contextlib.suppress(KeyboardInterrupt):
        for some in changed_roots(roots, hidden=options.hidden, but=index.path):
            if not some:
                continue
            try:
                report = scanned(index, some, options)
            except UnreadableFile as error:  # as a disk that is away for a while
                if first:
                    raise
                remark(f"docindex: {error}")
                continue
            if first or report.changes:
                _show(report, form, verbose=verbose)
            first = False


def _show(report: Scan, form: str | None, *, verbose: bool) -> None:
    record = record_of(report)
    if form or not is_quiet():  # so that cron has nothing to mail
        show([record], form, lambda: text_of(report, verbose=verbose), record)


def scanned(index: Index, roots: list[bytes], options: WalkOptions) -> Scan:
    """Scan with a bar on the terminal."""
    with progress("scanning") as check_cancelled:
        return scan_folders(index, roots, options=options, progress=check_cancelled)


def record_of(report: Scan) -> dict[str, Any]:
    """A report for programs."""
    numbers = ("unchanged", "added", "changed", "moved", "removed", "texts", "binaries", "bytes")
    return {
        **{name: getattr(report, name) for name in numbers},
        "skipped": dict(sorted(report.skipped.items())),
        "failed": [{"path": file.key, "why": file.reason} for file in report.failed],
    }


def text_of(report: Scan, *, verbose: bool) -> str:
    """A report for people."""
    lines = [
        f"{several(report.files, 'file')}, {size(report.bytes)}: "
        f"{several(report.texts, 'text')}, {report.binaries:,} other",
        f"{report.added:,} new, {report.changed:,} changed, {report.moved:,} moved, {report.removed:,} gone, "
        f"{report.unchanged:,} as before",
    ]
    if report.skipped:
        skipped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(report.skipped.items()))
        lines.append(f"left out: {skipped}")
    if verbose:
        lines += [f"  {shown(file.key)}: {file.reason}" for file in report.failed]
    elif report.failed:
        lines.append("say --verbose to see which could not be read, and why; the next scan tries them again")
    return "\n".join(lines)
