"""``docindex report -o report.html``: all that was found, as one page for a browser."""

import itertools
import secrets
from pathlib import Path

import click

from docindex.cli.frame import existing, remark_on_common, show
from docindex.cli.options import Command, common_option, form_options, index_option, share_option
from docindex.cli.words import several, shown, size
from docindex.files.copies import copies
from docindex.files.likeness import alike
from docindex.files.names import key_of, root_of, under
from docindex.files.walk import Skipped
from docindex.index import open as open_index

_COUNTED = 100_000
"""Pairs, the most alike ones, that the overview counts."""


@click.command(cls=Command)
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="the file to write")
@click.option("--under", "folder", metavar="DIR", default="/", help="only what lies there")
@click.option("--title", default="Copies and likenesses", show_default=True, help="what the page is called")
@share_option("--min-resemblance", 0.5, "how alike the two of a pair are at least")
@common_option
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="how many pairs")
@index_option
@form_options
def report(
    output: str,
    folder: str,
    title: str,
    min_resemblance: float,
    max_documents: int,
    limit: int,
    index_path: str | None,
    form: str | None,
) -> int:
    """Write all that was found as a page for a browser.

    An overview with plots, the groups, and pairs of texts side by side with what they share marked. The page
    needs no network and no other file.

    \b
    Examples:
      docindex report -o report.html
      docindex report --under ~/Essays --limit 1000 -o essays.html
    """
    from docindex.report.html import Group, html

    root = key_of(root_of(folder))
    with existing(index_path) as index:  # for its error
        if Path(output).exists() and Path(output).samefile(index.path):
            raise click.UsageError(f"{output} is the index; name another file for the page")
    with open_index(index_path) as index:  # to note what is learnt of files
        exact = copies(index, [root], Skipped())
        likenesses = alike(index, [root], max_documents=max_documents)
        groups = [
            *(Group("exact copies", [file.key for file in one.files], one.reclaimable) for one in exact),
            *(Group(one.kind, [file.key for file in one.files], one.reclaimable) for one in likenesses),
        ]
        groups.sort(key=lambda group: -group.bytes)
        found = index.pairs(min_resemblance=min_resemblance, max_documents=max_documents, where=under([root]))
        remark_on_common(index, max_documents)
        pairs = list(itertools.islice(found, _COUNTED))
        page = html(index, pairs, groups, limit=limit, title=title, shown=shown, written=size)
    _write(output, page)
    on_page = min(limit, len(pairs))
    record = {"report": output, "groups": len(groups), "pairs": on_page, "found": len(pairs)}
    of_all = f" of {len(pairs):,}" if len(pairs) > limit else ""
    line = f"{output}: {several(len(groups), 'group')}, {several(on_page, 'pair')}{of_all}"
    return show([record], form, lambda: line, record)


def _write(output: str, page: str) -> None:
    """Whole or not at all: a page that was there stays until this one is. What is no file is written into."""
    target = Path(output).resolve()
    if target.exists() and not target.is_file():
        target.write_text(page, "utf-8", "backslashreplace")
        return
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
    try:
        with part.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
