"""A file from an untrusted source runs nothing: dangerous schemas are refused, others are not executed."""

import random
import tracemalloc
import zlib
from pathlib import Path

import apsw
import pytest

import docindex
from docindex import Text
from docindex.storage.tables import CONTENT, FINGERPRINT, ContentRow, FingerprintRow
from tests.storage.texts import prose


@pytest.fixture
def path(tmp_path):
    rng = random.Random(1)
    with docindex.open(tmp_path / "index") as index:
        index.add_many([(f"{n}", prose(rng, 60)) for n in range(20)], workers=1)
    return str(tmp_path / "index")


def altered(path, *statements):
    with apsw.Connection(path) as db:
        for statement in statements:
            db.execute(statement).fetchall()
    db.close()


@pytest.mark.parametrize("readonly", [False, True])
def test_an_ordinary_index_works_as_it_does_when_trusted(path, readonly, tmp_path):
    altered(path, "create table note (id, body)", "create index of_note on note (body)", "analyze")
    with docindex.open(path, readonly=readonly, trusted=False) as index:
        text = index.text("3")
        assert index.search(Text(text))[0].key == "3"
        assert index.similar("3")[0].key == "3"
        assert index.compare("3", "3").resemblance == 1.0
        assert index.near("3", 8)
        assert list(index.pairs(min_resemblance=0.01)) is not None
        assert index.execute("select count(*) from docindex_document join note on true") == [(0,)]
        assert index.execute("select key from doc_search(?) limit 1", [text]) == [("3",)]
        assert index.execute("select count(*) from fingerprint_list")[0][0] > 20
        assert index.check() == []
        assert index.stats().documents == 20
        index.backup(tmp_path / "copy")
        if not readonly:
            index.add("new", "a new one")
            index.remove("4")
            index.rename("5", "five")
            index.optimize()
            index.boilerplate.add(text)
            assert index.check() == []
    with docindex.open(tmp_path / "copy", trusted=False) as copy:
        assert len(copy) == 20


def test_a_new_file_can_be_made(tmp_path):
    with docindex.open(tmp_path / "new", trusted=False) as index:
        index.add("a", "text")
        assert index.check() == []


@pytest.mark.parametrize(
    "statement",
    [
        "create trigger t after insert on docindex_document begin delete from note; end",
        "create trigger t before delete on docindex_content begin insert into note select key, 1 from "
        "docindex_document; end",
        "create index strange on docindex_document (abs(id))",
        "drop index docindex_document_content",
        "alter table docindex_document add column more integer default 7",
    ],
)
def test_a_changed_schema_is_refused(path, statement):
    altered(path, "create table note (id, body)", statement)
    for readonly in (False, True):
        with pytest.raises(docindex.CorruptIndex, match="differs from docindex's schema"):
            docindex.open(path, trusted=False, readonly=readonly)


def test_a_view_in_the_place_of_a_table_is_refused(path):
    altered(
        path,
        "pragma foreign_keys = off",
        "alter table docindex_content rename to hidden",
        "create view content as "
        "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n",
    )
    with pytest.raises(docindex.CorruptIndex, match="differs from docindex's schema"):
        docindex.open(path, trusted=False)


def test_triggers_and_views_of_the_file_do_not_run(path):
    altered(
        path,
        "create table note (id, body)",
        "create table seen (what)",
        "create trigger t after insert on note begin insert into seen values (new.body); end",
        "create view v as select key, random() from docindex_document",
    )
    with docindex.open(path, trusted=False) as index:
        with pytest.raises((docindex.ReadOnly, ValueError)):
            index.execute("select * from v")
        with index._store.writing() as db:
            db.execute("insert into note values (1, 'x')")
            assert db.execute("select * from seen").fetchall() == []


def test_sql_cannot_reach_beyond_the_file(path, tmp_path):
    other = tmp_path / "other.db"
    with docindex.open(path, trusted=False) as index:
        for db in (index._store._writer,):
            for statement in [
                f"attach '{other}' as other",
                f"vacuum into '{other}'",
                "pragma writable_schema = on",
                "pragma trusted_schema = on",
                "update sqlite_schema set sql = 'x'",
                "create temp table t (x)",
                "create trigger t after insert on docindex_document begin select 1; end",
                "create view v as select 1",
                "create virtual table t using fts5(x)",
                "select load_extension('x')",
                "drop table docindex_document",
                "alter table docindex_document rename to d",
                "detach main",
            ]:
                with pytest.raises(apsw.Error):
                    db.execute(statement).fetchall()
        assert not other.exists()
        assert index.check() == []


def test_a_damaged_file_is_refused_at_once(path):
    with apsw.Connection(path) as db:
        (page,) = db.execute("select rootpage from sqlite_schema where name = 'docindex_document'").fetchone()
        size = db.pragma("page_size")
        db.pragma("wal_checkpoint(truncate)")
    db.close()
    with Path(path).open("r+b") as file:
        file.seek((page - 1) * size + 8)
        file.write(b"\xff" * 64)
    with pytest.raises(docindex.CorruptIndex):
        docindex.open(path, trusted=False)
    docindex.open(path).close()  # a trusted file is not checked


def test_a_value_of_a_gigabyte_is_refused(path):
    with docindex.open(path, trusted=False) as index, pytest.raises(ValueError, match="too big"):
        index.execute("select length(zeroblob(1000000000) || 'x')")


