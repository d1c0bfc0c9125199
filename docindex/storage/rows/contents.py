"""Read contents: their rows, texts and fingerprints, and look them up by the hash of a text.

What is read is verified against its hash or its checksum. Must never know a key, and must never write.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
import numpy as np
import xxhash

from docindex.arrays.ranges import I64, U64, union
from docindex.errors import CorruptIndex
from docindex.reading.slicing import PIECE_CHARACTERS, slices
from docindex.sketching.sketches import HASH_SHIFT
from docindex.sketching.text_parts import EXTERNAL, source_of
from docindex.storage.followed import tables
from docindex.storage.other_connection import bound_array
from docindex.storage.postings.fingerprint_bytes import fingerprints_in
from docindex.storage.postings.lookup import look_up_traits
from docindex.storage.rows.batch_rows import PART_BITS, are_parts_of
from docindex.storage.statements import counter, rows, rows_for, stream, value
from docindex.storage.tables import CONTENT, FINGERPRINT, ContentRow, first_changed
from docindex.storage.values import encodes

# Find contents by their traits: the hash of the text, the hash of the words, and the features.
#
# The inverted index holds the traits in segments of their own, 4 or 5 bytes for each trait of a content. An
# SQL index of one of these hashes takes 18 to 34 bytes, and each new row changes a page at random.
#
# Takes hashes; returns candidates: contents that the caller must read and compare. Removed contents, and
# contents with other hashes whose high bits are the same, may be among them. Must never miss a content.

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


PARTS = "id between ? and ?"
"""The condition that a row of `fingerprint` or `text` belongs to a content; `part_ids` gives its bindings."""


TEXT_HASH_BYTES = 16
"""The bytes of `hash` and `words_hash`."""


def text_hash(text: str) -> bytes:
    """The xxh3-128 of a text in UTF-8, computed without a second copy of a long text."""
    if len(text) <= PIECE_CHARACTERS:  # most texts
        return xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
    hasher = xxhash.xxh3_128()
    for piece in slices(text):
        hasher.update(piece.encode("utf-8", "surrogatepass"))
    return hasher.digest()


def known(db: apsw.Connection, hashes: Iterable[bytes]) -> dict[bytes, int]:
    """The content of each text hash that the file knows."""
    wanted = set(hashes)
    found = rows_for(db, _HASHES, having_text(db, wanted))
    return {hash_: content for hash_, content in found if hash_ in wanted}


_HASHES = (
    "select c.hash, c.id from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value"
)


def content_row(db: apsw.Connection, content: int) -> ContentRow:
    """The row of a content, verified."""
    found = rows(db, f"{CONTENT.select} where id = ?", (content,))
    row = CONTENT.checked(found[0]) if found else None
    if row is None:
        raise damaged_content(db, content)
    return row


def damaged_content(db: apsw.Connection, content: int) -> CorruptIndex:
    """The error for a content that is missing, or does not match its checksum."""
    return CorruptIndex(
        f"content {content} is missing or damaged; restore a backup, or index again", db.filename
    )


def newest_content(db: apsw.Connection) -> int:
    """The largest id that a content ever had; 0 if there was none."""
    return counter(db, "content")


def text_of(db: apsw.Connection, content: int) -> str | None:
    """The text of a content, checked against its hash and its length; None if it is not kept."""
    statement = "select hash, characters, kept from main.docindex_content where id = ?"
    found = rows(db, statement, (content,))
    if not found:
        raise _damaged_text(db, content)
    ((hash_, characters, kept),) = found
    if not kept:
        return None
    parts = f"select codec, data from main.docindex_text where {PARTS} order by id"
    return _joined_text(db, content, (hash_, characters), stream(db, parts, part_ids(content)))


_TEXTS = (
    "select c.id, c.hash, c.characters, t.codec, t.data from carray(?) as wanted "
    "cross join main.docindex_content as c on c.id = wanted.value "
    f"cross join main.docindex_text as t on t.id between c.id << {PART_BITS} and (c.id + 1 << "
    f"{PART_BITS}) - 1"
)


def texts_of(db: apsw.Connection, contents: I64) -> Iterator[str]:
    """The texts of some contents whose texts are kept, in the order of the contents, which must ascend.

    Each text is checked against its hash and its length.
    """
    if not len(contents):
        return  # carray takes no empty array
    wanted = iter(contents.tolist())
    for content, found in itertools.groupby(
        stream(db, _TEXTS, (bound_array(db, contents),)), lambda row: row[0]
    ):
        if content != next(wanted, None):
            break
        first = next(found)
        yield _joined_text(db, content, first[1:3], (row[3:] for row in itertools.chain([first], found)))
    else:
        if (missing := next(wanted, None)) is None:
            return
        content = missing
    raise _damaged_text(db, content)


def _external_text(db: apsw.Connection, content: int, name: bytes, expected: Sequence[Any]) -> str:
    """The text of a content that only a table of the app has; `OutOfDate` if no row has it any longer."""
    source = name.decode("utf-8", "replace")
    for text in tables.external_texts(db, content):
        if len(text) == expected[1] and text_hash(text) == expected[0]:
            return text
    raise tables.out_of_date(db, source)


def _joined_text(
    db: apsw.Connection, content: int, expected: Sequence[Any], stored: Iterable[tuple[Any, ...]]
) -> str:
    """The text in some parts, given its hash and its length in characters.

    Reads no further than a false part: parts that inflate to more than the length are not kept in memory.
    """
    hash_, characters = expected
    stored = iter(stored)
    first = next(stored, None)
    if first is not None and first[0] == EXTERNAL:
        return _external_text(db, content, first[1], expected)
    stored = itertools.chain([first] if first is not None else [], stored)
    hasher, pieces = xxhash.xxh3_128(), []
    for codec, data in stored:
        try:
            source = source_of(codec, data)
            pieces.append(source.decode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise _damaged_text(db, content) from error
        hasher.update(source)
        characters -= len(pieces[-1])
        if characters < 0:
            break
    if characters or not pieces or hasher.digest() != hash_:  # an empty text has a part, too
        raise _damaged_text(db, content)
    return "".join(pieces)


def fingerprints_of(db: apsw.Connection, content: int, window: int) -> tuple[U64, I64]:
    """The fingerprints of a content: hashes, whose low 16 bits are 0, and positions in symbols."""
    found = rows(db, f"{FINGERPRINT.select} where {PARTS} order by id", part_ids(content))
    columns = list(zip(*found, strict=True)) or [()] * 4
    ids, numbers, highs, _ = columns
    whole = are_parts_of(content, ids, list(map(len, numbers)))
    if not whole or first_changed(columns) is not None:
        raise _damaged_fingerprints(db, content)
    try:
        hashes, gaps = fingerprints_in(numbers, highs, window)
        return hashes, gaps.cumsum()
    except ValueError as error:
        raise _damaged_fingerprints(db, content) from error


def _damaged_fingerprints(db: apsw.Connection, content: int) -> CorruptIndex:
    return CorruptIndex(f"the fingerprints of content {content} are damaged; add it again", db.filename)


def as_stored(hashes: U64) -> U64:
    """The different hashes, ascending, without the bits that are not stored."""
    return union(hashes & ~((np.uint64(1) << HASH_SHIFT) - np.uint64(1)))


def is_there(db: apsw.Connection, content: int) -> bool:
    """Whether a content is in the index."""
    return value(db, "select 1 from main.docindex_content where id = ?", (content,)) is not None


def words_hash_of(db: apsw.Connection, content: int) -> bytes:
    """The hash of a content's words."""
    return content_row(db, content).words_hash


