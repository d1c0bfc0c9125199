"""Keep a few slots of all contents in memory, sorted, and find the contents that share enough of them.

Takes a connection inside a read transaction, and the slots of a query; gives contents. Reading the slots of
a million contents takes a second, and sorting them three; after that, a look-up takes less than a
millisecond. So the first question only reads, and the second one sorts. Later questions read only contents
that were added, and the ids of all contents if some were removed. Each content takes 177 bytes.

Must never give an answer from slots that the file no longer has. Two texts with the same words have the
same slots, and ids of contents are not used again. So the tally of the contents tells whether anything has
changed, even if a host has rolled back a transaction whose contents were read.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Final

import apsw
import numpy as np

from docindex.arrays.ranges import I64, U16, U64, Bool, ranges
from docindex.minhash.slots import fewest_equal_slots
from docindex.storage import tallies
from docindex.storage.rows import bulk
from docindex.storage.tallies import Tally

COLUMNS: Final = 20
"""How many slots of a content are sorted.

Texts with a resemblance of .65 or more share one of them, those with .73 two and those with .8 four, except
with the probability `minhash.MISSED`. By chance, a text shares each slot with 1,400 among a million texts of
one size, and two slots with 400. With 16 slots in memory, texts with .8 share two only.
"""

# A key has 32 bits for a slot and its place in the sketch, and 32 bits for the place of a content.
_HALF = np.uint64(32)
_PLACE = np.uint64(2**32 - 1)

# Runs of sorted keys are merged unless the older one is this many times as long: a content is moved
# log4(contents) times, and a question looks into as many runs.
_LONGER = 4


def fewest_shared(slots: int, resemblance: float) -> int:
    """How many of the first `COLUMNS` slots a pair of at least this resemblance shares; 0 if perhaps none.

    >>> [fewest_shared(128, resemblance) for resemblance in (0.5, 0.8, 1.0)]
    [0, 4, 20]
    """
    return fewest_equal_slots(min(slots, COLUMNS), resemblance)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Sorted:
    """The sorted slots of the contents of an index."""

    contents: I64
    """Ascending. The place of a content is its index here."""
    sums: I64
    """The checksum of each content."""
    kept: Bool
    """Whether the text of each content is kept."""
    alive: Bool
    """Whether each content was still in the index."""
    runs: tuple[U64, ...]
    """Sorted keys, the longest run first."""
    tally: Tally
    """The tally of the living contents."""

    @property
    def all_kept(self) -> bool:
        """Whether the texts of all living contents are kept."""
        return bool((self.kept | ~self.alive).all())

    def with_added(self, db: apsw.Connection, slots: int, check_cancelled: Callable[[], None]) -> "_Sorted":
        """The same with the contents that have larger ids."""
        last = int(self.contents[-1]) if len(self.contents) else 0
        contents, sums, kept, keys = [self.contents], [self.sums], [self.kept], [_NO_KEYS]
        count = len(self.contents)
        for some in bulk.slots_after(db, last, slots):
            check_cancelled()
            places = np.arange(count, count + len(some.contents), dtype=np.uint64)
            count += len(places)
            contents.append(some.contents)
            sums.append(some.sums)
            kept.append(some.kept)
            keys.append((_firsts(some.slots) | places[:, None]).ravel())
        added = np.concatenate(keys)
        if not len(added):
            return self
        added.sort()
        all_sums, alive = np.concatenate(sums), np.append(self.alive, np.ones(count - len(self.alive), bool))
        return _Sorted(
            np.concatenate(contents),
            all_sums,
            np.concatenate(kept),
            alive,
            _merged((*self.runs, added)),
            _tally(all_sums[alive]),
        )

    def among(self, contents: I64) -> "_Sorted":
        """The same without contents that are not among these, which must ascend."""
        alive = np.isin(self.contents, contents)
        return dataclasses.replace(self, alive=alive, tally=_tally(self.sums[alive]))

    def sharing(self, slots: U16, least: int) -> I64:
        """The contents that share at least this many of the first slots, ascending."""
        first = _firsts(slots[None, :])[0]
        hits = [_NO_KEYS]
        for run in self.runs:
            begins, ends = run.searchsorted(first), run.searchsorted(first | _PLACE, "right")
            hits.append(run[ranges(begins, ends - begins)] & _PLACE)
        together = np.concatenate(hits).view(np.int64)
        if len(together) * _LONGER > len(self.contents):
            places = np.flatnonzero(np.bincount(together, minlength=len(self.contents)) >= least)
        else:
            distinct, counts = np.unique(together, return_counts=True)
            places = distinct[counts >= least]
        return self.contents[places[self.alive[places]]]


def _tally(sums: I64) -> Tally:
    return Tally(len(sums), int(np.bitwise_xor.reduce(sums)))


_NO_KEYS, _NONE, _NO_FLAGS = np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.bool_)
_NOTHING = _Sorted(_NONE, _NONE, _NO_FLAGS, _NO_FLAGS, (), _tally(_NONE))


class SlotIndex:
    """The sorted slots of an index, for many questions. Belongs to one index; threads may share it."""

    def __init__(self) -> None:
        self._sorted: _Sorted | None = None
        self._was_asked = False

    def current(
        self, db: apsw.Connection, slots: int, check_cancelled: Callable[[], None]
    ) -> "_Sorted | None":
        """The sorted slots of the contents in the file; None for the first question.

        `slots` is the number of slots in the recipe.
        """
        known = self._sorted
        if known is None and not self._was_asked:
            self._was_asked = True
            return None
        stored = tallies.stored(db, "content")
        if known is None or known.tally != stored:
            known = self._sorted = _renewed(known or _NOTHING, db, stored, slots, check_cancelled)
        return known


def _renewed(
    known: _Sorted, db: apsw.Connection, stored: Tally, slots: int, check_cancelled: Callable[[], None]
) -> _Sorted:
    """The sorted slots of the contents in the file, given what was known."""
    renewed = known.with_added(db, slots, check_cancelled)
    if renewed.tally != stored:
        renewed = renewed.among(bulk.content_ids(db))
    # Sort anew if most contents were removed, or if one that was rolled back was known.
    if renewed.tally != stored or 2 * renewed.tally.rows < len(renewed.contents):
        renewed = _NOTHING.with_added(db, slots, check_cancelled)
    if renewed.tally != stored:
        raise tallies.other_rows(db, "content")
    return renewed


def _merged(runs: tuple[U64, ...]) -> tuple[U64, ...]:
    """The runs, of which each is several times as long as the next."""
    while len(runs) > 1 and len(runs[-2]) < _LONGER * len(runs[-1]):
        last = np.concatenate(runs[-2:])
        last.sort(kind="stable")  # finds the two runs, and merges them
        runs = (*runs[:-2], last)
    return runs


def _firsts(slots: U16) -> U64:
    """The smallest key of each of the first slots of some sketches."""
    return (slots[:, :COLUMNS] | _columns(min(slots.shape[1], COLUMNS))) << _HALF


@functools.cache
def _columns(count: int) -> U64:
    return np.arange(count, dtype=np.uint64) << np.uint64(16)
