"""``docindex search FILE``: which documents share text with a file."""

import sys
from pathlib import Path

import click

from docindex.cli.compare import text_of_file
from docindex.cli.frame import form_options, index_option, show, shown
from docindex.index import open as open_index
from docindex.query.asking import Text


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="how many documents")
@click.option("--min-containment", type=click.FloatRange(0, 1), default=0.0, help="the least share of FILE")
@click.option(
    "--window", type=click.IntRange(1), help="a coarse search: a larger window than that of the index"
)
@index_option
@form_options
def search(
    file: str,
    limit: int,
    min_containment: float,
    window: int | None,
    index_path: str | None,
    form: str | None,
) -> int:
    """Find the documents that share text with FILE, or with what comes from a pipe (-).

    \b
    Examples:
      docindex search essay.txt
      pbpaste | docindex search -
    """
    text = sys.stdin.read() if file == "-" else text_of_file(Path(file))
    with open_index(index_path, readonly=True) as index:
        found = index.search(Text(text), limit=limit, min_containment=min_containment, window=window)
    names = ("key", "containment", "contained", "resemblance", "shared", "score")
    records = [{name: getattr(match, name) for name in names} for match in found]
    lines = [f"{m.containment:4.0%} of it in {shown(m.key)} ({m.contained:.0%} of that)" for m in found]
    return show(records, form, lambda: "\n".join(lines) or "nothing shares text with it")
