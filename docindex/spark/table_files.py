"""Read folders of Parquet files or JSON lines on Spark, and write such folders.

In: paths that Spark understands, and the names of columns. Out: a DataFrame with the columns `key` and `text`
and the person's own row. Must never overwrite a folder unless it is told to.
"""

import dataclasses
import itertools
import os
import posixpath
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.errors import UnreadableFile
from docindex.spark.keep_order import as_column

TableFormat = Literal["parquet", "json"]
"""The formats of tables. JSON means JSON lines: one object on each line."""

_ENDINGS: dict[str, TableFormat] = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_PACKED = {".gz", ".bz2", ".zst", ".zstd", ".snappy", ".lz4"}
_MISSING = "PATH_NOT_FOUND"
_NOT_JSON = "docindex_not_json"
ROW = "row"
"""The column that holds the person's own row."""


@dataclasses.dataclass(frozen=True, slots=True)
class CountedRows:
    """How many rows a table has."""

    rows: int
    texts: int
    """The number of rows with a text."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextTable:
    """Which columns of a table are the texts and the keys."""

    text_column: str
    key_column: str | None = None
    """None for a table without keys: then keys are made."""

    def checked_counts(self, rows: DataFrame) -> CountedRows:
        """How many rows and texts there are.

        `ValueError` if a column is missing, or if a key is missing or occurs twice.
        """
        for column in filter(None, (self.text_column, self.key_column)):
            if column not in rows.columns:
                raise ValueError(f"there is no column {column!r}; {columns_found(rows)}")
        if self.key_column is not None:
            text, key = as_column(self.text_column), as_column(self.key_column).cast("string")
            keys = rows.where(text.isNotNull()).groupBy(key.alias("key")).count()
            for wrong in keys.where((F.col("count") > 1) | F.col("key").isNull()).limit(1).collect():
                found = (
                    "a row has no key" if wrong.key is None else f"{wrong['count']:,} rows have {wrong.key!r}"
                )
                raise ValueError(
                    f"the column {self.key_column!r} cannot be the key, because {found}; name "
                    "another column, or leave --key out"
                )
        ((count, texts),) = rows.agg(F.count("*"), F.count(as_column(self.text_column))).collect()
        return CountedRows(count, texts)

    def documents(self, rows: DataFrame) -> DataFrame:
        """The columns `key` and `text` of a table, and the whole row as a struct. Rows without text stay out.

        A key that is made is the SHA-256 hash of a row in 32 hexadecimal digits. The second of several equal
        rows gets "-2" after it, the third "-3", and so on. So a key depends on neither the order of the rows
        nor the names of the files.
        """
        text, row = as_column(self.text_column).cast("string"), F.struct("*")
        if self.key_column is None:
            found = rows.select(text.alias("text"), row.alias(ROW))
            found = found.withColumn("hash", F.substring(F.sha2(F.to_json(ROW), 256), 1, 32))
            number = F.row_number().over(Window.partitionBy("hash").orderBy("hash"))
            suffix = F.when(number > 1, F.concat(F.lit("-"), number)).otherwise("")
            found = found.withColumn("key", F.concat("hash", suffix))
        else:
            key = as_column(self.key_column).cast("string")
            found = rows.select(key.alias("key"), text.alias("text"), row.alias(ROW))
        return found.where(F.col("text").isNotNull()).select("key", "text", ROW)


def read_rows(session: SparkSession, path: str) -> DataFrame:
    """The rows of all Parquet files, or of all files of JSON lines, in a folder and the folders in it.

    A line that is not JSON becomes a row of nulls. `UnreadableFile` if the folder is missing, has no such
    files, or has files of both formats.
    """
    files = _files(session, path)
    if files is None:
        raise UnreadableFile(f"{path} does not exist", path)
    formats = {kind for file in files if (kind := _format_of(file.name))}
    if len(formats) != 1:
        found = "both" if formats else "only other files" if files else "an empty folder"
        raise UnreadableFile(
            f"{path} must have either Parquet files (.parquet) or JSON lines (.json, .jsonl, .ndjson); found "
            f"{found}",
            path,
        )
    # Spark makes columns of folders such as lang=en. It would not look into others without this option.
    plain = not any("=" in file.parent.name for file in files)
    reader = session.read.option("recursiveFileLookup", str(plain).lower())
    rows = reader.option("columnNameOfCorruptRecord", _NOT_JSON).format(formats.pop()).load(path)
    columns = [name for name in rows.columns if name != _NOT_JSON]
    if len(columns) == len(rows.columns):
        return rows
    # Spark may have read a part of such a line.
    return rows.select(*(F.when(F.col(_NOT_JSON).isNull(), as_column(each)).alias(each) for each in columns))


def columns_found(rows: DataFrame) -> str:
    """Names the columns of a table, for a message."""
    return f"the input has {', '.join(rows.columns)}"


def refuse_nested(folders: Sequence[str]) -> None:
    """Raise `ValueError` if a folder is in another one of them, or is the same: writing would destroy it."""
    places = [PurePosixPath(_plain(folder)) for folder in folders]
    for (one, place), (other, outer) in itertools.permutations(zip(folders, places, strict=True), 2):
        if place.is_relative_to(outer):
            raise ValueError(
                f"{one} is in {other}, or is the same folder; name folders apart from each other"
            )


def _plain(folder: str) -> str:
    """One spelling of a path: absolute if it has no scheme such as hdfs:.

    >>> _plain("file:///data/../texts/"), _plain("hdfs://host/texts")
    ('/texts', 'hdfs:/host/texts')
    """
    scheme, colon, rest = folder.partition(":")
    if colon and scheme != "file" and "/" not in scheme:
        return f"{scheme}:{posixpath.normpath(rest.replace('//', '/'))}"
    return os.path.realpath(rest if scheme == "file" else folder)


def refuse_existing(session: SparkSession, path: str) -> None:
    """Raise `UnreadableFile` if there is a file or folder with this path."""
    if _files(session, path) is not None:
        raise UnreadableFile(f"{path} exists; give another folder, or replace it with --overwrite", path)


def write_rows(rows: DataFrame, path: str, kind: TableFormat, *, overwrite: bool) -> None:
    """Write a folder of Parquet files or JSON lines."""
    rows.write.mode("overwrite" if overwrite else "errorifexists").format(kind).save(path)


def _files(session: SparkSession, path: str) -> list[PurePosixPath] | None:
    """The paths of the files in a folder and the folders in it; None if it does not exist. Reads no file."""
    try:
        found = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
    except AnalysisException as error:
        if error.getCondition() == _MISSING:
            return None
        raise
    return [PurePosixPath(name) for name in found.inputFiles()]


def _format_of(name: str) -> TableFormat | None:
    """The format of a file with this name.

    >>> [_format_of(name) for name in ("part-0.snappy.parquet", "a.jsonl.gz", "notes.txt")]
    ['parquet', 'json', None]
    """
    path = PurePosixPath(name)
    return _ENDINGS.get(PurePosixPath(path.stem).suffix if path.suffix in _PACKED else path.suffix)
