"""All error classes of docindex, as one tree.

    DocIndexError           an error about an index, a recipe or a file, not about the call
      RecipeError           a stored recipe cannot be read (also a ValueError)
      RecipeMismatch        the recipe of the index differs from the one that the call gave
      UnsupportedPlatform   the action is not implemented on this operating system
      FileError             an error about one file; `path` names it:
        UnreadableFile      the file cannot be opened, or does not contain text
        NotAnIndex          the file is not a docindex index
        SchemaTooNew        the file was made by a newer docindex
        SchemaTooOld        the file was made by an older docindex; open it for writing to upgrade it
        CorruptIndex        the file is damaged: SQLite or a checksum says so
        TextNotKept         the call needs a text that the index does not keep
        FileReplaced        the file of an open index was replaced, moved or removed; open it again
        Busy                others are using the file, so the call cannot be done now; try again
        ReadOnly            the index is open for reading only
        Refused             a rule of your own tables in the file forbids it, or needs what is not here
        DiskFull            there is no room for the change; the index is as before
        DiskError           the disk or its file system failed while the file was read or written
        Forked              the file was open when this process was forked, so it cannot be used here
        OutOfDate           the index does not have the latest changes of a table of the app
        Cancelled           `Index.cancel` or `cancelling` stopped the work; committed work stays

A mistake in the call (a window of 0, bytes instead of text) is a `ValueError`, `TypeError` or `KeyError`. A
key or an id that no document has is an `UnknownKey`, which is a `KeyError`. Each message says what was found,
what was expected, and what to do. Some errors also have the facts as attributes, such as `path`.
"""

import errno


class DocIndexError(Exception):
    """The base class of docindex's errors: ``except DocIndexError`` catches all of them."""


class RecipeError(DocIndexError, ValueError):
    """A stored recipe has parameters or values that this version does not know."""


class RecipeMismatch(DocIndexError):
    """The index has the recipe `stored`, but the call asked for the recipe `wanted`."""

    def __init__(self, message: str, stored: object, wanted: object) -> None:
        super().__init__(message)
        self.stored = stored
        self.wanted = wanted

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.stored, self.wanted)


class UnsupportedPlatform(DocIndexError):
    """The action is not implemented on this operating system. Nothing was changed."""


class FileError(DocIndexError):
    """An error about one file. `path` names it."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path

    def __reduce__(
        self,
    ) -> tuple[object, ...]:  # else an error of a worker process could not reach its parent
        return type(self), (str(self), self.path)


class UnreadableFile(FileError):
    """A file cannot be opened, or does not contain text. The message says why."""


class NotAnIndex(FileError):
    """A file is not a docindex index."""


class SchemaTooNew(FileError):
    """A file was made by a newer docindex."""


class SchemaTooOld(FileError):
    """A file was made by an older docindex. Open it once for writing to upgrade it."""


class CorruptIndex(FileError):
    """A file is damaged, according to SQLite or to a checksum."""


class TextNotKept(FileError):
    """The call needs the text of a document, but the index does not keep that text."""


class FileReplaced(FileError):
    """The file of an open index was replaced, moved or removed. Close the index, and open it again."""


class Busy(FileError):
    """Others are using the file, so the call cannot be done now. The call changed nothing.

    Most often, another process or thread was writing and did not finish in time, or was reading for so long
    that the write-ahead log has no room for more changes. Then the message names that process, if the system
    tells it. For the other reasons, the message says what to do.
    """


class ReadOnly(FileError):
    """A call tried to change an index that is open for reading only."""


class Refused(FileError):
    """A foreign key, trigger or check of your own tables in the file forbids the change.

    Or your tables need a collation or a function that this connection does not have; or the file is open with
    ``trusted=False``, which forbids triggers.
    """


class DiskFull(FileError):
    """There is no room for the change, on the disk or in the file. The index is as it was before."""


def is_no_room(error: OSError) -> bool:
    """Whether the operating system says that a disk, a quota or a limit has no room."""
    return error.errno in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class DiskError(FileError):
    """The disk or its file system failed while the file was read or written. The file may be undamaged."""


class Forked(FileError):
    """The file was open in the parent when this process was forked, so it cannot be used here."""


class OutOfDate(FileError):
    """The index does not have the latest changes of the app's table, and cannot index them now.

    Either the file is open for reading only, or a row was changed without its trigger.
    """


class Cancelled(FileError):
    """`Index.cancel` or a `docindex.CancelToken` stopped the work. Work that was committed before stays."""


class UnknownKey(KeyError):
    """No document has the key or the id. Unlike that of a `KeyError`, its text is a sentence."""

    def __init__(self, message: str, key: object, neighbours: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.key = key
        self._neighbours = neighbours

    @property
    def similar(self) -> str | None:
        """A similar key, which may have been meant; None if no document nearby has such a key."""
        # Not before somebody asks: programs try keys, and comparing takes fifteen times as long as that.
        from docindex.spelling import most_alike  # `docindex --help` imports errors, but need not compare

        return most_alike(self.key, self._neighbours) if isinstance(self.key, str) else None

    def __str__(self) -> str:
        similar = self.similar
        return f"{self.args[0]}{'' if similar is None else f'. Did you mean {similar!r}?'}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.key, self._neighbours)


CANCELLED = "the work was cancelled; committed work stays"
"""The message of `Cancelled`, unless a time limit was the reason."""
