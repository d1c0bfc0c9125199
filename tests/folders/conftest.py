"""Tests of folders never touch the trash or the journal of the person who runs them."""

import pytest

from docindex.folders.walking.path_keys import root_of


@pytest.fixture(autouse=True)
def trash(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "data" / "Trash"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "tree").mkdir()
    return root_of(tmp_path / "tree")
