"""Resolve a query - a text, a key or an id - and give its text, fingerprints and sketch.

A string that is the key of a document stands for that document; any other string is a text. Must never
keep a copy of a text that the index has.

For an unknown key, it says which key may have been meant. It looks at a bounded number of keys, so that a
loop that tries keys stays fast.
"""

import dataclasses
import numbers
import operator
from typing import Self, SupportsIndex

import apsw
import numpy as np

from docindex.arguments import plain_text, shown
from docindex.arrays.ranges import U64
from docindex.errors import CorruptIndex, TextNotKept, UnknownKey
from docindex.frontends.extracted import Places
from docindex.query.scope import Scope
from docindex.sketching.single_text import window_hashes, words_hash
from docindex.sketching.sketcher import sketch_batches
from docindex.spelling import most_alike
from docindex.storage.rows import contents, document_lookup, documents, extractions
from docindex.storage.rows.documents import StoredSketch
from docindex.storage.values import can_be_stored

# A slip in the last letters leaves a key among these neighbours in the order of the keys. With 20, looking at
# them takes twice as long.
_NEIGHBOURS = 10


def unknown(db: apsw.Connection, key: object) -> UnknownKey:
    """The error for a key or an id that no document has."""
    if isinstance(key, str):
        plain = str.__str__(key)
        return UnknownKey(f"there is no document {shown(plain)}", plain, _neighbours(db, plain))
    if isinstance(key, int):
        return UnknownKey(f"there is no document {shown(int.__index__(key))}", key)
    return UnknownKey(f"a key must be a str or a docindex.Id, not {shown(key)}", key)


def similar_key(db: apsw.Connection, key: str) -> str | None:
    """The key that is most like an unknown one, if one of its neighbours in the index is like it."""
    return most_alike(key, _neighbours(db, key))


def _neighbours(db: apsw.Connection, key: str) -> tuple[str, ...]:
    """The keys beside an unknown key, also as it would be spelled with or without a capital letter."""
    if not can_be_stored(key):
        return ()
    other = key.capitalize() if key.islower() else key.lower()
    return tuple(
        near
        for spelled in ((key,) if other == key else (key, other))
        for near in document_lookup.keys_around(db, spelled, _NEIGHBOURS)
    )


