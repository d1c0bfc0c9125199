"""Find contents by their traits: the hash of the text, the hash of the words, and the features.

The inverted index holds the traits in segments of their own, 4 or 5 bytes for each trait of a content. An SQL
index of one of these hashes takes 18 to 34 bytes, and each new row changes a page at random.

Takes hashes; returns candidates: contents that the caller must read and compare. Removed contents, and
contents with other hashes whose high bits are the same, may be among them. Must never miss a content.
"""

from collections.abc import Iterable, Sequence

import apsw
import numpy as np

from docindex.kernels.arrays import I64, U64
from docindex.storage.postings import look_up_traits


def traits_of(features: U64, text_hashes: Sequence[bytes], words_hashes: Sequence[bytes]) -> U64:
    """The traits of some contents: a row for each. A feature is a trait; of a long hash, the first 8 bytes.

    >>> [f"{trait:x}" for trait in traits_of(np.array([[1, 2]], np.uint64), [b"a" * 16], [b"b" * 16])[0]]
    ['1', '2', '6161616161616161', '6262626262626262']
    """
    short = [_shortened(hashes)[:, None] for hashes in (text_hashes, words_hashes)]
    return np.concatenate([features, *short], axis=1)


def having_hash(db: apsw.Connection, hashes: Iterable[bytes]) -> I64:
    """The contents that may have one of some text hashes or words hashes, ascending."""
    found = [content for _, content in look_up_traits(db, np.sort(_shortened(list(hashes))))]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def sharing(db: apsw.Connection, features: U64) -> dict[int, int]:
    """The contents that may have some of these different features, ascending, and how many at most."""
    found = [content for _, content in look_up_traits(db, np.sort(features))]
    contents, counts = np.unique(np.concatenate([np.empty(0, np.int64), *found]), return_counts=True)
    return dict(zip(contents.tolist(), counts.tolist(), strict=True))


def _shortened(hashes: Sequence[bytes]) -> U64:
    """The first 8 of the 16 bytes of each hash, as a number."""
    return np.frombuffer(b"".join([hash_[:8] for hash_ in hashes]), "<u8").astype(np.uint64)
