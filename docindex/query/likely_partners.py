"""Find the contents that may be in a pair with one of a few contents, so that pairs read nothing else.

Takes a scope with two sets of documents, and a threshold. Gives the contents of the small set and their
likely partners in the large one. Must never miss a partner, except with two times the probability
`minhash.MISSED`: by the slots that are compared first or looked up, and by all slots.

Hashes of fingerprints, features and hashes of words are looked up in the inverted index: that takes the same
time in an index of any size. Slots are in no inverted index. Those of a resemblance of .73 or more are looked
up in a `slot_index`, which the second question makes; otherwise one pass reads the slots of all contents.
"""

import math

import numpy as np

from docindex.kernels.arrays import I64, U16, union
from docindex.kernels.equal_slots import equal_slot_pairs
from docindex.kernels.feature_hashes import features
from docindex.kernels.group_sums import tally
from docindex.kernels.minhash import EMPTY_SLOT
from docindex.query.joined_pairs import Threshold
from docindex.query.pair_needs import rounded_up
from docindex.query.scope import Scope
from docindex.query.slot_index import fewest_shared
from docindex.query.slot_needs import SlotNeeds
from docindex.query.slot_pairs import FEW
from docindex.query.two_sets import LikelyPartners, small_set
from docindex.storage import bulk, documents, forward_index, postings, traits

# To look up slots in the `slot_index` takes less time than a pass if a pair shares at least this many of the
# sorted ones: by chance, 100 texts have 4% of all contents as partners then, and nearly all if it is one.
_SHARED = 2

_NOTHING = np.empty(0, np.int64)


def likely_partners(scope: Scope, threshold: Threshold) -> LikelyPartners | None:
    """The contents of the small set and their likely partners.

    None if they cannot be found with less work than all contents: both sets are large, or slots do not tell,
    or common text is ignored, because then the hashes of all texts must be counted.
    """
    if scope.between is None or threshold.ignore_above is not None:
        return None
    small = small_set(scope)
    if small is None:
        return None
    few = small.contents
    found = few if not len(few) else _Partners(scope, few).found(threshold)
    if found is None:
        return None
    likely = np.union1d(found, few)
    return LikelyPartners(small, documents.contents_among(scope.db, likely, scope.between[small.is_first]))


