"""``docindex filter``: design a feature filter, and show which pairs of texts pass it."""

import click

from docindex.cli.options import Command, form_options
from docindex.cli.output import show
from docindex.cli.wording import several
from docindex.kernels.feature_filter import acceptance, half_point, propose_filter

_STEPS = 20
_BAR_WIDTH = 50


@click.command("filter", cls=Command)
@click.option("--k", type=click.IntRange(1), metavar="N", help="Number of features of a text.")
@click.option("--s", type=click.IntRange(1), metavar="N", help="Number of slots in each feature.")
@click.option("--r", type=click.IntRange(1), metavar="N", help="Number of features that a pair must share.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Design a filter for pairs of at least this resemblance.",
)
@form_options
def filter_command(
    k: int | None, s: int | None, r: int | None, threshold: float | None, form: str | None
) -> int:
    """Show which pairs of texts pass a feature filter.

    A slot is one number of the min-hash sketch of a text. The probability that two texts have the same number
    in a slot is their resemblance. A feature is a hash of --s slots: it is equal only if all of them are. A
    pair passes if it shares at least --r of its --k features. With --threshold, docindex designs the filter:
    it keeps 99 of 100 pairs that have this resemblance, and as few as possible of the pairs that have less.
    The recipe of an index sets its filter: docindex.Recipe(features=(k, s, r), slots=128).

    \b
    Examples:
      docindex filter --k 6 --s 14 --r 2
      docindex filter --threshold 0.8
    """
    if threshold is not None and (k, s, r) == (None, None, None):
        found = propose_filter(threshold)
        k, s, r = found.k, found.s, found.r
    elif threshold is not None or k is None or s is None or r is None:
        raise click.UsageError("give --k, --s and --r, or --threshold alone")
    points = [(step / _STEPS, acceptance(k, s, r, step / _STEPS)) for step in range(_STEPS + 1)]
    records = [{"k": k, "s": s, "r": r, "resemblance": x, "passes": passes} for x, passes in points]

    def text() -> str:
        shape = f"{several(k, 'feature')} of {several(s, 'slot')} each, {r} in common"
        head = f"{shape}: half of the pairs pass at resemblance {half_point(k, s, r):.3f}"
        bars = [
            f"{x:4.0%}  {passes:7.2%}  {'#' * round(_BAR_WIDTH * passes)}".rstrip() for x, passes in points
        ]
        return "\n".join([head, "alike   passes", *bars])

    return show(records, form, text)
