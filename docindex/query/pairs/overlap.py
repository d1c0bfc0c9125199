"""Read the fingerprint hashes that contents of an index have in common.

Gives groups for `candidates`, and sets for `shared_counts`. Groups come from the inverted index, which has at
most 32 bits of each hash; sets come from the forward index, which has 48 bits. Hashes of the boilerplate, and
hashes that too many contents have, are not counted. Must never know a key.
"""

from collections.abc import Iterator

import numpy as np

from docindex.arrays.joins import found_in, starts_of_runs
from docindex.arrays.ranges import I64, U64, starts_of
from docindex.query.pairs.candidates import Groups
from docindex.query.scope import Scope
from docindex.sketching.sketches import HASH_SHIFT
from docindex.storage.postings import lookup
from docindex.storage.rows import forward_index
from docindex.storage.rows.bulk import Sizes

_NOTHING = np.empty(0, np.uint64)

# In a key of 64 bits, the low 48 bits are a hash; the high 16 bits say which content has it.
_HASH_BITS = np.uint64(48)

# Places are kept in a table if the table is at most this many times as long as the list of contents.
_SPARSE = 8


class ContentPlaces:
    """The place of each content in an ascending list of contents."""

    def __init__(self, contents: I64) -> None:
        self._contents = contents
        self._first = int(contents[0]) if len(contents) else 0
        span = int(contents[-1]) - self._first + 1 if len(contents) else 0
        self._table: I64 | None = None
        if span <= _SPARSE * len(contents):
            self._table = np.full(span, -1)
            self._table[contents - self._first] = np.arange(len(contents))

    def of(self, contents: I64) -> I64:
        """The place of each content; -1 for those that are not in the list."""
        if not len(self._contents):
            return np.full(len(contents), -1)
        if self._table is not None:
            local = contents - self._first
            inside = (local >= 0) & (local < len(self._table))
            if inside.all():
                return self._table[local]
            return np.where(inside, self._table[np.where(inside, local, 0)], -1)
        places = np.minimum(np.searchsorted(self._contents, contents), len(self._contents) - 1)
        return np.where(self._contents[places] == contents, places, -1)


