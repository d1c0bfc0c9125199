"""Copy the documents of one index into another one without sketching them again: a shard of `docindex.merge`.

Copies the sketches, the texts that are kept, meta, the places in sources, boilerplate and the records of
scanned files. Both indexes must have the same recipe. Reads one state of the shard, in batches of bounded
size. Must never contain SQL.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Literal, NoReturn, Self

import numpy as np

from docindex.arguments import shown
from docindex.arrays.ranges import I64, Bool
from docindex.cancellation import checkpoint
from docindex.index.private_writing import PrivateWriter
from docindex.index.writer import Index
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts
from docindex.storage import tallies
from docindex.storage.file.connection import Connection
from docindex.storage.rows import bulk, document_lookup, extractions, files, stored_sketches, templates
from docindex.storage.rows.extractions import Extraction
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.rows.stored_sketches import StoredContents
from docindex.storage.tables import DocumentRow

DOCUMENT = "the document"
"""The kind of a conflict about a document."""
ConflictRule = Literal["error", "keep", "replace"]
"""What to do if two shards have different documents under one key."""

_FILES_AT_A_TIME = 1000


class ShardConflict(ValueError):
    """Two shards have different things under one name; `kind` says what, and `name` is the name."""

    def __init__(self, kind: str, name: str, differing: str) -> None:
        super().__init__(f"{kind} {shown(name)} has another {differing} in an earlier file")
        self.kind, self.name, self.differing = kind, name, differing


@dataclasses.dataclass(frozen=True, slots=True)
class ShardCopy:
    """The copy of a shard into a new index."""

    writer: PrivateWriter
    shard: Index
    rule: ConflictRule
    told: Callable[[int], object] | None
    """Called with the number of documents that were read so far."""

    def run(self) -> int:
        """Copy everything, and return the number of documents that were read.

        `ShardConflict` if the rule is "error" and something differs.
        """
        refuse_followed(self.shard)
        with self.shard._store.reading() as db:  # noqa: SLF001 - a host would see a public method
            self._copy_boilerplate(db)
            for documents in self._documents(db):
                checkpoint()
                self.writer.add(documents)
            self.writer.commit()
            self._copy_files(db)
            return document_lookup.document_total(db)

    def _documents(self, db: Connection) -> Iterator[list[Incoming]]:
        """The documents to store, with the sketches of contents that this copy has not stored yet."""
        recipe, copied = self.shard.recipe, _ContentSet(bulk.content_ids(db))
        last = taken = 0
        while batches := stored_sketches.document_batches(db, last, recipe):
            for batch in batches:
                wanted = self._wanted(db, batch)
                of = np.unique(np.array([row.content for row, _ in wanted], np.int64))
                new = copied.add(of)
                stored = stored_sketches.contents_with_sketches(db, of[new], recipe)
                texts = stored_sketches.stored_texts(db, of[~new])
                arrived = _Arrived.of(stored, texts, stored_sketches.text_parts_of(db, stored))
                yield [arrived.document(row, extraction) for row, extraction in wanted]
                taken += len(batch)
                if self.told is not None:
                    self.told(taken)
            last = batches[-1][-1].id
        if taken != document_lookup.document_total(db):
            raise tallies.other_rows(db, "document")

    def _wanted(
        self, db: Connection, batch: list[DocumentRow]
    ) -> list[tuple[DocumentRow, Extraction | None]]:
        """The documents of a batch that should be stored, and how their texts were extracted."""
        found = extractions.extractions_of(db, [row.id for row in batch])
        with self.writer.store.reading() as stored:
            known = stored_sketches.stored_documents(stored, [row.key for row in batch])
            extracted = extractions.extractions_of(stored, [document.id for document in known.values()])
        if not known:
            return [(row, found.get(row.id)) for row in batch]
        contents = np.unique(np.array([row.content for row in batch if row.key in known], np.int64))
        texts = stored_sketches.stored_texts(db, contents)
        wanted = []
        for row in batch:
            extraction, earlier = found.get(row.id), known.get(row.key)
            if earlier is not None:
                pairs = {
                    "text": (earlier.hash, texts[row.content][0]),
                    "meta": (earlier.meta, row.meta),
                    "front end": (extracted.get(earlier.id), extraction),
                }
                differing = next((name for name, (one, other) in pairs.items() if one != other), None)
                if differing is not None and not self._replaces(DOCUMENT, row.key, differing):
                    continue
            wanted.append((row, extraction))
        return wanted

    def _copy_boilerplate(self, db: Connection) -> None:
        """Copy the templates. One with the name or the text of another one is in its place, or left out."""
        for template, grams, shingles in templates.with_hashes(db):
            with self.writer.store.writing() as to:
                known = templates.templates(to)
                if template in known:
                    continue
                for other in known:
                    if template.name == other.name or template.text == other.text:
                        differing = "text" if template.name == other.name else "name"
                        if not self._replaces("the template", template.name, differing):
                            break
                else:
                    templates.put_template(to, template, grams, shingles)

    def _copy_files(self, db: Connection) -> None:
        """Copy the records of the files that scans have seen."""
        last = ""
        while found := files.tracked_after(db, last, _FILES_AT_A_TIME):
            with self.writer.store.writing() as to:
                known = {file.key: file for file in files.tracked_with(to, [file.key for file in found])}
                new = [
                    file
                    for file in found
                    if known.get(file.key, file) == file
                    or self._replaces("the record of the file", file.key, "state")
                ]
                files.put_files(to, new)
            last = found[-1].key

    def _replaces(self, kind: str, name: str, differing: str) -> bool:
        """Whether a later thing replaces an earlier one that differs."""
        if self.rule == "error":
            _conflict(kind, name, differing)
        return self.rule == "replace"


def _conflict(kind: str, name: str, differing: str) -> NoReturn:
    raise ShardConflict(kind, name, differing)


def refuse_followed(shard: Index) -> None:
    """`ValueError` if an index follows tables of an app, which have the texts."""
    followed = [each.table for each in shard.followed()]
    if followed:
        raise ValueError(
            f"{shard.path} follows the table {followed[0]!r} of an app, which has the texts; such a file "
            "cannot be merged: add the rows of the table to another index with add_from"
        )


class _ContentSet:
    """The contents of a shard that were copied. Sized by their number, not by their ids."""

    def __init__(self, existing: I64) -> None:
        self._existing = existing
        self._are_in = np.zeros(len(existing), bool)

    def add(self, contents: I64) -> Bool:
        """Add some existing contents, and return which of them are new."""
        places = self._existing.searchsorted(contents)
        new = ~self._are_in[places]
        self._are_in[places] = True
        return new


@dataclasses.dataclass(frozen=True, slots=True)
class _Arrived:
    """What a batch needs of its contents."""

    sketches: Sketches
    """The sketches of those contents that are not in the target yet."""
    numbers: dict[int, int]
    """The place of each of these contents in `sketches`."""
    texts: dict[int, tuple[bytes, int]]
    """The hash and the length of the text of each content."""
    parts: dict[int, Parts]

    @classmethod
    def of(cls, stored: StoredContents, known: dict[int, tuple[bytes, int]], parts: dict[int, Parts]) -> Self:
        """The contents that are stored here, and those that are known."""
        contents = stored.ids.tolist()
        texts = known | dict(zip(contents, zip(stored.hashes, stored.characters, strict=True), strict=True))
        return cls(stored.sketches, dict(zip(contents, itertools.count())), texts, parts)

    def document(self, row: DocumentRow, extraction: Extraction | None) -> Incoming:
        """The document to store."""
        content = row.content
        hash_, characters = self.texts[content]
        number = self.numbers.get(content)
        return Incoming(
            row.key,
            "",
            row.meta,
            hash_,
            None if number is None else self.sketches,
            number or 0,
            self.parts.get(content),
            extracted=extraction,
            length=characters,
            added_at=row.added_at,
        )
