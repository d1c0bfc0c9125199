"""Upgrade an opened file to the newest schema, and read the recipe that it was built with.

The folder `schema/` holds a script `NNNN_name.sql` for each schema number. Where SQL is not enough, a Python
file `NNNN_name.py` has a function ``upgrade(db)``, which runs after the script, in the same transaction.
The recipe's row has the number of the last script that was run on the file. Must never change the tables of
an app in the same file, or a file that is not an index, unless the caller asks for an index in it. A released
script is never edited.
"""

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import apsw

from docindex.errors import CorruptIndex, NotAnIndex, RecipeMismatch, SchemaTooNew, SchemaTooOld
from docindex.recipe import Recipe
from docindex.storage import untrusted
from docindex.storage.file.connection import Store
from docindex.storage.statements import PREFIX, rows, value
from docindex.storage.tables import RECIPE, RecipeRow
from docindex.storage.values import quoted

APPLICATION_ID = 0x64_6F_63_69  # "doci"

# With the table of SQLite's own that has the counters of ours.
_TABLES = (
    "select name, sql from main.sqlite_schema where type = 'table' and "
    f"(name glob '{PREFIX}*' or name = 'sqlite_sequence')"
)
_HAS_POSTINGS = f"select 1 from main.sqlite_schema where type = 'table' and name = '{PREFIX}posting'"
_SCHEMA = "select schema from {}.docindex_recipe"


@dataclasses.dataclass(frozen=True, slots=True)
class Migration:
    """The step from one schema to the next."""

    script: Traversable
    upgrade: Traversable | None
    """A Python file with a function ``upgrade(db)``, or None."""

    def apply(self, db: apsw.Connection) -> None:
        """Run the step inside the caller's transaction."""
        db.execute(self.script.read_text("utf-8")).fetchall()
        if self.upgrade is not None:
            names: dict[str, Any] = {}
            exec(compile(self.upgrade.read_text("utf-8"), self.upgrade.name, "exec"), names)
            names["upgrade"](db)


def prepare(store: Store, wanted: Recipe | None, *, trusted: bool = True, create: bool = False) -> Recipe:
    """Make or upgrade the index in an opened file if needed, and return its recipe.

    A new index gets the recipe `wanted`, or the default recipe. With `create`, it may be made in the database
    of an app. If several processes open a new or an older file at the same time, one of them makes or
    upgrades it, and the others wait. If a file is not trusted, its tables are checked before they are used.

    `SchemaTooOld` for an older file that is open for reading only, `SchemaTooNew` for a newer file,
    `NotAnIndex` for a file of another kind, `RecipeMismatch` if its recipe differs from `wanted`.
    """
    if not store.readonly:
        _make_newest(store, wanted or Recipe(), trusted=trusted, create=create)
    with _one_state(store) as db:
        version = _version(db, store.path)
        if version == 0:
            if _is_foreign(db):
                raise _foreign(store.path)
            raise NotAnIndex(
                f"{store.path} is empty, and becomes a docindex index when a document is added", store.path
            )
        if version < len(_migrations()):
            raise _too_old(store.path, version)
        if not trusted:
            _refuse_altered(db, store.path, version)
        _refuse_other_tables(db, store.path)
        recipe = stored_recipe(db, store.path)
    path = store.path  # not the store, which would then keep itself alive
    store.at_each_transaction(lambda db: _refuse_upgraded(db, path))
    if wanted is not None and wanted != recipe:
        raise RecipeMismatch(_mismatch(store.path, recipe, wanted), stored=recipe, wanted=wanted)
    return recipe


@contextlib.contextmanager
def _one_state(store: Store) -> Iterator[apsw.Connection]:
    """The connection that the store has already, in a transaction. To open another costs as much again."""
    with store.alone() as db:
        db.execute("begin")
        try:
            yield db
        finally:
            if db.in_transaction:
                db.execute("rollback")


