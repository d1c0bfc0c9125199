"""Open an index file, or make a new one: `docindex.open`.

Takes a path and settings, and returns an `Index`. The only module that gives an index the SQL functions. Must
never change a file that is not an index.
"""

import os
import stat
from pathlib import Path
from typing import get_args

from docindex import arguments
from docindex.default_path import default_path
from docindex.errors import NotAnIndex, UnreadableFile
from docindex.index.index import Index
from docindex.private_files import own_folder
from docindex.recipe import Recipe
from docindex.sql.register import register_on
from docindex.storage import untrusted
from docindex.storage.file.connection import Store
from docindex.storage.file.connector import MEMORY, Durability
from docindex.storage.migrations import prepare
from docindex.storage.values import can_be_stored


def open(  # noqa: A001 - as in gzip.open: people write docindex.open
    path: str | os.PathLike[str] | None = None,
    *,
    recipe: Recipe | None = None,
    readonly: bool = False,
    durability: Durability = "full",
    timeout_s: float = 10.0,
    trusted: bool = True,
    create: bool = False,
) -> "Index":
    """Open the index in a file. Makes the file if it does not exist; only its owner can read a new file.

    Without a path, opens your default index, which is in your data folder. The path ``":memory:"`` makes a
    new index in memory.

    With ``create=True``, also makes an index in the database of an app. The names of its tables begin with
    ``docindex_``, and it leaves the tables of the app, `user_version` and `application_id` as they are; but
    the database gets a write-ahead log, and keeps it.

    An index keeps the recipe with which it was made; a different `recipe` raises `RecipeMismatch`. With
    ``durability="normal"`` a commit does not wait for the disk: it survives a crash of the program, but
    perhaps not a power failure. If another process is writing to the file, or reads for so long that the
    write-ahead log is full, a change waits up to `timeout_s` seconds, then raises `Busy`.

    Use ``trusted=False`` for a file that somebody else made. Then the triggers, views and functions in it are
    never run, values and statements have limits, and docindex's tables are checked first, which takes as long
    as reading them.

    >>> with open(":memory:") as index:
    ...     index.add("ada.txt", "The Analytical Engine weaves algebraical patterns.")
    ...     len(index), index["ada.txt"].symbols
    (1, 44)
    """
    durability = arguments.choice("durability", durability, get_args(Durability))
    timeout_s = arguments.seconds("timeout_s", timeout_s)
    readonly, trusted, create = (
        arguments.switch(name, value)
        for name, value in (("readonly", readonly), ("trusted", trusted), ("create", create))
    )
    if not (recipe is None or isinstance(recipe, Recipe)):
        raise TypeError(f"a recipe must be a docindex.Recipe or None, not {arguments.shown(recipe)}")
    store = Store(
        _checked_path(path, readonly=readonly),
        readonly=readonly,
        durability=durability,
        timeout_s=timeout_s,
        guard=None if trusted else untrusted.guard,
    )
    try:
        return Index(store, prepare(store, recipe, trusted=trusted, create=create), register_on)
    except BaseException:
        store.close()
        raise


def _checked_path(path: str | os.PathLike[str] | None, *, readonly: bool) -> str:
    """The absolute path of an index, or ``":memory:"``; raises an error if no index can be there."""
    if path is None:
        path = _own_path(make=not readonly)
    elif not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(
            f"the path of an index must be str, bytes or os.PathLike, not {arguments.shown(path)}"
        )
    name = str.__str__(os.fsdecode(path))
    if name == MEMORY:
        if readonly:
            raise ValueError("an index in memory is always new and empty; open it without readonly=True")
        return name
    if not can_be_stored(name) or not name:
        raise ValueError(
            f"the path of an index must be text that SQLite accepts, not {name!r}; choose another name"
        )
    # Connections are also made later, when the working folder may have changed.
    absolute = Path(name).absolute()
    try:
        status = absolute.stat()
    except FileNotFoundError:
        if readonly:
            raise FileNotFoundError(
                f"there is no index at {absolute}; check the path, or make one without readonly=True"
            ) from None
    except OSError as error:
        raise UnreadableFile(f"{absolute} cannot be opened: {error.strerror}", str(absolute)) from error
    else:
        if not stat.S_ISREG(status.st_mode):
            found = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise NotAnIndex(f"{absolute} is {found}; name a docindex index or a new file", str(absolute))
    return str(absolute)


def _own_path(*, make: bool) -> Path:
    """The path of the default index, which other users cannot read; with `make`, its folder is made."""
    path = default_path()
    try:
        own_folder(path.parent, make=make)
    except OSError as error:
        raise UnreadableFile(
            f"the folder {path.parent} for your default index cannot be made: {error.strerror}; "
            "name another file for the index (the command has --index and DOCINDEX for this)",
            str(path.parent),
        ) from error
    return path
