"""Merge the files of several indexes into a new one without sketching again: `docindex.merge`.

Takes paths of files with the same recipe. Copies the documents with their sketches, the texts that are kept,
meta, the places in sources, boilerplate and the records of scanned files. Reads one state of each file, in
batches of bounded size. The new file gets its name only when it is complete, so a merge that fails or is
killed leaves no file that looks like a result. Must never change the files that it merges, never sketch a
text, and never contain SQL.
"""

import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, Self, get_args

import numpy as np

from docindex import arguments
from docindex.arguments import shown
from docindex.arrays.ranges import I64, Bool
from docindex.cancellation import checkpoint
from docindex.errors import RecipeMismatch
from docindex.index.adding import AddProgress, merge_added, told_of
from docindex.index.index import Index
from docindex.opening import open as open_index
from docindex.recipe import Recipe
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts
from docindex.storage import maintenance, tallies
from docindex.storage.file.connection import Connection, Store
from docindex.storage.file.connector import MEMORY
from docindex.storage.postings import segment_writer
from docindex.storage.postings.segments import NewPostings, Postings
from docindex.storage.rows import (
    bulk,
    content_writer,
    contents,
    document_lookup,
    document_removal,
    extractions,
    files,
    stored_sketches,
    templates,
)
from docindex.storage.rows.extractions import Extraction
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.rows.stored_sketches import StoredContents
from docindex.storage.tables import DocumentRow

FilePath = str | os.PathLike[str]
ConflictRule = Literal["error", "keep", "replace"]
"""What to do if two shards have different documents under one key."""

_DOCUMENT = "the document"
"""The kind of a conflict about a document."""

_FILES_AT_A_TIME = 1000
# As much as `add_many` commits. The postings of several commits take 16 bytes each, and as much again while
# they are sorted: these are 64 MB, from 100 million characters or so.
_CHARACTERS = 32_000_000
_DOCUMENTS = 30_000
_POSTINGS = 4_000_000
_LOG_BYTES_A_CHARACTER = 2


def merge(
    paths: Iterable[FilePath],
    into: FilePath,
    *,
    on_conflict: ConflictRule = "error",
    progress: AddProgress | None = None,
) -> int:
    """Copy the documents of several index files into a new one, and return the number of its documents.

    No text is sketched again. Texts that are kept, meta, boilerplate, the places in sources and the records
    of scanned files are copied too; tables of an app in these files are not. `into` must be a new file: to
    add shards to an index, name it among the `paths`. It gets its name when it is complete, and no index is
    made if the merge fails. (If the process is killed, a hidden file beside it is left, which you can
    remove.)

    A document with the same key, text and meta in two files is copied once. If two files have different
    documents under one key, or different templates under one name, ``on_conflict="error"`` raises
    `ValueError`, which names the key; "keep" takes the document of the first file, and "replace" that of
    the last. `progress` is called with the number of documents that were read, and the number of all.

    `RecipeMismatch` if the files have different recipes, `CorruptIndex` for a damaged one, `FileExistsError`
    if `into` exists, and `ValueError` for a file that follows tables of an app.

    >>> import docindex, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         with docindex.open(f"{folder}/{name}.docindex") as index:
    ...             index.add(f"{name}.txt", "The Analytical Engine weaves algebraical patterns.")
    ...     merge([f"{folder}/a.docindex", f"{folder}/b.docindex"], f"{folder}/all.docindex")
    ...     with docindex.open(f"{folder}/all.docindex") as index:
    ...         list(index), len(index.pairs())
    2
    (['a.txt', 'b.txt'], 1)
    """
    rule = arguments.choice("on_conflict", on_conflict, get_args(ConflictRule))
    told_of(progress, None)  # refuses what cannot be called
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"paths must be a list of paths, not {shown(paths)}")
    sources = [_checked_path(path) for path in arguments.many("paths", paths)]
    name = _checked_path(into)
    if not sources:
        raise ValueError("paths must name at least one index file")
    if Path(name).exists() or Path(name).is_symlink():
        raise FileExistsError(
            f"{name} already exists; name a new file, and add {name} to the paths to merge it"
        )
    recipe, total = _checked_shards(sources)
    with maintenance.new_file(name) as part, open_index(part, recipe=recipe, durability="normal") as target:
        writer, taken = _NewFile(target), 0
        for number, path in enumerate(sources):
            with open_index(path, readonly=True) as shard:
                _refuse_other_recipe(shard, recipe, sources[0])
                told = None if progress is None else functools.partial(_tell, progress, taken, total)
                taken += _ShardCopy(writer, shard, sources[:number], rule, told).run()
        writer.finish()
        return len(target)


def _tell(progress: AddProgress, before: int, total: int, taken: int) -> None:
    progress(before + taken, max(total, before + taken))


