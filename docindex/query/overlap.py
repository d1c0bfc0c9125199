"""Read the fingerprint hashes that contents of an index have in common.

Gives groups for `candidates`, and sets for `shared_counts`. Groups come from the inverted index, which has at
most 32 bits of each hash; sets come from the forward index, which has 48 bits. Hashes of the boilerplate, and
hashes that too many contents have, are not counted. Must never know a key.
"""

from collections.abc import Iterator

import numpy as np

from docindex.kernels.arrays import I64, U64, Bool, are_first, starts_of
from docindex.kernels.hash_filter import filter_table, may_be_among
from docindex.kernels.joins import found_in, starts_of_runs
from docindex.query.candidates import Groups
from docindex.query.scope import Scope
from docindex.sketching.sketches import HASH_SHIFT
from docindex.storage import forward_index, postings
from docindex.storage.bulk import Sizes
from docindex.storage.segments import KEYS_IN_MEMORY

_NOTHING = np.empty(0, np.uint64)

# In a key of 64 bits, the low 48 bits are a hash; the high 16 bits say which content has it.
_HASH_BITS = np.uint64(48)

# This many groups are looked up first; then as many as have `KEYS_IN_MEMORY` members if they are as large.
_LOOKED_UP_FIRST = 1 << 10
# The hashes of this many contents are read at a time to make a filter.
_FILTERED = 1 << 10

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
    living contents have are not counted. With `few`, groups without one of these contents are left out, and
    are looked up if that takes less time than to read all; then nothing may be ignored by `ignore_above`, and
    `living` may lack contents that do not take part.
    """

    def __init__(
        self, scope: Scope, living: Sizes, taking_part: I64, ignore_above: int | None, few: Bool | None
    ) -> None:
        self._db = scope.db
        self._window = scope.recipe.window
        self._living = ContentPlaces(living.contents)
        self._contents = contents = living.contents[taking_part]
        self._sizes = living.hashes[taking_part]
        self._taking_part = ContentPlaces(contents)
        self._ignored = scope.ignored.hashes
        self._ignore_above = ignore_above
        self._check_cancelled = scope.check_cancelled
        self._bits, _ = postings.by_hash(scope.db)
        self._passes = 0
        self._too_common: list[U64] = []
        # How many postings each content has, whether they are counted or not; known after the first pass.
        self._postings = np.zeros(len(contents), np.int64)
        self._ignored_prefixes = np.unique(self._prefixes(self._ignored))
        self._exceptions = self._not_ignored()
        self._of_few = _NOTHING
        self._few = None if few is None else self._filter_of(few)
        self._looks_up = few is not None and postings.looks_up(scope.db, len(self._of_few))

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
        for hashes, contents in self._looked_up() if self._looks_up else self._scanned():
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

    def _scanned(self) -> Iterator[tuple[U64, I64]]:
        """All postings that count, ordered by the high bits of their hashes."""
        for found in postings.by_hash(self._db)[1]:
            hashes, contents = found.hashes, found.contents
            if self._few is not None:
                likely = may_be_among(self._few[0], hashes)
                hashes, contents = hashes[likely], contents[likely]
            yield hashes, contents

    def _looked_up(self) -> Iterator[tuple[U64, I64]]:
        """The postings of the hashes of the few, ordered by the high bits of their hashes."""
        prefixes = self._prefixes(self._of_few)
        starts = starts_of_runs(prefixes)
        begin, at_once = 0, _LOOKED_UP_FIRST
        while begin < len(starts) - 1:
            end = min(begin + at_once, len(starts) - 1)
            some = slice(starts[begin], starts[end])
            found = [(_NOTHING, _NOTHING.view(np.int64))]
            for places, contents in postings.look_up(self._db, self._of_few[some]):
                found.append((prefixes[some][places], contents))
            hashes, contents = map(np.concatenate, zip(*found, strict=True))
            order = np.lexsort((contents, hashes))
            hashes, contents = hashes[order], contents[order]
            # Several segments have hashes with the same high bits, and so may several hashes of the few.
            first = are_first(hashes) | are_first(contents)
            yield hashes[first], contents[first]
            at_once = max(1, min(8 * at_once, at_once * KEYS_IN_MEMORY // (len(contents) + 1)))
            begin = end

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
        if self._few is None:
            # A content has more hashes than postings if some of its hashes have the same high bits.
            return counts, np.maximum(self._sizes - self._postings, 0), counts
        _, slack = self._few
        return np.maximum(self._sizes - len(self._ignored), 0), slack, self._sizes

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

    def _filter_of(self, few: Bool) -> tuple[Bool, I64]:
        """A filter of the hashes of some contents, and the slack of every content.

        Each pair has one of the few, and so at most the slack of that one.
        """
        places, pieces = np.flatnonzero(few), [_NOTHING]
        slack = np.zeros(len(few), np.int64)
        for begin in range(0, len(places), _FILTERED):
            self._check_cancelled()
            some = places[begin : begin + _FILTERED]
            keys, starts = self.counting(some)
            prefixes = self._prefixes(keys << HASH_SHIFT)
            new = are_first(prefixes)
            new[starts[:-1][np.diff(starts) > 0]] = True
            slack[some] = np.diff(starts_of((~new).astype(np.int64))[starts])
            pieces.append(np.unique(keys << HASH_SHIFT))
        self._of_few = np.unique(np.concatenate(pieces))
        return filter_table(self._prefixes(self._of_few)), np.where(few, slack, slack.max(initial=0))

    def _not_ignored(self) -> U64:
        """The `_pair`s of hashes that are not boilerplate, but have the high bits of a hash of boilerplate.

        Such hashes are rare.
        """
        found = [_NOTHING]
        if len(self._ignored):
            touched = [np.unique(contents) for _, contents in postings.look_up(self._db, self._ignored)]
            contents = np.unique(np.concatenate([np.empty(0, np.int64), *touched]))
            contents = contents[self._living.of(contents) >= 0]
            for owner, hashes in self._hashes_of(contents):
                self._check_cancelled()
                prefixes = self._prefixes(hashes)
                odd = found_in(self._ignored_prefixes, prefixes) & ~found_in(self._ignored, hashes)
                found.append(self._pair(prefixes[odd], contents[owner[odd]]))
        return np.unique(np.concatenate(found))
