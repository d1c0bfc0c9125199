"""Upgrade an opened file to the newest schema, and read the recipe that it was built with.

The folder `schema/` holds a script `NNNN_name.sql` for each schema number. Where SQL is not enough, a Python
file `NNNN_name.py` has a function ``upgrade(db)``, which runs after the script, in the same transaction.
`user_version` is the number of the last script that was run on the file. Must never change a file that is not
an index. A released script is never edited.
"""

import contextlib
import dataclasses
import runpy
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw

from docindex.errors import CorruptIndex, NotAnIndex, RecipeMismatch, SchemaTooNew, SchemaTooOld
from docindex.recipe import Recipe
from docindex.storage import untrusted
from docindex.storage.connection import Store
from docindex.storage.rows import rows, value
from docindex.storage.tables import RECIPE, RecipeRow

APPLICATION_ID = 0x64_6F_63_69  # "doci"

_TABLES = "select name, sql from main.sqlite_schema where type = 'table'"


@dataclasses.dataclass(frozen=True, slots=True)
class Migration:
    """The step from one schema to the next."""

    script: Path
    upgrade: Path | None
    """A Python file with a function ``upgrade(db)``, or None."""

    def apply(self, db: apsw.Connection) -> None:
        """Run the step inside the caller's transaction."""
        db.execute(self.script.read_text("utf-8")).fetchall()
        if self.upgrade is not None:
            runpy.run_path(str(self.upgrade))["upgrade"](db)


def prepare(store: Store, wanted: Recipe | None, *, trusted: bool = True) -> Recipe:
    """Make or upgrade the index in an opened file if needed, and return its recipe.

    A new index gets the recipe `wanted`, or the default recipe. If several processes open a new or an older
    file at the same time, one of them makes or upgrades it, and the others wait. If a file is not trusted,
    its tables are checked before they are used.

    `SchemaTooOld` for an older file that is open for reading only, `SchemaTooNew` for a newer file,
    `NotAnIndex` for a file of another kind, `RecipeMismatch` if its recipe differs from `wanted`.
    """
    if not store.readonly:
        _make_newest(store, wanted or Recipe(), trusted=trusted)
    with _one_state(store) as db:
        version = _version(db, store.path)
        if version == 0:
            raise NotAnIndex(
                f"{store.path} is empty, and becomes a docindex index when a document is added", store.path
            )
        if version < len(_migrations()):
            raise _too_old(store.path, version)
        if not trusted:
            _refuse_altered(db, store.path, version)
        _refuse_other_tables(db, store.path)
        recipe = recipe_of(db, store.path)
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


def _make_newest(store: Store, recipe: Recipe, *, trusted: bool) -> None:
    with store.alone() as db:
        # Inside a transaction, because another process may be making the index at this moment.
        db.execute("begin")
        version = _version(db, store.path)
        db.execute("rollback")
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
        if version and not trusted:
            _refuse_altered(db, store.path, version)
        with untrusted.migrating(db):
            for migration in _migrations()[version:]:
                migration.apply(db)
        if version == 0:
            db.execute(f"pragma application_id = {APPLICATION_ID}")
            db.execute(RECIPE.insert, RECIPE.with_sum(RecipeRow(1, recipe.to_json())))
        db.execute(f"pragma user_version = {len(_migrations())}")


def _refuse_upgraded(db: apsw.Connection, path: str) -> None:
    """`SchemaTooNew` if a newer docindex has upgraded a file that is open here.

    Otherwise this docindex would write rows without the new columns, whose checksums the newer one refuses.
    """
    # Without `value`, because this runs at the beginning of each transaction.
    ((version,),) = db.execute("pragma main.user_version")
    if version > len(_migrations()):
        raise _too_new(path, version)


def _refuse_other_tables(db: apsw.Connection, path: str) -> None:
    """`CorruptIndex` if one of our tables is missing or altered: SQLite itself does not call that damage."""
    present = dict(rows(db, _TABLES))
    for name, definition in _our_tables().items():
        if present.get(name) != definition:
            raise CorruptIndex(
                f"{path}: the table {name} is missing, or differs from docindex's schema; "
                "restore a backup, or index again",
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


def _version(db: apsw.Connection, path: str) -> int:
    """The schema number of a file, or 0 for an empty file; an error for a file that is not an index."""
    if db.pragma("application_id") == APPLICATION_ID:
        version = int(db.pragma("user_version"))
        if version > len(_migrations()):
            raise _too_new(path, version)
        if version < 1:
            raise CorruptIndex(
                f"{path} has the impossible schema number {version}; restore a backup, or index again", path
            )
        return version
    if value(db, "select count(*) from main.sqlite_schema") or db.pragma("application_id"):
        raise NotAnIndex(f"{path} is an SQLite file, but not a docindex index; name another file", path)
    return 0


def is_index(db: apsw.Connection, schema: str, *, newer: bool = True) -> bool:
    """Whether a database of a connection is an index with the schema of this docindex.

    For an index with another schema, raises `SchemaTooNew` or `SchemaTooOld`; with ``newer=False`` returns
    False.
    """
    if db.pragma("application_id", schema=schema) != APPLICATION_ID:
        return False
    version, path = int(db.pragma("user_version", schema=schema)), db.db_filename(schema)
    if newer and version > len(_migrations()):
        raise _too_new(path, version)
    if newer and 0 < version < len(_migrations()):
        raise _too_old(path, version)
    return version == len(_migrations())


Version = tuple[int, list[tuple[Any, ...]]]
"""The schema number of an index, and the rows of its recipe."""


def version_of(db: apsw.Connection) -> Version:
    """What must be the same for an index to be read with the same recipe."""
    return db.pragma("user_version"), rows(db, RECIPE.select)


def recipe_of(db: apsw.Connection, path: str) -> Recipe:
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
        "open it for writing once, which upgrades it (docindex optimize does that)",
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
    """All steps in order: from inside an installed package, or from the folder next to it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "schema"
    folder = inside if inside.is_dir() else package.parent / "schema"
    scripts = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    upgrades = {path.stem: path for path in folder.glob("[0-9][0-9][0-9][0-9]_*.py")}
    return [Migration(script, upgrades.get(script.stem)) for script in scripts]
