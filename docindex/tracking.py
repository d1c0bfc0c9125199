"""What an index knows of files on disk, as `index.files`: looked up by folder, put, forgotten.

The host's view of it: names and facts in, names and facts out. Must never look at a file itself.
"""

from collections.abc import Iterable

from docindex.storage import documents, files
from docindex.storage.connection import Transactions
from docindex.storage.files import Tracked


class Files:
    """The files that scans have seen."""

    def __init__(self, store: Transactions) -> None:
        self._store = store

    def under(self, root: str) -> list[Tracked]:
        """The files under a folder, or the one that has this path, by their keys."""
        with self._store.reading() as db:
            return files.tracked(db, root)

    def put(self, known: Iterable[Tracked]) -> None:
        """Know these files as they are now."""
        with self._store.writing() as db:
            files.put(db, known)

    def forget(self, keys: Iterable[str]) -> None:
        """Know these files no more."""
        with self._store.writing() as db:
            files.forget(db, keys)

    def stored(self, texts: dict[str, bytes]) -> set[str]:
        """Those of some keys whose document has the text with the hash that is given."""
        with self._store.reading() as db:
            return documents.having(db, texts)
