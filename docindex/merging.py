"""Merge the files of several indexes into a new one without sketching again: `docindex.merge`.

Takes paths of files with the same recipe. The new file gets its name only when it is complete, so a merge
that fails or is killed leaves no file that looks like a result. Must never change the files that it merges.
"""

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from docindex import arguments
from docindex.arguments import shown
from docindex.errors import RecipeMismatch
from docindex.index.adding import AddProgress
from docindex.index.private_writing import PrivateWriter
from docindex.index.shard_copying import (
    DOCUMENT,
    ConflictRule,
    ShardConflict,
    ShardCopy,
    refuse_followed,
)
from docindex.index.writer import Index
from docindex.opening import open as open_index
from docindex.recipe import Recipe
from docindex.storage.file.connector import MEMORY
from docindex.storage.maintenance import new_file

FilePath = str | os.PathLike[str]


def merge(
    paths: Iterable[FilePath],
    into: FilePath,
    *,
    on_conflict: ConflictRule = "error",
    progress: AddProgress | None = None,
) -> int:
    """Copy the documents of several index files into a new one, and return the number of its documents.

    No text is sketched again. Texts that are kept, meta, boilerplate, the places in sources and the records
    of scanned files are copied too; tables of an app in these files are not. `into` must be a new file: to
    add shards to an index, name it among the `paths`. It gets its name when it is complete, and no index is
    made if the merge fails. (If the process is killed, a hidden file beside it is left, which you can
    remove.)

    A document with the same key, text and meta in two files is copied once. If two files have different
    documents under one key, or different templates under one name, ``on_conflict="error"`` raises
    `ValueError`, which names the key; "keep" takes the document of the first file, and "replace" that of
    the last. `progress` is called with the number of documents that were read, and the number of all.

    `RecipeMismatch` if the files have different recipes, `CorruptIndex` for a damaged one, `FileExistsError`
    if `into` exists, and `ValueError` for a file that follows tables of an app.

    >>> import docindex, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         with docindex.open(f"{folder}/{name}.docindex") as index:
    ...             index.add(f"{name}.txt", "The Analytical Engine weaves algebraical patterns.")
    ...     merge([f"{folder}/a.docindex", f"{folder}/b.docindex"], f"{folder}/all.docindex")
    ...     with docindex.open(f"{folder}/all.docindex") as index:
    ...         list(index), len(index.pairs())
    2
    (['a.txt', 'b.txt'], 1)
    """
    rule = arguments.choice("on_conflict", on_conflict, get_args(ConflictRule))
    if not (progress is None or callable(progress)):
        raise TypeError(f"progress must be a function or None, not {shown(progress)}")
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"paths must be a list of paths, not {shown(paths)}")
    files = [_checked_path(path) for path in arguments.many("paths", paths)]
    name = _checked_path(into)
    if not files:
        raise ValueError("paths must name at least one index file")
    if Path(name).exists() or Path(name).is_symlink():
        raise FileExistsError(
            f"{name} already exists; name a new file, and add {name} to the paths to merge it"
        )
    recipe, total = _checked_shards(files)
    with new_file(name) as part, open_index(part, recipe=recipe, durability="normal") as target:
        writer, taken = PrivateWriter(target), 0
        for number, path in enumerate(files):
            with open_index(path, readonly=True) as shard:
                _refuse_other_recipe(shard, recipe, files[0])
                told = None if progress is None else functools.partial(_tell, progress, taken, total)
                try:
                    taken += ShardCopy(writer, shard, rule, told).run()
                except ShardConflict as conflict:
                    raise ValueError(_explained(conflict, files[:number], path)) from conflict
        writer.finish()
        return len(target)


def _tell(progress: AddProgress, before: int, total: int, taken: int) -> None:
    progress(before + taken, max(total, before + taken))


def _checked_path(path: FilePath) -> str:
    """The absolute path of a file."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"a path must be str, bytes or os.PathLike, not {shown(path)}")
    name = os.fsdecode(path)
    if name == MEMORY:
        raise ValueError("an index in memory cannot be merged; open it with the path of a file")
    return str(Path(name).absolute())


def _checked_shards(files: list[str]) -> tuple[Recipe, int]:
    """The recipe of some files, which they must share, and how many documents they have together.

    Reads all files first, because a merge should not fail after an hour for a file that cannot be read.
    """
    recipe, total = None, 0
    for path in files:
        with open_index(path, readonly=True) as shard:
            recipe = recipe or shard.recipe
            _refuse_other_recipe(shard, recipe, files[0])
            refuse_followed(shard)
            total += len(shard)
    assert recipe is not None
    return recipe, total


def _refuse_other_recipe(shard: Index, recipe: Recipe, first: str) -> None:
    if shard.recipe.id != recipe.id:
        raise RecipeMismatch(
            f"{shard.path} has the recipe {shard.recipe.to_json()}, and {first} has {recipe.to_json()}; "
            "index the texts of one of them again with the recipe of the other",
            shard.recipe,
            recipe,
        )


def _explained(conflict: ShardConflict, earlier: list[str], path: str) -> str:
    """The message for a conflict of a file with one of the earlier files."""
    others = earlier
    if conflict.kind == DOCUMENT:
        others = [name for name in earlier if _has(name, conflict.name)] or earlier
    return (
        f"{conflict.kind} {shown(conflict.name)} has another {conflict.differing} in {path} than in "
        f"{others[-1]}; rename one of them, or choose on_conflict='keep' or on_conflict='replace'"
    )


def _has(path: str, key: str) -> bool:
    with open_index(path, readonly=True) as shard:
        return key in shard
