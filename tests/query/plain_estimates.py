"""The plain definition of the estimates of what two texts share, from their sketches."""

import dataclasses
import math

import numpy as np

import docindex
from docindex.minhash.slots import estimate_resemblance
from docindex.query.measures import Measures, unit_errors
from docindex.shingling.samples import coarsen, sample_levels


def by_slots(a, b, size_a, size_b):
    """The estimate by two rows of slots, given how many shingles each text has."""
    equal = int(np.count_nonzero(a == b)) if size_a and size_b else 0
    row = np.tri(len(a) + 1, len(a), -1, dtype=np.uint16)[equal][None, :]
    (r,), (error,) = (some.tolist() for some in estimate_resemblance(row, np.ones_like(row)))
    both = min(r / (1 + r) * (size_a + size_b), size_a, size_b)
    slope = (size_a + size_b) / (1 + r) ** 2
    a, b = max(size_a, 1), max(size_b, 1)
    return Measures(both / a, both / b, r, equal, "slots", error * slope / a, error * slope / b, error)


def by_fingerprints(a, b, unit_error):
    """The estimate by two sets of hashes that count."""
    shared = len(a & b)
    wholes = len(a), len(b), len(a | b)

    def error(whole):
        likely = (shared + 1) / (whole + 2)
        return math.sqrt(0.25**2 * likely * (1 - likely) + (1 / (whole + 2)) ** 2 + unit_error**2)

    return Measures(*_shares(shared, wholes), shared, "fingerprints", *map(error, wholes))


def by_samples(a, b):
    """The estimate by two samples with the same modulus; None if one is empty."""
    shared = len(a & b)
    wholes = len(a), len(b), len(a | b)

    def error(whole):
        likely = (shared + 2) / (whole + 4)
        return math.sqrt(likely * (1 - likely) / (whole + 4)) + abs(likely - shared / whole) / 3

    return Measures(*_shares(shared, wholes), shared, "samples", *map(error, wholes)) if a and b else None


def _shares(shared, wholes):
    return [shared / whole if whole else 0.0 for whole in wholes]


def estimate(recipe, text_a, text_b, template=None):
    """The best estimate of two texts, without the fingerprints of a template."""
    a, b = (docindex.sketch(text, recipe) for text in (text_a, text_b))
    ignored = set() if template is None else _grams(template, recipe)
    of_a, of_b = (_hashes(each) - ignored for each in (a, b))
    numbers = np.array([a.symbols, b.symbols]), np.array([a.shingles, b.shingles])
    unit_error = unit_errors(*numbers, recipe, "nothing" if template is None else "boilerplate").max()
    found = [by_fingerprints(of_a, of_b, unit_error)]
    if template is None:
        found.append(by_slots(a.slots, b.slots, a.shingles, b.shingles))
        if recipe.mod_m:
            found.append(by_samples(*(set(each.mod_m.tolist()) for each in (a, b))))
        if recipe.level:
            level = int(sample_levels(numbers[1], recipe.level).max())
            found.append(by_samples(*(set(coarsen(each.level, level).tolist()) for each in (a, b))))
    known = [each for each in found if each is not None]
    return min(known, key=lambda each: each.containment_error + each.reverse_containment_error)


def _hashes(sketch):
    return {hash_ >> 16 for hash_ in sketch.hashes.tolist()}


def _grams(template, recipe):
    """All k-grams of a template: a window of 1 selects them."""
    return _hashes(docindex.sketch(template, dataclasses.replace(recipe, window=1)))
