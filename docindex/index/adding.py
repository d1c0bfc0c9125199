"""Add documents to an index: texts that are sketched here on several cores, or documents with sketches.

Takes keys, texts and meta from callers, and passes checked documents to storage, in commits of bounded size.
`write_documents` is the only way into a file, for `Index` and for SQL. Must never contain SQL.
"""

import collections
import contextlib
import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Sized

from docindex import arguments
from docindex.cancellation import checkpoint, stopped_by
from docindex.errors import Busy
from docindex.frontends.extract import PLAIN, extract_all
from docindex.frontends.extracted import PART_MARK, Extracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.index.items import Item, TextsOfFiles, checked_key, incoming
from docindex.recipe import Recipe
from docindex.sketching.sketcher import batched_by_weight, sketch_batches
from docindex.sketching.workers import MOST_WORKERS, SketchJob, SketchWorkers, default_workers
from docindex.storage.file.connection import Connection, Store
from docindex.storage.followed import rows
from docindex.storage.postings import segment_writer
from docindex.storage.rows import content_writer, contents, document_removal
from docindex.storage.rows import files as file_rows
from docindex.storage.rows.incoming_documents import Incoming

AddProgress = Callable[[int, int | None], object]
"""Called with the number of documents that were read so far, and how many there are, or None if unknown."""

# `add_many` commits after this many characters or documents. A crash loses at most this much, and memory must
# hold it. A commit changes most pages of the SQL indexes: among 300,000 notes, commits of 10,000 would take a
# tenth more time, and 40 MB less memory.
_COMMIT = 32_000_000
_COMMITTED_DOCUMENTS = 30_000
# The workers may have this many characters to sketch: a little more than they sketch during a commit.
_AHEAD = 32_000_000
# To look up a note among 400,000 takes about a sixth of the time of sketching it. So after this many batches
# of which the index knew less than an eighth, only every 16th text of one batch in this many is looked up
# before it is sketched, and the others only if the index knows enough of these. The commit looks up all of
# them anyway.
_MOSTLY_NEW = 4
_FEW = 8
_LOOKED_UP_FIRST = 16
# A commit writes 1.6 bytes to the log for each character of random words, and less for other texts.
_LOG_BYTES_A_CHARACTER = 2


def write_documents(
    db: Connection, documents: Sequence[Incoming], recipe: Recipe, *, store_text: bool
) -> int:
    """Store documents within the caller's transaction, and add their fingerprints to the inverted index.

    Returns how many postings should still be merged, in further transactions.
    `ValueError` for a document that is a row of a followed table, unless it comes from there.

    If a key occurs several times, its last document is stored. Texts that are new to the index are sketched
    here, unless their sketches are given.
    """
    rows.refuse_rows(db, [document.key for document in documents if document.source is None])
    last: dict[str, Incoming] = {}
    for document in documents:
        earlier = last.get(document.key)
        if earlier is not None and document.keeps_meta:  # that of the earlier one, which is not stored
            document.meta, document.keeps_meta = earlier.meta, earlier.keeps_meta
        last[document.key] = document
    documents = list(last.values())
    known = contents.known(db, (document.hash for document in documents))
    sketched = {document.hash for document in documents if document.sketches is not None}
    new = {
        document.hash: document
        for document in documents
        if document.hash not in known and document.hash not in sketched and document.length is None
    }
    left = iter(new.values())
    for batch in sketch_batches([document.text for document in new.values()], recipe):
        for number in range(len(batch)):
            document = next(left)
            document.sketches, document.number = batch, number
    postings, replaced = content_writer.put_documents(db, documents, known, recipe, store_text=store_text)
    document_removal.drop_unused(db, replaced)
    return segment_writer.add_postings(db, postings)


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """Where documents are stored, and how."""

    store: Store
    recipe: Recipe
    store_text: bool
    files: TextsOfFiles | None = None
    """The records of the files that the documents come from, if a scan reads them."""

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """A block that changes the index, until `Index.cancel` stops it; `ReadOnly` if it may not."""
        self.store.refuse_readonly()
        with stopped_by(functools.partial(self.store.refuse_cancelled, self.store.cancels())):
            yield

    def newest_content(self) -> int:
        """The newest content so far."""
        with self.store.reading() as db:
            return contents.newest_content(db)

    def known(self, documents: list[Incoming]) -> dict[bytes, int]:
        """The contents of those texts that the index has."""
        with self.store.reading() as db:
            return contents.known(db, (document.hash for document in documents))

    def commit(self, group: list[Incoming]) -> None:
        """Store some documents in one transaction, then merge what this makes due."""
        if not group:
            return
        log_bytes = _LOG_BYTES_A_CHARACTER * sum(document.characters for document in group)
        with self.store.writing(log_bytes=log_bytes) as db:
            unmerged = write_documents(db, group, self.recipe, store_text=self.store_text)
            if self.files is not None:
                file_rows.put_files(db, self.files.records(document.key for document in group))
        # The documents are stored. If somebody reads for too long now, a later commit merges instead.
        with contextlib.suppress(Busy):
            _merge(self.store, unmerged)


