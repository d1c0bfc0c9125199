"""A scan reads databases that an app uses without costing the app its locks."""

import contextlib
import os
import sqlite3
import sys

import pytest

import docindex
from docindex import folders
from docindex.folders.scanning.file_content import read_file
from tests.storage.test_handles import is_locked, opened

# The tests are about locks that Unix drops when a file is closed.
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows drops no locks at a close")


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_scan_of_a_folder_with_a_database_in_use_drops_no_lock(tmp_path, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("app.db", "copy.db"):
        with contextlib.closing(sqlite3.connect(folder / name, isolation_level=None)) as other:
            other.execute(f"pragma journal_mode = {mode}")
            other.execute("create table own (x)")
    app = sqlite3.connect(folder / "app.db", isolation_level=None)
    app.execute("begin immediate")
    app.execute("insert into own values (1)")
    with docindex.open(tmp_path / "index") as index:
        for _ in range(3):
            folders.scan(index, [folder])
            assert is_locked(folder / "app.db")
            assert len(folders.find(index, [folder]).groups) in (0, 1)
            assert is_locked(folder / "app.db")
        assert opened(folder) <= 3 + 3
        app.execute("rollback")
        app.close()
    assert opened(tmp_path) == 0


def test_a_scan_of_a_folder_with_its_own_index_drops_no_lock(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        (tmp_path / "a.txt").write_text("some text that is read")
        with index._store.alone() as db:
            db.execute("begin immediate")
            for name in os.listdir(tmp_path):
                read_file(os.fsencode(tmp_path / name))
            assert is_locked(tmp_path / "index")
            db.execute("rollback")
        folders.scan(index, [tmp_path])
    assert opened(tmp_path) == 0
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "index"]
