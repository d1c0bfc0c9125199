"""``docindex search``, ``similar`` and ``pairs``: which documents share text with a file, or each other."""

import dataclasses
import itertools
import sys
from pathlib import Path

import click

from docindex.cli.compare import text_of_file
from docindex.cli.frame import existing, form_options, index_option, show, shown
from docindex.files.names import key_of, root_of
from docindex.query.asking import Text
from docindex.query.search import Match

_NAMES = ("key", "containment", "contained", "resemblance", "shared", "score")


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="how many documents")
@click.option("--min-containment", type=click.FloatRange(0, 1), default=0.0, help="the least share of FILE")
@click.option("--window", type=click.IntRange(1), help="look coarsely: a larger window than the index has")
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
      pdftotext essay.pdf - | docindex search -
    """
    query = Text(sys.stdin.read() if file == "-" else text_of_file(Path(file)))
    with existing(index_path) as index:
        found = index.search(query, limit=limit, min_containment=min_containment, window=window)
    lines = [f"{m.containment:4.0%} of it in {shown(m.key)} ({m.contained:.0%} of that)" for m in found]
    return _show(found, lines, form, "nothing shares text with it")


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--min-resemblance", type=click.FloatRange(0, 1, min_open=True), default=0.8, show_default=True)
@index_option
@form_options
def similar(file: str, min_resemblance: float, index_path: str | None, form: str | None) -> int:
    """Find the documents that resemble FILE as a whole, or what comes from a pipe (-).

    \b
    Example:
      docindex similar --min-resemblance 0.5 essay.txt
    """
    query = Text(sys.stdin.read() if file == "-" else text_of_file(Path(file)))
    with existing(index_path) as index:
        found = index.similar(query, min_resemblance)
    return _show(
        found, [f"{m.resemblance:4.0%}  {shown(m.key)}" for m in found], form, "nothing resembles it"
    )


@click.command()
@click.option("--min-resemblance", type=click.FloatRange(0, 1, min_open=True), help="of what either has")
@click.option("--min-containment", type=click.FloatRange(0, 1, min_open=True), help="of one in the other")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="how many pairs")
@click.option("--under", metavar="DIR", help="only among what lies there")
@index_option
@form_options
def pairs(
    min_resemblance: float | None,
    min_containment: float | None,
    limit: int,
    under: str | None,
    index_path: str | None,
    form: str | None,
) -> int:
    """List the pairs of documents that share the most.

    \b
    Examples:
      docindex pairs
      docindex pairs --min-containment 0.9 --csv > pairs.csv
    """
    if min_resemblance is None and min_containment is None:
        min_resemblance = 0.5
    root = None if under is None else key_of(root_of(under))
    where = None if root is None else ("key >= ? and key < ?", [f"{root}/", f"{root}0"])
    with existing(index_path) as index:
        found = index.pairs(min_resemblance=min_resemblance, min_containment=min_containment, where=where)
        records = [dataclasses.asdict(pair) for pair in itertools.islice(found, limit)]

    def text() -> str:
        lines = []
        for pair in records:
            both = (pair["resemblance"], pair["containment"], pair["contained"])
            lines.append("{:4.0%} alike, {:4.0%} of the first, {:4.0%} of the second".format(*both))
            lines += [f"  {shown(pair['a'])}", f"  {shown(pair['b'])}"]
        return "\n".join(lines) or "no pairs"

    return show(records, form, text)


def _show(found: list[Match], lines: list[str], form: str | None, nothing: str) -> int:
    records = [{name: getattr(match, name) for name in _NAMES} for match in found]
    return show(records, form, lambda: "\n".join(lines) or nothing)
