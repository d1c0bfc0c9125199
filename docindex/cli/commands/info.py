"""``docindex info``: what an index contains; with options, check it or make it smaller."""

import dataclasses

import click

from docindex.cli.existing_index import open_existing
from docindex.cli.exit_codes import DAMAGED, DONE
from docindex.cli.options import Command, form_options, index_option, one_of
from docindex.cli.output import progress, show
from docindex.cli.settings import read_settings
from docindex.shown.wording import one_line, several, size


@click.command("info", cls=Command)
@one_of(
    "work",
    {
        "check": "Check the index for damage.",
        "optimize": "Make the index as small and as fast as possible: merge its segments, erase what was "
        "removed, and give the space back to the file system. You can stop this at any time.",
    },
)
@index_option
@form_options
def info_command(index_path: str | None, work: str | None, form: str | None) -> int:
    """Show how much an index contains, and its size.

    Counts documents, characters, symbols (letters, digits and pictures) and fingerprints (selected runs of
    symbols), and shows how much space each table takes. The density is the share of all runs that were
    selected; for random text it is 2 / (window + 1).

    \b
    Examples:
      docindex info
      docindex info --check
      docindex info --optimize
    """
    if work == "check":
        return _check(index_path, form)
    if work == "optimize":
        return _optimize(index_path, form)
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


def _check(index_path: str | None, form: str | None) -> int:
    with open_existing(index_path) as index, progress("reading the index"):
        findings = index.check()
    records = [{"finding": finding} for finding in findings]
    show(records, form, lambda: "\n".join(findings) or "no damage found")
    return DAMAGED if findings else DONE


def _optimize(index_path: str | None, form: str | None) -> int:
    with open_existing(index_path, readonly=False) as index:
        before = index.stats().file_bytes
        with progress("merging"):
            index.optimize()
        now = index.stats().file_bytes
    record = {"bytes_before": before, "bytes_now": now}
    return show([record], form, lambda: f"{size(before)} before, {size(now)} now", record)
