"""Damage is what SQLite or a checksum calls damage. Every other error keeps its type."""

import functools
import os
import sqlite3
from contextlib import closing

import apsw
import pytest

import docindex
from docindex.storage.file.connection import Store
from docindex.storage.rows import content_writer, contents, document_lookup, documents
from docindex.storage.statements import row_sum

DAMAGE = {apsw.CorruptError, apsw.FormatError}
TRANSLATED = {
    apsw.BusyError: docindex.Busy,
    apsw.LockedError: docindex.Busy,
    apsw.ProtocolError: docindex.Busy,
    apsw.PermissionsError: docindex.DiskError,
    apsw.ConstraintError: docindex.Refused,
    apsw.FullError: docindex.DiskFull,
    apsw.IOError: docindex.DiskError,
    apsw.InterruptError: docindex.Cancelled,
    apsw.ReadOnlyError: docindex.ReadOnly,
    apsw.NotADBError: docindex.NotAnIndex,
    apsw.CantOpenError: docindex.UnreadableFile,
    **dict.fromkeys(DAMAGE, docindex.CorruptIndex),
}
ERRORS = sorted(
    (one for one in vars(apsw).values() if isinstance(one, type) and issubclass(one, apsw.Error)),
    key=lambda one: one.__name__,
)


@pytest.fixture
def path(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("ada.txt", "The Analytical Engine weaves algebraical patterns")
    return tmp_path / "index"


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_only_corruption_is_damage(error, path):
    store = Store(str(path), readonly=True, durability="full", timeout_s=0)
    try:
        with pytest.raises(TRANSLATED.get(error, error)) as caught, store.translated():
            raise error("something")
    finally:
        store.close()
    assert isinstance(caught.value, docindex.CorruptIndex) == (error in DAMAGE)
    assert ("restore a backup" in str(caught.value)) == (error in DAMAGE)


def test_a_file_in_a_folder_that_cannot_be_written_can_only_be_read(path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda _, mode: mode == os.R_OK)
    store = Store(str(path), readonly=True, durability="full", timeout_s=0)
    with closing(store), pytest.raises(docindex.ReadOnly, match="can only be read"), store.translated():
        raise apsw.CantOpenError("something")


@pytest.mark.parametrize(
    "ask",
    [
        lambda index: index["ada.txt"],
        lambda index: index.search(docindex.Key("ada.txt")),
        lambda index: index.add("ada.txt", "another text"),
    ],
)
def test_a_mistake_in_our_own_sql_is_not_called_damage(ask, path, monkeypatch):
    for name in ("_GET", "_LINK"):
        monkeypatch.setattr(document_lookup, name, "select flavour from main.docindex_document where key = ?")
    monkeypatch.setattr(
        documents, "_OF", "select flavour from main.docindex_document where content in carray(?)"
    )
    monkeypatch.setattr(
        content_writer, "_STORED", "select flavour from main.docindex_document where key in carray(?)"
    )
    with docindex.open(path) as index, pytest.raises(apsw.SQLError, match="no such column: flavour"):
        ask(index)


def test_a_broken_trigger_of_the_host_is_not_called_damage(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "create trigger log after insert on docindex_document begin insert into log values (new.key); end"
        )
        db.commit()
    with docindex.open(path) as index:
        with pytest.raises(apsw.SQLError, match=r"no such table: main\.log"):
            index.add("bob.txt", "another text")
        assert list(index) == ["ada.txt"]
        assert index.check() == []


@pytest.mark.parametrize(
    "change", ["drop table docindex_posting", "alter table docindex_posting rename column keys to words"]
)
def test_a_missing_or_altered_table_is_damage(change, path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(change)
    with pytest.raises(
        docindex.CorruptIndex, match=r"table docindex_posting is missing, or differs .* restore a backup"
    ):
        docindex.open(path)


def test_altered_counters_of_sqlite_are_damage(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma writable_schema = on")
        db.execute(
            "update sqlite_master set sql = replace(sql, 'seq)', 'sep)') where name = 'sqlite_sequence'"
        )
        db.commit()
    with pytest.raises(docindex.CorruptIndex, match=r"table sqlite_sequence is missing, or differs"):
        docindex.open(path)


def test_a_change_does_not_hide_damage_under_a_new_checksum(path):
    with docindex.open(path) as index:
        index.add("bare", "a text of which only the sketch is stored", store_text=False)
    with closing(sqlite3.connect(path)) as db:
        db.execute("update docindex_document set added_at = added_at + 1 where key = 'ada.txt'")
        db.execute("update docindex_content set shingles = shingles + 1 where not kept")
        db.commit()
    with docindex.open(path) as index:
        damage = index.check()
        assert len(damage) == 2
        with pytest.raises(docindex.CorruptIndex, match=r"'ada\.txt'.* is damaged"):
            index.rename("ada.txt", "renamed.txt")
        with pytest.raises(docindex.CorruptIndex, match="content 2 is missing or damaged"):
            index.add("bare", "a text of which only the sketch is stored")
        assert index.check() == damage


def test_a_check_names_its_steps(path, monkeypatch):
    with docindex.open(path) as index:
        monkeypatch.setattr(contents, "fingerprints_of", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            index.check()

        def unreadable(*_):
            raise docindex.CorruptIndex("it is unreadable", str(path))

        monkeypatch.setattr(contents, "fingerprints_of", unreadable)
        assert index.check() == [
            "contents cannot be read: it is unreadable",
            "the inverted index cannot be read: it is unreadable",
        ]


class FailingDisk(apsw.VFS):
    """The file system of the machine, until `code` is set: then every read of an index fails with it."""

    def __init__(self, base):
        self.code, self.base = None, base
        super().__init__("failing", base, makedefault=True)

    def xOpen(self, name, flags):  # noqa: N802 - apsw's name
        return FailingFile(self, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self._disk = disk
        super().__init__(disk.base, name, flags)

    def xRead(self, amount, offset):  # noqa: N802 - apsw's name
        if self._disk.code is not None and amount > 100:
            raise apsw.exception_for(self._disk.code)
        return super().xRead(amount, offset)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (apsw.SQLITE_IOERR_READ, docindex.DiskError),
        (apsw.SQLITE_IOERR_CORRUPTFS, docindex.DiskError),
        (apsw.SQLITE_IOERR_DATA, docindex.CorruptIndex),
    ],
)
def test_a_disk_that_fails_is_not_called_damage_but_a_false_checksum_is(code, expected, path):
    before = apsw.vfs_names()[0]
    disk = FailingDisk(before)
    try:
        with docindex.open(path) as index:
            disk.code = code
            with pytest.raises(expected) as caught:
                index.text("ada.txt")
            assert ("restore a backup" in str(caught.value)) == (expected is docindex.CorruptIndex)
            disk.code = None
            assert index.text("ada.txt")  # nothing was wrong with the file
    finally:
        apsw.set_default_vfs(before)
        disk.unregister()


@pytest.mark.parametrize("table", ["content", "document", "segment", "boilerplate"])
@pytest.mark.parametrize("count", [2**42, 2**43 - 1, 2**63 - 1])
def test_a_counter_at_its_limit_is_damage_and_not_a_full_disk(table, count, path):
    with docindex.open(path) as index:
        index.boilerplate.add("a template")
    with closing(sqlite3.connect(path)) as db:
        db.execute("update sqlite_sequence set seq = ? where name = ?", (count, f"docindex_{table}"))
        db.commit()
    with docindex.open(path) as index:
        add = index.boilerplate.add if table == "boilerplate" else functools.partial(index.add, "eve.txt")
        with pytest.raises(
            docindex.CorruptIndex, match=f"the counter of the table docindex_{table} is {count}"
        ):
            add("Nothing in here is like the other text, which is about looms and flowers")
        assert list(index) == ["ada.txt"]
        assert index.check() == []


def test_a_counter_of_the_host_at_its_limit_is_not_called_a_full_disk(path):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "create table log (id integer primary key autoincrement, key);"
            "insert into log values (9223372036854775807, 'last');"
            "create trigger t after insert on docindex_document begin insert into log (key) values "
            "(new.key); end;"
        )
    with docindex.open(path) as index:
        with pytest.raises(docindex.DiskFull, match="counter of an AUTOINCREMENT table"):
            index.add("eve.txt", "another text")
        assert list(index) == ["ada.txt"]


def test_a_meta_that_cannot_be_read_is_damage_of_its_document(path):
    with docindex.open(path) as index:
        index.add("eve.txt", "another text")
    with closing(sqlite3.connect(path)) as db:
        for key, meta in (("ada.txt", "[" * 100_000), ("eve.txt", "9" * 5000)):
            number, content, added_at = db.execute(
                "select id, content, added_at from docindex_document where key = ?", (key,)
            ).fetchone()
            forged = row_sum(number, key, content, meta, added_at)
            db.execute("update docindex_document set meta = ?, sum = ? where id = ?", (meta, forged, number))
        db.commit()
    with docindex.open(path) as index:
        for key in ("ada.txt", "eve.txt"):
            with pytest.raises(
                docindex.CorruptIndex, match=rf"the meta of document . \('{key}'\) cannot be read as JSON"
            ):
                index[key]


def test_a_meta_is_stored_only_if_it_can_be_read_again(path):
    def nested(depth):
        return [nested(depth - 1)] if depth > 1 else ['[[["[{']

    with docindex.open(path) as index:
        for meta in (nested(500), [["[" * 3000], {"}": "{" * 3000}], [[]] * 3000):
            index.add("ada.txt", "a text", meta=meta)
            assert index.meta("ada.txt") == meta
        with pytest.raises(ValueError, match=r"meta of 'ada.txt' .* it is nested 501"):
            index.add("ada.txt", "a text", meta=nested(501))