def to_json(meta: Any) -> str | None:
    """The JSON of a document's meta; `TypeError` or `ValueError` for a value that JSON cannot express."""
    if meta is None:
        return None
    written = json.dumps(meta, allow_nan=False, separators=(",", ":"))
    if (depth := _depth(written)) > _DEEPEST:
        raise ValueError(f"it is nested {depth} levels deep; at most {_DEEPEST} levels are allowed")
    if "\\ud" in written and not encodes(json.dumps(meta, ensure_ascii=False)):
        raise ValueError("it has a lone surrogate, which SQL cannot read; replace or escape it")
    return written


# SQLite's JSON functions read 1,000 levels. Python's reader shares its limit of 1,000 with the frames of the
# caller.
_DEEPEST = 500

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|([\[{])|([\]}])')


def _depth(written: str) -> int:
    """How deep the arrays and objects in JSON are nested. Exact only where it is above `_DEEPEST`."""
    depth = deepest = written.count("[") + written.count("{")
    if depth > _DEEPEST:
        depth = deepest = 0
        for found in _BRACKETS.finditer(written):
            depth += bool(found[1]) - bool(found[2])
            deepest = max(deepest, depth)
    return deepest


def part_ids(content: int) -> tuple[int, int]:
    """The smallest and the largest id that a part of a content can have."""
    return content << PART_BITS, (content + 1 << PART_BITS) - 1


def _damaged_text(db: apsw.Connection, content: int) -> CorruptIndex:
    return CorruptIndex(
        f"the text of content {content} is damaged; restore a backup, or add it again", db.filename
    )
