"""Write many sketched documents into a new file that no other program has open yet.

Nobody sees the file between two commits, so its postings are collected over several commits, and written as
few large segments: none of them needs to be merged. Memory is bounded. Must never sketch a text.
"""

from docindex.index.writer import Index
from docindex.storage import maintenance
from docindex.storage.file.connection import Connection
from docindex.storage.postings import segment_writer
from docindex.storage.postings.segments import NewPostings, Postings
from docindex.storage.rows import content_writer, contents, document_removal, stored_sketches
from docindex.storage.rows.incoming_documents import Incoming

# As much as `add_many` commits. The postings of several commits take 16 bytes each, and as much again while
# they are sorted: these are 64 MB, from 100 million characters or so.
_CHARACTERS = 32_000_000
_DOCUMENTS = 30_000
_POSTINGS = 4_000_000
_LOG_BYTES_A_CHARACTER = 2


class PrivateWriter:
    """The writer of a new index. Until `finish`, the file lacks postings, so no question must be asked."""

    def __init__(self, index: Index) -> None:
        self.store = index._store  # noqa: SLF001 - a host would see a public method
        self._index = index
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
            postings, replaced = content_writer.put_documents(
                db, group, known, self._index.recipe, store_text=True
            )
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
        self._index._merge_added(0)  # noqa: SLF001 - as above
        maintenance.empty_log(self.store)

    def _write_postings(self, db: Connection) -> None:
        """Write the collected postings as one segment of each kind."""
        if self._postings:
            joined = NewPostings(*(Postings.joined(some) for some in zip(*self._postings, strict=True)))
            segment_writer.add_postings(db, joined)
        self._postings, self._count, self._known = [], 0, {}
