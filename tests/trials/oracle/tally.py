"""Count how often docindex agrees with the plain definitions: exactly, or within its standard errors."""

from collections import Counter

ERRORS = 3
"""An estimate may be off by this many of its standard errors ..."""
WITHIN = 0.997
"""... in all but .3% of the cases."""

CALIBRATED = ("default", "64 slots", "MOD_m", "L_i")
"""The recipes for which the standard errors of fingerprints are calibrated."""

WORDS, SHORT_WORDS, LONG_WORDS = "words", "short words", "long words"
"""Texts of 3 to 9 symbols to a word on average, of fewer (each letter of Thai is a word), or of more."""

MEASURES = ("containment", "reverse_containment", "resemblance")


class Tally:
    """The answers so far: exact ones by surface, estimates by recipe, question, basis and measure."""

    def __init__(self):
        self.exact = Counter()
        self.differences = []
        self.estimates = Counter()
        self.outside = Counter()
        self.examples = []

    def add(self, other):
        """Take the counts of another tally."""
        for name in ("exact", "estimates", "outside"):
            getattr(self, name).update(getattr(other, name))
        self.differences += other.differences
        self.examples += other.examples

    def same(self, surface, found, expected, question):
        """Note an answer that must equal the expected one."""
        self.exact[surface] += 1
        if found != expected:
            self.differences.append((surface, question, _first_difference(found, expected)))

    def estimate(self, kind, row, truth, question):
        """Note the measures of one estimate; `kind` is the recipe and the way of asking."""
        for measure in MEASURES:
            off = abs(row[measure] - getattr(truth, measure))
            case = (*kind, row["basis"], measure, "in common" if truth.shared else "nothing in common")
            self.estimates[case] += 1
            if off > ERRORS * row[f"{measure}_error"] + 1e-12:
                self.outside[case] += 1
                error = row[f"{measure}_error"]
                self.examples.append((case, question, row[measure], error, tuple(truth)))

    def promised(self):
        """For each basis, the number of estimates that promise an error, and the share within it.

        The errors of fingerprints are calibrated for words of 3 to 9 symbols, in recipes like the default: a
        shingle of shorter words is much shorter than a k-gram, and a longer word has a k-gram of its own, so
        that the two are different questions. `report` prints the others too. With `ignore_above`, other
        fingerprints are ignored than those of the ignored shingles.
        """
        counts, outside = Counter(), Counter()
        for case, count in self.estimates.items():
            recipe, _, way, words, basis = case[:5]
            if basis == "fingerprints" and (
                recipe not in CALIBRATED or words != WORDS or "ignore_above" in way
            ):
                continue
            counts[basis] += count
            outside[basis] += self.outside[case]
        return {basis: (count, 1 - outside[basis] / count) for basis, count in counts.items()}

    def coverage(self, fields):
        """For each value of some fields: the number of estimates, and the share within their errors."""
        counts, outside = Counter(), Counter()
        for case, count in self.estimates.items():
            counts[tuple(case[field] for field in fields)] += count
        for case, count in self.outside.items():
            outside[tuple(case[field] for field in fields)] += count
        return {case: (count, 1 - outside[case] / count) for case, count in sorted(counts.items())}


def _first_difference(found, expected):
    if isinstance(found, list) and isinstance(expected, list):
        if len(found) == len(expected):
            return next((f, e) for f, e in zip(found, expected, strict=True) if f != e)
        missing = [row for row in expected if row not in found][:3]
        added = [row for row in found if row not in expected][:3]
        return f"{len(found)} rows, expected {len(expected)}; missing {missing}; added {added}"
    return found, expected
