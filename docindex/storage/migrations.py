"""An opened file in, one with the newest schema and a recipe out, or a clear error.

The scripts in `schema/` are numbered; `user_version` says which the file has had. Must never
change a script that was released, nor a file that is not ours.
"""

from functools import lru_cache
from importlib import resources
from pathlib import Path

import apsw

from docindex.errors import CorruptIndex, NotAnIndex, RecipeMismatch, SchemaTooNew
from docindex.recipe import Recipe
from docindex.storage import untrusted
from docindex.storage.connection import Store
from docindex.storage.rows import row_sum, rows, value

APPLICATION_ID = 0x64_6F_63_69  # "doci"


def prepare(store: Store, wanted: Recipe | None, *, trusted: bool = True) -> Recipe:
    """The recipe of an index that is there, or is made now with the one that is wanted.

    Safe when several processes open a new file at once: one makes it, the others wait. Of a file that is
    not trusted the tables are looked at first.
    """
    if not store.readonly:
        with store.alone() as db:
            # In one reading, for another process may be making the index at this moment.
            db.execute("begin")
            version = _version(db, store.path)
            db.execute("rollback")
            if db.pragma("journal_mode") not in ("wal", "memory"):
                # A new file, or a copy made by other means. It keeps its mode.
                store.wait(lambda: db.execute("pragma journal_mode = wal").fetchall())
            if version < len(_scripts()):
                _migrate(store, wanted or Recipe())
    with store.reading() as db:
        version = _version(db, store.path)
        if version < len(_scripts()):
            raise NotAnIndex(
                f"{store.path} is not a docindex index yet; open it for writing once", store.path
            )
        if not trusted:
            untrusted.refuse_altered(db, store.path, _scripts())
        recipe = recipe_of(db, store.path)
    if wanted is not None and wanted != recipe:
        raise RecipeMismatch(_mismatch(store.path, recipe, wanted), stored=recipe, wanted=wanted)
    return recipe


def _migrate(store: Store, recipe: Recipe) -> None:
    with store.writing() as db:
        version = _version(db, store.path)  # again: another process may have been faster
        for script in _scripts()[version:]:
            db.execute(script).fetchall()
        if version == 0:
            db.execute(f"pragma application_id = {APPLICATION_ID}")
            text = recipe.to_json()
            db.execute("insert into main.recipe values (1, ?, ?)", (text, row_sum(text)))
        db.execute(f"pragma user_version = {len(_scripts())}")


def _version(db: apsw.Connection, path: str) -> int:
    """The number of scripts the file has had: 0 for an empty one; an error for what is not ours."""
    application, version, tables = db.pragma("application_id"), db.pragma("user_version"), _tables(db)
    if application == APPLICATION_ID:
        if version > len(_scripts()):
            raise _too_new(path, version)
        return int(version)
    if tables or application:
        raise NotAnIndex(f"{path} is an SQLite file, but not a docindex index; name another file", path)
    return 0


def _tables(db: apsw.Connection) -> int:
    return int(value(db, "select count(*) from main.sqlite_schema"))


def is_index(db: apsw.Connection, schema: str, *, newer: bool = True) -> bool:
    """Whether a database of a connection is an index.

    `SchemaTooNew` for one of a newer docindex; False if no `newer` one is meant.
    """
    if db.pragma("application_id", schema=schema) != APPLICATION_ID:
        return False
    version, path = db.pragma("user_version", schema=schema), db.db_filename(schema)
    if newer and version > len(_scripts()):
        raise _too_new(path, version)
    return bool(version == len(_scripts()))


def recipe_of(db: apsw.Connection, path: str) -> Recipe:
    """The parameters an index was made with."""
    found = rows(db, "select json, sum from main.recipe")
    if len(found) != 1 or row_sum(found[0][0]) != found[0][1]:
        raise CorruptIndex(f"the recipe in {path} is damaged; restore a backup, or index again", path)
    return _decoded(found[0][0])


@lru_cache(maxsize=16)
def _decoded(stored: str) -> Recipe:
    return Recipe.from_json(stored)


def _too_new(path: str, version: int) -> SchemaTooNew:
    return SchemaTooNew(
        f"{path} has schema {version}, this docindex knows {len(_scripts())}; "
        "open it with the docindex that made it, or a newer one",
        path,
    )


def _mismatch(path: str, stored: Recipe, wanted: Recipe) -> str:
    differing = ", ".join(
        f"{name}={getattr(stored, name)!r} where {name}={getattr(wanted, name)!r} is wanted"
        for name in type(stored).__dataclass_fields__
        if getattr(stored, name) != getattr(wanted, name)
    )
    return f"{path} was built with {differing}; open it without a recipe, or make a new index"


@lru_cache(maxsize=1)
def _scripts() -> list[str]:
    """The scripts in their order: inside an installed package, or beside it in a checkout."""
    inside = resources.files("docindex") / "schema"
    folder = inside if inside.is_dir() else Path(__file__).parents[2] / "schema"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(folder / name).read_text("utf-8") for name in names]