class _Partners:
    """The likely partners of a few contents, which ascend."""

    def __init__(self, scope: Scope, few: I64) -> None:
        self._scope = scope
        self._few = few

    def found(self, threshold: Threshold) -> I64 | None:
        """The contents that may be in a pair with one of the few, in any set; None if that is not known."""
        if threshold.method == "fingerprints":
            found = self._sharing_hashes(threshold)
        elif threshold.method == "features":
            found = self._sharing_features()
        else:
            found = self._by_slots(threshold)
        return None if found is None else np.union1d(found, self._with_same_words())

    def _with_same_words(self) -> I64:
        """The contents that may have the same words: a text without words has no hashes and no slots."""
        return traits.having_words(self._scope.db, bulk.words_hashes_of(self._scope.db, self._few))

    def _sharing_hashes(self, threshold: Threshold) -> I64 | None:
        """The contents that share enough hashes that count; None if the few have too many hashes."""
        db, ignored = self._scope.db, self._scope.ignored
        sizes = documents.sizes_of(db, self._few).hashes
        if not postings.looks_up(db, int(sizes.sum())):
            return None
        own = union(*(some for _, some in forward_index.hashes_of(db, self._few, self._scope.recipe.window)))
        found, counts = _NOTHING, _NOTHING
        for _, contents in self._scope.existing.look_up(ignored.without(own)):
            self._scope.check_cancelled()
            more = np.append(counts, np.ones_like(contents))
            found, counts, _ = tally(np.append(found, contents), more, more)
        if threshold.measure == "containment" or not len(found):
            return found
        # A pair shares this part of all hashes of each of its two texts, and so of the smallest of the few.
        smallest = max(1, int(sizes[sizes > 0].min()) - len(ignored.hashes))
        likely: I64 = found[counts >= rounded_up(threshold.least * smallest)]
        return likely

    def _sharing_features(self) -> I64 | None:
        """The contents that share a feature; None if the few are too many."""
        k, s, _ = self._scope.recipe.features
        if not postings.looks_up(self._scope.db, len(self._few) * k):
            return None
        slots = self._slots()
        own = features(slots[slots[:, 0] != EMPTY_SLOT], k, s)
        return traits.having_features(self._scope.db, union(own.ravel()))

    def _slots(self) -> U16:
        return bulk.slot_rows(self._scope.db, self._few, self._scope.recipe.slots)

    def _by_slots(self, threshold: Threshold) -> I64 | None:
        """The contents with enough equal slots, and those whose slots do not tell."""
        scope, estimated = self._scope, threshold.method == "slots"
        if not estimated and not bulk.keeps_texts(scope.db):
            if scope.ignored:
                return self._sharing_hashes(threshold)
            estimated = True
        elif not estimated and scope.ignored:
            return None
        needs = SlotNeeds(scope.recipe.slots, threshold.measure, threshold.least, estimated)
        if needs.of_all == 0 or len(self._few) > FEW:
            return None
        found, all_kept = self._with_equal_slots(needs, certainly=threshold.method == "slots")
        if threshold.method == "slots" or all_kept:
            return found
        # The better estimate may be the one by fingerprints.
        sharing = self._sharing_hashes(threshold)
        return None if sharing is None else np.union1d(found, sharing)

    def _with_equal_slots(self, needs: SlotNeeds, *, certainly: bool) -> tuple[I64, bool]:
        """The contents that may have enough equal slots; and whether all texts are kept.

        With `certainly`, no content is missed that has enough.
        """
        scope, sizes = self._scope, documents.sizes_of(self._scope.db, self._few).shingles
        own, sizes = self._slots()[sizes > 0], sizes[sizes > 0]
        if not len(own):
            return _NOTHING, True
        among, all_kept = (None, True) if certainly else self._sharing_slots(own, needs)
        first, fewest = (needs.slots, 0) if certainly or among is not None else needs.first
        found = [_NOTHING]
        for some in bulk.slots_of_sizes(scope.db, 0, math.inf, scope.recipe.slots, among):
            scope.check_cancelled()
            enough = needs.of_texts(some.shingles, sizes)
            # A text without words has no likely partner.
            likely = (enough == 0) & (some.slots[:, 0] != EMPTY_SLOT)
            of_few, rows, equal = equal_slot_pairs(own[:, :first], some.slots[:, :first])
            which = equal >= (fewest or enough[rows])
            of_few, rows, equal = of_few[which], rows[which], equal[which]
            if fewest:
                equal = np.count_nonzero(own[of_few] == some.slots[rows], axis=1)
            which = equal >= needs.of_pairs(sizes[of_few], some.shingles[rows])
            likely[rows[which]] = True
            found.append(some.contents[likely])
            all_kept &= bool(some.kept.all())
        return np.concatenate(found), all_kept

    def _sharing_slots(self, own: U16, needs: SlotNeeds) -> tuple[I64 | None, bool]:
        """The contents that share sorted slots, ascending; None if that does not tell, or none are sorted.

        Also whether all texts are kept, as far as is known.
        """
        recipe = self._scope.recipe
        shared = fewest_shared(recipe.slots, needs.least)
        # Texts with the same words may have different shingles if these are made of lines: see `slot_index`.
        if needs.measure == "containment" or shared < _SHARED or recipe.token == "line":
            return None, True
        known = self._scope.slot_index.current(self._scope.db, recipe.slots, self._scope.check_cancelled)
        if known is None:
            return None, True
        return np.unique(np.concatenate([known.sharing(slots, shared) for slots in own])), known.all_kept