def _checked_path(path: FilePath) -> str:
    """The absolute path of a file."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"a path must be str, bytes or os.PathLike, not {shown(path)}")
    name = os.fsdecode(path)
    if name == MEMORY:
        raise ValueError("an index in memory cannot be merged; open it with the path of a file")
    return str(Path(name).absolute())


def _checked_shards(sources: list[str]) -> tuple[Recipe, int]:
    """The recipe of some files, which they must share, and how many documents they have together.

    Reads all files first, because a merge should not fail after an hour for a file that cannot be read.
    """
    recipe, total = None, 0
    for path in sources:
        with open_index(path, readonly=True) as shard:
            recipe = recipe or shard.recipe
            _refuse_other_recipe(shard, recipe, sources[0])
            _refuse_followed(shard)
            total += len(shard)
    assert recipe is not None
    return recipe, total


def _refuse_other_recipe(shard: Index, recipe: Recipe, first: str) -> None:
    if shard.recipe.id != recipe.id:
        raise RecipeMismatch(
            f"{shard.path} has the recipe {shard.recipe.to_json()}, and {first} has {recipe.to_json()}; "
            "index the texts of one of them again with the recipe of the other",
            shard.recipe,
            recipe,
        )


def _has(path: str, key: str) -> bool:
    with open_index(path, readonly=True) as shard:
        return key in shard


class _NewFile:
    """A new index that no other program has open yet, into which sketched documents are written.

    Nobody sees the file between two commits, so its postings are collected over several commits, and written
    as few large segments: none of them needs to be merged. Until `finish`, the file lacks postings, so no
    question must be asked.
    """

    def __init__(self, index: Index) -> None:
        self.store: Store = index._store  # noqa: SLF001 - a host would see a public method
        self._recipe = index.recipe
        self._group: list[Incoming] = []
        self._characters = 0
        self._known: dict[bytes, int] = {}
        """The contents of texts whose postings are not written yet."""
        self._postings: list[NewPostings] = []
        self._count = 0

    def add(self, documents: list[Incoming]) -> None:
        """Store documents that have their sketches, or whose texts the file has; their keys must differ.

        They replace documents with the same keys, of earlier commits.
        """
        size = sum(document.characters for document in documents)
        if self._group and (
            self._characters + size > _CHARACTERS or len(self._group) + len(documents) > _DOCUMENTS
        ):
            self.commit()
        self._group += documents
        self._characters += size

    def commit(self) -> None:
        """Store the documents that were added. A key may be added once more after this."""
        group, self._group = self._group, []
        characters, self._characters = self._characters, 0
        if not group:
            return
        with self.store.writing(log_bytes=_LOG_BYTES_A_CHARACTER * characters) as db:
            first = contents.newest_content(db)
            hashes = [document.hash for document in group]
            known = contents.known(db, hashes)
            known |= {hash_: self._known[hash_] for hash_ in hashes if hash_ in self._known}
            postings, replaced = content_writer.put_documents(db, group, known, self._recipe, store_text=True)
            self._postings.append(postings)
            self._count += sum(len(some.hashes) for some in postings)
            self._known |= stored_sketches.texts_after(db, first)
            if replaced:
                self._write_postings(db)  # first, because dead contents must be in older segments only
                document_removal.drop_unused(db, replaced)
            elif self._count > _POSTINGS:
                self._write_postings(db)

    def finish(self) -> None:
        """Write what is left. Afterwards all is in the file, and nothing in its write-ahead log."""
        self.commit()
        with self.store.writing() as db:
            self._write_postings(db)
        merge_added(self.store, 0)
        maintenance.empty_log(self.store)

    def _write_postings(self, db: Connection) -> None:
        """Write the collected postings as one segment of each kind."""
        if self._postings:
            joined = NewPostings(*(Postings.joined(some) for some in zip(*self._postings, strict=True)))
            segment_writer.add_postings(db, joined)
        self._postings, self._count, self._known = [], 0, {}


@dataclasses.dataclass(frozen=True, slots=True)
class _ShardCopy:
    """The copy of a shard into a new index."""

    writer: _NewFile
    shard: Index
    earlier: list[str]
    """The paths of the shards that were copied before."""
    rule: ConflictRule
    told: Callable[[int], object] | None
    """Called with the number of documents that were read so far."""

    def run(self) -> int:
        """Copy everything, and return the number of documents that were read.

        `ValueError` if the rule is "error" and something differs.
        """
        _refuse_followed(self.shard)
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
        if taken != tallies.stored(db, "document").rows:
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
        of_known = np.unique(np.array([row.content for row in batch if row.key in known], np.int64))
        texts = stored_sketches.stored_texts(db, of_known)
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
                if differing is not None and not self._replaces(_DOCUMENT, row.key, differing):
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
            others = self.earlier
            if kind == _DOCUMENT:
                others = [path for path in others if _has(path, name)] or others
            raise ValueError(
                f"{kind} {shown(name)} has another {differing} in {self.shard.path} than in {others[-1]}; "
                "rename one of them, or choose on_conflict='keep' or on_conflict='replace'"
            )
        return self.rule == "replace"


def _refuse_followed(shard: Index) -> None:
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
