"""No name or text reaches a terminal with a character that it obeys, and none runs in a spreadsheet."""

import csv
import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import zipfile
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from docindex.__main__ import run_command
from docindex.cli import main
from tests import fork_server

BAD = "".join(map(chr, (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))))
HARMFUL = re.compile(f"[\0-\x09\x0b-\x1f\x7f-\x9f{BAD}\ud800-\udfff]|\nFORGED")
"""The characters, and a line that a name has added."""

# What rich itself writes: colours, and the bar that it draws again and again. No hostile name has these.
OWN = re.compile(r"\x1b\[(?:\?25[lh]|2K|1A|(?!8m)[0-9;]*m)|\r+(?=\n|\x1b\[2K|\x1b\[1A|\Z)")

CODES = ("\x1b]0;PWN\x07", "\x1b[2J", "\x1b[8m", "\x9b31m", "\x9d0;PWN\x9c", "\x7f\b\r\v\f\t", BAD)
NAMES = [
    *(os.fsencode(f"{number}{codes}.txt") for number, codes in enumerate(CODES)),
    b"line\nFORGED.txt",
    b"lone \x9b \xff.txt",
    b"=1+1.txt",
]
WORDS = "The reading room opens at nine in the morning and closes at six, except on the days before a feast. "
TEXT = "".join(f"{WORDS}{codes} and a {codes} word.\n" for codes in CODES) * 3
ODD = "".join(CODES) + "\nFORGED"

SQL = f"""select key, text, 1 as "{ODD}", '{ODD}' from doc_index"""
FILE = b"odd/" + NAMES[0]
OTHER = b"odd/" + NAMES[6]