def _merge(store: Store, postings: int) -> None:
    """Merge this many postings, in short commits."""
    while postings > 0:
        checkpoint()
        with store.writing(log_bytes=segment_writer.MERGE_LOG_BYTES) as db:
            segment_writer.merge_postings(db, min(postings, segment_writer.MERGED_AT_A_TIME))
        postings -= segment_writer.MERGED_AT_A_TIME


def merge_added(store: Store, newest: int) -> None:
    """Leave few segments after many documents were added; `newest` was the newest content before."""
    due = 1
    with contextlib.suppress(Busy):
        while due:
            with store.writing() as db:
                due = segment_writer.begin_merge_of_added(db, newest)
            _merge(store, due)


def told_of(progress: AddProgress | None, total: int | None) -> Callable[[int], object] | None:
    """A function to call with the number of documents that were read; `total` is that of all, if known."""
    if not (progress is None or callable(progress)):
        raise TypeError(f"progress must be a function or None, not {arguments.shown(progress)}")
    return None if progress is None else lambda taken: progress(taken, total)


def add_items(
    target: Target,
    items: Iterable[Item],
    workers: int | None,
    progress: AddProgress | None,
    commit_every: int | None,
) -> int:
    """Store many documents, and return their number; `Index.add_many` explains the parameters."""
    if workers is not None:
        workers = arguments.whole_number("workers", workers, most=MOST_WORKERS)
    given = arguments.many("items", items)
    told = told_of(progress, len(items) if isinstance(items, Sized) else None)
    if commit_every is not None:
        commit_every = arguments.whole_number("commit_every", commit_every)
    most = min(commit_every or _COMMITTED_DOCUMENTS, _COMMITTED_DOCUMENTS)
    with target.stoppable():
        count = default_workers() if workers is None else workers
        sketchers = SketchWorkers(target.recipe, count, automatic=workers is None)
        return _add_all(target, given, sketchers, told, most)


def _add_all(
    target: Target,
    items: Iterator[Item],
    sketchers: SketchWorkers,
    progress: Callable[[int], object] | None,
    most: int,
) -> int:
    """Do the work of `add_items`; a commit has at most `most` documents."""
    is_often = most < _COMMITTED_DOCUMENTS
    taken = out = uncommitted = 0
    group: list[Incoming] = []
    waiting: collections.deque[_Batch] = collections.deque()
    newest: int | None = None

    def arrive() -> None:
        """Add the oldest batch to the group, and commit the group if it is large."""
        nonlocal taken, out, uncommitted, newest
        batch = waiting.popleft()
        group.extend(batch.arrived())
        taken += len(batch.documents)
        uncommitted += batch.characters
        out -= batch.characters
        checkpoint()
        if progress is not None:
            progress(taken)
        while uncommitted >= _COMMIT or len(group) >= most:
            newest = target.newest_content() if newest is None else newest
            target.commit(group[:most])
            del group[:most]
            uncommitted = 0

    with sketchers:
        mostly_new = 0
        for number, documents in enumerate(_in_batches(items, target.recipe, most)):
            known = _known_where_it_pays(target, documents, number, mostly_new)
            mostly_new = mostly_new + 1 if _are_few(known, documents) else 0
            batch = _sketching(documents, known, sketchers, target.store_text)
            waiting.append(batch)
            out += batch.characters
            # Give the workers enough text in advance, so that they never wait during a commit.
            while waiting and (sketchers.alone or out > _AHEAD or (is_often and waiting[0].is_made())):
                arrive()
        while waiting:
            arrive()
    target.commit(group)
    if newest is not None and not is_often:
        merge_added(target.store, newest)
    return taken


