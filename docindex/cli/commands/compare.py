"""``docindex compare A B``: how much text two files share, and their passages and regions side by side."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import click

from docindex.cli.existing_index import open_existing
from docindex.cli.options import Command, encoding_option, form_options, verbose_option
from docindex.cli.output import emit, progress, show
from docindex.cli.text_input import read_named
from docindex.index.index import Index, open_scope
from docindex.index.texts import distance, simhash
from docindex.opening import open as open_index
from docindex.query.regions.differences import Difference, differences
from docindex.query.regions.evidence import with_places
from docindex.query.regions.passages import SHORTEST_PASSAGE, Passage
from docindex.query.regions.regions import Region
from docindex.query.resolve import Query, Text
from docindex.shown.matches import pair_lines
from docindex.shown.stretches import own_passages, reworded, stretch_records
from docindex.shown.wording import several

_SHOWN_PASSAGES = 10
"""How many passages are shown without --verbose."""

_SHOWN_DIFFERENCES = 30
"""How many places with differences are shown without --verbose."""


@click.command("compare", cls=Command)
@click.argument("a", metavar="A", type=click.Path())
@click.argument("b", metavar="B", type=click.Path())
@encoding_option
@click.option(
    "--min-length",
    type=click.IntRange(1),
    metavar="N",
    default=SHORTEST_PASSAGE,
    show_default=True,
    help="Minimum number of symbols (letters, digits and pictures) in a passage.",
)
@click.option(
    "--join",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Join passages that follow each other with at most N symbols between them.",
)
@click.option(
    "--index",
    "index_path",
    metavar="FILE",
    help="Compare as this index does: with its recipe, and ignoring its boilerplate.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Show the words that differ instead of the passages: deleted, inserted and replaced words. "
    "Case, accents and punctuation do not count.",
)
@verbose_option(
    f"Show all passages and regions, not only the {_SHOWN_PASSAGES} longest of each, or all differences, not "
    f"only the first {_SHOWN_DIFFERENCES}. Show more measures. List guessed encodings, and what could not be "
    "read."
)
@form_options
def compare_command(
    a: str,
    b: str,
    min_length: int,
    join: int,
    encoding: str | None,
    index_path: str | None,
    diff: bool,
    verbose: bool,
    form: str | None,
) -> int:
    """Show what two files share, or with --diff what differs.

    Prints the measures first. They count different shingles (runs of five words): resemblance is the shared
    shingles as a share of the shingles of both texts together; containment is the shared shingles as a share
    of those of one text. Then prints the passages that A and B have in common: in colour if the terminal
    supports it, otherwise between [[ and ]]. Then prints regions that seem to be reworded, because their
    sentences share many of their rarer words. Read these and judge for yourself.

    With --diff, prints what differs instead: the words that are only in A in red or between [- and -], and
    those only in B in green or between {+ and +}. With --index, text that an index ignores (see
    `docindex boilerplate`) counts neither as shared nor as part of a file, and is not shown.

    A and B may also be keys of documents in the index, or documents inside a file, such as
    'mail.mbox!/message 2' or 'a.zip!/b.txt'.

    \b
    Examples:
      docindex compare draft.txt final.txt
      docindex compare --diff draft.txt final.txt
      docindex compare --verbose draft.txt final.txt
      docindex compare --index essays.docindex draft.txt final.txt
    """
    named = index_path or os.environ.get("DOCINDEX")
    (key_a, source_a), (key_b, source_b) = (
        read_named(name, encoding, named, verbose=verbose) for name in (a, b)
    )
    text_a, text_b = source_a.text, source_b.text
    opened = open_index(":memory:") if index_path is None else open_existing(index_path)
    with opened as index, progress("comparing"):
        found = index.compare(Text(text_a), Text(text_b), min_length=min_length, join=join)
        regions = with_places(found.regions, source_a.places, source_b.places)
        numbers = _numbers_of_both(index, text_a, text_b)
        changes = differences(text_a, text_b, index.recipe) if diff else []
    shared = with_places(found.passages, source_a.places, source_b.places)
    passages = own_passages(shared)
    record = {
        "a": key_a,
        "b": key_b,
        "resemblance": found.resemblance,
        "containment_of_a_in_b": found.containment,
        "containment_of_b_in_a": found.reverse_containment,
        "shared_shingles": found.shared,
        **numbers,
        "boilerplate_passages": len(found.passages) - len(passages),
        "passages": stretch_records(passages),
        "regions": stretch_records(regions),
        **({"differences": stretch_records(changes)} if diff else {}),
    }
    lines = pair_lines(found, key_a, key_b)
    show([record], form, lambda: "\n".join([*lines, *_details(record, verbose=verbose)]), record)
    if form is None and diff:
        _show_differences((text_a, text_b), changes, verbose=verbose)
    elif form is None:
        count = None if verbose else _SHOWN_PASSAGES
        _show_longest((text_a, text_b), passages, count, "passage")
        _show_longest((text_a, text_b), reworded(regions), count, "reworded region")
    return 0


def _numbers_of_both(index: Index, a: str, b: str) -> dict[str, int]:
    """The numbers of shingles and of fingerprints that count, and the distance of the simhashes."""
    with open_scope(index) as scope:
        hashes_a, hashes_b = (
            set(scope.ignored.without(Query(text, None).hashes(scope)[0]).tolist()) for text in (a, b)
        )
        shingles_of_a, shingles_of_b = (len(scope.shingles_of(text)) for text in (a, b))
    return {
        "shingles_of_a": shingles_of_a,
        "shingles_of_b": shingles_of_b,
        "fingerprints_of_a": len(hashes_a),
        "fingerprints_of_b": len(hashes_b),
        "shared_fingerprints": len(hashes_a & hashes_b),
        "simhash_distance": distance(simhash(a, index.recipe), simhash(b, index.recipe)),
    }


def _details(record: dict[str, Any], *, verbose: bool) -> Iterable[str]:
    """More measures, with `verbose`; and how many passages are left out."""
    if verbose:
        yield f"resemblance          {record['resemblance']:.3f}"
        yield f"A contained in B     {record['containment_of_a_in_b']:.3f}"
        yield f"B contained in A     {record['containment_of_b_in_a']:.3f}"
        counts = "(A has {shingles_of_a}, B has {shingles_of_b})".format_map(record)
        yield f"shared shingles      {record['shared_shingles']} {counts}"
        yield f"simhash distance     {record['simhash_distance']} of 64 bits"
    if left_out := record["boilerplate_passages"]:
        yield f"boilerplate: {several(left_out, 'passage')} left out"


def _show_differences(texts: tuple[str, str], found: list[Difference], *, verbose: bool) -> None:
    """Print how many words differ, and then the words, in the order of the first text."""
    from docindex.shown.differences import difference_summary, difference_text  # as below

    emit(difference_summary(found))
    if found:
        emit(f"\n{difference_text(*texts, found, None if verbose else _SHOWN_DIFFERENCES)}", is_safe=True)


def _show_longest(
    texts: tuple[str, str], found: Sequence[Passage | Region], count: int | None, name: str
) -> None:
    """Print the longest of some passages or regions, in the order of the first text."""
    if not found:
        return
    from docindex.shown.side_by_side import side_by_side  # imports rich, which --json does not need

    longest = sorted(found, key=lambda each: each.query_start - each.query_end)[:count]
    emit(f"\n{side_by_side(*texts, sorted(longest, key=lambda each: each.query_start))}", is_safe=True)
    if len(longest) < len(found):
        emit(f"\n{several(len(found) - len(longest), f'shorter {name}')}; --verbose shows all")
