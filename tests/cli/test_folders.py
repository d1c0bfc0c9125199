"""Test ``docindex scan``, ``dups``, ``act``, ``search`` and ``report`` on a folder of sample files."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docindex.cli import main
from docindex.shown.wording import size
from tests.frontends.office import docx_of

HOME = Path(__file__).parents[1] / "samples" / "home"


@pytest.fixture
def home(tmp_path, monkeypatch):
    shutil.copytree(HOME, tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_scan_reports_counts(home, capsys):
    (home / ".hidden").write_text("x")
    (home / "link").symlink_to("nowhere")
    code, out, err = run(capsys, "scan", home)
    assert (code, err) == (0, "")
    assert out == (
        "9 files, 3.1 kB: 6 texts, 3 other files\n"
        "9 new, 0 changed, 0 moved, 0 gone, 0 unchanged\n"
        "not scanned: 1 hidden file or folder (--hidden includes it)\n"
        "left out: 1 symbolic link\n"
    )
    code, out, _ = run(capsys, "scan", "--json", home)
    assert json.loads(out) == {
        "unchanged": 9, "added": 0, "changed": 0, "moved": 0, "removed": 0, "texts": 6, "binaries": 3,
        "bytes": sum(path.stat().st_size for path in HOME.rglob("*") if path.is_file()),
        "skipped": {"hidden": 1, "symlink": 1}, "undetected": [], "unread": [], "problems": [], "failed": [],
            "missing": [],
    }  # fmt: skip
    code, _, err = run(capsys, "scan", home / "nothing")
    assert (code, err.count("\n")) == (3, 1)
    assert "cannot be read: No such file or directory" in err


def test_sizes_have_units(home, capsys):
    assert "9 too small" in run(capsys, "scan", "--min-size", "1.5k", home)[1]
    assert "6 too large" in run(capsys, "scan", "--max-size", "300", home)[1]
    code, _, err = run(capsys, "scan", "--max-size", "big", home)
    assert code == 2
    assert "'big' is not a size; write it as 500, 10k or 2.5M" in err


def test_dups_shows_groups_and_saves_a_plan_that_act_follows(home, capsys, tmp_path):
    code, out, err = run(capsys, "dups", "home")
    assert code == 0
    assert "9 files, 3.1 kB" in err
    assert "  keep  home/reading room.txt\n        home/old/reading room (1).txt\n" in out
    assert out.endswith(
        "2 groups of exact copies: removing the copies frees 707 B; 2 groups of similar texts\n"
    )
    assert '  kept: no "(1)" in its name\n' in out
    assert "6 texts compared by content; 3 other files (photos) byte by byte only\n" in err
    assert "not compared: what 3 photos show (a program such as czkawka compares that)\n" in err
    code, plan, _ = run(capsys, "dups", "--json", "home")
    assert code == 0
    (tmp_path / "plan.json").write_text(plan)
    assert [group["kind"] for group in json.loads(plan)["alike"]] == ["same words", "contained"]

    before = sorted(path for path in home.rglob("*"))
    removed = (home / "old" / "reading room (1).txt", home / "pictures" / "red copy.png")
    freed = size(sum(path.stat().st_blocks * 512 for path in removed))
    totals = f"2 files, 707 B; left as they are: 0; emptying the trash frees {freed}"
    code, out, _ = run(capsys, "act", "plan.json", "--trash")
    assert code == 0
    assert out == (
        "would go to the trash: home/old/reading room (1).txt (same as home/reading room.txt)\n"
        "would go to the trash: home/pictures/red copy.png (same as home/pictures/red.png)\n"
        f"would be moved to the trash: {totals}\n"
        "nothing was changed; repeat the command with --no-dry-run to do it\n"
    )
    assert sorted(path for path in home.rglob("*")) == before
    code, out, _ = run(capsys, "act", "plan.json", "--trash", "--no-dry-run")
    assert out.startswith("to the trash: home/old/reading room (1).txt (same as home/reading room.txt)\n")
    assert out.endswith(f"\nmoved to the trash: {totals}\n")
    assert not (home / "old" / "reading room (1).txt").exists()
    assert (home / "reading room.txt").exists()
    journal = tmp_path / "XDG_STATE_HOME" / "docindex" / "journal.jsonl"
    steps = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [next(name for name in step if name != "at") for step in steps] == ["begun", "done"] * 2
    assert "0 groups of exact copies" in run(capsys, "dups", "home")[1]


def test_dups_prints_records_for_programs(home, capsys):
    _, lines, _ = run(capsys, "dups", "--jsonl", "--kind", "exact", home)
    records = [json.loads(line) for line in lines.splitlines()]
    assert [(record["kind"], record["reclaimable"]) for record in records] == [("exact", 627), ("exact", 80)]
    _, table, _ = run(capsys, "dups", "--csv", "--kind", "exact", home)
    rows = [(row["group"], row["size"]) for row in csv.DictReader(io.StringIO(table))]
    assert rows == [("1", "627"), ("1", "627"), ("2", "80"), ("2", "80")]
    assert run(capsys, "dups", "--kind", "near", home)[:2] == (1, "no copies and no similar texts\n")


def test_files_in_reference_folders_are_always_kept(home, capsys):
    _, plan, _ = run(capsys, "dups", "--json", "--kind", "exact", "--reference", home / "old", home)
    groups = json.loads(plan)["groups"]
    for group in groups:
        for file in group["files"]:
            assert file["keep"] or "/old/" not in file["key"]
    assert any("/old/" in file["key"] for group in groups for file in group["files"])


def test_isolate_ignores_copies_under_the_same_path(home, capsys):
    shutil.copytree(home / "pictures", home.parent / "more")
    _, plan, _ = run(capsys, "dups", "--json", "--kind", "exact", "--isolate", home / "pictures", "more")
    kept = [[file["keep"] for file in group["files"]] for group in json.loads(plan)["groups"]]
    assert sorted(map(sum, kept)) == [1, 2]
    assert sorted(map(len, kept)) == [2, 4]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["plan.json"], 2, "choose what to do with the copies: --trash, --hardlink, --reflink, --delete"),
        (["nothing.json", "--trash"], 3, "docindex: nothing.json does not exist\n"),
        (
            ["text.txt", "--trash"],
            2,
            "text.txt is not a plan that dups --json wrote: it is not JSON: see line 1",
        ),
    ],
)
def test_act_explains_wrong_arguments(home, capsys, arguments, code, message):
    (home.parent / "text.txt").write_text("text")
    (home.parent / "plan.json").write_text('{"docindex-plan": 1, "groups": []}')
    found, out, err = run(capsys, "act", *arguments)
    assert (found, out) == (code, "")
    assert message in err


def test_without_an_index_the_error_says_how_to_make_one(home, capsys):
    for command in (["search", home / "reading room.txt"], ["info"], ["info", "--check"], ["pairs"]):
        code, out, err = run(capsys, *command)
        assert (code, out) == (3, "")
        assert err.startswith("docindex: there is no index at ")
        assert err.endswith("; docindex scan makes one\n")


def test_search_info_check_and_optimize(home, capsys):
    run(capsys, "scan", home)
    code, out, _ = run(capsys, "search", home / "reading room.txt")
    assert code == 0
    name = "home/old/reading room (1).txt"
    shares = "about 100% of your file is in it; about 100% of it is in your file; resemblance about 100%"
    assert out.startswith(f"{name}: {shares}\n")
    (home / "else").write_text("nothing of the kind")
    assert run(capsys, "search", home / "else")[:2] == (1, "no document shares text with this text\n")
    shown = run(capsys, "info")[1]
    assert "documents     6 (5 different texts)" in shown
    assert " in 1 segment\n" in shown
    assert json.loads(run(capsys, "info", "--json")[1])["documents"] == 6
    assert run(capsys, "info", "--check")[:2] == (0, "no damage found\n")
    assert run(capsys, "info", "--optimize")[0] == 0


@pytest.mark.parametrize("full", [False, True])
def test_a_report_names_folders_above_the_scanned_ones_only_if_asked(
    full, home, capsys, tmp_path, monkeypatch
):
    person = tmp_path / "Users" / "ada-lovelace"
    person.mkdir(parents=True)
    shutil.copytree(home, person / "Documents")
    shutil.copytree(home, tmp_path / "disk" / "Archive")
    monkeypatch.setenv("HOME", str(person))
    for roots in ([person / "Documents"], [person / "Documents", tmp_path / "disk" / "Archive"]):
        own = ["--index", f"{len(roots)}.docindex"]
        run(capsys, "scan", *own, *roots)
        assert run(capsys, "report", *own, "-o", "page.html", *(["--full-paths"] if full else []))[0] == 0
        page = (tmp_path / "page.html").read_text()
        assert ("ada-lovelace" in page) == full
        assert (str(tmp_path) in page) == full
        assert ("folder 2/" in page) == (len(roots) == 2 and not full)
        assert "letters/" in page


def test_a_report_is_written_whole_or_not_at_all(home, capsys, tmp_path):
    run(capsys, "scan", home)
    assert run(capsys, "report", "-o", "page.html") == (0, "page.html: 4 groups, 3 pairs of 4\n", "")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "reading room (1).txt" in page
    code, _, err = run(capsys, "report", "-o", "nowhere/page.html")
    assert (code, err.count("\n")) == (3, 1)
    code, _, err = run(capsys, "report", "-o", "/proc/page.html")
    assert (code, err) == (3, "docindex: /proc/page.html cannot be written: No such file or directory\n")
    code, out, err = run(capsys, "report", "--under", "nowhere", "-o", "page.html")
    assert (code, out) == (1, "")
    assert "the index has no documents under nowhere" in err
    assert (tmp_path / "page.html").read_text() == page
    (tmp_path / "page.html").chmod(0o600)
    assert run(capsys, "report", "--under", home / "letters", "-o", "page.html")[0] == 0
    assert "<strong>2</strong> documents" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    assert run(capsys, "report", "-o", "-")[1].startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".page")] == []
    (tmp_path / "link.html").symlink_to("page.html")
    assert run(capsys, "report", "-o", "link.html")[0] == 0
    assert (tmp_path / "link.html").is_symlink()
    code, _, err = run(capsys, "report", "-o", "/dev/full")
    assert (code, "the disk is full: the output cannot be written" in err) == (11, True)
    assert not Path("/dev/full").is_file()
    code, _, err = run(capsys, "report", "-o", "own.docindex")
    assert (code, "is the index; name another file" in err) == (2, True)
    assert run(capsys, "info", "--check")[0] == 0


def test_a_folder_that_was_never_scanned_is_named(home, capsys):
    run(capsys, "scan", home)
    remark = "docindex: nothing under nope is in the index; docindex scan adds its files\n"
    code, out, err = run(capsys, "dups", "--no-scan", "nope", home)
    assert (code, "frees 707 B" in out, err) == (0, True, remark)
    assert run(capsys, "dups", "--no-scan", "nope") == (1, "no copies and no similar texts\n", remark)
    assert run(capsys, "pairs", "--under", "nope") == (1, "no pairs\n", remark)
    assert run(capsys, "pairs", "--under", "home/letters")[2] == ""
    assert run(capsys, "dups", "--no-scan", "home/pictures")[2] == ""


def test_a_report_has_documents_of_any_key(tmp_path, capsys):
    (tmp_path / "essay.txt").write_text("a text that is in the index under two keys, and in no folder")
    for key in ("https://example.org/essay", "essay"):
        run(capsys, "add", "--key", key, tmp_path / "essay.txt")
    page = tmp_path / "page.html"
    assert run(capsys, "report", "-o", page) == (0, f"{page}: 0 groups, 1 pair\n", "")
    assert "<strong>2</strong> documents" in page.read_text()


def test_dups_finds_one_text_in_several_encodings(tmp_path, capsys):
    text = "Größe und Gewicht, Länge und Breite, Höhe und Tiefe; mehr ist über den Würfel nicht zu sagen."
    folder = tmp_path / "encodings"
    folder.mkdir()
    for encoding in ("utf-8", "utf-16", "cp1252", "utf-8-sig"):
        (folder / encoding).write_bytes(text.encode(encoding))
    code, out, _ = run(capsys, "dups", "--json", folder)
    (group,) = json.loads(out)["alike"]
    assert (code, group["kind"], len(group["files"])) == (0, "same words", 4)


def test_a_size_limit_hides_files_from_dups_and_keeps_them_indexed(home, capsys):
    run(capsys, "scan", home)
    _, out, _ = run(capsys, "dups", "--max-size", "100", home)
    assert out.endswith(
        "1 group of exact copies: removing the copies frees 80 B; 0 groups of similar texts\n"
    )
    assert "documents     6" in run(capsys, "info")[1]


def test_a_name_with_a_line_end_is_printed_on_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in ("a\n  keep  forged", "b\x1b[31m", "c\u202egpj"):
        (folder / name).write_text("the same")
    _, out, err = run(capsys, "dups", "odd")
    assert "odd/a\\x0a  keep  forged\n" in out
    assert "odd/b\\x1b[31m\n" in out
    assert "odd/c\\xe2\\x80\\xaegpj\n" in out
    code, _, err = run(capsys, "scan", "\x1b[31mnope")
    assert (code, "\x1b" in err) == (3, False)


def test_a_root_has_one_key_however_it_is_written(home, capsys):
    run(capsys, "scan", home)
    run(capsys, "scan", f"/{home}/")
    assert "documents     6" in run(capsys, "info")[1]
    code, _, err = run(capsys, "scan", "")
    assert (code, "a path is empty" in err) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell):
    environment = {**os.environ, "_DOCINDEX_COMPLETE": f"{shell}_source"}
    command = [sys.executable, "-c", "from docindex.cli import main; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "_DOCINDEX_COMPLETE" in done.stdout
    environment |= {"_DOCINDEX_COMPLETE": f"{shell}_complete", "COMP_WORDS": "docindex in", "COMP_CWORD": "1"}
    if shell == "fish":
        environment["COMP_CWORD"] = "in"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "info" in done.stdout


def test_a_letter_on_standard_input_is_read_in_its_format(tmp_path, capsys, monkeypatch):
    letter = docx_of(["A letter to the library about the old reading room and its lamps"])
    (tmp_path / "letter.docx").write_bytes(letter)
    assert run(capsys, "add", "--index", tmp_path / "index", tmp_path / "letter.docx")[0] == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(letter)))
    code, out, _ = run(capsys, "search", "--json", "--index", tmp_path / "index", "-")
    (found,) = json.loads(out)
    assert (code, found["containment"]) == (0, 1.0)


def test_pairs_between_two_folders_have_a_document_in_each(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "Nothing may be marked, traced or pressed against the glass of the machine. "
    for name in ("new/a.txt", "new/b.txt", "old/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text * 2 + name)
    assert main(["scan", "--quiet", "--index", "own.docindex", "new", "old"]) == 0
    question = ["pairs", "--quiet", "--index", "own.docindex", "--json"]
    capsys.readouterr()
    assert main([*question, "--between", "new", "old"]) == 0
    found = [(Path(pair["a"]).name, Path(pair["b"]).name) for pair in json.loads(capsys.readouterr().out)]
    assert found == [("a.txt", "c.txt"), ("b.txt", "c.txt")]
    assert main([*question, "--between", "new", "old", "--min-shared", "1000", "--rank", "shared"]) == 1
    assert main([*question, "--between", "new", "old", "--under", "new"]) == 2
    assert "--under and --between cannot be used together" in capsys.readouterr().err
