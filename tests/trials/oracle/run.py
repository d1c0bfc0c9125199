"""Run the questions on random corpora, and print what was found."""

import sys
import tempfile

from tests.trials.oracle.corpora import Corpus
from tests.trials.oracle.questions import Asker
from tests.trials.oracle.tally import WITHIN, Tally


def run(seeds):
    """The tally of the corpora with these seeds."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for done, seed in enumerate(seeds):
            asker = Asker(Corpus(seed), folder, tally)
            asker.ask()
            asker.close()
            if sys.stderr.isatty() or done % 100 == 99:
                print(f"{done + 1} corpora, {len(tally.differences)} differences", file=sys.stderr)
    return tally


def report(tally):
    """Print the tally. The result is 0 if every answer is as it must be."""
    print(f"{sum(tally.exact.values()):,} exact answers, {len(tally.differences)} differences")
    for surface, count in sorted(tally.exact.items()):
        wrong = sum(surface == difference[0] for difference in tally.differences)
        print(f"  {surface:40} {count:>8,} {wrong or '':>6}")
    for title, fields in [
        ("estimates by basis and measure", (4, 5)),
        ("by basis, words and what is in common", (4, 3, 6)),
        ("by recipe, words and basis", (0, 3, 4)),
        ("by question and basis", (2, 4)),
        ("by boilerplate, words and basis", (1, 3, 4)),
    ]:
        print(title)
        for case, (count, share) in tally.coverage(fields).items():
            print(f"  {', '.join(case):62} {count:>8,} {share:8.4%}{'' if share >= WITHIN else '  <'}")
    print("estimates whose errors are calibrated")
    for basis, (count, share) in tally.promised().items():
        print(f"  {basis:62} {count:>8,} {share:8.4%}{'' if share >= WITHIN else '  <'}")
    for surface, question, difference in tally.differences[:20]:
        print(f"{surface}: {question}\n  found, expected: {difference}")
    return 1 if tally.differences or any(share < WITHIN for _, share in tally.promised().values()) else 0