class Text(str):
    """A text, even if it is also the key of a document.

    >>> Text("ada.txt")
    Text('ada.txt')
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """`TypeError` for a value that is not a str, of which `str` would make a text."""
        return super().__new__(cls, plain_text("a text", text))

    def __repr__(self) -> str:
        return f"Text({super().__repr__()})"


class Key(str):
    """The key of a document. `KeyError` if no document has it.

    >>> Key("ada.txt")
    Key('ada.txt')
    """

    __slots__ = ()

    def __new__(cls, key: str) -> Self:
        """`TypeError` for a value that is not a str."""
        return super().__new__(cls, plain_text("a key", key))

    def __repr__(self) -> str:
        return f"Key({super().__repr__()})"


class Id(int):
    """The id of a document, by which other tables refer to it. `KeyError` if no document has it.

    >>> Id(7)
    Id(7)
    """

    __slots__ = ()

    def __new__(cls, number: SupportsIndex) -> Self:
        """`TypeError` for a value that is not a whole number."""
        if isinstance(number, bool) or not isinstance(number, numbers.Integral):
            raise TypeError(f"an id must be a whole number, not {shown(number)}")
        return super().__new__(cls, operator.index(number))

    def __repr__(self) -> str:
        return f"Id({int(self)})"


@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    """The text that a question is about: a text that the caller passed, or a content of the index."""

    given: str | None = dataclasses.field(repr=False)
    """The text, if the caller passed it."""
    content: int | None
    """The number of the content, if the text is in the index."""
    document: int | None = None
    """The id of the document, if the question names one."""

    def text(self, db: apsw.Connection) -> str | None:
        """The text, or None for a content whose text is not kept."""
        return contents.text_of(db, self.content) if self.content is not None else self.given

    def hashes(self, scope: Scope, window: int | None = None) -> tuple[U64, U64]:
        """The different fingerprint hashes as they are stored, ascending, and the part that `window` selects.

        For a content whose text is not kept, the second array has all hashes too, whatever the window.
        """
        recipe = scope.recipe
        coarse = window is not None and window > recipe.window
        text = self.given
        if self.content is not None:
            text = self.text(scope.db) if coarse else None
            if text is None:
                stored = contents.fingerprints_of(scope.db, self.content, recipe.window)[0]
                whole = contents.as_stored(stored)
                return whole, whole
        windows = (recipe.window, window) if window is not None and coarse else (recipe.window,)
        found = [contents.as_stored(hashes) for hashes in window_hashes(text or "", recipe, windows)]
        return found[0], found[-1]

    def stored_sketch(self, scope: Scope) -> StoredSketch:
        """The sketch, without the fingerprints."""
        if self.content is not None:
            found = documents.stored_sketches_of(scope.db, np.array([self.content]), scope.recipe)
            if not found:
                raise CorruptIndex(f"content {self.content} is missing; run check()", scope.db.filename)
            return found[0]
        return self.sketch_of_given(scope)[0]

    def sketch_of_given(self, scope: Scope) -> tuple[StoredSketch, U64]:
        """The sketch of a text that the caller passed, and its hashes as in `hashes`; reads the text once."""
        (batch,) = sketch_batches([self.given or ""], scope.recipe)
        sketch = batch[0]
        stored = StoredSketch(
            -1,
            sketch.symbols,
            sketch.shingles,
            sketch.words_hash,
            sketch.simhash,
            sketch.slots,
            sketch.mod_m,
            sketch.level,
        )
        return stored, contents.as_stored(sketch.hashes)

    def words_hash(self, scope: Scope) -> bytes:
        """The hash of the words. Texts that differ only in case, accents or punctuation share it."""
        if self.content is None:
            return words_hash(self.given or "", scope.recipe)
        return contents.words_hash_of(scope.db, self.content)


def resolve(db: apsw.Connection, what: object) -> Query:
    """The query that a text, a key or an id stands for.

    `UnknownKey` for a `Key` or `Id` that no document has, `TypeError` for anything but a string or an `Id`.
    """
    if isinstance(what, Id):
        link = documents.link_with_id(db, int.__index__(what))
        if link is None:
            raise unknown(db, what)
        return Query(None, link[1], what)
    if not isinstance(what, str):
        raise TypeError(f"expected a text or a key as a str, or a docindex.Id, not {shown(what)}")
    if isinstance(what, Text):
        return Query(str.__str__(what), None)
    plain = str.__str__(what)
    link_of_key = document_lookup.link_of(db, plain) if can_be_stored(plain) else None
    if link_of_key is not None:
        number, content = link_of_key
        return Query(None, content, number)
    if isinstance(what, Key):
        raise unknown(db, plain)
    return Query(plain, None)


def places_of(db: apsw.Connection, query: Query) -> Places:
    """The places of the pieces of a query in its source; none for a text, or if nothing is known."""
    found = None if query.document is None else extractions.extraction_of(db, query.document)
    return Places() if found is None else found.places


def kept_text(db: apsw.Connection, query: Query) -> str:
    """The text of a query. `TextNotKept` for a document whose text is not in the index."""
    if query.content is None:
        return query.given or ""
    text = query.text(db) if contents.is_there(db, query.content) else None
    if text is None:
        raise _not_kept(db, query.content)
    return text


def _not_kept(db: apsw.Connection, content: int) -> TextNotKept:
    """The error for a content without a text; it names the first of the documents that have the content."""
    having = documents.documents_of(db, np.array([content]))
    if not having:
        return TextNotKept("the document was removed, and its text with it; add it again", db.filename)
    number, key = min((number, key) for _, key, number in having)
    return TextNotKept(
        f"the text of document {number} ({shown(key)}) was not kept; add it again with store_text=True",
        db.filename,
    )
