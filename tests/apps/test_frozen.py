"""An application that PyInstaller has frozen can use docindex, with its workers, commands and reports."""

import json
import subprocess

import pytest

from tests.apps import frozen_program
from tests.apps.packing import frozen

pytest.importorskip("PyInstaller", reason="PyInstaller is not installed; the extra 'test' has it")


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return frozen(frozen_program.__file__, tmp_path_factory.mktemp("frozen"), "--onefile")


def run(app, *arguments):
    return subprocess.run([app, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_a_frozen_application_has_an_index_and_worker_processes(app, tmp_path):
    done = run(app, "use", tmp_path / "index")
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "added": 300,
        "found": ["note/7"],
        "rows": [[1]],
        "damage": [],
        "has_workers": True,
        "worked": 2,
    }


def test_a_frozen_application_can_run_the_commands_of_docindex(app, tmp_path):
    index, page = tmp_path / "index", tmp_path / "page.html"
    (tmp_path / "texts").mkdir()
    for name in ("one.txt", "two.txt"):
        (tmp_path / "texts" / name).write_text("the same words in two files, which are copies\n", "utf-8")
    assert run(app, "dups", "--index", index, tmp_path / "texts").returncode == 0
    done = run(app, "report", "--index", index, "-o", page)
    assert (done.returncode, done.stderr) == (0, "")
    assert "one.txt" in page.read_text("utf-8")
