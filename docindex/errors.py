"""Every error that docindex raises of its own, as one tree.

    DocIndexError           something about an index or a recipe, not about the call
      RecipeError           a stored recipe cannot be read (also a ValueError)
      RecipeMismatch        the index was built with another recipe than the one asked for
      UnsupportedPlatform   the action is not implemented on this operating system
      FileError             an error about one file, which `path` names:
        UnreadableFile      it cannot be opened, or is no text where a text is due
        NotAnIndex          it is something else
        SchemaTooNew        it was made by a newer docindex
        CorruptIndex        it is damaged
        TextNotKept         what was asked needs a text that is not in it
        Busy                somebody else is writing, and did not finish in time
        ReadOnly            a change was asked of an index that is open for reading only
        Refused             a rule of the host's own in the same file forbids the change
        DiskFull            there is no room for the change; the index is as before
        Cancelled           `Index.cancel` stopped the work; what was committed stays

A slip in the call (a window of 0, bytes where text is due, a key that is not there) is a plain
`ValueError`, `TypeError` or `KeyError`. A message says what was found, what was expected, and
what to do; the facts stand in attributes as well.
"""


class DocIndexError(Exception):
    """The root: ``except DocIndexError`` catches whatever docindex reports of its own."""


class RecipeError(DocIndexError, ValueError):
    """A stored recipe is not one that this version can follow."""


class RecipeMismatch(DocIndexError):
    """An index has another recipe than the one asked for; `stored` and `wanted` are the two."""

    def __init__(self, message: str, stored: object, wanted: object) -> None:
        super().__init__(message)
        self.stored = stored
        self.wanted = wanted


class UnsupportedPlatform(DocIndexError):
    """The action is not implemented on this operating system; nothing was changed."""


class FileError(DocIndexError):
    """An error about one file; `path` names it."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class UnreadableFile(FileError):
    """A file cannot be opened, or is no text where a text is due; the message says why."""


class NotAnIndex(FileError):
    """A file is not a docindex index."""


class SchemaTooNew(FileError):
    """A file was made by a newer docindex."""


class CorruptIndex(FileError):
    """A file is damaged: what was read cannot be right."""


class TextNotKept(FileError):
    """A passage or a template needs the text of a document, which is not in the index."""


class Busy(FileError):
    """Somebody else is writing and did not finish within the time-out."""


class ReadOnly(FileError):
    """A change was asked of an index that can only be read."""


class Refused(FileError):
    """A foreign key, trigger or check of the host's own tables in the file forbids a change."""


class DiskFull(FileError):
    """There is no room for a change. The index is as it was before."""


class Cancelled(FileError):
    """`Index.cancel` was called while this was at work. What was committed before stays."""
