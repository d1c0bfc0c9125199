"""What the README shows is what happens."""

import re
import shlex
from pathlib import Path

from docindex.cli import main

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")


def test_every_command_in_the_readme_prints_what_the_readme_shows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(Path(__file__).parent.parent)
    monkeypatch.setenv("DOCINDEX", str(tmp_path / "own.docindex"))
    shown = re.findall(r"^    \$ docindex (.*)\n((?:(?:    (?!\$).*)?\n)+)", README, re.MULTILINE)
    assert shown
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == re.sub("^    ", "", output, flags=re.MULTILINE).rstrip("\n") + "\n"
