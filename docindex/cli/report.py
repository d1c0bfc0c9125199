"""``docindex report -o report.html``: all that was found, as one page for a browser."""

import itertools
import secrets
from pathlib import Path

import click

from docindex.cli.frame import emit, existing, index_option, several, shown, size
from docindex.files.copies import copies
from docindex.files.likeness import alike
from docindex.files.names import key_of, root_of
from docindex.files.walk import Skipped
from docindex.index import open as open_index


@click.command()
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="the file to write")
@click.option("--under", metavar="DIR", default="/", help="only what lies there")
@click.option("--title", default="Copies and likenesses", show_default=True)
@click.option("--min-resemblance", type=click.FloatRange(0, 1, min_open=True), default=0.5, show_default=True)
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="how many pairs")
@index_option
def report(
    output: str, under: str, title: str, min_resemblance: float, limit: int, index_path: str | None
) -> int:
    """Write a page with an overview, the groups, and pairs of texts side by side, what they share marked.

    It needs nothing but a browser: no network, no other file.

    \b
    Examples:
      docindex report -o report.html
      docindex report --under ~/Essays --limit 1000 -o essays.html
    """
    from docindex.report.html import Group, html

    root = key_of(root_of(under)).rstrip("/")
    where = ("key >= ? and key < ?", [f"{root}/", f"{root}0"])
    existing(index_path).close()  # for its error
    with open_index(index_path) as index:  # to note what is learnt of files
        exact = copies(index, [root or "/"], Skipped())
        likenesses = alike(index, [root or "/"])
        groups = [
            *(Group("exact copies", [file.key for file in one.files], one.reclaimable) for one in exact),
            *(Group(one.kind, [file.key for file in one.files], one.reclaimable) for one in likenesses),
        ]
        groups.sort(key=lambda group: -group.bytes)
        pairs = list(itertools.islice(index.pairs(min_resemblance=min_resemblance, where=where), limit))
        page = html(index, pairs, groups, title=title, shown=shown, written=size)
    # Whole or not at all: a page that was there stays until this one is.
    target = Path(output)
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
    try:
        with part.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    emit(f"{output}: {several(len(groups), 'group')}, {several(len(pairs), 'pair')}")
    return 0
