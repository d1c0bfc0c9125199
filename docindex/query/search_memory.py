"""Remember what searches read of an index: the hashes of contents, and how many contents have a hash.

Takes a connection inside a read transaction. One search reads much that the next one reads again: among 7,261
files, after 80 searches, two thirds of the contents that are scored and four fifths of the hashes that are
weighed were read before. The memory is bounded: 4 MB of sizes and other numbers, up to 8 MB of hashes of
contents, and up to 4 MB of frequencies.

Must never give anything of another state of the index. The same words have the same hashes and the same
shingles, unless these are made of lines. So the tally of the hashes of the words tells whether contents were
added or removed, even if a host has rolled back a transaction in which they were read.
"""

import itertools
from collections.abc import Iterator
from typing import Final

import apsw
import numpy as np

from docindex.kernels.arrays import I64, U64, starts_of
from docindex.query.number_table import NumberTable
from docindex.sketching.sketches import HASH_SHIFT
from docindex.storage import documents, forward_index, postings, tallies
from docindex.storage.documents import ContentSizes
from docindex.storage.postings import HashFrequencies
from docindex.storage.tallies import Tally

MOST_HASHES: Final = 1 << 20
"""Hashes of contents are forgotten when they are more than this, and the objects that hold them count too."""

# The entry of a content takes as much memory as this many hashes.
_ENTRY = 32


# The symbols and shingles of so many contents take 3 MB.
_MOST_UNITS = 1 << 14

# After so many frequencies were read one by one, all of the smallest hashes are read, which have up to 2^18
# postings. That takes 3 to 6 ms, and searches have spent as much by then.
_FREQUENCIES_READ, _POSTINGS = 2000, 1 << 18

# The first search of a state needs small tables only: large ones take longer to make.
_FEW_BITS, _PLACE_BITS = 12, 16


class Remembered:
    """What was read of one state of an index. Threads may share it."""

    def __init__(self, *, keeps_hashes: bool) -> None:
        """Without `keeps_hashes`, it is for one search, which reads the hashes of a content only once."""
        place_bits = _PLACE_BITS if keeps_hashes else _FEW_BITS
        self._sizes = NumberTable(place_bits)
        self._frequencies = NumberTable(place_bits)
        self._keeps_hashes = keeps_hashes
        self._hashes: dict[int, U64] = {}
        self._held = 0
        self._units: dict[int, tuple[int, int]] = {}
        """How many symbols and how many shingles some contents have."""
        self._smallest: HashFrequencies | None = None
        self._frequencies_read = 0

    def sizes(self, db: apsw.Connection, contents: I64) -> I64:
        """The number of different hashes of each content."""
        keys = contents.view(np.uint64)
        sizes = self._sizes.get(keys)
        if not sizes.all():
            new = (sizes == 0).nonzero()[0]
            unknown = np.sort(contents[new])
            found = self._read_sizes(db, unknown).hashes
            sizes[new] = found[unknown.searchsorted(contents[new])]
        return sizes

    def units(self, db: apsw.Connection, contents: I64) -> tuple[I64, I64]:
        """The number of symbols of each content, and of its shingles.

        Shingles that are made of lines may be those of a content that was rolled back.
        """
        wanted = contents.tolist()
        units = list(map(self._units.get, wanted))
        if None in units:
            found = self._read_sizes(db, np.sort(contents))
            read = dict(zip(sorted(wanted), _pairs(found), strict=True))
            units = [read[content] for content in wanted]
        symbols, shingles = np.array(units, np.int64).reshape(-1, 2).T
        return symbols, shingles

    def _read_sizes(self, db: apsw.Connection, contents: I64) -> ContentSizes:
        found = documents.sizes_of(db, contents)
        self._sizes.put(contents.view(np.uint64), found.hashes)
        if len(self._units) > _MOST_UNITS:
            self._units = {}
        self._units.update(zip(contents.tolist(), _pairs(found), strict=True))
        return found

    def hashes(self, db: apsw.Connection, contents: I64, window: int, most: int) -> tuple[U64, I64] | None:
        """The different hashes of ascending contents end to end, and where those of each content begin.

        The hashes of each content ascend. None if more than `most` hashes would have to be read.
        """
        wanted = contents.tolist()
        found = list(map(self._hashes.get, wanted))
        new = [place for place, own in enumerate(found) if own is None]
        if new:
            unknown = contents[new]
            if int(self.sizes(db, unknown).sum()) > most:
                return None
            hashes, starts = forward_index.distinct_hashes_of(db, unknown, window)
            if self._keeps_hashes:
                pairs = itertools.pairwise(starts.tolist())
                read = [hashes[begin:end] for begin, end in pairs]
                for place, own in zip(new, read, strict=True):
                    found[place] = own
                self._keep([wanted[place] for place in new], read)
            if len(new) == len(wanted):
                return hashes, starts
        pieces = [own for own in found if own is not None]
        return np.concatenate(pieces), starts_of(np.fromiter(map(len, pieces), np.int64, len(pieces)))

    def _keep(self, contents: list[int], hashes: list[U64]) -> None:
        size = sum(map(len, hashes)) + _ENTRY * len(hashes)
        if self._held + size > MOST_HASHES:
            self._hashes, self._held = {}, 0
        self._hashes.update(zip(contents, hashes, strict=True))
        self._held += size

    def frequencies(self, hashes: U64) -> I64:
        """How many contents have each hash; 0 if that is not known."""
        return self._frequencies.get(hashes >> HASH_SHIFT)

    def note_frequencies(self, hashes: U64, counts: I64) -> None:
        """Remember how many contents have each of some hashes."""
        self._frequencies.put(hashes >> HASH_SHIFT, counts)

    def smallest_frequencies(self, db: apsw.Connection, hashes: U64) -> I64:
        """How many contents have each hash, if it is one of the smallest in the index; 0 for others.

        Searches weigh the smallest hashes of documents. Of long documents, these are also among the smallest
        of all. The first calls give 0: it takes many to be worth reading all of them.
        """
        if self._smallest is None:
            self._frequencies_read += len(hashes)
            if self._frequencies_read < _FREQUENCIES_READ:
                return np.zeros(len(hashes), np.int64)
            self._smallest = postings.smallest_frequencies(db, _POSTINGS)
        return self._smallest.of(hashes)


def _pairs(sizes: ContentSizes) -> Iterator[tuple[int, int]]:
    return zip(sizes.symbols.tolist(), sizes.shingles.tolist(), strict=True)


class SearchMemory:
    """What was read of the present state of an index, for many searches. Belongs to one index.

    It begins with the second search of a state: large tables would cost more than they save in an index that
    changes before each search.
    """

    def __init__(self) -> None:
        self._known: tuple[Tally, Remembered] | None = None
        self._seen: Tally | None = None

    def current(self, db: apsw.Connection, *, many: bool = False) -> Remembered:
        """What is remembered of the state that the transaction sees; nothing if the file has changed.

        With `many`, there will be many searches.
        """
        stored = tallies.stored(db, "words")
        known = self._known
        if known is None or known[0] != stored:
            if self._seen != stored and not many:
                self._known, self._seen = None, stored
                return Remembered(keeps_hashes=False)
            known = self._known = stored, Remembered(keeps_hashes=True)
        return known[1]
