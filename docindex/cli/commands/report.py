"""``docindex report -o report.html``: write all copies and similar texts as one web page."""

import itertools
from collections.abc import Iterable
from pathlib import Path

import click

from docindex import folders
from docindex.cli.existing_index import open_existing
from docindex.cli.exit_codes import NOTHING_FOUND
from docindex.cli.options import Command, common_option, form_options, index_option, share_option
from docindex.cli.output import emit, progress, remark, remark_on_ignored, show
from docindex.cli.settings import read_settings
from docindex.cli.typed_paths import typed_key, typed_path
from docindex.cli.whole_file import write_whole
from docindex.opening import open as open_index
from docindex.query.defaults import PAIR_RESEMBLANCE
from docindex.query.pairs.pairs import Pair
from docindex.report.chosen_pairs import choose_pairs
from docindex.report.groups import report_groups
from docindex.report.page import ReportContents, count_documents, html
from docindex.shown.paths import display_path
from docindex.shown.wording import several
from docindex.storage.rows.key_ranges import under_roots

_COUNTED_PAIRS = 100_000
"""The maximum number of pairs that the plot counts, beginning with the highest resemblance."""

_READ_PAIRS = 3_000_000
"""The maximum number of further pairs that are read to find texts that differ; this takes six seconds."""


@click.command("report", cls=Command)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="The file to write, or - for standard output.",
)
@click.option("--under", "folder", metavar="DIR", help="Include only documents in this folder.")
@click.option("--title", default="Copies and similar texts", show_default=True, help="The title of the page.")
@share_option("--min-resemblance", PAIR_RESEMBLANCE, "Minimum resemblance of a pair.")
@common_option
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    default=200,
    show_default=True,
    help="Maximum number of pairs on the page.",
)
@click.option(
    "--full-paths",
    is_flag=True,
    help="Show the paths of the scanned folders, too.",
)
@index_option
@form_options
def report_command(
    output: str,
    folder: str | None,
    title: str,
    min_resemblance: float,
    ignore_above: int,
    limit: int,
    full_paths: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """Write a web page with all copies and similar texts.

    The page first shows where the space of copies is. Then it shows copied folders and groups of files, with
    sizes, dates and small pictures, and says which file is kept and why. Then it shows pairs of texts side by
    side, with what both contain and what differs. It finds groups and pairs as `docindex dups` and `docindex
    pairs` do. Pairs that only repeat a group, and files in program folders, are left out. The page is a
    single file and needs no network. Names are relative to the scanned folders; only --full-paths shows where
    those folders are.

    \b
    Examples:
      docindex report -o report.html
      docindex report --under ~/Essays --limit 1000 -o essays.html
    """
    roots = [] if folder is None else [typed_key(folder)]  # without roots, documents of any key are included
    with open_existing(index_path) as index:
        if output != "-" and Path(output).exists() and Path(output).samefile(index.path):
            raise click.UsageError(f"{output} is the index; name another file for the page")
        documents, texts = count_documents(index, roots)
    if not documents:
        place = "" if folder is None else f" under {display_path(typed_key(folder))}"
        remark(f"docindex: the index has no documents{place}; docindex scan adds files")
        return NOTHING_FOUND
    # Opened for writing, because `find` stores the digests of the files that it reads.
    with open_index(index_path) as index, progress("comparing"):
        findings = folders.find(
            index, [typed_path(folder or "/")], ignore_above=ignore_above, **read_settings().policy()
        )
        groups = report_groups(findings)
        found = index.pairs(
            min_resemblance=min_resemblance, ignore_above=ignore_above, where=under_roots(roots)
        )
        pairs, others = _read_pairs(found)
        chosen = choose_pairs(index, [*pairs, *others], groups, limit)
        count = len(found)
        contents = ReportContents(
            title, documents, texts, groups, pairs, limit, full_paths, chosen=chosen, found=count
        )
        page = html(index, contents)
    remark_on_ignored(findings.ignored, ignore_above)
    if output == "-":
        emit(page)
        return 0
    write_whole(output, page)
    on_page = len(chosen.pairs)
    record = {"report": output, "groups": len(groups), "pairs": on_page, "found": count}
    of_all = f" of {count:,}" if count > on_page else ""
    line = f"{output}: {several(len(groups), 'group')}, {several(on_page, 'pair')}{of_all}"
    return show([record], form, lambda: line, record)


def _read_pairs(found: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """The pairs that the overview counts; and, if these are all copies, pairs of texts that differ."""
    reading = iter(found)
    pairs = list(itertools.islice(reading, _COUNTED_PAIRS))
    if not pairs or pairs[-1].resemblance < 1:
        return pairs, []
    others = (pair for pair in itertools.islice(reading, _READ_PAIRS) if pair.resemblance < 1)
    return pairs, list(itertools.islice(others, _COUNTED_PAIRS))
