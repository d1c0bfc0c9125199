"""Make the shingle sets of many contents from their texts, for exact pairs.

Takes the contents of an index whose texts are kept. Gives groups for `candidates`, one for each shingle that
several contents have, and sets for `shared_counts`. Shingles of the boilerplate, and shingles that too many
contents have, are not counted. Texts are read once, batch by batch. Must never hold all shingles in memory.
"""

from collections.abc import Iterator
from typing import Self

import numpy as np

from docindex.arrays.joins import found_in, starts_of_runs
from docindex.arrays.ranges import I64, U64, starts_of
from docindex.query.pairs.candidates import Groups
from docindex.query.pairs.spilled_numbers import SortedRuns, SpilledNumbers
from docindex.query.scope import Scope

_NOTHING = np.empty(0, np.uint64)


class ShingleSets:
    """The shingle sets of contents: a `GroupSource` and a `SetSource`.

    `loaded` are the contents whose texts are read, and `taking_part` those that pairs are made of; both
    ascend. A place is an index into `taking_part`. Shingles that more than `ignore_above` loaded contents
    have are not counted. Without `grouped` there are no groups. A context manager that frees the memory.
    """

    def __init__(
        self,
        scope: Scope,
        loaded: I64,
        taking_part: I64,
        ignore_above: int | None = None,
        *,
        grouped: bool = False,
    ) -> None:
        self._check_cancelled = scope.check_cancelled
        self._ignore_above = ignore_above
        self._taking_part = np.searchsorted(loaded, taking_part)
        self._place_of = np.full(len(loaded), -1)
        self._place_of[self._taking_part] = np.arange(len(taking_part))
        self._sets = SpilledNumbers()
        self._runs = SortedPostings(len(loaded)) if grouped else None
        self._prefix_bits = np.uint64(64 - (self._runs.number_bits if self._runs else 0))
        self._passes = 0
        self._too_common: list[U64] = []
        self.postings = np.zeros(len(taking_part), np.int64)
        """How many groups each content is in, whether they are counted or not; known after the first pass."""
        try:
            self._starts = starts_of(self._load(scope, loaded))
        except BaseException:
            self._close()
            raise

    def _load(self, scope: Scope, loaded: I64) -> I64:
        """Read the texts of contents, and store their shingles. Returns the number of shingles of each."""
        sizes = [np.empty(0, np.int64)]
        number = 0
        for hashes, starts in scope.shingle_sets(loaded):
            sizes.append(np.diff(starts))
            self._sets.append(hashes)
            if self._runs is not None:
                self._runs.add(hashes, np.repeat(np.arange(number, number + len(sizes[-1])), sizes[-1]))
            number += len(sizes[-1])
        return np.concatenate(sizes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._sets.close()
        if self._runs is not None:
            self._runs.close()

    @property
    def count(self) -> int:
        """The number of contents that take part."""
        return len(self._taking_part)

    @property
    def set_aside(self) -> U64:
        """The high bits of the shingles that too many contents have; known after the first pass."""
        return np.concatenate([_NOTHING, *self._too_common])

    def weights(self) -> I64:
        """The number of shingles of each content, counted or not."""
        sizes: I64 = np.diff(self._starts)[self._taking_part]
        return sizes

    def sets_of(self, places: I64) -> tuple[U64, I64]:
        """The shingles that count, of each place; after the first pass over the groups."""
        at = self._taking_part[places]
        sizes = self._starts[at + 1] - self._starts[at]
        hashes, starts = self._sets.read_ranges(self._starts[at], sizes), starts_of(sizes)
        if not self._too_common:
            return hashes, starts
        low = np.uint64(64) - self._prefix_bits
        kept = ~found_in(self.set_aside, hashes >> low << low)
        return hashes[kept], starts_of(kept.astype(np.int64))[starts]

    def groups(self) -> Iterator[Groups]:
        """For each shingle that counts, the contents that have it. Only its high bits are compared."""
        assert self._runs is not None
        self._passes += 1
        for hashes, numbers in self._runs.postings():
            self._check_cancelled()
            places = self._place_of[numbers]
            if self._passes == 1:
                self.postings += np.bincount(places[places >= 0], minlength=self.count)
            starts = starts_of_runs(hashes)
            sizes = np.diff(starts)
            if self._ignore_above is not None:
                too_many = sizes > self._ignore_above
                if self._passes == 1 and too_many.any():
                    self._too_common.append(hashes[starts[:-1][too_many]])
                places, sizes = places[np.repeat(~too_many, sizes)], sizes[~too_many]
            taking_part = places >= 0
            if not taking_part.all():
                sizes = np.diff(starts_of(taking_part.astype(np.int64))[starts_of(sizes)])
                places, sizes = places[taking_part], sizes[sizes > 0]
            yield sizes, places


class SortedPostings:
    """Postings, each the high bits of a shingle and the number of a content, ordered by the shingle."""

    def __init__(self, numbers: int) -> None:
        self.number_bits = max(1, int(numbers - 1).bit_length() if numbers else 1)
        self._runs = SortedRuns()

    def add(self, hashes: U64, numbers: I64) -> None:
        """Take postings."""
        low = np.uint64(self.number_bits)
        self._runs.add(hashes >> low << low | numbers.astype(np.uint64))

    def close(self) -> None:
        """Free the memory or the file."""
        self._runs.close()

    def postings(self) -> Iterator[tuple[U64, I64]]:
        """All postings in batches: the high bits of shingles, ascending, and the numbers of their contents.

        The postings of one shingle are in one batch, and their numbers ascend.
        """
        low = np.uint64(self.number_bits)
        for keys in self._runs.batches():
            hashes = keys >> low << low
            yield hashes, (keys - hashes).astype(np.int64)
