"""Damage is what SQLite or a checksum calls damage. Every other error keeps its type."""

import sqlite3
from contextlib import closing

import apsw
import pytest

import docindex
from docindex.storage import content_writer, contents, documents
from docindex.storage.connection import Store

DAMAGE = {apsw.CorruptError, apsw.FormatError, apsw.IOError}
TRANSLATED = {
    apsw.BusyError: docindex.Busy,
    apsw.LockedError: docindex.Busy,
    apsw.ConstraintError: docindex.Refused,
    apsw.FullError: docindex.DiskFull,
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
def test_only_corruption_and_io_errors_are_damage(error, path):
    store = Store(str(path), readonly=True, durability="full", timeout_s=0)
    try:
        with pytest.raises(TRANSLATED.get(error, error)) as caught, store.translated():
            raise error("something")
    finally:
        store.close()
    assert isinstance(caught.value, docindex.CorruptIndex) == (error in DAMAGE)
    assert ("restore a backup" in str(caught.value)) == (error in DAMAGE)


@pytest.mark.parametrize(
    "ask",
    [
        lambda index: index["ada.txt"],
        lambda index: index.search(docindex.Key("ada.txt")),
        lambda index: index.add("ada.txt", "another text"),
    ],
)
def test_a_mistake_in_our_own_sql_is_not_called_damage(ask, path, monkeypatch):
    monkeypatch.setattr(contents, "_GET", "select flavour from main.document where key = ?")
    monkeypatch.setattr(documents, "_OF", "select flavour from main.document where content in carray(?)")
    monkeypatch.setattr(content_writer, "_STORED", "select flavour from main.document where key in carray(?)")
    with docindex.open(path) as index, pytest.raises(apsw.SQLError, match="no such column: flavour"):
        ask(index)


def test_a_broken_trigger_of_the_host_is_not_called_damage(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("create trigger log after insert on document begin insert into log values (new.key); end")
        db.commit()
    with docindex.open(path) as index:
        with pytest.raises(apsw.SQLError, match=r"no such table: main\.log"):
            index.add("bob.txt", "another text")
        assert list(index) == ["ada.txt"]
        assert index.check() == []


@pytest.mark.parametrize("change", ["drop table posting", "alter table posting rename column keys to words"])
def test_a_missing_or_altered_table_is_damage(change, path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(change)
    with pytest.raises(
        docindex.CorruptIndex, match=r"table posting is missing, or differs .* restore a backup"
    ):
        docindex.open(path)


def test_a_change_does_not_hide_damage_under_a_new_checksum(path):
    with docindex.open(path) as index:
        index.add("bare", "a text of which only the sketch is stored", store_text=False)
    with closing(sqlite3.connect(path)) as db:
        db.execute("update document set added_at = added_at + 1 where key = 'ada.txt'")
        db.execute("update content set shingles = shingles + 1 where parts = 0")
        db.commit()
    with docindex.open(path) as index:
        damage = index.check()
        assert len(damage) == 2
        with pytest.raises(docindex.CorruptIndex, match=r"'ada\.txt'.* is damaged"):
            index.rename("ada.txt", "renamed.txt")
        with pytest.raises(docindex.CorruptIndex, match="content 2 is damaged"):
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
