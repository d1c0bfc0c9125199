"""A document on its way into a file: its key, and its text or what is known of it.

`content_writer` stores such documents. Must never read a file.
"""

import dataclasses
from typing import Any

from docindex.frontends.extracted import Extracted
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts
from docindex.storage.rows.extractions import Extraction


@dataclasses.dataclass(slots=True)
class Incoming:
    """A document to store."""

    key: str
    text: str
    """The text; empty if `length` is given."""
    meta: str | None
    """JSON, or None."""
    hash: bytes
    """The `text_hash` of its text."""
    sketches: Sketches | None = None
    """The batch in which its text was sketched; None if the index knows the text."""
    number: int = 0
    """The place of the text in that batch."""
    parts: Parts | None = None
    """The text as the parts to store, or None if they are not made yet."""
    id: int | None = None
    """The id of the document if it is new; None for the next one."""
    source: str | None = None
    """The table of the app that has the text, to which `parts` then refer; None if the index has it."""
    value: Any = None
    """What the row of that table has in the key column."""
    keeps_meta: bool = False
    """Whether a document that exists keeps its meta."""
    extracted: Extracted | Extraction | None = None
    """How the text was extracted from a source in another format; None for a text."""
    length: int | None = None
    """The number of code points of a text that is in `parts` only, or that is not kept; else None."""
    added_at: int | None = None
    """When another file got the text: microseconds since 1970, UTC. If it is None, the time of the write."""

    @property
    def characters(self) -> int:
        """The number of code points of the text."""
        return len(self.text) if self.length is None else self.length

    @property
    def has_text(self) -> bool:
        """Whether the text can be stored; if not, only its sketch is known."""
        return self.length is None or self.parts is not None

    def take_text_of(self, other: "Incoming") -> None:
        """Take the text of a document with the same text, which this one does not have."""
        self.text, self.parts, self.length = other.text, other.parts, other.length
