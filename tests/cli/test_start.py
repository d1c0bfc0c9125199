"""The command starts fast: its help and its version need neither the index nor numpy."""

import builtins
import inspect
import subprocess
import sys
from pathlib import Path

import click
import pytest

import docindex
from docindex.cli import main
from docindex.cli.command_list import COMMANDS
from docindex.cli.command_list import docindex as all_commands
from tests.reference import commands, summary

PACKAGE = Path(docindex.__file__).parent

# An empty package stands in for `docindex`, so that this counts only what the command itself imports.
PROGRAM = """
import sys, types
sys.modules["docindex"] = package = types.ModuleType("docindex")
package.__path__ = [sys.argv.pop(1)]
from docindex.cli import main
code = main(sys.argv[1:])
print("imported:", *sorted(sys.modules))
sys.exit(code)
"""


def imported_by(*arguments):
    """The modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(PACKAGE), *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("imported:")[2].split())


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"]])
def test_help_and_version_import_no_index(arguments):
    names = imported_by(*arguments)
    assert names.isdisjoint({"numpy", "apsw", "xxhash", "rich", "jinja2"})
    own = {name for name in names if name.startswith("docindex.")}
    assert {name for name in own if not name.startswith(("docindex.cli", "docindex.shown"))} <= {
        "docindex.errors",
        "docindex.version",
    }
    assert not [name for name in own if name.startswith("docindex.cli.commands.")]


def test_the_list_of_commands_has_the_summary_of_each_command():
    context = click.Context(all_commands)
    for name, entry in COMMANDS.items():
        command = all_commands.get_command(context, name)
        assert command.name == name
        assert summary(command) == entry.summary


def test_every_command_and_option_is_explained_in_sentences():
    for path, command in commands(all_commands):
        first, _, rest = inspect.cleandoc(command.help).partition("\n\n")
        assert first[0].isupper(), path
        assert first.endswith("."), path
        assert first.count(".") == 1, path
        assert f"  {path} " in f"{rest} ".replace("\n", " \n"), f"{path} has no example"
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                name = f"{path} {parameter.opts[-1]}"
                assert parameter.help, name
                assert parameter.help[0].isupper(), name
                assert parameter.help.endswith("."), name


def test_ctrl_c_during_the_imports_is_one_line(capsys, monkeypatch):
    real = builtins.__import__

    def interrupted(name, *arguments, **options):
        if name == "docindex.cli.command_list":
            raise KeyboardInterrupt
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert main(["--version"]) == 130
    assert capsys.readouterr() == ("", "docindex: interrupted\n")


def test_exact_copies_are_found_without_an_index(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"the same bytes")
    monkeypatch.setenv("DOCINDEX", str(tmp_path / "own.docindex"))
    names = imported_by("dups", "-q", "--kind", "exact", str(tmp_path))
    assert names.isdisjoint({"numpy", "apsw", "rich", "jinja2", "docindex.opening"})
    assert names.isdisjoint({"json", "ctypes", "docindex.frontends", "docindex.folders.planning.plan"})
    assert not (tmp_path / "own.docindex").exists()
