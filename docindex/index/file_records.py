"""Keep records of the files that scans have seen: `index.files`.

Takes and returns `Tracked` records, which scans of folders read and write. Must never look at the files
themselves.
"""

import functools
from collections.abc import Callable, Iterable

from docindex.storage.file.connection import Store
from docindex.storage.rows import content_writer, document_lookup, document_removal, documents, files
from docindex.storage.tracked_files import TEXT, Tracked


class FileRecords:
    """The records of the files that scans have seen. Made by `Index`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def under(self, root: str) -> list[Tracked]:
        """The records of the files under a folder, or of the file with this key, ordered by key."""
        with self._store.reading() as db:
            return files.tracked(db, root)

    def put(self, known: Iterable[Tracked]) -> None:
        """Add or replace the records of some files."""
        with self._store.writing() as db:
            files.put_files(db, known)

    def forget(self, gone: Iterable[Tracked]) -> None:
        """Remove the records of some files, and the documents of those that are texts."""
        with self._store.writing() as db:
            for file in gone:
                files.forget(db, file.key)
                if file.kind == TEXT:
                    document_removal.remove_document(db, file.key)
                if file.parts or file.inode == 0:  # a scan that was killed has only announced it
                    inside = [number for number, _ in documents.documents_inside(db, file.key)]
                    document_removal.remove_documents(db, inside)

    def move(self, moved: Iterable[tuple[str, Tracked]]) -> set[str]:
        """Rename files and their documents, and return the old keys of the files that were renamed.

        Takes the old key and the new record of each file. A file is left out if the document of its text is
        gone, or if another document has a new key.
        """
        done = set()
        with self._store.writing() as db:
            for old, file in moved:
                taken = file.kind == TEXT and document_lookup.get(db, file.key) is not None
                inside = documents.documents_inside(db, old) if file.parts else []
                moved_parts = [(number, file.key + key[len(old) :]) for number, key in inside]
                taken = taken or any(documents.is_key(db, key) for _, key in moved_parts)
                if not taken and (file.kind != TEXT or content_writer.rename(db, old, file.key)):
                    if moved_parts:
                        content_writer.rename_many(db, moved_parts)
                    files.forget(db, old)
                    files.put_files(db, [file])
                    done.add(old)
        return done

    def parts_of(self, key: str) -> list[str]:
        """The keys of the documents inside a file."""
        with self._store.reading() as db:
            return [part for _, part in documents.documents_inside(db, key)]

    def cancel_check(self) -> Callable[[], None]:
        """A function that raises `Cancelled` if `Index.cancel` was called after this call."""
        return functools.partial(self._store.refuse_cancelled, self._store.cancels())

    def stored(self, texts: dict[str, bytes]) -> set[str]:
        """The keys whose documents have the expected texts; `texts` maps each key to the hash of its text."""
        with self._store.reading() as db:
            return documents.having(db, texts)