@pytest.mark.parametrize(
    "statement",
    [
        "create index sqliteXstat on docindex_document (content, key)",
        "create unique index sqlite_statement on docindex_document (meta)",
        "create trigger sqliteXstat_t before insert on docindex_document begin select 1; end",
    ],
)
def test_a_table_named_like_those_of_sqlite_is_checked_too(path, statement):
    try:
        altered(path, statement)
    except apsw.SQLError:
        return  # reserved
    with pytest.raises(docindex.CorruptIndex, match="differs from docindex's schema"):
        docindex.open(path, trusted=False)


def test_an_sql_index_that_does_not_match_its_table_is_found(path):
    with apsw.Connection(path) as db:
        db.execute("pragma writable_schema = on")
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        roots = dict(db.execute("select name, rootpage from sqlite_schema where type = 'index'"))
        for one, other in (
            ("docindex_document_content", "docindex_changed_value"),
            ("docindex_changed_value", "docindex_document_content"),
        ):
            db.execute("update sqlite_schema set rootpage = ? where name = ?", (roots[other], one))
    db.close()
    with pytest.raises(docindex.CorruptIndex, match="is damaged"):
        docindex.open(path, trusted=False)


def test_other_tables_of_the_file_are_not_checked(path):
    altered(
        path,
        "create table slow (x)",
        "create index of_slow on slow (length(hex(zeroblob(1000000 + x))))",
        "insert into slow select value from (with recursive n(value) as "
        "(select 1 union all select value + 1 from n limit 50) select value from n)",
        "create virtual table words using fts5(x)",
    )
    with docindex.open(path, trusted=False) as index:
        assert len(index) == 20


def test_a_value_above_the_limits_is_a_named_error(path):
    altered(path, "update docindex_document set meta = cast(zeroblob(100000001) as text) where key = '3'")
    with docindex.open(path, trusted=False) as index:
        with pytest.raises(docindex.CorruptIndex, match="too large for a file that is not trusted"):
            index["3"]
        assert index["4"].key == "4"


def forge_text(path, parts, size, characters):
    """Give document "3" a text of many equal parts that inflate to `size` bytes each, with true checksums."""
    with apsw.Connection(path) as db:
        (number,) = db.execute("select content from docindex_document where key = '3'").fetchone()
        *found, _ = db.execute(f"{CONTENT.select} where id = ?", (number,)).fetchone()
        row = ContentRow(*found)._replace(characters=characters)
        db.execute(
            "delete from docindex_text where id between ? << 20 and (? << 20) + (1 << 20) - 1",
            (number, number),
        )
        data = zlib.compress(bytes(size))
        db.executemany(
            "insert into docindex_text (id, codec, data) values (?, 1, ?)",
            [(number << 20 | part, data) for part in range(parts)],
        )
        db.execute(CONTENT.replace, CONTENT.with_sum(row))
    db.close()


def peak_of(ask):
    tracemalloc.start()
    try:
        ask()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_texts_that_inflate_to_far_more_than_the_file_are_refused_at_once(path):
    forge_text(path, 400, 1 << 20, 400 << 20)
    with pytest.raises(
        docindex.CorruptIndex, match=r"has a text of 419,430,400 characters \(at most 100,000"
    ):
        docindex.open(path, trusted=False)
    docindex.open(path).close()


def test_many_texts_that_inflate_to_far_more_than_the_file_are_refused_at_once(path):
    with docindex.open(path) as index:
        index.add_many([(f"blank {n}", " " * 50_000_000 + str(n)) for n in range(4)], workers=1)
    with pytest.raises(
        docindex.CorruptIndex, match=r"has 200,0\d\d,\d+ characters of text, too many for a file of"
    ):
        docindex.open(path, trusted=False)


@pytest.mark.parametrize(("parts", "characters"), [(400, 500), (1, 500), (2, 5 << 20), (2, 1 << 20), (2, -1)])
@pytest.mark.parametrize(
    "ask",
    [
        lambda index: index.text("3"),
        lambda index: index.similar("4", 0.001),
        lambda index: list(index.pairs(min_resemblance=0.01, ignore_above=1)),
    ],
)
def test_a_text_with_more_or_fewer_characters_than_its_row_says_is_damage(path, parts, characters, ask):
    forge_text(path, parts, 1 << 20, characters)

    def refused():
        with docindex.open(path, trusted=False) as index, pytest.raises(docindex.CorruptIndex, match="text"):
            ask(index)

    assert peak_of(refused) < 40_000_000


def test_a_row_with_more_fingerprints_than_a_row_can_have_is_damage(path):
    with apsw.Connection(path) as db:
        (number,) = db.execute("select id from docindex_fingerprint limit 1").fetchone()
        row = FingerprintRow(number, bytes(6 * 70_000), bytes(70_000))
        db.execute(FINGERPRINT.replace, FINGERPRINT.with_sum(row))
    db.close()
    with docindex.open(path, trusted=False) as index:
        with pytest.raises(docindex.CorruptIndex, match="the fingerprints of content 1 are damaged"):
            index.search(docindex.Key("0"))
        with pytest.raises(docindex.CorruptIndex, match="the fingerprints of content 1 are damaged"):
            index.search(Text(index.text("0")))
