"""``docindex info``, ``check`` and ``optimize``: the state of an index."""

import dataclasses

import click

from docindex.cli.existing_index import open_existing
from docindex.cli.exit_codes import DAMAGED, DONE
from docindex.cli.options import Command, form_options, index_option
from docindex.cli.output import progress, show
from docindex.cli.settings import read_settings
from docindex.cli.wording import one_line, several, size


@click.command("info", cls=Command)
@index_option
@form_options
def info_command(index_path: str | None, form: str | None) -> int:
    """Show how much an index contains, and its size.

    Counts documents, characters, symbols (letters, digits and pictures) and fingerprints (selected runs of
    symbols), and shows how much space each table takes. The density is the share of all runs that were
    selected; for random text it is 2 / (window + 1).

    \b
    Example:
      docindex info
    """
    with open_existing(index_path) as index:
        path, stats = index.path, index.stats()
    settings = read_settings()
    record = {"path": path, **dataclasses.asdict(stats), "settings": settings.path}

    def text() -> str:
        tables = sorted(stats.bytes.items(), key=lambda item: -item[1])
        return "\n".join(
            [
                f"file          {one_line(path)}",
                f"documents     {stats.documents:,} ({stats.contents:,} different texts)",
                f"characters    {stats.characters:,} ({stats.symbols:,} symbols)",
                f"fingerprints  {stats.fingerprints:,} in {several(stats.segments, 'segment')}",
                f"density       {stats.density:.4f} (random text: {stats.expected_density:.4f})",
                f"space         {size(stats.file_bytes)}: "
                + ", ".join(f"{name} {size(count)}" for name, count in tables if count),
                f"settings      {settings.path}{'' if settings.exists else ' (not made yet)'}",
            ]
        )

    return show([record], form, text, record)


@click.command("check", cls=Command)
@index_option
@form_options
def check_command(index_path: str | None, form: str | None) -> int:
    """Check an index for damage.

    Reads the whole file and prints one line for each problem. The exit code is 6 if there is a problem.

    \b
    Example:
      docindex check
    """
    with open_existing(index_path) as index, progress("reading the index"):
        findings = index.check()
    records = [{"finding": finding} for finding in findings]
    show(records, form, lambda: "\n".join(findings) or "no damage found")
    return DAMAGED if findings else DONE


@click.command("optimize", cls=Command)
@index_option
@form_options
def optimize_command(index_path: str | None, form: str | None) -> int:
    """Make an index as small and as fast as possible.

    Merges its segments, erases what was removed, and gives the space back to the file system. You can stop
    it at any time; the next run continues.

    \b
    Example:
      docindex optimize
    """
    with open_existing(index_path, readonly=False) as index:
        before = index.stats().file_bytes
        with progress("merging"):
            index.optimize()
        now = index.stats().file_bytes
    record = {"bytes_before": before, "bytes_now": now}
    return show([record], form, lambda: f"{size(before)} before, {size(now)} now", record)
