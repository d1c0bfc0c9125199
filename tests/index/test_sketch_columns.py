"""`schema/sketches.md` says what the columns of sketches are, and its statements find what they promise."""

import itertools
import re
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import docindex
from docindex.arrays.ranges import mix
from docindex.sketching.sketch_tables import SCHEMA

PAGE = (Path(__file__).parents[2] / "schema" / "sketches.md").read_text("utf-8")
TYPES = {
    "string": pa.string(),
    "binary, 16 bytes": pa.binary(),
    "int64": pa.int64(),
    "list of int64": pa.int64(),
    "list of int32": pa.int32(),
    "list of int16": pa.int16(),
}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def texts():
    """Fifty texts of 300 words each, of which every fifth changes one more word of the first one."""
    random = np.random.default_rng(20)
    words = np.array([f"w{number}" for number in range(5000)])
    first = random.choice(words, 300)
    for number in range(50):
        text = first.copy() if number % 5 == 0 else random.choice(words, 300)
        text[: number // 5] = "changed"
        yield f"text {number:02}", " ".join(text)


@pytest.fixture(scope="module")
def index():
    with docindex.open(":memory:") as index:
        index.add_many(texts())
        index.add("empty", "")
        yield index


@pytest.fixture
def rows(index, tmp_path, monkeypatch):
    """The rows of `sketches.parquet`, which lies in the working folder."""
    monkeypatch.chdir(tmp_path)
    table = index.export_sketches().read_all()
    pq.write_table(table, "sketches.parquet")
    return table.to_pylist()


def expected_candidates(rows):
    for a, b in itertools.combinations(sorted(rows, key=lambda row: row["key"]), 2):
        if len(set(a["features"]) & set(b["features"])) >= 2:
            equal = np.mean(np.equal(a["slots"], b["slots"]))
            yield a["key"], b["key"], equal


def test_the_page_lists_the_columns_with_their_types():
    listed = []
    for names, kind, null in re.findall(r"^\| (`[^|]+`) \| ([^|]+) \| ([^|]+) \|", PAGE, re.MULTILINE):
        listed += [(name, TYPES[kind], null != "no") for name in re.findall(r"`(\w+)`", names)]
    assert listed == [
        (field.name, field.type.value_type if pa.types.is_list(field.type) else field.type, field.nullable)
        for field in SCHEMA
    ]


def test_duckdb_finds_the_candidates_without_docindex(rows):
    expected = sorted(expected_candidates(rows), key=lambda found: (-found[2], found[:2]))
    assert len(expected) > 10
    (statement,) = blocks("sql")
    found = duckdb.sql(statement).fetchall()
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected])


def test_polars_finds_the_same_candidates(rows):
    (program,) = blocks("python")
    names = {}
    exec(program, names)
    found = names["candidates"]
    assert isinstance(found, pl.DataFrame)
    assert found.select("a", "b").rows() == [row[:2] for row in expected_candidates(rows)]


def test_the_estimates_of_the_page_are_near_the_exact_numbers(rows, index):
    exact = {frozenset((pair.a, pair.b)): pair.resemblance for pair in index.pairs()}
    for a, b, estimate in expected_candidates(rows):
        assert estimate == pytest.approx(exact[frozenset((a, b))], abs=5 * 0.035)


def test_the_simhashes_give_the_distances_in_sql(rows, index):
    statement = (
        "select b.key, bit_count(xor(a.simhash, b.simhash)) as distance "
        "from 'sketches.parquet' a, 'sketches.parquet' b "
        "where a.key = 'text 00' and distance <= 20 order by distance, b.key"
    )
    found = [(near.key, near.distance) for near in index.near("text 00", 20)]
    assert len(rows) > len(found) > 5
    assert sorted(duckdb.sql(statement).fetchall()) == sorted(found)


def test_features_are_made_of_slots_as_the_page_says(rows):
    for row in rows:
        for group in range(6):
            feature = mix(np.array([group + 1], np.uint64))
            for slot in row["slots"][14 * group : 14 * (group + 1)]:
                feature = mix(feature ^ np.uint64(slot))
            assert feature.view(np.int64)[0] == row["features"][group]


def test_the_sums_of_gaps_are_the_positions(rows, index):
    for row in rows:
        text = index.text(row["key"])
        sketch = docindex.sketch(text)
        assert np.cumsum(row["gaps"]).tolist() == sketch.positions.tolist()
        assert np.array(row["hashes"], np.int64).view(np.uint64).tolist() == sketch.hashes.tolist()


def test_a_text_without_shingles_has_the_slots_of_the_page(rows):
    (empty,) = (row for row in rows if row["key"] == "empty")
    assert set(empty["slots"]) == {4095}
    assert (empty["hashes"], empty["gaps"], empty["simhash"]) == ([], [], 0)
