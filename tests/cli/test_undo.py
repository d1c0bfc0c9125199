"""`docindex undo` lists acts, undoes the last one or a chosen one, and tells whether all is restored."""

import json
import os
import re
from pathlib import Path

import pytest

from docindex.cli import main


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def acts(tmp_path, monkeypatch, capsys):
    """Two acts: one removed x/b, the other removed y/b and y/c."""
    monkeypatch.chdir(tmp_path)
    for folder, names in (("x", "ab"), ("y", "abc")):
        Path(folder).mkdir()
        for name in names:
            Path(folder, name).write_text(f"the same in {folder}")
            os.utime(Path(folder, name), ns=(10**18, 10**18))
        Path("plan.json").write_text(run(capsys, "dups", "--kind", "exact", "--json", folder)[1])
        code, out, _ = run(capsys, "act", "plan.json", "--trash", "--no-dry-run")
        assert code == 0
    assert out.startswith("to the trash: y/b (same as y/a)\nto the trash: y/c (same as y/a)\n")
    return tmp_path


@pytest.mark.usefixtures("acts")
def test_the_acts_are_listed_with_their_state(capsys):
    line = r" {3}%d  \d{4}-\d\d-\d\d \d\d:\d\d  trash     %s\n"
    expected = line % (1, "1 file, 13 B: done") + line % (2, "2 files, 26 B: done")
    code, out, _ = run(capsys, "undo", "--list")
    assert code == 0
    assert re.fullmatch(expected, out), out
    run(capsys, "undo", "--no-dry-run", "y/b")
    assert "2 files, 26 B: partly undone (1 restored)\n" in run(capsys, "undo", "--list")[1]
    run(capsys, "undo", "--no-dry-run", "1")
    records = json.loads(run(capsys, "undo", "--list", "--json")[1])
    assert [(record["number"], record["state"]) for record in records] == [
        (1, "undone"),
        (2, "partly undone"),
    ]


@pytest.mark.usefixtures("acts")
def test_undo_restores_the_last_act_only(capsys):
    code, out, _ = run(capsys, "undo", "--no-dry-run")
    assert (code, out) == (0, "restored: y/c\nrestored: y/b\nrestored: 2 files, 26 B; not restored: 0\n")
    assert not Path("x/b").exists()
    assert run(capsys, "undo", "--all", "--no-dry-run")[:2] == (
        0, "restored: x/b\nrestored: 1 file, 13 B; not restored: 0\n"
    )  # fmt: skip
    assert run(capsys, "undo", "--no-dry-run")[:2] == (1, "nothing to undo\n")


@pytest.mark.usefixtures("acts")
def test_the_exit_code_tells_that_a_file_is_not_restored_and_it_is_tried_again(capsys):
    Path("y/b").write_text("something new")
    code, out, _ = run(capsys, "undo", "--no-dry-run")
    assert code == 3
    assert "not restored: y/b (another file is at its path now, and stays)\n" in out
    assert out.endswith("restored: 1 file, 13 B; not restored: 1\n")
    assert "partly undone (1 restored)" in run(capsys, "undo", "--list")[1]
    code, out, _ = run(capsys, "undo", "--no-dry-run", "--all")
    assert code == 3
    assert "not restored: y/b (another file is at its path now, and stays)\nrestored: x/b\n" in out
    Path("y/b").unlink()
    code, out, _ = run(capsys, "undo", "--no-dry-run")
    assert (code, out.splitlines()[0]) == (0, "restored: y/b")


@pytest.mark.usefixtures("acts")
def test_undo_explains_wrong_arguments(capsys):
    assert "give one act, or --all" in run(capsys, "undo", "1", "2")[2]
    code, out, err = run(capsys, "undo", "7")
    assert (code, out) == (2, "")
    assert err.endswith("journal.jsonl has no act 7; the number of the last act is 2\n")
    code, out, _ = run(capsys, "undo", "nothing")
    assert (code, out) == (1, "nothing to undo: no act removed these files, or they are already restored\n")


@pytest.mark.usefixtures("acts")
def test_act_says_that_a_changed_file_is_left_as_it_is(capsys):
    run(capsys, "undo", "--all", "--no-dry-run")
    Path("y/b").write_text("other")
    out = run(capsys, "act", "plan.json", "--delete")[1]
    assert re.search(r"^left as it is: y/b \(it was changed since the plan was made\)$", out, re.MULTILINE)


@pytest.mark.usefixtures("acts")
def test_act_names_files_that_are_gone_or_in_use(capsys):
    run(capsys, "undo", "--all", "--no-dry-run")
    Path("y/b").unlink()
    with Path("y/c").open("a"):
        code, out, _ = run(capsys, "act", "plan.json", "--delete", "--no-dry-run")
    assert (code, out) == (
        1,
        "already gone: y/b\nin use by another program: y/c\n"
        "deleted: 0 files, 0 B; left as they are: 2; frees 0 B\n",
    )
