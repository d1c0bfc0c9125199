"""Unusual things that host programs do: odd strings, foreign tables, other journal modes, wrong arguments."""

import enum
import shutil
import sys
import threading
import time

import apsw
import numpy as np
import pytest

import docindex
from docindex.storage.file.connector import Connector


class Names(enum.StrEnum):
    ADA = "ada"


@pytest.mark.parametrize("key", [np.str_("ada"), Names.ADA])
def test_a_subclass_of_str_is_stored_as_plain_text(key):
    with docindex.open(":memory:") as index:
        index.add(key, np.str_("a text"))
        assert index.check() == []
        assert type(index["ada"].key) is str
        assert key in index
        assert index.text(key) == "a text"
        index.rename(key, np.str_("bob"))
        assert index.check() == []
        assert list(index) == ["bob"]


def test_optimize_removes_all_dead_contents_whenever_they_were_removed():
    with docindex.open(":memory:") as index:
        index.add("a", "")
        index.add("a", "x " * 50)
        for number in range(20):
            index.add("b", f"{number}")
        index.optimize()
        assert index.stats().dead == 0


@pytest.mark.parametrize("text", ["\ud83d\ude00", "lone \udc80", "one\u2028two\r\n", "plain"])
def test_export_and_load_keep_every_text_as_it_was(text):
    with docindex.open(":memory:") as index, docindex.open(":memory:") as other:
        index.add("a", text, meta={"x": "é"})
        assert other.load([*index.export(), "\n"]) == 1
        assert (other.text("a"), other.meta("a")) == (text, {"x": "é"})


def test_a_foreign_key_of_the_host_refuses_a_change_and_is_not_called_damage(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add_many([("a", "one"), ("b", "two")])
        host = apsw.Connection(str(tmp_path / "index"))
        host.execute("create table note (document integer references docindex_document (id))")
        host.execute("insert into note select id from docindex_document where key = 'a'")
        with pytest.raises(docindex.Refused, match="FOREIGN KEY"):
            index.remove("a")
        host.execute("drop table note")
        host.close()
        index.remove("a")
        assert index.check() == []


def test_a_file_that_was_opened_as_immutable_and_changes_is_busy_not_damaged(tmp_path, monkeypatch):
    path = tmp_path / "index"
    with docindex.open(path) as index:
        index.add("a", "text")

    def at_rest(connector):
        """Open the file as in a folder that cannot be written."""
        connector._unchanged = connector._unchanged or path.stat()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return connector._made(path.as_uri() + "?immutable=1", flags)

    monkeypatch.setattr(Connector, "_connect_readonly", at_rest)
    with docindex.open(path, readonly=True) as index:
        assert list(index) == ["a"]
        monkeypatch.undo()
        with docindex.open(path) as other:
            other.add("b", "another " * 5000)
        with pytest.raises(docindex.Busy, match="changed by another program"):
            list(index)


def test_a_file_in_another_journal_mode_is_switched_to_wal(tmp_path):
    with docindex.open(":memory:") as index:
        index.add("a", "text")
        index.backup(tmp_path / "copy")
    for change in (None, "pragma journal_mode = delete"):
        if change:
            plain = apsw.Connection(str(tmp_path / "copy"))
            plain.execute(change).fetchall()
            plain.close()
        with docindex.open(tmp_path / "copy") as copy, copy._store.reading():
            copy.add("b", "while another connection reads")


@pytest.mark.parametrize("stop", ["cancel", "close"])
def test_a_writer_that_waits_for_another_writer_can_be_stopped(tmp_path, stop):
    with docindex.open(tmp_path / "index", timeout_s=20) as index, docindex.open(tmp_path / "index") as other:
        errors = []

        def add():
            try:
                index.add("a", "text")
            except (docindex.DocIndexError, ValueError) as error:
                errors.append(error)

        with other._store.writing():
            waiting = threading.Thread(target=add)
            waiting.start()
            time.sleep(0.2)
            began = time.monotonic()
            getattr(index, stop)()
            waiting.join()
            assert time.monotonic() - began < 5
        assert len(errors) == 1
        assert stop == "close" or isinstance(errors[0], docindex.Cancelled)


def test_a_statement_without_rows_has_the_names_of_its_columns():
    with docindex.open(":memory:") as index:
        found = index.execute("select key, meta as about from docindex_document")
    assert (found, found.columns) == ([], ("key", "about"))


def test_only_one_of_several_backups_at_once_succeeds(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add_many((str(number), f"text {number} " * 200) for number in range(50))
        outcomes = []

        def backup():
            try:
                outcomes.append(index.backup(tmp_path / "copy"))
            except FileExistsError as error:
                outcomes.append(error)

        threads = [threading.Thread(target=backup) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count(None) == 1
    with docindex.open(tmp_path / "copy") as copy:
        assert len(copy) == 50
        assert copy.check() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "index"]


@pytest.mark.parametrize("executable", ["/bin/false", "/none/python3"])
def test_the_work_is_done_in_this_process_if_no_worker_can_be_started(
    tmp_path, monkeypatch, executable, caplog
):
    if executable == "/bin/false":
        shutil.copy(executable, tmp_path / "python-that-fails")
        executable = str(tmp_path / "python-that-fails")
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr("docindex.sketching.workers._WORTHWHILE", 0)
    monkeypatch.setattr("docindex.index.adding._AHEAD", 10_000)
    with docindex.open(":memory:") as index:
        index.add_many(((str(number), f"text {number} " * 60_000) for number in range(20)), workers=2)
        assert len(index) == 20
        assert index.check() == []
    assert "worker" in caplog.text


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (("a",), "an item must be"),
        ("ab", "an item must be"),
        (None, "an item must be"),
        (("a", "b", 1, 2), "an item"),
    ],
)
def test_a_wrong_item_is_refused_with_what_an_item_must_be(item, words):
    with docindex.open(":memory:") as index, pytest.raises(TypeError, match=words):
        index.add_many([item])


@pytest.mark.parametrize(
    "arguments",
    [{"timeout_s": float("nan")}, {"timeout_s": float("inf")}, {"timeout_s": -1}, {"durability": "off"}],
)
def test_a_wrong_argument_of_open_is_a_value_error_that_names_it(tmp_path, arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        docindex.open(tmp_path / "index", **arguments)


def test_a_recipe_of_another_type_is_refused(tmp_path):
    with pytest.raises(TypeError, match="recipe must be"):
        docindex.open(tmp_path / "index", recipe={"k": 5})


def test_a_read_only_index_refuses_before_it_does_any_work(tmp_path):
    docindex.open(tmp_path / "index").close()
    with docindex.open(tmp_path / "index", readonly=True) as index, pytest.raises(docindex.ReadOnly):
        index.add_many(pytest.fail("asked for an item") for _ in range(1))