def _make_newest(store: Store, recipe: Recipe, *, trusted: bool, create: bool) -> None:
    with store.alone() as db:
        # Inside a transaction, because another process may be making the index at this moment.
        db.execute("begin")
        version = _version(db, store.path)
        foreign = version == 0 and _is_foreign(db)
        db.execute("rollback")
        if foreign and not create:
            raise _foreign(store.path)
        if version == 0 and not db.pragma("page_count"):
            # So `optimize` can return free pages without a copy of the file. Builds and searches are as fast.
            db.execute("pragma auto_vacuum = incremental")
        if db.pragma("journal_mode") not in ("wal", "memory"):
            # The file is new, or another program copied or changed it. The file keeps the mode.
            store.waiting.repeat(lambda: db.execute("pragma journal_mode = wal").fetchall())
    if version == len(_migrations()):
        return
    with store.writing() as db:
        version = _version(db, store.path)  # again: another process may have been faster
        if version == 0:
            make_index(db, recipe)
        elif version < len(_migrations()):
            if not trusted:
                _refuse_altered(db, store.path, version)
            with untrusted.migrating(db):
                _upgrade(db, version)


def make_index(db: apsw.Connection, recipe: Recipe) -> None:
    """Make an empty index inside the caller's transaction.

    `NotAnIndex` if an app in the same file has a table or an index with one of our names.
    """
    foreign = _is_foreign(db)
    try:
        for migration in _migrations():
            migration.apply(db)
    except apsw.SQLError as error:
        raise NotAnIndex(
            f"{db.filename} cannot hold an index: {error}; rename what has a name that begins with "
            f"{PREFIX}, or put the index into a file of its own",
            db.filename,
        ) from error
    if not foreign:
        db.execute(f"pragma main.application_id = {APPLICATION_ID}")
    db.execute(RECIPE.insert, RECIPE.with_sum(RecipeRow(1, len(_migrations()), recipe.to_json())))


def _upgrade(db: apsw.Connection, version: int) -> None:
    for migration in _migrations()[version:]:
        migration.apply(db)
    for row in [RECIPE.made(found)._replace(schema=len(_migrations())) for found in rows(db, RECIPE.select)]:
        db.execute(RECIPE.replace, RECIPE.with_sum(row))


def _refuse_upgraded(db: apsw.Connection, path: str) -> bool:
    """Whether documents wait to be indexed; `SchemaTooNew` if a newer docindex has upgraded an open file.

    Otherwise this docindex would write rows without the new columns, whose checksums the newer one refuses.
    """
    # Without `value`, because this runs at the beginning of each transaction.
    found = db.execute(_STATE).fetchall()
    if found and found[0][0] != len(_migrations()):
        _checked_version(found[0][0], path)
    return bool(found and found[0][1])


def _refuse_other_tables(db: apsw.Connection, path: str) -> None:
    """`CorruptIndex` if one of our tables is missing or altered: SQLite itself does not call that damage."""
    present = dict(rows(db, _TABLES))
    for name, definition in _our_tables().items():
        if present.get(name) != definition:
            raise _other_table(path, name)


def _other_table(path: str, name: str) -> CorruptIndex:
    return CorruptIndex(
        f"{path}: the table {name} is missing, or differs from docindex's schema; restore a backup, or index "
        "again",
        path,
    )


@lru_cache(maxsize=1)
def _our_tables() -> dict[str, str]:
    return dict(rows(empty_index(), _TABLES))


def _refuse_altered(db: apsw.Connection, path: str, version: int) -> None:
    """`CorruptIndex` unless our tables are exactly those of the schema with this number."""
    untrusted.refuse_altered(db, path, empty_index(version))


def empty_index(version: int | None = None) -> apsw.Connection:
    """An empty database in memory with the tables of a schema, by default the newest."""
    made = apsw.Connection(":memory:")
    for migration in _migrations()[:version]:
        migration.apply(made)
    return made


_STATE = (
    "select schema, exists (select 1 from main.docindex_pending) "
    "or exists (select 1 from main.docindex_changed) from main.docindex_recipe"
)


def _version(db: apsw.Connection, path: str) -> int:
    """The schema number of the index in a file, 0 for a file without an index; an error for a newer one.

    Runs inside a transaction.
    """
    has_postings = value(db, _HAS_POSTINGS)  # first: a statement on a table that is missing reads nothing
    stored = _stored_version(db, "main")
    if stored is not None:
        return _checked_version(stored, path)
    if has_postings:
        raise _other_table(path, f"{PREFIX}recipe")
    return 0


