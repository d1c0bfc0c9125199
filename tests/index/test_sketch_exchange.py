"""Sketches leave an index and enter another one without being made again, and false ones are refused."""

import json
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import docindex
from docindex import Recipe, RecipeMismatch
from docindex.sketching import sketcher
from docindex.sketching.sketch_tables import SCHEMA

TEXTS = {
    "empty": "",
    "short": "The Analytical Engine",
    "line ends": "one\r\ntwo\rthree\n",
    "scripts": "Die Änderung 文書の索引 עברית हिन्दी 🙂",
    "long": "It weaves algebraical patterns, number %d. " * 3000,
    "copy": "The Analytical Engine",
    "large": "long words " * 100_000,
}
RECIPES = {
    "default": Recipe(),
    "samples": Recipe(k=5, window=4, shingle=2, min_s=20, mod_m=4, level=16),
    "lines": Recipe(token="line", shingle=1, bag=True),
    "code": Recipe.code(),
}
TABLES = ("content", "fingerprint", "text", "segment", "posting", "sample")


def rows_of(index, tables=TABLES):
    documents = index.execute("select id, key, content, meta from docindex_document")
    return documents, [index.execute(f"select * from docindex_{table}") for table in tables]


def index_of(texts, recipe=None, **options):
    index = docindex.open(":memory:", recipe=recipe)
    index.add_many(((key, text, {"is": key}) for key, text in texts.items()), workers=1, **options)
    return index


def loaded(batches, recipe=None, **options):
    index = docindex.open(":memory:", recipe=recipe)
    index.load_sketches(batches, **options)
    assert index.check() == []
    return index


@pytest.fixture
def table():
    with index_of(TEXTS) as index:
        return index.export_sketches().read_all()


def with_list_views(table):
    """The table with views in place of lists, and of strings."""
    types = [
        (field.name, pa.list_view(field.type.value_type) if pa.types.is_list(field.type) else field.type)
        for field in SCHEMA
    ]
    types = [(name, pa.string_view() if kind == pa.string() else kind) for name, kind in types]
    return pa.Table.from_arrays(
        [pa.array(table[name].to_pylist(), kind) for name, kind in types], names=SCHEMA.names
    )