TEXT_ONLY, TABLE, ALL = [[]], [[], ["--csv"]], [[], ["--csv"], ["--json"], ["--jsonl"]]
# Arguments; and the forms in which the results are printed, or the keys that are typed.
CASES = {
    "scan": (["scan", "-v", "--archives", "--encoding", "utf-8", "odd"], TABLE),
    "scan of an unknown encoding": (["scan", "-v", "--retry", "odd"], TEXT_ONLY),
    "dups": (["dups", "odd"], ALL),
    "dups -v": (["dups", "-v", "--encoding", "utf-8", "--keep", "newest", "odd"], TABLE),
    "act": (["act", "plan.json", "--delete"], TABLE),
    "undo": (["undo"], TEXT_ONLY),
    "undo --list": (["undo", "--list"], TEXT_ONLY),
    "search": (["search", "-v", "--encoding", "utf-8", FILE], TABLE),
    "similar": (["similar", "-v", "--encoding", "utf-8", FILE], TABLE),
    "sources": (["sources", "-v", "--encoding", "utf-8", FILE], TABLE),
    "compare": (["compare", "-v", "--encoding", "utf-8", FILE, OTHER], TABLE),
    "compare --diff": (["compare", "-v", "--diff", "--encoding", "utf-8", FILE, OTHER], ALL),
    "pairs": (["pairs"], TABLE),
    "pairs --code": (["pairs", "-v", "--code", "code"], TABLE),
    "report": (["report", "--title", "".join(CODES), "-o", "-"], TEXT_ONLY),
    "report to a file": (["report", "-o", b"page" + NAMES[0]], TABLE),
    "add": (["add", "--key", ODD, "--encoding", "utf-8", FILE], TABLE),
    "remove": (["remove", ODD, OTHER], TEXT_ONLY),
    "boilerplate": (["boilerplate"], TABLE),
    "boilerplate --add": (["boilerplate", "--encoding", "utf-8", "--add", FILE], TEXT_ONLY),
    "boilerplate --remove": (["boilerplate", "--remove", f"no {ODD}"], TABLE),
    "sql": (["sql", "own.docindex", SQL], ALL),
    "an error of sql": (["sql", "own.docindex", f'select "{ODD}" from nothing'], TABLE),
    "shell": (["sql", "own.docindex"], "select key, text from doc_index;\n.mode line\n"
              "select key, text from doc_index;\n.exit\n"),
    "info": (["info", "--index", f"{ODD}.docindex"], TABLE),
    "check": (["info", "--check", "--index", f"{ODD}.docindex"], TEXT_ONLY),
    "config": (["config"], TEXT_ONLY),
    "review": (["review", "plan.json"], "flq" + "nnnn" + "q"),
    "review of a folder": (["review", "odd"], "aq"),
    "nothing there": (["scan", ODD], TEXT_ONLY),
    "one of two roots is missing": (["scan", ODD, "odd"], TEXT_ONLY),
    "no such file": (["compare", "--debug", "".join(CODES), "none"], TEXT_ONLY),
    "no such command": ([ODD], TEXT_ONLY),
    "no such choice": (["dups", "--keep", ODD], TEXT_ONLY),
    "no such option": (["dups", f"--{ODD}"], TEXT_ONLY),
    "no such index": (["pairs", "--index", f"{ODD}/none"], TEXT_ONLY),
    "no such encoding": (["search", "--encoding", ODD, FILE], TEXT_ONLY),
    "no such plan": (["act", f"{ODD}.json", "--trash"], TEXT_ONLY),
}  # fmt: skip
FAILING = {name for name in CASES if name.startswith(("no ", "nothing ", "one of two ", "an error "))}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with hostile names and texts, and an index of it."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "odd").mkdir()
    for number, name in enumerate(NAMES):
        (folder / "odd" / os.fsdecode(name)).write_bytes((TEXT + f"copy {number // 2}\n" * 9).encode())
    for number in range(3):  # without what makes a file binary
        (folder / "odd" / f"{number}{BAD}.txt").write_text(f"{WORDS * 5}{BAD}{number}\x85\n" * 3)
    (folder / "odd" / f"empty {ODD}").touch()
    (folder / "odd" / "unknown \x1b]0;PWN\x07").write_bytes(b"\xe4\xf6\n")
    (folder / "odd" / f"broken {ODD}").symlink_to(f"nowhere {ODD}")
    with zipfile.ZipFile(folder / "odd" / "a.zip", "w") as archive:
        archive.writestr(f"part {ODD}.txt", WORDS * 3)
    for name in ("one", "two"):
        (folder / "code" / f"{name}{ODD}").mkdir(parents=True)
        (folder / "code" / f"{name}{ODD}" / f"{ODD}.py").write_text(
            "def add(a, b):\n    return a + b * 2\n" * 9
        )
    settings = folder / "config" / "docindex"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(f"exclude = [{json.dumps(ODD).replace(chr(127), '')}]\n")
    environment = {
        **{f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("config", "data", "state")},
        "DOCINDEX": str(folder / "own.docindex"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in environment.items():
            patch.setenv(name, value)
        assert main(["scan", "-q", "--archives", "--encoding", "utf-8", "odd"]) == 0
        assert main(["boilerplate", "-q", "--encoding", "utf-8", "--add", os.fsdecode(FILE)]) == 0
        shutil.copytree("odd", "acted", symlinks=True)
        for name in ("acted", "odd"):
            command = [sys.executable, "-m", "docindex", "dups", "-q", "--json", "--kind", "exact", name]
            Path("plan.json").write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
            if name == "acted":
                assert main(["act", "plan.json", "--delete", "--no-dry-run"]) == 0
        shutil.copy("own.docindex", f"{ODD}.docindex")
    return folder, environment


def run_at(terminal, folder, environment, arguments):
    """Run a command in this process, a child of the fork server, as a shell starts it in a terminal."""
    for stream in range(3):
        os.dup2(terminal, stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.stdout.reconfigure(line_buffering=True)
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv[1:] = map(os.fsdecode, arguments)
    sys.exit(run_command())


def at_terminal(folder, environment, arguments, keys):
    """The exit code of a command, and what it shows, if its standard streams are one terminal."""
    ours, theirs = pty.openpty()
    with Connection(theirs) as terminal:
        environment = {**environment, "TERM": "xterm-256color", "COLUMNS": "200"}
        process = fork_server.start(run_at, terminal, folder, environment, arguments)
    shown, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([ours], [], [], 0.3)
        if ready:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            shown += piece
        elif keys:
            key, keys = (keys, "") if "\n" in keys else (keys[0], keys[1:])
            os.write(ours, key.encode())
    os.close(ours)
    process.join(10)
    return process.exitcode, shown.decode("utf-8", "surrogateescape")


def harm_in(shown):
    """What harms in a text that was shown: with the text before it."""
    shown = OWN.sub("", shown)
    return [shown[max(0, found.start() - 60) : found.end()] for found in HARMFUL.finditer(shown)]


@pytest.mark.parametrize("name", CASES)
def test_a_terminal_gets_no_character_that_it_obeys(made, name):
    folder, environment = made
    arguments, forms = CASES[name]
    keys, forms = (forms, [[]]) if isinstance(forms, str) else ("", forms)
    for form in forms:
        code, shown = at_terminal(folder, environment, [*arguments, *form], keys)
        assert (code > 1) == (name in FAILING)
        assert "internal error" not in shown
        if name == "shell":  # it moves the cursor while a line is typed, and prints several lines of a cell
            shown = re.sub(r"\x1b\[\?2004[hl]\r?|\r?\nFORGED", "", shown)
        assert harm_in(shown) == [], form


def table_in_a_file(folder, environment, *arguments):
    """The bytes of a table that the shell has sent to a file, and the records in it."""
    with (folder / "table.csv").open("wb") as file:
        command = [sys.executable, "-m", "docindex", *arguments, "-q", "--csv"]
        subprocess.run(command, cwd=folder, env={**os.environ, **environment}, stdout=file, check=True)
    data = (folder / "table.csv").read_bytes()
    return data, list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


FORMULAS = ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "\n=1", " =1", "＝1", "＋1", "－1", "＠1", "'=1"]


def test_a_table_in_a_file_has_the_mark_of_utf_8_and_no_formulas(made):
    folder, environment = made
    sql = """select value as "=name", -1 as number, 'plain' as "größe" from json_each(?)"""
    data, records = table_in_a_file(folder, environment, "sql", "own.docindex", sql, json.dumps(FORMULAS))
    assert data.startswith(b"\xef\xbb\xbf'=name,number,")
    assert [record["'=name"] for record in records] == [f"'{name}" for name in FORMULAS]
    assert {(record["number"], record["größe"]) for record in records} == {("-1", "plain")}


def test_a_table_in_a_pipe_has_the_exact_names_and_no_mark(made):
    folder, environment = made
    names = [*FORMULAS, *CODES, "line\nFORGED"]
    command = [sys.executable, "-m", "docindex", "sql", "-q", "own.docindex", "--csv"]
    command += ["select value as name from json_each(?)", json.dumps(names)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True
    )
    assert done.stdout.startswith(b"name\n")
    records = csv.DictReader(io.StringIO(done.stdout.decode(), newline=""))
    assert [record["name"] for record in records] == names
