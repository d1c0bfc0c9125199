"""What the README shows is what happens."""

import re
import shlex
from pathlib import Path

from docindex import errors
from docindex.cli import main
from docindex.cli.output import EXIT_CODES, INTERRUPTED, UNKNOWN
from tests.reference import BEGIN, END, written

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")


def test_every_command_in_the_readme_prints_what_the_readme_shows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(Path(__file__).parent.parent)
    monkeypatch.setenv("DOCINDEX", str(tmp_path / "own.docindex"))
    shown = re.findall(r"^    \$ docindex (.*)\n((?:(?:    (?!\$).*)?\n)+)", README, re.MULTILINE)
    assert shown
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == re.sub("^    ", "", output, flags=re.MULTILINE).rstrip("\n") + "\n"


def test_the_reference_of_commands_is_what_the_commands_say():
    assert BEGIN in README
    assert END in README
    assert written() == README, "say python -m tests.reference"


def test_every_error_has_an_exit_code_and_the_readme_names_it():
    own = {one for one in vars(errors).values() if isinstance(one, type) and one is not errors.DocIndexError}
    assert own - {errors.FileError} <= set(EXIT_CODES)
    named = README.partition("Exit codes: ")[2].partition("\n\n")[0]
    for code in {*EXIT_CODES.values(), INTERRUPTED, UNKNOWN, 0}:
        assert re.search(rf"\b{code}\b", named), code