WAYS = {
    "table": lambda table: table,
    "reader": lambda table: table.to_reader(),
    "batches": lambda table: iter(table.to_batches(max_chunksize=2)),
    "tables": lambda table: [table.slice(0, 3), table.slice(3)],
    "polars": pl.from_arrow,
    "polars to arrow": lambda table: pl.from_arrow(table).to_arrow(),
    "pandas": lambda table: pa.Table.from_pandas(table.to_pandas()),
    "views": lambda table: with_list_views(table),
    "sliced views": lambda table: [with_list_views(table)[:2], with_list_views(table)[2:]],
    "one chunk": lambda table: table.combine_chunks().to_batches()[0],
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_loading_gives_the_same_file_as_adding_the_texts(recipe, way):
    with index_of(TEXTS, recipe) as index:
        exported = index.export_sketches().read_all()
        with loaded(way(exported), recipe) as other:
            assert rows_of(other) == rows_of(index)
            assert other.export_sketches().read_all() == exported


def test_a_relation_of_duckdb_can_be_loaded(table):
    with duckdb.connect() as database, loaded(database.from_arrow(table).order("key")) as index:
        assert list(index) == sorted(TEXTS)


def test_parquet_keeps_every_bit(tmp_path):
    path = tmp_path / "sketches.parquet"
    with index_of(TEXTS) as index:
        with pq.ParquetWriter(path, SCHEMA) as writer:
            for batch in index.export_sketches():
                writer.write_batch(batch)
        with pq.ParquetFile(path) as file, loaded(file.iter_batches(batch_size=3)) as other:
            assert rows_of(other) == rows_of(index)


def test_no_text_is_sketched_again(table, monkeypatch):
    def refuse(*_):
        raise AssertionError("a text was sketched")

    monkeypatch.setattr(sketcher, "_sketch_short", refuse)
    monkeypatch.setattr(sketcher, "_sketch_long", refuse)
    with loaded(table) as index:
        assert len(index) == len(TEXTS)


def test_texts_that_are_not_kept_stay_out():
    with index_of(TEXTS, store_text=False) as index, index_of(TEXTS) as kept:
        bare = index.export_sketches().read_all()
        assert bare["text"].null_count == len(TEXTS)
        assert kept.export_sketches(keep_text=False).read_all() == bare
        tables = ("content", "fingerprint", "posting", "text")
        with loaded(bare) as other, loaded(kept.export_sketches(), store_text=False) as third:
            assert rows_of(other, tables) == rows_of(index, tables) == rows_of(third, tables)


def test_a_text_that_one_of_two_copies_has_is_kept(table):
    copies = table.filter(pa.compute.is_in(table["key"], pa.array(["short", "copy"]))).to_pylist()
    for without in range(2):
        rows = [{**row, "text": None if at == without else row["text"]} for at, row in enumerate(copies)]
        both = pa.Table.from_pylist(rows, SCHEMA)
        with loaded(both) as index, loaded([both.slice(0, 1), both.slice(1)]) as apart:
            assert index.text("short") == index.text("copy") == apart.text("copy") == TEXTS["copy"]
        with docindex.open(":memory:") as index:
            for row in range(2):  # in two commits
                index.load_sketches(both.slice(row, 1))
            assert index.check() == []
            assert index.text("short") == TEXTS["copy"]


def test_the_answers_are_those_of_an_index_that_sketched(table):
    suspect = TEXTS["long"][100:900]
    with index_of(TEXTS) as index, loaded(table) as other:
        assert [*map(str, index.search(suspect))] == [*map(str, other.search(suspect))]
        assert index.near("copy") == other.near("copy")
        assert list(index.pairs()) == list(other.pairs())


def test_a_document_that_exists_is_replaced(table):
    with index_of({"copy": "something else", "other": "stays"}) as index:
        index.load_sketches(table)
        assert index.text("copy") == TEXTS["copy"]
        assert len(index) == len(TEXTS) + 1
        assert index.check() == []


def test_commits_are_bounded_and_progress_tells_the_total(table, monkeypatch):
    monkeypatch.setattr("docindex.index.adding._COMMITTED_DOCUMENTS", 2)
    told = []
    pieces = [table.slice(at, 1) for at in range(len(table))]
    with docindex.open(":memory:") as index:
        index.load_sketches(pieces, progress=lambda *at: told.append((*at, len(index))))
        assert told[0] == (1, None, 0)
        assert told[-1] == (7, None, 6)
        assert index.check() == []
    with docindex.open(":memory:") as index:
        index.load_sketches(table, progress=lambda *at: told.append(at))
        assert told[-1] == (7, 7)


def test_an_interrupted_load_keeps_what_was_committed(table, monkeypatch):
    monkeypatch.setattr("docindex.index.adding._COMMITTED_DOCUMENTS", 2)

    def rows():
        yield from (table.slice(at, 1) for at in range(5))
        raise OSError("the disk is gone")

    with docindex.open(":memory:") as index:
        with pytest.raises(OSError, match="the disk is gone"):
            index.load_sketches(rows())
        assert len(index) == 4
        assert index.check() == []
        index.load_sketches(table)
        assert len(index) == len(TEXTS)


def test_another_thread_can_stop_it(table):
    pieces = [table.slice(0, 1), table.slice(1)]
    with docindex.open(":memory:") as index:
        with pytest.raises(docindex.Cancelled), docindex.cancelling() as token:
            index.load_sketches(pieces, progress=lambda *_: token.cancel())
        assert len(index) == 0


def changed(table, changes):
    """The table with other values in the row of "copy", as a program that allows null would write it."""
    rows = table.to_pylist()
    for row in rows:
        if row["key"] == "copy":
            row.update({name: change(row[name]) for name, change in changes.items()})
    types = [(field.name, field.type) for field in SCHEMA]
    nullable = [(name, pa.list_(kind.value_type) if pa.types.is_list(kind) else kind) for name, kind in types]
    return pa.Table.from_pylist(rows, pa.schema(nullable))


FALSE = {
    "another text": (
        {"text": lambda text: text.replace("Engine", "engine")},
        "not the one that was sketched",
    ),
    "another length": ({"characters": lambda n: n + 1}, "not the one that was sketched"),
    "another text hash": ({"text_hash": lambda _: b"\0" * 16}, "not the one that was sketched"),
    "a short hash": ({"text_hash": lambda h: h[:8]}, "text_hash must have 16 bytes"),
    "a null": ({"simhash": lambda _: None}, "simhash must not be null"),
    "a null in a list": ({"hashes": lambda some: [None, *some[1:]]}, "hashes must not contain null"),
    "too few slots": ({"slots": lambda some: some[1:]}, "slots must have 128 numbers"),
    "a large slot": ({"slots": lambda some: [4096, *some[1:]]}, "a slot must be from 0 to 4095"),
    "other slots": ({"slots": lambda some: [s ^ 1 for s in some]}, "features are not those of the slots"),
    "a gap too many": ({"gaps": lambda some: [*some, 1]}, "hashes and gaps must be equally many"),
    "a large gap": ({"gaps": lambda some: [37, *some[1:]]}, "a gap must be from 0 to the window"),
    "a negative gap": ({"gaps": lambda some: [-1, *some[1:]]}, "a gap must be from 0 to the window"),
    "too many symbols": ({"symbols": lambda n: n + 40}, "do not fit the number of symbols"),
    "too few symbols": ({"symbols": lambda _: 3}, "do not fit the number of symbols"),
    "a foreign hash": ({"hashes": lambda some: [12345, *some[1:]]}, "winnowing cannot select a hash"),
    "fewer fingerprints": ({"different": lambda n: n + 1}, "not the number of different hashes"),
    "a negative count": ({"shingles": lambda _: -1}, "shingles must not be negative"),
    "too many shingles": (
        {"shingles": lambda _: 1 << 62, "text": lambda _: None, "text_hash": lambda _: b"\1" * 16},
        "shingles must not be more than symbols",
    ),
    "samples": ({"min_s": lambda _: [1, 2]}, "the recipe has no such sample"),
    "no JSON": ({"meta": lambda _: "{"}, "is not JSON"),
    "a number that is too long": ({"meta": lambda _: "9" * 5000}, "is not JSON"),
    "no key": ({"key": lambda _: None}, "a row has no key"),
    "a key with NUL": ({"key": lambda _: "copy\0"}, "'copy"),
    "no recipe": ({"recipe": lambda _: "{}"}, "the recipe of the sketch of 'copy' cannot be read"),
}


@pytest.mark.parametrize(("change", "told"), FALSE.values(), ids=FALSE)
def test_a_false_sketch_is_refused_with_the_key_of_its_row(table, change, told):
    with docindex.open(":memory:") as index:
        with pytest.raises(ValueError, match=told) as caught:
            index.load_sketches(changed(table, change))
        if "key" not in change or "NUL" in told:
            assert "'copy'" in str(caught.value)
        assert len(index) == 0


def test_values_that_do_not_fit_their_column_are_refused(table):
    wide = table.set_column(
        table.schema.get_field_index("slots"),
        "slots",
        pa.array([[1 << 20] * 128] * len(table), pa.list_(pa.int64())),
    )
    with docindex.open(":memory:") as index, pytest.raises(ValueError, match="the column slots must have"):
        index.load_sketches(wide)


DAMAGED = {
    "text that is no UTF-8": ("text", pa.string(), [0, 1, 2], b"a\xff"),
    "a key that is no UTF-8": ("key", pa.string(), [0, 1, 2], b"a\xff"),
    "lists that overlap": ("hashes", pa.list_(pa.int64()), [0, 3, 1], None),
    "text that ends before it begins": ("text", pa.string(), [1, 1 << 20, 2], b"abc"),
}


@pytest.mark.parametrize(("name", "kind", "offsets", "data"), DAMAGED.values(), ids=DAMAGED)
def test_buffers_that_contradict_each_other_are_refused_before_they_are_read(
    table, name, kind, offsets, data
):
    offsets = pa.py_buffer(np.array(offsets, np.int32))
    if data is None:
        column = pa.Array.from_buffers(kind, 2, [None, offsets], children=[pa.array([1, 2, 3])])
    else:
        column = pa.Array.from_buffers(kind, 2, [None, offsets, pa.py_buffer(data)])
    two = table.slice(0, 2)
    damaged = two.set_column(two.schema.get_field_index(name), name, column)
    with docindex.open(":memory:") as index:
        with pytest.raises(ValueError, match=f"the column {name} is damaged"):
            index.load_sketches(damaged)
        assert len(index) == 0


def test_a_column_that_occurs_twice_is_named(table):
    with docindex.open(":memory:") as index, pytest.raises(ValueError, match="has 2 columns key"):
        index.load_sketches(table.append_column("key", table["key"]))


def test_a_sketch_of_another_recipe_is_refused_with_its_key(table):
    other = Recipe(k=20)
    with docindex.open(":memory:", recipe=other) as index, pytest.raises(RecipeMismatch) as caught:
        index.load_sketches(table)
    assert "'empty'" in str(caught.value)
    assert (caught.value.stored, caught.value.wanted) == (other, Recipe())


def test_a_missing_column_is_named(table):
    with docindex.open(":memory:") as index:
        with pytest.raises(ValueError, match="must have the column gaps"):
            index.load_sketches(table.drop_columns(["gaps"]))
        assert index.load_sketches(table.drop_columns(["text", "meta"])) == len(TEXTS)
        assert index.text("copy") is None


@pytest.mark.parametrize("given", ["a text", {"key": 1}, 7, [7], None])
def test_what_is_no_arrow_data_is_refused(given):
    with docindex.open(":memory:") as index, pytest.raises(TypeError, match="batches must"):
        index.load_sketches(given)


def test_a_path_in_place_of_batches_is_told_how_to_read_the_file(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the message shows the beginning of a long path
    path = Path("sketches.parquet")
    pq.write_table(table, path)
    with docindex.open(":memory:") as index:
        for given in (path, str(path)):
            with pytest.raises(TypeError, match=r"not the path .*sketches\.parquet") as caught:
                index.load_sketches(given)
        assert "pyarrow.dataset.dataset(path).to_batches()" in str(caught.value)
        assert index.load_sketches(pyarrow.dataset.dataset(path).to_batches()) == len(TEXTS)


def test_nothing_is_loaded_from_an_empty_table(table):
    with loaded(table.slice(0, 0)) as index, loaded([]) as other:
        assert len(index) == len(other) == 0
        assert index.export_sketches().read_all().num_rows == 0


def test_a_lone_surrogate_is_refused_by_its_key_and_its_sketch_can_be_exported():
    with docindex.open(":memory:") as index:
        index.add("half", "a \ud800 b")
        with pytest.raises(ValueError, match="the text of 'half' has a lone surrogate"):
            index.export_sketches().read_all()
        with loaded(index.export_sketches(keep_text=False)) as other:
            assert list(other) == ["half"]


def test_documents_that_are_removed_during_the_export_are_left_out(monkeypatch):
    monkeypatch.setattr("docindex.storage.rows.stored_sketches._DOCUMENTS_AT_A_TIME", 2)
    with index_of(TEXTS) as index:
        reader = index.export_sketches()
        first = reader.read_next_batch()["key"].to_pylist()
        index.remove("scripts")
        index.add("copy", "another text")
        rest = [key for batch in reader for key in batch["key"].to_pylist()]
        assert sorted(first + rest) == sorted(set(TEXTS) - {"scripts"})


def test_without_pyarrow_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with docindex.open(":memory:") as index:
        for call in (index.export_sketches, lambda: index.load_sketches([])):
            with pytest.raises(ModuleNotFoundError, match=r"needs the package pyarrow: pip install"):
                call()


def test_meta_comes_back(table):
    with loaded(table) as index:
        assert {key: index.meta(key) for key in index} == {key: {"is": key} for key in TEXTS}
    assert [json.loads(meta) for meta in table["meta"].to_pylist()] == [{"is": key} for key in TEXTS]


def test_the_hashes_have_all_their_bits(table):
    (row,) = (row for row in table.to_pylist() if row["key"] == "long")
    made = sketcher.sketch_batch([TEXTS["long"]], Recipe())
    assert np.array(row["hashes"], np.int64).view(np.uint64).tolist() == made.hashes.tolist()
