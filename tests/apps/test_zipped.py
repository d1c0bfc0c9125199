"""docindex works from a zip file on the search path, with its worker processes."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import docindex
from docindex import worker_command
from docindex.sketching import workers
from docindex.sketching.workers import SketchWorkers
from tests.apps.packing import zipped

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
sys.path.extend(sys.argv[3:])
import docindex
from docindex.sketching.workers import SketchWorkers
assert docindex.__file__.startswith(sys.argv[1]), docindex.__file__
with docindex.open(sys.argv[2]) as index:
    index.add_many([("a", "to be or not to be"), ("b", "To be, or not to be: é")], workers=2)
    assert [match.key for match in index.near("to be or not to be", 0)] == ["a"]
    assert index.check() == []
    with SketchWorkers(index.recipe, 2) as sketchers:
        sketchers.start()
        assert len(sketchers.submit(["a text"], keep=True).future.result().parts) == 1
print("done")
"""


def run(*arguments, python=sys.executable):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [python, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
        check=False,
    )


def test_a_zip_file_holds_all_that_docindex_and_its_workers_need(tmp_path):
    done = run("-c", PROGRAM, zipped(tmp_path / "app.zip"), tmp_path / "index")
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_workers_find_packages_that_an_application_brings_along(tmp_path):
    """The Python below a virtual environment has no numpy, so the application names the folder with it."""
    packages = Path(apsw.__file__).parents[1]
    archive = zipped(tmp_path / "app.zip")
    done = run("-c", PROGRAM, archive, tmp_path / "index", packages, python=sys._base_executable)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_reports_and_commands_work_from_a_zip_file(tmp_path):
    pytest.importorskip("click")
    archive = zipped(tmp_path / "app.zip")
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); from docindex.cli import main; sys.exit(main())"
    )
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("the same words in two files, which are copies\n", "utf-8")
    index, page = tmp_path / "index", tmp_path / "page.html"
    assert run("-c", program, "scan", "--index", index, tmp_path).returncode == 0
    done = run("-c", program, "report", "--index", index, "-o", page)
    assert (done.returncode, done.stderr) == (0, "")
    assert "one.txt" in page.read_text("utf-8")


def test_work_goes_on_without_workers_that_do_not_start_and_the_log_says_so(monkeypatch, caplog):
    monkeypatch.setattr(
        workers,
        "worker_command",
        lambda _: worker_command.WorkerCommand([sys.executable, "-c", "raise SystemExit"]),
    )
    caplog.set_level(logging.INFO, "docindex")
    with SketchWorkers(docindex.Recipe(), 2) as sketchers:
        sketchers.start()
        sketchers._threads[0].join()
        assert len(sketchers.submit(["a text"], keep=False).result().sketches) == 1
    assert "did not start" in caplog.text
    assert "the work is done in this process" in caplog.text


def test_an_application_that_is_not_python_works_in_one_process_and_the_log_says_so(monkeypatch, caplog):
    monkeypatch.setattr(workers, "_WORTHWHILE", 0)
    for name, value in (("executable", "/usr/bin/blender"), ("frozen", True)):
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "docindex"):
            patch.setattr(sys, name, value, raising=False)
            with docindex.open(":memory:") as index:
                assert index.add_many([("a", "to be"), ("b", "not to be")], workers=2) == 2
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "'/usr/bin/blender' is not called python, so it is probably not Python; "
        "the work is done in this process",
        "this application is frozen, and PyInstaller did not find docindex's hook; "
        "the work is done in this process",
    ]
