"""``docindex search``, ``similar`` and ``pairs``: which documents share text with a file, or each other."""

import dataclasses
import itertools
import sys
from typing import Any

import click

from docindex.cli.options import Command, common_option, form_options, index_option, share_option
from docindex.cli.output import existing, progress, remark, remark_on_common, show
from docindex.cli.wording import given, percent, shown
from docindex.errors import UnreadableFile
from docindex.folders.file_reader import NotReadable, read_file
from docindex.folders.path_keys import key_of
from docindex.frontends.text import decode
from docindex.query.resolve import Text
from docindex.query.search import Match
from docindex.storage.key_ranges import under_roots

_EXCERPT = 60
"""Characters of a passage that are shown in a list."""

_NAMES = ("key", "containment", "reverse_containment", "resemblance", "shared", "score")


@click.command(cls=Command)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="how many documents")
@click.option("--min-containment", type=click.FloatRange(0, 1), default=0.0, help="the least share of FILE")
@click.option("-v", "--verbose", is_flag=True, help="show the passages, too")
@click.option("--window", type=click.IntRange(1), help="look coarsely: a larger window than the index has")
@index_option
@form_options
def search(
    file: str,
    limit: int,
    min_containment: float,
    window: int | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """Find the documents that share text with FILE.

    With - the text is what comes from a pipe.

    \b
    Examples:
      docindex search essay.txt
      pdftotext essay.pdf - | docindex search -
    """
    query = _asked_with(file)
    with existing(index_path) as index:
        found = index.search(Text(query), limit=limit, min_containment=min_containment, window=window)
        passages = [match.passages() if verbose else [] for match in found]
    records = [_record(match) for match in found]
    if verbose:
        for record, some in zip(records, passages, strict=True):
            record["passages"] = [dataclasses.asdict(passage) for passage in some]

    def text() -> str:
        lines = []
        for match, some in zip(found, passages, strict=True):
            share, reverse = (
                f"{percent(match.containment):>4}",
                percent(match.reverse_containment),
            )
            lines.append(f"{share} of it in {shown(match.key)} ({reverse} of that)")
            lines += [f"      line {p.query_line} as there in line {p.line}, {p.length} symbols: "
                      f"{_excerpt(query[p.query_start : p.query_end])}" for p in some]  # fmt: skip
        return "\n".join(lines) or "nothing shares text with it"

    return show(records, form, text)


@click.command(cls=Command)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@share_option("--min-resemblance", 0.8, "how alike they are at least")
@index_option
@form_options
def similar(file: str, min_resemblance: float, index_path: str | None, form: str | None) -> int:
    """Find the documents that resemble FILE as a whole.

    With - the text is what comes from a pipe.

    \b
    Example:
      docindex similar --min-resemblance 0.5 essay.txt
    """
    query = Text(_asked_with(file))
    with existing(index_path) as index:
        found = index.similar(query, min_resemblance)
    lines = [f"{percent(match.resemblance):>4}  {shown(match.key)}" for match in found]
    return show([_record(m) for m in found], form, lambda: "\n".join(lines) or "nothing resembles it")


@click.command(cls=Command)
@share_option("--min-resemblance", None, "of what either has, so much is common (0.5 if not given)")
@share_option("--min-containment", None, "of what one has, so much is in the other")
@common_option
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="how many pairs")
@click.option("--under", "folder", metavar="DIR", help="only among what lies there")
@index_option
@form_options
def pairs(
    min_resemblance: float | None,
    min_containment: float | None,
    ignore_above: int,
    limit: int,
    folder: str | None,
    index_path: str | None,
    form: str | None,
) -> int:
    """List the pairs of documents that share the most.

    What is counted are fingerprints; compare counts shingles, and may say a little else of two texts.

    \b
    Examples:
      docindex pairs
      docindex pairs --min-containment 0.9 --csv > pairs.csv
    """
    if min_resemblance is None and min_containment is None:
        min_resemblance = 0.5
    where = None if folder is None else under_roots([key_of(given(folder))])
    with existing(index_path) as index, progress("comparing"):
        found = index.pairs(
            min_resemblance=min_resemblance,
            min_containment=min_containment,
            ignore_above=ignore_above,
            where=where,
        )
        remark_on_common(index, ignore_above)
        records = [dataclasses.asdict(pair) for pair in itertools.islice(found, limit + 1)]
    if len(records) > limit:
        records.pop()
        remark(f"docindex: there are more pairs than these {limit:,}; --limit sets how many are listed")

    def text() -> str:
        lines = []
        for pair in records:
            both = (pair["resemblance"], pair["containment"], pair["reverse_containment"])
            lines.append("{:>4} alike, {:>4} of the first, {:>4} of the second".format(*map(percent, both)))
            lines += [f"  {shown(pair['a'])}", f"  {shown(pair['b'])}"]
        return "\n".join(lines) or "no pairs"

    return show(records, form, text)


def _asked_with(file: str) -> str:
    """The text of a file, read as scans do, or what comes from a pipe; `UnreadableFile` if it is none."""
    try:
        text = _piped_text() if file == "-" else read_file(given(file), follow_symlinks=True).text
    except NotReadable as error:
        raise UnreadableFile(f"{file} cannot be read: {error}", file) from error
    if text is None:
        raise UnreadableFile(f"{file} is no text; name a text file", file)
    return text


def _piped_text() -> str | None:
    decoded = decode(sys.stdin.buffer.read())
    return decoded.text if decoded else None


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _EXCERPT else f"{words[:_EXCERPT]}…"


def _record(match: Match) -> dict[str, Any]:
    return {name: getattr(match, name) for name in _NAMES}
