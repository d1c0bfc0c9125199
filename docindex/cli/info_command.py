"""``docindex info``, ``check`` and ``optimize``: how an index is doing."""

import dataclasses

import click

from docindex.cli.options import Command, form_options, index_option
from docindex.cli.output import existing, progress, show
from docindex.cli.wording import size

DAMAGED = 6
"""The exit code of `check` for an index that is not healthy: that of `docindex.CorruptIndex`."""


@click.command(cls=Command)
@index_option
@form_options
def info(index_path: str | None, form: str | None) -> int:
    """Tell how much there is in an index.

    How many documents and fingerprints, how dense they are, and what space all takes.

    \b
    Example:
      docindex info
    """
    with existing(index_path) as index:
        path, stats = index.path, index.stats()
    record = {"path": path, **dataclasses.asdict(stats)}

    def text() -> str:
        tables = sorted(stats.bytes.items(), key=lambda item: -item[1])
        return "\n".join(
            [
                f"file          {path}",
                f"documents     {stats.documents:,} ({stats.contents:,} different texts)",
                f"characters    {stats.characters:,} ({stats.symbols:,} count)",
                f"fingerprints  {stats.fingerprints:,} in {stats.segments:,} segments",
                f"density       {stats.density:.4f} (random text: {stats.expected_density:.4f})",
                f"space         {size(stats.file_bytes)}: "
                + ", ".join(f"{name} {size(count)}" for name, count in tables if count),
            ]
        )

    return show([record], form, text, record)


@click.command(cls=Command)
@index_option
@form_options
def check(index_path: str | None, form: str | None) -> int:
    """Read all of an index, and say what is wrong.

    The exit code is 6 if anything is.

    \b
    Example:
      docindex check
    """
    with existing(index_path) as index, progress("reading the index"):
        findings = index.check()
    records = [{"finding": finding} for finding in findings]
    show(records, form, lambda: "\n".join(findings) or "healthy")
    return DAMAGED if findings else 0


@click.command(cls=Command)
@index_option
@form_options
def optimize(index_path: str | None, form: str | None) -> int:
    """Make an index as small and fast as it can be.

    Merges all there is to merge, forgets what was removed, and gives the space back. Can be stopped at any
    time, and goes on the next time.

    \b
    Example:
      docindex optimize
    """
    with existing(index_path, readonly=False) as index:
        before = index.stats().file_bytes
        with progress("merging"):
            index.optimize()
        now = index.stats().file_bytes
    record = {"bytes_before": before, "bytes_now": now}
    return show([record], form, lambda: f"{size(before)} before, {size(now)} now", record)
