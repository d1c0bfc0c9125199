"""Only their owner can read the files that docindex makes: they hold texts of files that may be private."""

import json
import os
import stat
from pathlib import Path

import apsw
import pytest

import docindex
from docindex.cli import main
from docindex.cli.commands import review
from docindex.default_path import default_path, settings_name

TEXT = "A private letter that nobody else may read, with enough words to be found again. " * 20


@pytest.fixture(autouse=True)
def open_umask(tmp_path, monkeypatch):
    """A folder, and a umask that takes nothing away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DOCINDEX")
    before = os.umask(0)
    yield tmp_path
    os.umask(before)


def mode(path):
    return stat.S_IMODE(Path(path).lstat().st_mode)


def letters():
    """A folder with two copies of a text."""
    Path("letters").mkdir()
    for name in ("a.txt", "b.txt"):
        Path("letters", name).write_text(TEXT)


def test_an_index_its_log_and_its_journal_are_private_wherever_they_are():
    with docindex.open("chosen.docindex") as index:
        index.add("a", TEXT)
        assert {path.name: mode(path) for path in Path().iterdir()} == {
            "chosen.docindex": 0o600,
            "chosen.docindex-wal": 0o600,
            "chosen.docindex-shm": 0o600,
        }
        index.backup("backup.docindex")
    docindex.merge(["chosen.docindex"], "merged.docindex")
    assert {mode(path) for path in Path().iterdir()} == {0o600}
    db = apsw.Connection("chosen.docindex")
    db.execute("pragma journal_mode = delete; begin immediate; pragma user_version = 1").fetchall()
    assert mode("chosen.docindex-journal") == 0o600


def test_own_folders_and_all_files_that_commands_write_are_private(capsys, monkeypatch):
    letters()
    monkeypatch.setenv("EDITOR", "true")
    assert main(["scan", "letters"]) == 0
    assert main(["report", "-o", "page.html"]) == 0
    assert main(["config", "--edit"]) == 0
    capsys.readouterr()
    assert main(["dups", "--kind", "exact", "--json", "letters"]) == 0
    plan = capsys.readouterr().out
    assert review._new_plan(["letters"])[0] == "docindex-plan.json"
    Path("typed.json").write_text(plan)
    assert main(["act", "typed.json", "--delete", "--no-dry-run"]) == 0
    assert mode("page.html") == mode("docindex-plan.json") == 0o600
    state = Path(os.environ["XDG_STATE_HOME"], "docindex")
    made = [default_path(), Path(settings_name()), state / "journal.jsonl", state / "act.lock"]
    assert {path.name: (mode(path.parent), mode(path)) for path in made} == {
        path.name: (0o700, 0o600) for path in made
    }


@pytest.mark.parametrize("readonly", [False, True])
def test_the_own_index_is_made_private_when_it_is_opened(readonly):
    own = default_path()
    with docindex.open() as index:
        index.add("a", TEXT)
        assert index.path == str(own)
        files = sorted(own.parent.iterdir())
        assert len(files) == 3
        for path in files:
            path.chmod(0o644)
        own.parent.chmod(0o755)
        docindex.open(readonly=readonly).close()
        assert (mode(own.parent), {mode(path) for path in files}) == (0o700, {0o600})


def test_the_own_journal_is_made_private_when_act_runs(capsys):
    letters()
    state = Path(os.environ["XDG_STATE_HOME"], "docindex")
    state.mkdir(parents=True)
    (state / "journal.jsonl").touch()
    assert main(["dups", "--kind", "exact", "--json", "letters"]) == 0
    Path("plan.json").write_text(capsys.readouterr().out)
    assert main(["act", "plan.json", "--delete", "--no-dry-run"]) == 0
    assert (mode(state), mode(state / "journal.jsonl")) == (0o700, 0o600)
    assert len((state / "journal.jsonl").read_text().splitlines()) > 1


def test_what_a_person_shares_on_purpose_stays_shared():
    letters()
    shared = Path("shared")
    shared.mkdir(mode=0o755)
    docindex.open(shared / "notes.docindex").close()
    (shared / "notes.docindex").chmod(0o644)
    assert main(["scan", "letters", "--index", "shared/notes.docindex"]) == 0
    Path("page.html").touch(0o640)
    assert main(["report", "--index", "shared/notes.docindex", "-o", "page.html"]) == 0
    assert (mode(shared), mode(shared / "notes.docindex"), mode("page.html")) == (0o755, 0o644, 0o640)
    # A link in the own place leads to a file that a person chose.
    own = default_path()
    own.parent.mkdir(parents=True)
    own.symlink_to(shared.absolute() / "notes.docindex")
    with docindex.open() as index:
        assert len(index) == 2
    assert mode(shared / "notes.docindex") == 0o644


def test_a_code_report_is_private(capsys):
    Path("code").mkdir()
    for name in ("a.py", "b.py"):
        Path("code", name).write_text("def add(a, b):\n    return a + b * 2\n" * 20)
    assert main(["pairs", "--code", "code", "--report", "page.html", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert mode("page.html") == 0o600


def test_the_index_files_of_a_spark_job_are_private():
    pytest.importorskip("pyspark")
    from docindex.spark.index_files import _copy  # copies what a worker has made

    Path("made").write_text(TEXT)
    _copy(Path("made"), Path("part.docindex"))
    assert mode("part.docindex") == 0o600
