"""Test odd names, closed streams, contradicting options and missing packages: never a traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import docindex
from docindex.cli import main
from docindex.cli.typed_paths import typed_key

SAMPLES = Path(__file__).parents[1] / "samples"
TEXT = (SAMPLES / "draft.txt").read_bytes()
NAMES = ["caf\udce9.txt", "new\nline", r"\x41", "right\u202eleft", "\x1b[31m", "日本", "-v"]


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def odd(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("odd").mkdir()
    for name in NAMES:
        Path("odd", name).write_bytes(TEXT)
    return tmp_path


@pytest.mark.usefixtures("odd")
def test_a_name_that_was_printed_can_be_typed(capsys):
    run(capsys, "scan", "odd")
    _, out, _ = run(capsys, "dups", "--kind", "exact", "odd")
    printed = [line[8:] for line in out.splitlines() if line.startswith(("  keep  ", " " * 8))]
    assert len(printed) == len(NAMES)
    for name in printed:
        assert name.isprintable()
        for command in (["search", name], ["similar", name], ["compare", name, SAMPLES / "draft.txt"]):
            code, _, err = run(capsys, *command)
            assert (code, err) == (0, ""), (command, err)
    _, out, _ = run(capsys, "search", "--json", SAMPLES / "draft.txt")
    keys = [record["key"] for record in json.loads(out)]
    named = {typed_key(name) for name in printed[:3]}
    others = [key for key in keys if key not in named]
    assert (len(named), len(others)) == (3, len(NAMES) - 3)
    assert run(capsys, "remove", *printed[:3], *others)[0] == 0
    _, out, _ = run(capsys, "compare", "--json", printed[0], SAMPLES / "draft.txt")
    assert json.loads(out)["a"] in keys


def test_in_an_ascii_locale_names_are_printed_as_bytes(odd, capsys):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "docindex", "dups", "-q", "--kind", "exact", "odd"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, cwd=odd)
    name = rb"odd/\xe6\x97\xa5\xe6\x9c\xac"
    assert name in done.stdout
    run(capsys, "scan", "odd")
    assert run(capsys, "search", name.decode())[0] == 0


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "message"),
    [
        (">&-", ["compare"], 3, "stdout is closed"),
        ("2>&-", ["compare"], 0, ""),
        ("<&-", ["search", "-"], 1, ""),
        ("<&-", ["act", "--trash", "-"], 2, "not a plan that dups --json wrote: it is not JSON"),
    ],
)
def test_a_closed_stream_causes_no_traceback(closed, arguments, code, message):
    files = [str(SAMPLES / "draft.txt"), str(SAMPLES / "final.txt")]
    if arguments == ["compare"]:
        arguments = [*arguments, *files]
    assert main(["add", files[0]]) == 0
    program = ["bash", "-c", f'"$0" -m docindex "$@" {closed}', sys.executable, *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert message in done.stderr


def test_a_reader_may_close_the_pipe_during_the_help():
    command = f'"{sys.executable}" -m docindex dups --help | true'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.usefixtures("odd")
def test_options_that_contradict_each_other_change_nothing(capsys):
    _, plan, _ = run(capsys, "dups", "--json", "odd")
    Path("plan.json").write_text(plan)
    code, out, err = run(capsys, "act", "plan.json", "--trash", "--delete", "--no-dry-run")
    assert (code, out) == (2, "")
    assert "--trash and --delete cannot be used together; give only one of them" in err
    code, out, err = run(capsys, "info", "--csv", "--json")
    assert (code, out) == (2, "")
    assert "--json and --csv cannot be used together" in err
    assert len(list(Path("odd").iterdir())) == len(NAMES)


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [
        ("click", ["info"]),
        ("rich", ["compare", SAMPLES / "draft.txt", SAMPLES / "final.txt"]),
        ("jinja2", ["report", "-o", "page.html"]),
        ("click", ["--help"]),
    ],
)
def test_without_its_packages_the_command_says_what_to_install(
    capsys, monkeypatch, tmp_path, missing, arguments
):
    monkeypatch.chdir(tmp_path)
    assert main(["add", str(SAMPLES / "draft.txt")]) == 0
    capsys.readouterr()
    names = ("docindex.cli.", "docindex.folders", "docindex.report.", missing)
    monkeypatch.delattr(docindex, "folders", raising=False)
    for name in [name for name in sys.modules if name.startswith(names)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert (
        err == f"docindex: the command needs {missing}; in a checkout, install it with pip install '.[cli]'\n"
    )


def test_a_mistyped_index_is_not_created(tmp_path, capsys):
    for command in ("info --optimize", "remove x", "boilerplate --remove x", "dups --no-scan ."):
        code, out, err = run(capsys, *command.split(), "--index", tmp_path / "typo")
        assert (code, out) == (3, "")
        assert "there is no index at" in err
    assert not (tmp_path / "typo").exists()


def test_a_reference_folder_need_not_be_among_the_paths(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAMPLES / "home", "home")
    shutil.copytree("home/pictures", "archive")
    _, plan, _ = run(capsys, "dups", "--json", "--kind", "exact", "--reference", "archive", "home/pictures")
    groups = json.loads(plan)["groups"]
    assert groups
    for group in groups:
        for file in group["files"]:
            assert file["keep"] == ("/archive/" in file["key"])


def test_a_list_that_the_limit_cuts_says_so(capsys):
    main(["add", str(SAMPLES / "draft.txt"), str(SAMPLES / "final.txt")])
    main(["add", "--key", "third", str(SAMPLES / "final.txt")])
    capsys.readouterr()
    code, out, err = run(capsys, "pairs", "--json", "--min-resemblance", "0.3", "--limit", "2")
    assert (code, len(json.loads(out))) == (0, 2)
    assert err == "docindex: there are more than 2 pairs; --limit sets how many are listed\n"
    assert run(capsys, "pairs", "--min-resemblance", "0.3", "--limit", "3")[2] == ""


def test_any_sql_value_is_written_as_valid_json(tmp_path, capsys):
    statement = "select 1 as a, 2 as a, 1e999 as big, x'ff' as bytes, null as none"
    main(["add", str(SAMPLES / "draft.txt")])
    capsys.readouterr()
    code, out, _ = run(capsys, "sql", tmp_path / "own.docindex", statement, "--json")
    assert json.loads(out, parse_constant=lambda _: pytest.fail("not JSON")) == [
        {"a": 1, "a_2": 2, "big": "inf", "bytes": "ff", "none": None}
    ]
    assert code == 0
