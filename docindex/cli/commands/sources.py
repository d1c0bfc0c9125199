"""``docindex sources``: where a text comes from, document by document, and what nothing covers."""

import dataclasses

import click

from docindex.cli.existing_index import open_existing
from docindex.cli.options import (
    Command,
    encoding_option,
    form_options,
    index_option,
    share_option,
    verbose_option,
)
from docindex.cli.output import show
from docindex.cli.text_input import STDIN, read_query
from docindex.query.resolve import Text
from docindex.query.sources import LEAST_ADDED, SOURCES, TextSource
from docindex.shown.paths import display_path
from docindex.shown.stretches import excerpt, stretch_size
from docindex.shown.wording import several, share_in_percent


@click.command("sources", cls=Command)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    default=SOURCES,
    show_default=True,
    help="Maximum number of documents.",
)
@share_option("--min-share", LEAST_ADDED, "Minimum share of FILE that a document adds.")
@encoding_option
@verbose_option(
    "Also show the stretches. Say if the encoding was guessed, or if a part of FILE could not be read."
)
@index_option
@form_options
def sources_command(
    file: str,
    limit: int,
    min_share: float,
    encoding: str | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """List the few documents that together cover FILE.

    The first document shares the most text with FILE. The next one shares the most of the text that is left,
    and so on. Shares count letters and digits in shared passages; boilerplate does not count. "about 20%" is
    an estimate: the text of that document is not kept. FILE may be in the index, but it is not a source of
    itself. If FILE is -, plain text is read from standard input.

    \b
    Examples:
      docindex sources essay.txt
      docindex sources --verbose --min-share 0.05 essay.pdf
    """
    key, query = read_query(file, encoding, index_path, verbose=verbose)
    with open_existing(index_path) as index:
        where = ("key <> ?", [key])
        found = index.sources(Text(query.text), limit=limit, min_share=min_share, where=where)
    records = [
        dataclasses.asdict(source) | {"copies": list(source.copies), "uncovered": found.uncovered}
        for source in found
    ]
    asked = "the text" if file == STDIN else display_path(key)

    def text() -> str:
        lines = []
        for source in found:
            lines.append(_source_line(source))
            if verbose:
                lines += [
                    f"      {stretch_size(each)}: {excerpt(query.text, each)}" for each in source.stretches
                ]
        if not lines:
            return "no part of this text is in a document"
        uncovered = share_in_percent(
            found.uncovered, exact=all(source.basis == "passages" for source in found)
        )
        return "\n".join([*lines, f"{uncovered} of {asked} is in no document"])

    return show(records, form, text)


def _source_line(source: TextSource) -> str:
    exact = source.basis == "passages"
    copies = f", and {several(len(source.copies), 'copy')} of it" if source.copies else ""
    added, covered = (share_in_percent(part, exact=exact) for part in (source.added, source.covered))
    whole = "" if source.covered == source.added else f" (shares {covered} in total)"
    return f"{display_path(source.key)}{copies}: adds {added} of your file{whole}"
