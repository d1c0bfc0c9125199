"""Open an index that must exist already. A mistyped name must never make a new index."""

from docindex.errors import OutOfDate, ReadOnly, SchemaTooOld, UnreadableFile
from docindex.index.index import Index
from docindex.opening import open as open_index


def open_existing(path: str | None, *, readonly: bool = True) -> Index:
    """The index at a path, or the user's own index; `UnreadableFile` if it does not exist."""
    try:
        index = open_index(path, readonly=True)
    except FileNotFoundError as error:
        found = str(error).partition(";")[0]
        raise UnreadableFile(f"{found}; docindex scan makes one", path or "") from error
    except SchemaTooOld:
        if readonly:
            raise
        return open_index(path)  # this upgrades it
    if readonly:
        try:
            len(index)
        except OutOfDate as error:
            index.close()
            index_queue(path, error)
            return open_index(path, readonly=True)
        return index
    index.close()
    return open_index(path)


def index_queue(path: str | None, problem: OutOfDate) -> None:
    """Index what an app's triggers have queued, so that a question can be answered from a read-only file.

    Raises the problem if nobody may write to the file.
    """
    try:
        with open_index(path) as index:
            index.flush()
    except ReadOnly as error:
        raise problem from error
