"""``docindex info``, ``check`` and ``optimize``: how an index is doing."""

import dataclasses

import click

from docindex.cli.frame import emit, existing, form_options, index_option, show, size
from docindex.index import open as open_index

DAMAGED = 6
"""The exit code of `check` for an index that is not healthy: that of `docindex.CorruptIndex`."""


@click.command()
@index_option
@form_options
def info(index_path: str | None, form: str | None) -> int:
    """Tell how much there is in an index, and what it costs.

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
                f"room          {size(stats.file_bytes)}: "
                + ", ".join(f"{name} {size(count)}" for name, count in tables if count),
            ]
        )

    return show([record], form, text, record)


@click.command()
@index_option
def check(index_path: str | None) -> int:
    """Read all of an index, and say what is wrong with it.

    \b
    Example:
      docindex check
    """
    with existing(index_path) as index:
        findings = index.check()
    emit("\n".join(findings) or "healthy")
    return DAMAGED if findings else 0


@click.command()
@index_option
def optimize(index_path: str | None) -> int:
    """Merge all there is to merge, forget what was removed, give the room back. Can be stopped at any time.

    \b
    Example:
      docindex optimize
    """
    with open_index(index_path) as index:
        before = index.stats().file_bytes
        index.optimize()
        emit(f"{size(before)} before, {size(index.stats().file_bytes)} now")
    return 0
