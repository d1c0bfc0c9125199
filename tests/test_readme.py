"""The README agrees with what the commands do."""

import re
import shlex
from pathlib import Path

from docindex import errors
from docindex.cli import main
from docindex.cli.command_list import docindex
from docindex.cli.exit_codes import DONE, EXIT_CODES, INTERNAL, INTERRUPTED, MEANINGS
from tests.reference import BEGIN, END, commands, summary, written

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")


def test_every_command_in_the_readme_prints_what_the_readme_shows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(Path(__file__).parent.parent)
    monkeypatch.setenv("DOCINDEX", str(tmp_path / "own.docindex"))
    shown = re.findall(r"^    \$ docindex (.*)\n((?:(?:    (?!\$).*)?\n)+)", README, re.MULTILINE)
    assert shown
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == re.sub("^    ", "", output, flags=re.MULTILINE).rstrip("\n") + "\n"


def test_every_command_has_one_line_in_the_readme():
    for path, command in commands(docindex):
        line = f"| `{path}` | {summary(command)} |"
        assert README.splitlines().count(line) == 1, f"{line}: run python -m tests.reference"


def test_the_table_of_commands_is_up_to_date():
    assert BEGIN in README
    assert END in README
    assert written() == README, "run python -m tests.reference"


def test_every_error_has_an_exit_code_and_every_code_is_explained(capsys):
    own = {one for one in vars(errors).values() if isinstance(one, type) and one is not errors.DocIndexError}
    assert own - {errors.FileError} <= set(EXIT_CODES)
    assert set(MEANINGS) == {*EXIT_CODES.values(), INTERRUPTED, INTERNAL, DONE}
    assert "`docindex --help` explains the exit codes" in README
    assert main(["--help"]) == 0
    named = capsys.readouterr().out.partition("Exit codes:")[2]
    for code, meaning in MEANINGS.items():
        assert re.search(rf"^ +{code}  {meaning}$", named, re.MULTILINE), code