class FingerprintOverlap:
    """The hashes that contents of an index have in common: a `GroupSource` and a `SetSource`.

    `living` are the sizes of all contents of the index, and `taking_part` are the places there of those that
    take part, ascending. A place below is an index into `taking_part`. Hashes that more than `ignore_above`
    living contents have are not counted.
    """

    def __init__(self, scope: Scope, living: Sizes, taking_part: I64, ignore_above: int | None) -> None:
        self._db = scope.db
        self._window = scope.recipe.window
        self._living = ContentPlaces(living.contents)
        self._contents = contents = living.contents[taking_part]
        self._sizes = living.hashes[taking_part]
        self._taking_part = ContentPlaces(contents)
        self._ignored = scope.ignored.hashes
        self._ignore_above = ignore_above
        self._check_cancelled = scope.check_cancelled
        self._bits, _ = lookup.by_hash(scope.db)
        self._passes = 0
        self._too_common: list[U64] = []
        # How many postings each content has, whether they are counted or not; known after the first pass.
        self._postings = np.zeros(len(contents), np.int64)
        self._ignored_prefixes = np.unique(self._prefixes(self._ignored))
        self._exceptions = self._not_ignored()

    @property
    def count(self) -> int:
        """The number of contents that take part."""
        return len(self._contents)

    @property
    def set_aside(self) -> U64:
        """The high bits of the hashes that too many contents have; known after the first pass."""
        return np.concatenate([_NOTHING, *self._too_common])

    def groups(self) -> Iterator[Groups]:
        """For each hash that counts, the contents that have it. Only the high bits of hashes are compared."""
        self._passes += 1
        for found in lookup.by_hash(self._db)[1]:
            hashes, contents = found.hashes, found.contents
            alive = self._living.of(contents) >= 0
            if not alive.all():
                hashes, contents = hashes[alive], contents[alive]
            numbers = self._taking_part.of(contents)
            if self._passes == 1:
                self._postings += np.bincount(numbers[numbers >= 0], minlength=self.count)
            if len(self._ignored_prefixes):
                counts = ~found_in(self._ignored_prefixes, hashes)
                at = np.flatnonzero(~counts)
                counts[at] = found_in(self._exceptions, self._pair(hashes[at], contents[at]))
                hashes, numbers = hashes[counts], numbers[counts]
            starts = starts_of_runs(hashes)
            sizes = np.diff(starts)
            if self._ignore_above is not None:
                too_many = sizes > self._ignore_above
                if self._passes == 1:
                    self._too_common.append(hashes[starts[:-1][too_many]])
                kept = np.repeat(~too_many, sizes)
                numbers, sizes = numbers[kept], sizes[~too_many]
            taking_part = numbers >= 0
            if not taking_part.all():
                sizes = np.diff(starts_of(taking_part.astype(np.int64))[starts_of(sizes)])
                numbers, sizes = numbers[taking_part], sizes[sizes > 0]
            yield sizes, numbers

    def counting(self, places: I64) -> tuple[U64, I64]:
        """The different hashes of some contents, without ignored ones, ascending, as `number << 48 | hash`.

        The number is an index into `places`. The second array says where the hashes of each content begin.
        """
        pieces = [_NOTHING]
        if len(places):
            for owner, hashes in self._hashes_of(self._contents[places]):
                pieces.append((owner.astype(np.uint64) << _HASH_BITS) | (hashes >> HASH_SHIFT))
        keys = np.sort(np.concatenate(pieces))
        keys = keys[starts_of_runs(keys)[:-1]]
        if len(self._ignored) or self._too_common:
            hashes = keys << HASH_SHIFT
            dropped = found_in(self._ignored, hashes) | found_in(self.set_aside, self._prefixes(hashes))
            keys = keys[~dropped]
        borders = np.arange(len(places) + 1, dtype=np.uint64)
        # Compare numbers, not keys: the last border may be 2^16, which does not fit above the hash.
        starts = np.searchsorted(keys >> _HASH_BITS, borders)
        return keys, starts

    def bounds(self, counts: I64) -> tuple[I64, I64, I64]:
        """At least how many hashes of each content count; how many more it may share than it has groups; and
        at most how many count.

        Takes the number of groups of each content that the first pass found.
        """
        # A content has more hashes than postings if some of its hashes have the same high bits.
        return counts, np.maximum(self._sizes - self._postings, 0), counts

    def weights(self) -> I64:
        """The number of different hashes of each content, counted or not."""
        return self._sizes

    def sets_of(self, places: I64) -> tuple[U64, I64]:
        """The different hashes that count, of each place."""
        keys, starts = self.counting(places)
        return keys << HASH_SHIFT, starts

    def _hashes_of(self, contents: I64) -> Iterator[tuple[I64, U64]]:
        """All hashes of some ascending contents: their places, and the hashes."""
        return forward_index.hashes_of(self._db, contents, self._window) if len(contents) else iter(())

    def _prefixes(self, hashes: U64) -> U64:
        low = np.uint64(64 - self._bits)
        return hashes >> low << low

    def _pair(self, prefixes: U64, contents: I64) -> U64:
        """The high bits of hashes and living contents, as one number each."""
        return prefixes | self._living.of(contents).astype(np.uint64)

    def _not_ignored(self) -> U64:
        """The `_pair`s of hashes that are not boilerplate, but have the high bits of a hash of boilerplate.

        Such hashes are rare.
        """
        found = [_NOTHING]
        if len(self._ignored):
            touched = [np.unique(contents) for _, contents in lookup.look_up(self._db, self._ignored)]
            contents = np.unique(np.concatenate([np.empty(0, np.int64), *touched]))
            contents = contents[self._living.of(contents) >= 0]
            for owner, hashes in self._hashes_of(contents):
                self._check_cancelled()
                prefixes = self._prefixes(hashes)
                odd = found_in(self._ignored_prefixes, prefixes) & ~found_in(self._ignored, hashes)
                found.append(self._pair(prefixes[odd], contents[owner[odd]]))
        return np.unique(np.concatenate(found))
