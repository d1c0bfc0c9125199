"""``docindex search``, ``similar``, ``pairs``: find documents that share text with a file or each other."""

import dataclasses
import itertools
from typing import Any

import click

from docindex.cli.commands.code_pairs import (
    CodeOptions,
    code_options,
    index_of_code,
    passage_lines,
    passages_of,
    write_code_report,
)
from docindex.cli.existing_index import open_existing
from docindex.cli.options import (
    Command,
    common_option,
    encoding_option,
    form_options,
    index_option,
    share_option,
    verbose_option,
)
from docindex.cli.output import progress, remark, remark_on_ignored, show
from docindex.cli.scan_summary import remark_on_unknown
from docindex.cli.text_input import STDIN, read_query
from docindex.cli.typed_paths import typed_key, typed_path
from docindex.query.defaults import PAIR_RESEMBLANCE, SAME_WORK
from docindex.query.pairs.pairs import PairRank
from docindex.query.resolve import Text
from docindex.query.search.options import MATCHES, Rank
from docindex.query.search.search import Match
from docindex.shown.matches import measures_line, pair_lines
from docindex.shown.paths import display_path
from docindex.shown.stretches import stretch_lines, stretch_records, stretches_of
from docindex.storage.rows.key_ranges import under_roots

_MATCH_FIELDS = (
    *("key", "containment", "reverse_containment", "resemblance", "shared", "score", "basis"),
    *("containment_error", "reverse_containment_error", "resemblance_error"),
)


