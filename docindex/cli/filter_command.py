"""``docindex filter``: which (k, s, r) a filter of features needs, and what passes it."""

import click

from docindex.cli.options import Command, form_options
from docindex.cli.output import show
from docindex.cli.wording import several
from docindex.kernels.feature_filter import acceptance, half_point, propose_filter

_STEPS = 20
_WIDTH = 50


@click.command("filter", cls=Command)
@click.option("--k", type=click.IntRange(1), help="how many features")
@click.option("--s", type=click.IntRange(1), help="of how many slots each")
@click.option("--r", type=click.IntRange(1), help="how many a pair must have in common")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="the resemblance to design a filter for",
)
@form_options
def design(k: int | None, s: int | None, r: int | None, threshold: float | None, form: str | None) -> int:
    """Show which pairs a filter of features lets pass.

    A pair passes that has --r of its --k features in common, each made of --s slots. With --threshold the
    filter is designed that keeps 99 in 100 pairs of this resemblance, and as few as possible of those below.

    \b
    Examples:
      docindex filter --k 6 --s 14 --r 2
      docindex filter --threshold 0.8
    """
    given = (k, s, r)
    if threshold is not None and given == (None, None, None):
        found = propose_filter(threshold)
        k, s, r = found.k, found.s, found.r
    elif threshold is not None or k is None or s is None or r is None:
        raise click.UsageError("give --k, --s and --r, or --threshold alone")
    points = [(step / _STEPS, acceptance(k, s, r, step / _STEPS)) for step in range(_STEPS + 1)]
    records = [{"k": k, "s": s, "r": r, "resemblance": x, "passes": passes} for x, passes in points]

    def text() -> str:
        half = half_point(k, s, r)
        made = f"{several(k, 'feature')} of {several(s, 'slot')} each, {r} in common"
        head = f"{made}: half of the pairs pass at {half:.3f}"
        lines = [f"{x:4.0%}  {passes:7.2%}  {'#' * round(_WIDTH * passes)}".rstrip() for x, passes in points]
        return "\n".join([head, "alike   passes", *lines])

    return show(records, form, text)
