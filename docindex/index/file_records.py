"""What an index knows of files on disk, as `index.files`: looked up by folder, put, forgotten.

The host's view of it: names and facts in, names and facts out. Must never look at a file itself.
"""

import functools
from collections.abc import Callable, Iterable

from docindex.recipe import Recipe
from docindex.storage import contents, documents, file_rows
from docindex.storage.connection import Transactions
from docindex.storage.file_rows import TEXT, Tracked


class FileRecords:
    """The files that scans have seen."""

    def __init__(self, store: Transactions, recipe: Recipe) -> None:
        self._store = store
        self._recipe = recipe

    def under(self, root: str) -> list[Tracked]:
        """The files under a folder, or the one that has this path, by their keys."""
        with self._store.reading() as db:
            return file_rows.tracked(db, root)

    def put(self, known: Iterable[Tracked]) -> None:
        """Know these files as they are now."""
        with self._store.writing() as db:
            file_rows.put(db, known)

    def forget(self, gone: Iterable[Tracked]) -> None:
        """Know these files no more; the documents of those that are texts go with them."""
        with self._store.writing() as db:
            for file in gone:
                file_rows.forget(db, file.key)
                if file.kind == TEXT:
                    contents.remove(db, file.key, self._recipe)

    def move(self, moved: Iterable[tuple[str, Tracked]]) -> set[str]:
        """Know files, given with the keys they had, by others, and so their documents; gives the old keys.

        Not of texts that have no document any more, nor where there is another one.
        """
        done = set()
        with self._store.writing() as db:
            for old, file in moved:
                taken = file.kind == TEXT and contents.get(db, file.key) is not None
                if not taken and (file.kind != TEXT or contents.rename(db, old, file.key)):
                    file_rows.forget(db, old)
                    file_rows.put(db, [file])
                    done.add(old)
        return done

    def cancel_check(self) -> Callable[[], None]:
        """A function that raises `Cancelled` once `Index.cancel` was called after this."""
        return functools.partial(self._store.refuse_cancelled, self._store.cancels())

    def stored(self, texts: dict[str, bytes]) -> set[str]:
        """Those of some keys whose document has the text with the hash that is given."""
        with self._store.reading() as db:
            return documents.having(db, texts)
