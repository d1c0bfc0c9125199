"""Word how much two texts share, for one match, a pair, or a comparison of two files."""

from docindex.query.measures import Measures
from docindex.shown.paths import display_path
from docindex.shown.wording import share_in_percent


def measures_line(measures: Measures, a: str, b: str) -> str:
    """How much of each text is in the other, and their resemblance. `a` and `b` are what they are called."""
    shares = (measures.containment, measures.reverse_containment, measures.resemblance)
    of_a, of_b, whole = (share_in_percent(part, exact=measures.exact) for part in shares)
    return f"{of_a} of {a} is in {b}; {of_b} of {b} is in {a}; resemblance {whole}"


def pair_lines(measures: Measures, a: str, b: str) -> list[str]:
    """How much two documents share, and below that their keys as paths."""
    return [measures_line(measures, "A", "B"), f"  A  {display_path(a)}", f"  B  {display_path(b)}"]
