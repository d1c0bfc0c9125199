"""What ``docindex dups`` shows of copied folders, lists of files and many groups."""

import csv
import io
import json
import os
import re
import shutil
import sys

import pytest

from docindex.cli import main, output
from docindex.folders import CopyGroup, Findings, PlannedFile
from docindex.shown.groups import summary_lines
from tests.trial_home import made_home


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial")
    made_home(folder / "home")
    return folder


@pytest.fixture
def home(written, monkeypatch):
    monkeypatch.chdir(written)
    return written / "home"


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.usefixtures("home")
def test_a_copied_folder_is_shown_first_with_what_differs_and_why_it_goes(capsys):
    code, out, err = run(capsys, "dups", "--kind", "folder", "--kind", "exact", "home")
    assert code == 0
    assert re.match(
        r"home/backup/Documents is a copy of home/Documents: 37 files, \d+\.\d kB; "
        r"removing the copies frees \d+\.\d kB\n"
        r"  keep  home/Documents\n"
        r"        home/backup/Documents\n"
        r"  kept: not in backup\n"
        r"  other files, which all stay: 3 in both with other contents, 2 only in the copied folder, "
        r"16 only in the kept folder\n\n"
        r"home/Desktop/Holiday 2019 is an exact copy of home/Pictures/Holiday 2019: 4 files, \d+\.\d kB; "
        r"removing the copies frees \d+\.\d kB\n",
        out,
    )
    assert "not scanned: 13 program folders (One.app, Two.app, site-packages, ...) with " in err
    assert " files (--all includes them)\n" in err
    assert re.search(r"not compared: what \d+ photos show, how \d+ songs sound", err)


@pytest.mark.usefixtures("home")
def test_many_groups_end_with_sums_by_kind_and_by_folder(capsys):
    _, out, _ = run(capsys, "dups", "--kind", "folder", "--kind", "exact", "home")
    kinds = dict(re.findall(r"^ *[\d.]+ k?B +(\d+)  (copied folders|exact copies)$", out, re.MULTILINE))
    assert kinds == {"2": "copied folders", "23": "exact copies"}
    assert re.search(r"^ *\d+\.\d kB +38  home/backup$", out, re.MULTILINE)
    assert "  1 other folder\n" in out
    last = out.splitlines()[-1]
    assert last.startswith("2 copied folders and 23 groups of exact copies: removing the copies frees ")


@pytest.mark.usefixtures("home")
def test_top_shows_the_first_groups_and_the_plan_has_all(capsys):
    _, out, _ = run(capsys, "dups", "--kind", "exact", "--kind", "folder", "--top", "3", "home")
    assert out.count("  keep  ") == 3
    assert "22 more groups; without --top all are shown\n" in out
    _, lines, _ = run(capsys, "dups", "--kind", "exact", "--kind", "folder", "--top", "3", "--jsonl", "home")
    first, *_, last = (json.loads(line) for line in lines.splitlines())
    assert (first["kind"], first["differing"], first["only_here"], first["reason"]) == (
        *("folder", 3, 2),
        "not in backup",
    )
    assert (last["kind"], last["reason"]) == ("exact", "not in Desktop")
    _, table, _ = run(capsys, "dups", "--kind", "exact", "--kind", "folder", "--top", "3", "--csv", "home")
    rows = [(row["group"], row["kind"], row["keep"]) for row in csv.DictReader(io.StringIO(table))]
    assert rows[:2] == [("1", "folder", "true"), ("1", "folder", "false")]
    assert {row[:2] for row in rows[-3:]} == {("3", "exact")}
    _, plan, _ = run(capsys, "dups", "--kind", "exact", "--kind", "folder", "--top", "3", "--json", "home")
    assert (len(json.loads(plan)["folders"]), len(json.loads(plan)["groups"])) == (2, 23)


def test_act_takes_a_plan_with_a_copied_folder_and_undo_restores_it(home, capsys, tmp_path, monkeypatch):
    shutil.copytree(home, tmp_path / "home", symlinks=True)
    monkeypatch.chdir(tmp_path)
    _, plan, _ = run(capsys, "dups", "--kind", "folder", "--json", "home/Pictures", "home/Desktop")
    (tmp_path / "plan.json").write_text(plan)
    code, out, _ = run(capsys, "act", "plan.json", "--trash", "--no-dry-run")
    assert code == 0
    assert "\nfolder removed: home/Desktop/Holiday 2019 (empty now)\n" in out
    assert re.search(r"; left as they are: 0; empty folders removed: 1; emptying the trash frees", out)
    assert not (tmp_path / "home" / "Desktop" / "Holiday 2019").exists()
    assert run(capsys, "undo", "--no-dry-run")[0] == 0
    assert len(list((tmp_path / "home" / "Desktop" / "Holiday 2019").iterdir())) == 4


def test_act_names_the_outermost_folder_that_it_removed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        path = tmp_path / "Documents" / f"{number % 2}" / "in it" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}" * 100)
    shutil.copytree("Documents", "Downloads/Documents")
    _, plan, _ = run(capsys, "dups", "--kind", "folder", "--json", "Documents", "Downloads/Documents")
    (tmp_path / "plan.json").write_text(plan)
    _, out, _ = run(capsys, "act", "plan.json", "--delete", "--no-dry-run")
    assert "\nfolder removed: Downloads/Documents (empty now, with 4 folders in it)\n" in out
    assert "; empty folders removed: 5; frees " in out


class Terminal:
    """A terminal with 40 columns."""

    encoding = "utf-8"

    def isatty(self):
        return True

    def fileno(self):
        return 1


def test_sentences_are_wrapped_at_words_on_a_terminal_and_names_are_not(monkeypatch):
    monkeypatch.setattr(output.os, "get_terminal_size", lambda _: os.terminal_size((40, 20)))
    text = "a sentence that is longer than a terminal of 40 columns\n  keep  " + "long name " * 9
    first, second, name = output.fitted(text, Terminal()).split("\n")
    assert (first, second) == ("a sentence that is longer than a", "    terminal of 40 columns")
    assert name == "  keep  " + "long name " * 9
    assert output.fitted(text, sys.__stdout__ if not sys.__stdout__.isatty() else None) == text


def test_copies_are_counted_in_the_folder_below_their_root_or_in_the_root_itself():
    going = [f"/r/a/{number}" for number in range(7)]
    going += ["/r/a/deeper/x", "/r/b/x", "/r/x", "/r/file", "/r/a/last"]
    groups = tuple(
        CopyGroup((PlannedFile("/r/kept", True, 1000, 0), PlannedFile(key, False, 1000, 0)), "", 1000)
        for key in going
    )
    lines = list(summary_lines(Findings(groups, (), ()), ["/r", "/r/file"], len(groups)))
    table = lines[lines.index("   frees  copies  by folder (exact copies)") + 1 : -2]
    assert {line.split()[-1]: line.split()[-2] for line in table} == {
        "/r/a": "9",
        "/r/b": "1",
        "/r": "1",
        "/r/file": "1",
    }
