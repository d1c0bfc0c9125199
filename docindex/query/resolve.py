"""What a caller asks with in - a text, a key or an id -, its fingerprints and its symbols out.

A string that is the key of a document stands for that document; any other is a text. Must never
keep a text that the index has.
"""

import dataclasses

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import U64
from docindex.recipe import Recipe
from docindex.sketching.single_text import symbols_hash, window_hashes
from docindex.sketching.sketcher import sketch_batches
from docindex.storage import contents, documents
from docindex.storage.documents import StoredSketch
from docindex.storage.values import can_be_stored


class Text(str):
    """A text, even if it is the key of a document, too.

    >>> Text("ada.txt")
    Text('ada.txt')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Text({super().__repr__()})"


class Key(str):
    """The key of a document: `KeyError` where there is none.

    >>> Key("ada.txt")
    Key('ada.txt')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Key({super().__repr__()})"


class Id(int):
    """The id of a document, as other tables point to it: `KeyError` where there is none.

    >>> Id(7)
    Id(7)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Id({int(self)})"


@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    """A text that somebody holds in the hand, or a content of the index."""

    given: str | None = dataclasses.field(repr=False)
    content: int | None

    def text(self, db: apsw.Connection) -> str | None:
        """The text, or None for a content whose text is not kept."""
        return contents.text_of(db, self.content) if self.content is not None else self.given

    def hashes(self, db: apsw.Connection, recipe: Recipe, window: int | None = None) -> tuple[U64, U64]:
        """The different fingerprint hashes as they are stored, ascending; and those that a window selects.

        Of a content whose text is not kept all are given, whatever the window.
        """
        coarse = window is not None and window > recipe.window
        text = self.given
        if self.content is not None:
            text = self.text(db) if coarse else None
            if text is None:
                whole = contents.as_stored(contents.fingerprints_of(db, self.content, recipe.window)[0])
                return whole, whole
        windows = (recipe.window, window) if window is not None and coarse else (recipe.window,)
        found = [contents.as_stored(hashes) for hashes in window_hashes(text or "", recipe, windows)]
        return found[0], found[-1]

    def stored_sketch(self, db: apsw.Connection, recipe: Recipe) -> StoredSketch:
        """The sketch without the fingerprints."""
        if self.content is not None:
            found = documents.stored_sketches_of(db, np.array([self.content]), recipe)
            if not found:
                raise CorruptIndex(f"content {self.content} is not there; see what check() says", db.filename)
            return found[0]
        (batch,) = sketch_batches([self.given or ""], recipe)
        sketch = batch[0]
        return StoredSketch(-1, sketch.shingles, sketch.symbols_hash, sketch.simhash, sketch.slots)

    def symbols_hash(self, db: apsw.Connection, recipe: Recipe) -> bytes:
        """The hash of the symbols: equal for texts that differ only in what does not count."""
        if self.content is None:
            return symbols_hash(self.given or "", recipe)
        return contents.symbols_hash_of(db, self.content)


def resolve(db: apsw.Connection, what: object) -> Query:
    """What a string or an id asks with."""
    if isinstance(what, Id):
        content = documents.content_with_id(db, int(what)) if -(1 << 63) <= what < 1 << 63 else None
        if content is None:
            raise KeyError(int(what))
        return Query(None, content)
    if not isinstance(what, str):
        raise TypeError(f"a text or a key, as str, or a docindex.Id is asked with, not {what!r}")
    if isinstance(what, Text):
        return Query(str.__str__(what), None)
    plain = str.__str__(what)
    content = contents.content_of(db, plain) if can_be_stored(plain) else None
    if content is not None:
        return Query(None, content)
    if isinstance(what, Key):
        raise KeyError(plain)
    return Query(plain, None)