def has_index(db: apsw.Connection) -> bool:
    """Whether the database has an index, of any schema."""
    return _stored_version(db, "main") is not None


def _stored_version(db: apsw.Connection, schema: str) -> Any:
    """The schema number as the file has it; None if the database has no index."""
    try:
        # Not in quotes, so that `main` is the database that a connection presents as `main`.
        name = schema if schema == "main" else quoted(schema)
        found = db.execute(_SCHEMA.format(name)).fetchall()
    except apsw.SQLError:  # there is no such table
        return None
    return found[0][0] if len(found) == 1 else -1


def _checked_version(version: Any, path: str) -> int:
    if not (isinstance(version, int) and version > 0):
        raise CorruptIndex(
            f"{path} has the impossible schema number {version!r}; restore a backup, or index again", path
        )
    if version > len(_migrations()):
        raise _too_new(path, version)
    return version


def _is_foreign(db: apsw.Connection) -> bool:
    """Whether a database without an index belongs to an app: it has a table, or the mark of an app."""
    return bool(
        value(db, "select count(*) from main.sqlite_schema")
        or db.pragma("application_id") not in (0, APPLICATION_ID)
    )


def _foreign(path: str) -> NotAnIndex:
    return NotAnIndex(
        f"{path} is an SQLite database without a docindex index; to add one to it, use "
        "docindex.open(path, create=True), or name another file",
        path,
    )


def is_index(db: apsw.Connection, schema: str, *, newer: bool = True) -> bool:
    """Whether a database of a connection has an index with the schema of this docindex.

    For an index with another schema, raises `SchemaTooNew` or `SchemaTooOld`; with ``newer=False`` returns
    False.
    """
    stored = _stored_version(db, schema)
    if newer and stored is not None:
        path = db.db_filename(schema)
        if _checked_version(stored, path) < len(_migrations()):
            raise _too_old(path, stored)
    return bool(stored == len(_migrations()))


Version = list[tuple[Any, ...]]
"""The row of an index's recipe, which has its schema number."""


def version_of(db: apsw.Connection) -> Version:
    """What must be the same for an index to be read with the same recipe."""
    return rows(db, RECIPE.select)


def stored_recipe(db: apsw.Connection, path: str) -> Recipe:
    """The recipe that an index was built with."""
    found = [RECIPE.checked(row) for row in rows(db, RECIPE.select)]
    if len(found) != 1 or found[0] is None:
        raise CorruptIndex(f"the recipe in {path} is damaged; restore a backup, or index again", path)
    return _decoded(found[0].json)


@lru_cache(maxsize=16)
def _decoded(stored: str) -> Recipe:
    return Recipe.from_json(stored)


def _too_old(path: str, version: int) -> SchemaTooOld:
    return SchemaTooOld(
        f"{path} has schema {version}, and this docindex reads schema {len(_migrations())}; "
        "open it for writing once, which upgrades it (docindex info --optimize does that)",
        path,
    )


def _too_new(path: str, version: int) -> SchemaTooNew:
    return SchemaTooNew(
        f"{path} has schema {version}, and this docindex knows schema {len(_migrations())} at most; "
        "open it with the docindex that made it, or a newer one",
        path,
    )


def _mismatch(path: str, stored: Recipe, wanted: Recipe) -> str:
    differing = "; ".join(
        f"{name}={getattr(stored, name)!r}, not {name}={getattr(wanted, name)!r}"
        for name in type(stored).__dataclass_fields__
        if getattr(stored, name) != getattr(wanted, name)
    )
    return f"{path} was built with {differing}; open it without a recipe, or make a new index"


@lru_cache(maxsize=1)
def _migrations() -> Sequence[Migration]:
    """All steps in order: from inside an installed package, or from the folder next to it in a checkout.

    The package may lie in a zip file.
    """
    inside = resources.files("docindex") / "schema"
    folder = inside if inside.is_dir() else Path(__file__).parents[2] / "schema"
    named = sorted((file.name, file) for file in folder.iterdir() if re.match(r"\d{4}_", file.name))
    upgrades = {name: file for name, file in named if name.endswith(".py")}
    return [
        Migration(file, upgrades.get(name.removesuffix(".sql") + ".py"))
        for name, file in named
        if name.endswith(".sql")
    ]
