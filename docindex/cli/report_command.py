"""``docindex report -o report.html``: all that was found, as one page for a browser."""

import itertools
import secrets
from pathlib import Path

import click

from docindex.cli.dups_command import HEADS
from docindex.cli.options import Command, common_option, form_options, index_option, share_option
from docindex.cli.output import NOTHING_FOUND, emit, existing, progress, remark, remark_on_common, show
from docindex.cli.wording import given, percent, several, shown, size
from docindex.folders.findings import find
from docindex.folders.path_keys import key_of, path_of
from docindex.index.writer import Index
from docindex.opening import open as open_index
from docindex.report.page import ReportFile, ReportGroup, counted, html
from docindex.storage.key_ranges import under_roots

_COUNTED = 100_000
"""Pairs, the most alike ones, that the overview counts."""


@click.command(cls=Command)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="the file to write",
)
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
    ignore_above: int,
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
    root = key_of(given(folder))
    where = under_roots([root])
    with existing(index_path) as index:  # for its error
        if output != "-" and Path(output).exists() and Path(output).samefile(index.path):
            raise click.UsageError(f"{output} is the index; name another file for the page")
        documents, texts = counted(index, where)
    if not documents:
        remark(f"docindex: nothing below {shown(root)} is in the index; docindex scan takes it in")
        return NOTHING_FOUND
    with open_index(index_path) as index, progress("comparing"):  # to note what is learnt of files
        groups = _groups(index, root, ignore_above)
        found = index.pairs(min_resemblance=min_resemblance, ignore_above=ignore_above, where=where)
        pairs = list(itertools.islice(found, _COUNTED))
        page = html(
            index,
            pairs,
            groups,
            documents=documents,
            texts=texts,
            limit=limit,
            title=title,
            shown=shown,
            written=size,
            percent=percent,
        )
    with existing(index_path) as index:
        remark_on_common(index, ignore_above)
    if output == "-":
        emit(page)
        return 0
    _write(output, page)
    on_page = min(limit, len(pairs))
    record = {"report": output, "groups": len(groups), "pairs": on_page, "found": len(pairs)}
    of_all = f" of {len(pairs):,}" if len(pairs) > limit else ""
    line = f"{output}: {several(len(groups), 'group')}, {several(on_page, 'pair')}{of_all}"
    return show([record], form, lambda: line, record)


def _groups(index: Index, root: str, ignore_above: int) -> list[ReportGroup]:
    """The groups of a page, those that take the most first."""
    found = find(index, [path_of(root)], ignore_above=ignore_above)
    groups = [
        ReportGroup(
            "exact copies", [ReportFile(file.key, file.size, "") for file in one.files], one.reclaimable
        )
        for one in found.copies
    ]
    for likeness in found.likenesses:
        of = "of it is in the first" if likeness.kind == "contained" else "alike"
        files = [
            ReportFile(file.key, file.size, f"{percent(file.share)} {of}" if file.like else "")
            for file in likeness.files
        ]
        groups.append(ReportGroup(HEADS[likeness.kind], files, likeness.reclaimable))
    return sorted(groups, key=lambda group: -group.bytes)


def _write(output: str, page: str) -> None:
    """Whole or not at all: a page that was there stays until this one is. What is no file is written into."""
    target = Path(output).resolve()
    if target.exists() and not target.is_file():
        target.write_text(page, "utf-8", "backslashreplace")
        return
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
    try:
        with part.open("x", encoding="utf-8", errors="backslashreplace") as file:
            if target.exists():
                part.chmod(target.stat().st_mode)  # who may not read what was there may not read this
            file.write(page)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
