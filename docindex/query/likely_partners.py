"""Find the contents that may resemble one of a few contents enough, by one pass over all slots.

Takes a scope with two sets of documents, and a threshold. Gives the contents of the small set and their
likely partners in the large one, so that pairs read nothing else of the others. Must never miss a partner,
except with the probability that `fewest_equal_slots` allows.
"""

import math

import numpy as np

from docindex.kernels.arrays import I64
from docindex.kernels.equal_slots import equal_slot_pairs
from docindex.kernels.minhash import EMPTY_SLOT, fewest_equal_slots
from docindex.query.joined_pairs import Threshold
from docindex.query.pair_needs import rounded_up
from docindex.query.pair_nodes import MUCH_SMALLER
from docindex.query.scope import Scope
from docindex.query.slot_pairs import FEW
from docindex.storage import bulk


def likely_partners(scope: Scope, threshold: Threshold) -> I64 | None:
    """The contents of the small set and their likely partners, ascending.

    None if slots do not tell: both sets are large, or the threshold is a containment, or is too low, or some
    text is ignored, or a pair may be estimated by its fingerprints because a text is not kept.
    """
    least = _fewest_equal(scope, threshold)
    if not least:
        return None
    few, many = sorted(scope.sides, key=len)
    if len(few) > FEW or len(few) * MUCH_SMALLER > len(many) or not len(few):
        return None
    own = bulk.slot_rows(scope.db, few, scope.recipe.slots)
    found = [few]
    for some in bulk.slots_of_sizes(scope.db, 0, math.inf, scope.recipe.slots):
        scope.check_cancelled()
        if threshold.method == "shingles" and not some.kept.all():
            return None
        _, rows, equal = equal_slot_pairs(own, some.slots)
        likely = some.slots[:, 0] == EMPTY_SLOT  # texts without words are like each other
        likely[rows[equal >= least]] = True
        found.append(some.contents[likely])
    partners = np.unique(np.concatenate(found))
    return partners[np.isin(partners, few) | np.isin(partners, many)]


def _fewest_equal(scope: Scope, threshold: Threshold) -> int:
    """How many equal slots a pair must have; 0 if other pairs must be found, too."""
    ignores = bool(scope.ignored) or threshold.ignore_above is not None
    if scope.between is None or ignores or threshold.measure != "resemblance":
        return 0
    if threshold.method == "shingles":
        return fewest_equal_slots(scope.recipe.slots, threshold.least)
    return int(rounded_up(threshold.least * scope.recipe.slots)) if threshold.method == "slots" else 0