@click.command("search", cls=Command)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    default=MATCHES,
    show_default=True,
    help="Maximum number of documents.",
)
@click.option(
    "--min-containment",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    default=0.0,
    help="Minimum share of FILE that a document contains.",
)
@click.option(
    "--rank",
    type=click.Choice(["likeness", "excerpt"]),
    default="likeness",
    show_default=True,
    help="Order: the documents most like FILE first, or those first that contain most of it.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Count shared runs of words (shingles), as compare does: exact, but slower.",
)
@click.option(
    "--window",
    type=click.IntRange(1),
    metavar="N",
    help="A larger window than that of the index (36 by default) looks up fewer fingerprints. It saves time "
    "in a large index, but may miss short passages.",
)
@encoding_option
@verbose_option(
    "Also show the shared passages, and the regions that seem to be reworded. Say if the encoding was "
    "guessed, or if a part of FILE could not be read."
)
@index_option
@form_options
def search_command(
    file: str,
    limit: int,
    min_containment: float,
    rank: Rank,
    exact: bool,
    window: int | None,
    encoding: str | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """Find the documents that share text with FILE.

    FILE may be in any format that `docindex scan` reads. It may also be the key of a document in the index,
    or a document inside a file, such as 'mail.mbox!/message 2' or 'a.zip!/b.txt'. If FILE is in the index, it
    is one of the documents found. If FILE is -, plain text is read from standard input.

    The shares are estimated from fingerprints (selected runs of symbols), which is fast. With --exact they
    are counted in shingles (runs of five words), as in `docindex compare`; for a document whose text is not
    kept, they stay estimates.

    \b
    Examples:
      docindex search essay.txt
      docindex search essay.pdf
      docindex search 'mail.mbox!/message 2'
      git show HEAD:essay.txt | docindex search -
    """
    _, query = read_query(file, encoding, index_path, verbose=verbose)
    with open_existing(index_path) as index:
        found = index.search(
            Text(query.text),
            limit=limit,
            min_containment=min_containment,
            rank=rank,
            exact=exact,
            window=window,
        )
        shared = [stretches_of(match, query.places) if verbose else ([], []) for match in found]
    records = [_record(match) for match in found]
    if verbose:
        for record, (passages, regions) in zip(records, shared, strict=True):
            record["passages"] = passages and stretch_records(passages)
            record["regions"] = regions and stretch_records(regions)

    def text() -> str:
        lines = []
        for match, (passages, regions) in zip(found, shared, strict=True):
            lines.append(_match_line(match, file))
            if passages is None:
                lines.append("      its passages cannot be shown, because its text is not kept")
            lines += stretch_lines(query.text, passages or [], regions or [])
        return "\n".join(lines) or "no document shares text with this text"

    return show(records, form, text)


@click.command("similar", cls=Command)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@share_option("--min-resemblance", SAME_WORK, "Minimum resemblance of a document.")
@encoding_option
@verbose_option("Say if the encoding was guessed, or if a part of FILE could not be read.")
@index_option
@form_options
def similar_command(
    file: str,
    min_resemblance: float,
    encoding: str | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """Find the documents that resemble FILE as a whole.

    Resemblance counts different shingles (runs of five words): those that both texts share, as a share of
    those of the two texts together. "91%" is exact. "about 91%" is an estimate: the text of that document is
    not kept. FILE is named as for `docindex search`.

    \b
    Example:
      docindex similar --min-resemblance 0.5 essay.txt
    """
    query = Text(read_query(file, encoding, index_path, verbose=verbose).found.text)
    with open_existing(index_path) as index:
        found = index.similar(query, min_resemblance)
    lines = [_match_line(match, file) for match in found]
    records = [_record(match) for match in found]
    return show(records, form, lambda: "\n".join(lines) or "no document resembles this text")


@click.command("pairs", cls=Command)
@share_option(
    "--min-resemblance",
    None,
    f"Minimum resemblance of a pair ({PAIR_RESEMBLANCE} if no minimum is given).",
)
@share_option("--min-containment", None, "Minimum share of one document that the other contains.")
@common_option
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    default=1000,
    show_default=True,
    help="Maximum number of pairs.",
)
@click.option("--under", "folder", metavar="DIR", help="Compare only documents in this folder.")
@click.option(
    "--between",
    nargs=2,
    metavar="DIR DIR2",
    help="List only pairs of a document in DIR and one in DIR2, such as new and old ones.",
)
@click.option(
    "--min-shared",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    help="Minimum number of runs of words (shingles) that a pair shares.",
)
@click.option(
    "--rank",
    type=click.Choice(["measure", "shared"]),
    default="measure",
    show_default=True,
    help="Order: the highest resemblance (or containment) first, or the most shared runs of words first.",
)
@code_options
@verbose_option("With --code: list the passages of each pair, with files and lines.")
@index_option
@form_options
def pairs_command(
    min_resemblance: float | None,
    min_containment: float | None,
    ignore_above: int,
    limit: int,
    folder: str | None,
    between: tuple[str, str] | None,
    min_shared: int,
    rank: PairRank,
    code: str | None,
    boilerplate: tuple[str, ...],
    raw: bool,
    report: str | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """List the pairs of texts, or programs, that share the most.

    Both measures count different shingles (runs of five words), as `docindex compare` does: resemblance is
    the shared shingles as a share of those of the two texts together, containment the shared shingles as a
    share of those of one text. If both texts are kept, the measures are exact, and no pair is missed;
    otherwise they are estimates. Shingles found in more than --ignore-common texts do not count.

    With --code, the programs of a class are compared, without an index. A submission is one source file in
    DIR, or a folder in DIR with all source files below it. Comments, white space and (without --raw) names do
    not count; a shingle is five tokens.

    \b
    Examples:
      docindex pairs
      docindex pairs --min-containment 0.9 --csv > pairs.csv
      docindex pairs --between submissions archive
      docindex pairs --code homework --boilerplate given.py --between homework last-year -v
    """
    if min_resemblance is not None and min_containment is not None:
        raise click.UsageError(
            "--min-resemblance and --min-containment cannot be used together; give only one of them"
        )
    options = CodeOptions(code, between, boilerplate, raw, report)
    options.check()
    if folder is not None and between is not None:
        raise click.UsageError("--under and --between cannot be used together; give only one of them")
    named = [folder] if folder is not None else list(between or ())
    conditions = [under_roots([typed_key(name)]) for name in named]
    with (
        open_existing(index_path) if code is None else index_of_code(options) as index,
        progress("comparing"),
    ):
        remark_on_unknown(index, map(typed_path, named))
        found = index.pairs(
            min_resemblance=min_resemblance,
            min_containment=min_containment,
            min_shared=min_shared,
            ignore_above=ignore_above,
            where=None if folder is None else conditions[0],
            between=None if between is None else (conditions[0], conditions[1]),
            rank=rank,
        )
        remark_on_ignored(found.set_aside, ignore_above)
        pairs = list(itertools.islice(found, limit + 1))
        if len(pairs) > limit:
            pairs.pop()
            remark(f"docindex: there are more than {limit:,} pairs; --limit sets how many are listed")
        records = [
            {"a": pair.a, "b": pair.b, "a_id": pair.a_id, "b_id": pair.b_id, **dataclasses.asdict(pair)}
            | ({"passages": passages_of(index, pair)} if verbose and code is not None else {})
            for pair in pairs
        ]
        if report is not None:
            write_code_report(index, pairs, options)
    lines = [
        line
        for pair, record in zip(pairs, records, strict=True)
        for line in (*pair_lines(pair, pair.a, pair.b), *passage_lines(record.get("passages", ())))
    ]
    return show(records, form, lambda: "\n".join(lines) or "no pairs")


def _match_line(match: Match, file: str) -> str:
    """How much a query shares with a document."""
    asked = "your text" if file == STDIN else "your file"
    return f"{display_path(match.key)}: {measures_line(match, asked, 'it')}"


def _record(match: Match) -> dict[str, Any]:
    return {name: getattr(match, name) for name in _MATCH_FIELDS}
