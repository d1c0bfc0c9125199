"""Test every command three times: the text for people, the output for programs, and one error."""

import csv
import io
import json
import os
import re
import shutil
from pathlib import Path

import pytest
import xxhash

from docindex.cli import main
from docindex.cli.command_list import docindex as all_commands
from tests.reference import commands

SAMPLES = Path(__file__).parents[1] / "samples"
DRAFT, FINAL = (str(SAMPLES / name) for name in ("draft.txt", "final.txt"))
SCAN, ADD = ["scan", "home"], ["add", DRAFT, FINAL]
RULES = ["boilerplate", "--add", FINAL]
DIGEST = xxhash.xxh3_128_hexdigest(b"the same")


def has(**expected):
    """A check that a JSON object has these values."""
    return lambda found: {name: found[name] for name in expected} == expected


def first_has(**expected):
    """A check that the first of several JSON objects has these values."""
    return lambda found: has(**expected)(found[0])


# For each command, and what it does in brackets: the commands to run before it, its arguments, how its text
# begins, a check of its JSON; then wrong arguments, their exit code, and a part of the error message.
CASES = {
    "scan": ([], ["home"], r"9 files, 3.1 kB: 6 texts, 3 other files\n9 new",
             lambda found: found["texts"] == 6, ["nothing"], 3, "cannot be read: No such file"),
    "dups": ([], ["home"], "exact copies: 2 files of 627 B; removing one frees 627 B\n  keep ",
             lambda found: len(found["groups"]) == len(found["alike"]) == 2,
             ["--keep", "best", "home"], 2, "'best' is not one of 'original', 'newest'"),
    "act": ([], ["plan.json", "--delete"],
            r"would be deleted: b \(same as a\)\nwould be deleted: 1 file, 8 B; left as they are: 0; frees",
            first_has(outcome="would be done", size=8),
            ["nothing.json", "--delete"], 3, "nothing.json does not exist"),
    "undo": ([], ["--journal", "journal"],
             "would be restored: c\nwould be restored: 1 file, 8 B; not restored: 0\nnothing was changed",
             first_has(outcome="would be undone"),
             ["--journal", "home"], 2, "'home' is a directory"),
    "search": ([ADD], [DRAFT], ".*draft.txt: about 100% of your file is in it; about 100% of it is in your",
               first_has(containment=1.0, reverse_containment=1.0),
               ["nothing"], 3, "nothing cannot be read: No such file"),
    "similar": ([ADD], [DRAFT], ".*draft.txt: 100% of your file is in it; ",
                first_has(resemblance=1.0, key=DRAFT),
                ["nothing"], 3, "nothing cannot be read: No such file"),
    "sources": ([ADD], [DRAFT], r".*final.txt: adds 81% of your file\n19% of .*draft.txt is in no document",
                first_has(key=FINAL, basis="passages", copies=[]),
                ["nothing"], 3, "nothing cannot be read: No such file"),
    "compare": ([], [DRAFT, FINAL], r"72% of A is in B; 59% of B is in A; resemblance 48%\n  A  .*\n  B ",
                has(shared_fingerprints=14),
                [DRAFT, "nothing"], 3, "nothing cannot be read: No such file"),
    "pairs": ([ADD], ["--min-resemblance", "0.3"],
              "72% of A is in B; 59% of B is in A; resemblance 48%\n",
              first_has(a=DRAFT, b=FINAL), ["--limit", "0"], 2, "0 is not in the range"),
    "report": ([SCAN], ["-o", "page.html"], r"page.html: 4 groups, 3 pairs of 4\n$", has(groups=4, pairs=3),
               ["-o", "no/page.html"], 3,
               "no/page.html cannot be written: the folder .*/no does not exist; create it first"),
    "add": ([], [DRAFT], r"added: 1 document\n$", has(added=1),
            ["picture"], 3, "picture is not text, and not in a format that docindex reads"),
    "remove": ([ADD, ["add", "--key", "x", FINAL]], [DRAFT, "x"], r"removed: 2 documents\n$",
               has(removed=2, missing=[]), [], 2, "Missing argument 'KEY...'"),
    "boilerplate": ([RULES], [], r".*final.txt  \(\d+ characters\)\n$", first_has(name=FINAL),
                    ["--index", "plan.json"], 4, "is not an SQLite file; name a docindex index"),
    "boilerplate (add)": ([], ["--add", FINAL], r"added: .*final.txt\n$", has(added=FINAL),
                          ["--add", "nothing"], 3, "nothing cannot be read: No such file"),
    "boilerplate (remove)": ([RULES], ["--remove", FINAL], r"removed: .*final.txt\n$",
                             first_has(removed=FINAL),
                             ["--remove", "x", "--add", "y"], 2, "--add and --remove cannot be used tog"),
    "sql": ([ADD], ["own.docindex", "select count(*) as n from docindex_document"], r"n\n2\n$",
            lambda found: found == [{"n": 2}],
            ["own.docindex", "select nothing"], 2, "near .nothing.: syntax error"),
    "config": ([], [], r".*/docindex/config.toml \(not made yet; --edit makes it\)\n$", has(exists=False),
               ["more"], 2, "unexpected extra argument"),
    "info": ([ADD], [], "file          .*\ndocuments     2 ", has(documents=2),
             ["--index", "nothing"], 3, "there is no index at .*nothing; docindex scan makes one"),
    "info (check)": ([ADD], ["--check"], "no damage found", lambda found: found == [],
                     ["--index", "plan.json"], 4, "is not an SQLite file; name a docindex index"),
    "info (optimize)": ([ADD], ["--optimize"], r"[\d.]+ kB before, [\d.]+ kB now\n$",
                        lambda found: found["bytes_now"] <= found["bytes_before"],
                        ["--check", "--optimize"], 2, "--check and --optimize cannot be used together"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    shutil.copytree(SAMPLES / "home", tmp_path / "home")
    for name in ("a", "b"):
        (tmp_path / name).write_text("the same")
    files = [
        {"key": str(tmp_path / name), "keep": name == "a", "size": 8, "mtime_ns": -1,
         "device": found.st_dev, "inode": found.st_ino}
        for name in ("a", "b") if (found := (tmp_path / name).stat())
    ]  # fmt: skip
    group = {"files": files, "digest": DIGEST, "reclaimable": 8}
    (tmp_path / "plan.json").write_text(json.dumps({"docindex-plan": 1, "groups": [group]}))
    step = {"begun": "delete", "step": "1", "act": "1", "at": 1.0, "size": 8,
            "inode": [0, 0], "kept_inode": [0, 0], "disk": [tmp_path.stat().st_dev, 0],
            "kept_path": str(tmp_path / "a"), "key": str(tmp_path / "c"), "kept": str(tmp_path / "a"),
            "digest": DIGEST, "mtime_ns": 0, "mode": 0o644, "aside": str(tmp_path / ".docindex-1"),
            "owner": [os.getuid(), os.getgid()], "attributes": {}}  # fmt: skip
    (tmp_path / "journal").write_text(json.dumps(step) + "\n")
    (tmp_path / "picture").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    code = main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def prepared(capsys, name):
    """Run the commands that a case needs first, and return the rest of the case."""
    before, *case = CASES[name]
    for arguments in before:
        assert run(capsys, *arguments)[0] == 0
    return case


def test_every_command_has_a_case():
    # The review is interactive, and is tested in test_review.py.
    assert {path.removeprefix("docindex ") for path, _ in commands(all_commands)} == {
        *(name.split()[0] for name in CASES),
        "review",
    }


@pytest.mark.parametrize("name", CASES)
def test_people_get_text_and_programs_get_json_and_csv(capsys, name):
    arguments, text, is_right, *_ = prepared(capsys, name)
    code, out, _ = run(capsys, name.split()[0], *arguments)
    assert code == 0
    assert re.match(text, out), out
    prepared(capsys, name)
    code, out, err = run(capsys, name.split()[0], "--json", *arguments)
    assert code == 0
    assert err == ""
    found = json.loads(out)
    assert is_right(found), found
    prepared(capsys, name)
    _, lines, _ = run(capsys, name.split()[0], "--jsonl", *arguments)
    assert all(isinstance(json.loads(line), dict) for line in lines.splitlines())
    prepared(capsys, name)
    _, table, _ = run(capsys, name.split()[0], "--csv", *arguments)
    rows, records = (
        list(csv.DictReader(io.StringIO(table))),
        [json.loads(line) for line in lines.splitlines()],
    )
    if name == "dups":  # its table has a row for each file
        assert len(rows) == sum(len(record["files"]) for record in records)
        return
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        nested = {field: value for field, value in record.items() if isinstance(value, (list, dict))}
        assert {field: json.loads(row[field]) for field in nested} == nested


@pytest.mark.parametrize("name", CASES)
def test_an_error_is_one_sentence_on_stderr_and_an_exit_code(capsys, name):
    *_, arguments, expected, message = prepared(capsys, name)
    code, out, err = run(capsys, name.split()[0], *arguments)
    assert (code, out) == (expected, "")
    *usage, line = err.splitlines()
    assert re.match("docindex: ", line)
    assert re.search(message, line), line
    assert all(one.startswith("Usage: docindex") for one in usage)
    assert "Traceback" not in err


@pytest.mark.parametrize("name", [*CASES, "review"])
def test_help_names_the_command_and_gives_examples(capsys, name):
    code, out, err = run(capsys, name.split()[0], "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: docindex {name.split()[0]} ")
    assert f"  docindex {name.split()[0]}" in out.partition("Example")[2]


def test_without_a_command_the_help_is_shown(capsys):
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    for name in CASES:
        assert re.search(rf"^  {name.split()[0]} +[A-Z].*\.$", out, re.MULTILINE), name
    assert run(capsys, "scna")[2].endswith("docindex: there is no command 'scna'; did you mean scan?\n")
    assert run(capsys, "xyz")[2].endswith("docindex: there is no command 'xyz'; docindex --help lists them\n")
    assert re.fullmatch(r"docindex \d+\.\d+.*\n", run(capsys, "--version")[1])


def test_debug_shows_a_traceback_before_or_after_the_command(capsys):
    for arguments in (["--debug", "info"], ["info", "--debug"]):
        code, _, err = run(capsys, *arguments)
        assert code == 3
        assert "Traceback" in err
        assert err.splitlines()[-1].startswith("docindex: there is no index at")
    code, _, err = run(capsys, "info", "--debug", "extra")
    assert code == 2
    assert "Traceback" not in err
