"""Write the documents of a Spark DataFrame to index files, one for each partition.

In: a DataFrame of documents or of sketches, and a folder that the driver and all workers see. Out: a new
folder of files, each of which is an ordinary index. Spark may run a task again, or twice at the same time:
each attempt writes a file of its own, and only the files of the attempts that Spark has accepted are kept.
Must never show a folder that is not complete.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from docindex.arguments import shown
from docindex.errors import RecipeMismatch, UnreadableFile
from docindex.opening import open as open_index
from docindex.private_files import private_opener
from docindex.recipe import Recipe
from docindex.sketching.sketch_tables import SCHEMA
from docindex.spark.sketching import sketch

_WRITTEN = pa.schema([("partition", pa.int32()), ("name", pa.string()), ("recipe", pa.string())])
_WRITTEN_COLUMNS = "partition int, name string, recipe string"


def write_index(frame: DataFrame, folder: str | os.PathLike[str], recipe: Recipe | None = None) -> list[str]:
    """Write one index file for each partition of a DataFrame, and return the paths of the files.

    `frame` has the columns `key` and `text`, and perhaps `meta`; or it is a DataFrame of sketches, which are
    not made again. Every key must occur once. ``frame.repartition(n)`` chooses the number of files; a
    partition without documents gives no file. `docindex.merge` makes one file of them.

    `folder` must not exist. It is a path that means the same folder on the driver and on all workers, for
    example on a network file system; a URL, such as that of HDFS or S3, is not possible. Each task writes its
    file on the worker's own disk, in its folder for temporary files, and copies it when it is complete. The
    folder gets its name when all files are there. If the job fails, nothing is left. (If the driver is
    killed, a hidden folder beside it is left, which you can remove.)

    `FileExistsError` if `folder` exists, and `RecipeMismatch` if the sketches have different recipes.
    """
    path = _checked_folder(folder)
    if "hashes" not in frame.columns:
        frame = sketch(frame, recipe)
    elif recipe is not None:
        raise ValueError("the sketches have their recipe already; leave out recipe")
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        part.mkdir()
        work = _writing(str(part))
        rows = frame.select(*SCHEMA.names).mapInArrow(work, _WRITTEN_COLUMNS).collect()
        _refuse_different_recipes({row.recipe for row in rows})
        accepted = {row.name: part / f"part-{row.partition:05d}.docindex" for row in rows}
        for found in list(part.iterdir()):
            if found.name not in accepted:  # of an attempt that failed, or that another one has overtaken
                found.unlink(missing_ok=True)
        for name, final in accepted.items():
            (part / name).rename(final)
        if path.exists():
            raise FileExistsError(f"{path} was made in the meantime; name a new folder")
        part.rename(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return sorted(str(path / final.name) for final in accepted.values())


def _checked_folder(folder: object) -> Path:
    if not isinstance(folder, (str, os.PathLike)):
        raise TypeError(f"folder must be str or os.PathLike, not {shown(folder)}")
    name = os.fsdecode(folder)
    if ":/" in name:
        raise ValueError(
            f"folder must be a path that the driver and all workers see, not the URL {shown(name)}; write "
            "the sketches there with frame.write.parquet, and read them with index.load_sketches"
        )
    path = Path(name).absolute()
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} already exists; name a new folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for the new folder; make it first")
    return path


def _refuse_different_recipes(found: set[str]) -> None:
    if len(found) > 1:
        one, other = sorted(found)[:2]
        raise RecipeMismatch(
            f"the sketches were made with different recipes, so they cannot be in one index ({one} and "
            f"{other}); sketch all texts with one recipe",
            Recipe.from_json(one),
            Recipe.from_json(other),
        )


def _writing(part: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow`. It must not refer to anything that only the driver has."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        written = write_partition(batches, part, context.partitionId())
        if written is not None:
            yield pa.RecordBatch.from_pylist([written], schema=_WRITTEN)

    return work


def write_partition(batches: Iterator[pa.RecordBatch], part: str, partition: int) -> dict[str, object] | None:
    """Write the documents of a partition to a new file in a folder; None if there are no documents.

    Returns the number of the partition, the name of the file, and the recipe.
    """
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return None
    if not Path(part).is_dir():
        raise UnreadableFile(
            f"a worker does not see the folder {part} of the driver; name a folder on a file system that all "
            "machines share",
            part,
        )
    recipe = Recipe.from_json(first.column("recipe")[0].as_py())
    name = f"attempt-{partition:05d}-{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="docindex-") as local:
        made = Path(local, "index")
        with open_index(made, recipe=recipe, durability="normal") as index:
            count = index.load_sketches(_from(first, batches))
            if len(index) != count:
                raise ValueError(
                    f"{count - len(index)} of {count} rows of a partition have the key of another row; give "
                    "each document a key of its own"
                )
            index.optimize()  # leaves nothing in the write-ahead log
        _copy(made, Path(part, name))
    return {"partition": partition, "name": name, "recipe": recipe.to_json()}


def _from(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others


def _copy(source: Path, target: Path) -> None:
    """Copy a file, and wait until the disk has it."""
    with source.open("rb") as read, open(target, "xb", opener=private_opener) as write:
        shutil.copyfileobj(read, write, 1 << 20)
        write.flush()
        os.fsync(write.fileno())
