"""Checksums of rows follow the schema file, are the same in every Python, and are in every file."""

import sqlite3
import struct
from contextlib import closing

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from docindex.storage.statements import row_sum, row_sums
from docindex.storage.tables import SUMMED_TABLES, first_changed
from tests.storage.test_schema_file import GOLDEN

VALUES = (
    st.none()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
)

INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1)
TYPED_ROWS = st.lists(
    st.tuples(*[INTEGERS] * 2, st.text("aß漢\0"), INTEGERS, *[st.binary()] * 2, st.none() | st.text("aß🫨")),
    min_size=1,
)


def plain(*values):
    """The definition, from the head of schema/0001_first.sql."""
    data = b""
    for item in values:
        match item:
            case None:
                data += bytes([0])
            case int():
                data += bytes([1]) + struct.pack("<q", item)
            case str():
                data += bytes([2]) + struct.pack("<Q", len(item.encode())) + item.encode()
            case bytes():
                data += bytes([3]) + struct.pack("<Q", len(item)) + item
    return int.from_bytes(xxhash.xxh3_64_digest(data), "big", signed=True)


def of_schema(table, *values):
    """The sum of a row, from the head of schema/0001_first.sql."""
    if table == "posting":
        number, keys = values
        return int.from_bytes(xxhash.xxh3_64_digest(keys, seed=number), "big", signed=True)
    return plain(*values)


@given(st.lists(VALUES))
def test_a_sum_is_as_the_schema_file_specifies(values):
    assert row_sum(*values) == plain(*values)


@given(st.integers(1, 5).flatmap(lambda width: st.lists(st.tuples(*[VALUES] * width), min_size=1)))
def test_the_sums_of_many_rows_are_those_of_each(rows):
    sums = row_sums(list(zip(*rows, strict=True)))
    assert sums == [row_sum(*row) for row in rows]
    assert first_changed([*zip(*rows, strict=True), sums]) is None
    sums[-1] ^= 1
    assert first_changed([*zip(*rows, strict=True), sums]) == len(rows) - 1


@given(TYPED_ROWS)
def test_the_sums_of_rows_whose_columns_have_one_type_are_those_of_each(rows):
    assert row_sums(list(zip(*rows, strict=True))) == [row_sum(*row) for row in rows]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, "a", None, b""), -3341366732432730841),  # the example in the schema file
        ((), 3244421341483603138),
        ((0, -1, (1 << 63) - 1, -(1 << 63)), -1305903546071201480),
        # Python 3.11 does not know the emoji, and no Unicode version knows the last character.
        (("🫨.txt", "Größe 漢字", "\0", "\u0378"), 1819351849881514681),
        ((bytes(range(256)) * 20,), 7944948785167397621),
    ],
)
def test_a_sum_is_the_same_under_every_python(values, expected):
    assert row_sum(*values) == expected


def test_different_rows_have_different_sums():
    rows = [(), (1,), ("1",), (b"1",), (None,), ("",), (b"",), (0,)]
    rows += [("a", "b"), ("ab",), ("ab", ""), ("", "ab")]
    assert len({row_sum(*row) for row in rows}) == len(rows)


@pytest.mark.parametrize("value", [np.int64(1), True, 1.0, bytearray(b"x"), ["x"]])
def test_a_value_that_sqlite_would_store_as_another_type_has_no_sum(value):
    with pytest.raises(TypeError, match=type(value).__name__):
        row_sum(1, value)


def test_every_sum_in_a_file_can_be_computed_without_docindex():
    with closing(sqlite3.connect(f"file:{GOLDEN}?immutable=1", uri=True)) as db:
        tables = [name for (name,) in db.execute("select name from sqlite_schema where type = 'table'")]
        summed = set()
        for table in tables:
            names = [name for _, name, *_ in db.execute(f"pragma table_info({table})")]
            if "sum" not in names:
                continue
            found = db.execute(f"select * from {table}").fetchall()
            assert found, table
            for row in found:
                values = dict(zip(names, row, strict=True))
                stored = values.pop("sum")
                assert of_schema(table.removeprefix("docindex_"), *values.values()) == stored, (table, row)
            summed.add(table)
    assert summed == {f"docindex_{table.name}" for table in SUMMED_TABLES} | {
        "docindex_posting",
        "docindex_segment",
    }


@pytest.mark.parametrize("table", SUMMED_TABLES, ids=lambda table: table.name)
def test_a_row_has_the_columns_of_its_table_in_their_order(table):
    with closing(sqlite3.connect(f"file:{GOLDEN}?immutable=1", uri=True)) as db:
        names = [name for _, name, *_ in db.execute(f"pragma table_info(docindex_{table.name})")]
    assert [*table.row._fields, "sum"] == names
