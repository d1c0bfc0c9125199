"""Spark writes a folder of ordinary index files, also if tasks fail or run twice, or it writes nothing."""

import os
import subprocess
import sys

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

import docindex
from docindex import Recipe, spark
from docindex.spark.index_files import write_partition

TEXTS = {
    f"text {number:03}": f"words of the text with number {number // 2}, and more " * 20
    for number in range(60)
}


def frame_of(session, texts, partitions=3):
    return session.createDataFrame(list(texts.items()), "key string, text string").repartition(
        partitions, "key"
    )


def index_of(texts):
    index = docindex.open(":memory:")
    index.add_many(texts.items())
    return index


def names_in(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm")))


def test_each_partition_becomes_an_ordinary_index(session, tmp_path):
    paths = spark.write_index(frame_of(session, TEXTS), tmp_path / "shards")
    assert names_in(tmp_path) == ["shards"]
    assert names_in(tmp_path / "shards") == [f"part-0000{number}.docindex" for number in range(3)]
    assert paths == [str(tmp_path / "shards" / name) for name in names_in(tmp_path / "shards")]
    keys = []
    for path in paths:
        with docindex.open(path) as index:
            assert index.check() == []
            own = list(index)
            with index_of({key: TEXTS[key] for key in own}) as expected:
                assert {key: index.text(key) for key in own} == {key: expected.text(key) for key in own}
                assert sorted(index.pairs(), key=repr) or len(own) < 2
            keys += own
    assert sorted(keys) == sorted(TEXTS)


def test_the_files_together_are_the_index_of_all_documents(session, tmp_path):
    paths = spark.write_index(frame_of(session, TEXTS), tmp_path / "shards")
    docindex.merge(paths, tmp_path / "all")
    with docindex.open(tmp_path / "all") as merged, index_of(TEXTS) as index:
        assert {(p.a, p.b, p.resemblance) for p in merged.pairs()} == {
            (p.a, p.b, p.resemblance) for p in index.pairs()
        }
        assert merged.check() == []


def test_sketches_are_not_made_again(session, tmp_path):
    recipe = Recipe(k=5, window=4)
    sketches = spark.sketch(frame_of(session, TEXTS), recipe, keep_text=False)
    (path,) = spark.write_index(sketches.coalesce(1), tmp_path / "shards")
    with docindex.open(path) as index:
        assert (index.recipe, len(index), index.text("text 000")) == (recipe, 60, None)
    with pytest.raises(ValueError, match="leave out recipe"):
        spark.write_index(sketches, tmp_path / "more", recipe)


def test_empty_partitions_give_no_file(session, tmp_path):
    two = dict(list(TEXTS.items())[:2])
    assert 1 <= len(spark.write_index(frame_of(session, two, 8), tmp_path / "some")) <= 2
    assert spark.write_index(frame_of(session, TEXTS).where("key = 'none'"), tmp_path / "none") == []
    assert names_in(tmp_path / "none") == []


def test_a_job_that_fails_leaves_nothing(session, tmp_path):
    broken = frame_of(session, TEXTS).withColumn(
        "text",
        F.when(F.col("key") == "text 033", F.raise_error(F.lit("no such text"))).otherwise(F.col("text")),
    )
    with pytest.raises(Exception, match="no such text"):
        spark.write_index(broken, tmp_path / "shards")
    assert names_in(tmp_path) == []


def test_a_folder_that_exists_is_never_touched(session, tmp_path):
    with pytest.raises(FileExistsError, match="name a new folder"):
        spark.write_index(frame_of(session, TEXTS), tmp_path)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("folder", ["hdfs://host/shards", "s3a://bucket/shards", "file:/tmp/shards"])
def test_a_url_is_refused(session, folder):
    with pytest.raises(ValueError, match="not the URL"):
        spark.write_index(frame_of(session, TEXTS), folder)


def test_a_missing_parent_folder_is_named(session, tmp_path):
    with pytest.raises(FileNotFoundError, match="make it first"):
        spark.write_index(frame_of(session, TEXTS), tmp_path / "gone" / "shards")


def test_a_key_that_occurs_twice_in_a_partition_is_refused(session, tmp_path):
    rows = [("a", "some words"), ("a", "other words"), ("b", "more")]
    frame = session.createDataFrame(rows, "key string, text string").coalesce(1)
    with pytest.raises(Exception, match="1 of 3 rows of a partition have the key of another row"):
        spark.write_index(frame, tmp_path / "shards")
    assert names_in(tmp_path) == []


def test_different_recipes_are_refused_within_a_partition_and_among_partitions(session, tmp_path):
    frame = frame_of(session, TEXTS, 1)
    mixed = spark.sketch(frame).union(spark.sketch(frame, Recipe(k=5)))
    with pytest.raises(Exception, match="was made with the recipe"):
        spark.write_index(mixed.coalesce(1), tmp_path / "shards")
    with pytest.raises(docindex.RecipeMismatch, match="made with different recipes"):
        spark.write_index(mixed.repartition(8, "recipe"), tmp_path / "shards")
    assert names_in(tmp_path) == []


def test_an_attempt_that_fails_leaves_no_file_and_two_attempts_do_not_meet(tmp_path):
    with index_of(TEXTS) as index:
        batches = index.export_sketches().read_all().to_batches(max_chunksize=10)

    def failing():
        yield from batches[:3]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_partition(failing(), str(tmp_path), 0)
    assert names_in(tmp_path) == []
    first, second = (write_partition(iter(batches), str(tmp_path), 0) for _ in range(2))
    assert first["name"] != second["name"]
    for attempt in (first, second):
        with docindex.open(tmp_path / attempt["name"]) as found:
            assert (len(found), found.check()) == (60, [])


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path):
    with index_of(TEXTS) as index, pytest.raises(docindex.UnreadableFile, match="does not see the folder"):
        write_partition(iter(index.export_sketches()), str(tmp_path / "elsewhere"), 0)


RETRIES = """
import os, sys
from pathlib import Path
from pyspark.sql import SparkSession
from docindex import spark

session = (
    SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    .config("spark.log.level", "OFF").getOrCreate()
)
folder = Path(sys.argv[1])

def dies_once(batches):
    for number, batch in enumerate(batches):
        yield batch
        mark = folder / "died"
        if number == 2 and not mark.exists():
            mark.touch()
            os._exit(9)

rows = [(f"text {n:03}", f"words of number {n} " * 20) for n in range(400)]
session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "20")
frame = session.createDataFrame(rows, "key string, text string").repartition(2)
fragile = frame.mapInArrow(dies_once, frame.schema)
print(len(spark.write_index(fragile, folder / "shards")))
session.stop()
"""


def test_a_task_whose_process_dies_is_run_again_and_counts_once(java, tmp_path, monkeypatch):  # noqa: ARG001
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    done = subprocess.run(
        [sys.executable, "-c", RETRIES, tmp_path], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["2"]
    assert names_in(tmp_path) == ["died", "shards"]
    paths = sorted((tmp_path / "shards").iterdir())
    assert docindex.merge(paths, tmp_path / "all") == 400
