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

# A trait begins with bits that say what it is. So a look-up of many texts reads an eighth of the blocks.
_TEXT, _WORDS = 0b110, 0b111
_KIND_BITS = 3


def traits_of(features: U64, text_hashes: Sequence[bytes], words_hashes: Sequence[bytes]) -> U64:
    """The traits of some contents: a row for each.

    A feature is moved to the lower three quarters of the numbers. The first 8 bytes of a hash follow the bits
    110 if it is of a text, and 111 if it is of words; their lowest three bits are left out.

    >>> [f"{trait:x}" for trait in traits_of(np.array([[8, 9]], np.uint64), [b"a" * 16], [b"b" * 16])[0]]
    ['6', '7', 'cc2c2c2c2c2c2c2c', 'ec4c4c4c4c4c4c4c']
    """
    hashed = [(_TEXT, text_hashes), (_WORDS, words_hashes)]
    return np.concatenate([_moved(features), *(_marked(*each)[:, None] for each in hashed)], axis=1)


def having_text(db: apsw.Connection, text_hashes: Iterable[bytes]) -> I64:
    """The contents that may have one of some text hashes, ascending."""
    return _having(db, _marked(_TEXT, list(text_hashes)))


def having_words(db: apsw.Connection, words_hashes: Iterable[bytes]) -> I64:
    """The contents that may have one of some hashes of words, ascending."""
    return _having(db, _marked(_WORDS, list(words_hashes)))


def sharing(db: apsw.Connection, features: U64) -> dict[int, int]:
    """The contents that may have some of these different features, ascending, and how many at most."""
    found = [content for _, content in look_up_traits(db, np.sort(_moved(features)))]
    contents, counts = np.unique(np.concatenate([np.empty(0, np.int64), *found]), return_counts=True)
    return dict(zip(contents.tolist(), counts.tolist(), strict=True))


def _having(db: apsw.Connection, traits: U64) -> I64:
    found = [content for _, content in look_up_traits(db, np.sort(traits))]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def _moved(features: U64) -> U64:
    """Three quarters of each feature: these begin with the bits 00, 01 or 10."""
    return features - (features >> np.uint64(2))


def _marked(kind: int, hashes: Sequence[bytes]) -> U64:
    """The first 8 of the 16 bytes of each hash, as numbers that begin with the bits of a kind."""
    short = np.frombuffer(b"".join([hash_[:8] for hash_ in hashes]), "<u8").astype(np.uint64)
    return short >> np.uint64(_KIND_BITS) | np.uint64(kind << 64 - _KIND_BITS)