def add_sketched(
    target: Target, batches: Iterator[list[Incoming]], progress: Callable[[int], object] | None
) -> int:
    """Store batches of documents that have their sketches, or whose texts the index knows."""
    with target.stoppable():
        newest = target.newest_content()
        group: list[Incoming] = []
        taken = commits = characters = 0
        for batch in batches:
            checkpoint()
            size = sum(document.characters for document in batch)
            is_full = len(group) + len(batch) > _COMMITTED_DOCUMENTS or characters + size > _COMMIT
            if group and is_full:
                target.commit(group)
                group, commits, characters = [], commits + 1, 0
            group += batch
            taken += len(batch)
            characters += size
            if progress is not None:
                progress(taken)
        target.commit(group)
        if commits:
            merge_added(target.store, newest)
        return taken


def texts_of_file(
    path: str | os.PathLike[str], key: str | None, encoding: str | None, options: ExtractionOptions | None
) -> tuple[str, dict[str, str | Extracted]]:
    """The key of a file, and the texts in it by their keys; `Index.add_file` explains the parameters."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a str or an os.PathLike, not {arguments.shown(path)}")
    key = os.fspath(path) if key is None else checked_key(key)
    found = extract_all(path, encoding=encoding, options=options)
    texts: dict[str, str | Extracted] = {
        f"{key}{PART_MARK}{name}": text for name, text in found.parts.items()
    }
    if found.main is not None:
        texts[key] = found.main.text if found.main.reading == PLAIN else found.main
    return key, texts


def _known_where_it_pays(
    target: Target, documents: list[Incoming], number: int, mostly_new: int
) -> dict[bytes, int]:
    """The contents of the texts of a batch that the index knows, or of some of them.

    `number` is that of the batch. In `mostly_new` batches before it, the index knew few texts.
    """
    if mostly_new < _MOSTLY_NEW:
        return target.known(documents)
    if number % _MOSTLY_NEW:
        return {}
    first = documents[::_LOOKED_UP_FIRST]
    known = target.known(first)
    return known if _are_few(known, first) else target.known(documents)


class _Batch:
    """Documents whose new texts are sketched together."""

    def __init__(self, documents: list[Incoming], new: list[Incoming], made: SketchJob | None) -> None:
        self.documents = documents
        self.characters = sum(document.characters for document in documents)
        self._new = new
        self._made = made

    def is_made(self) -> bool:
        """Whether `arrived` would not wait."""
        return self._made is None or self._made.done()

    def arrived(self) -> list[Incoming]:
        """Wait for the sketches, and return the documents with their sketches."""
        if self._made is not None:
            made = self._made.result()
            for number, document in enumerate(self._new):
                document.sketches, document.number = made.sketches, number
                document.parts = made.parts[number] if made.parts else None
        return self.documents


def _are_few(known: Sized, documents: Sized) -> bool:
    """Whether too few texts of some documents are known for a look-up of all to pay."""
    return len(known) * _FEW <= len(documents)


def _sketching(
    documents: list[Incoming], known: Container[bytes], sketchers: SketchWorkers, keep: bool
) -> _Batch:
    """Pass the texts of a batch, except those with some known hashes, to the sketchers."""
    new = list({d.hash: d for d in documents if d.hash not in known}.values())
    return _Batch(documents, new, sketchers.submit([d.text for d in new], keep=keep) if new else None)


def _in_batches(items: Iterable[Item], recipe: Recipe, most: int) -> Iterator[list[Incoming]]:
    """The documents in batches of bounded size, none of which has more than `most` documents."""
    documents = map(incoming, items)
    for first in documents:
        some = itertools.chain([first], itertools.islice(documents, most - 1))
        yield from batched_by_weight(some, lambda document: len(document.text) + recipe.slots)
