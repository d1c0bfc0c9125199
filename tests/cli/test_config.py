"""Settings in a file of a person: read by every command, explained when they are wrong."""

import json
import os
import sys
from pathlib import Path

import pytest

from docindex.cli import main
from docindex.cli import settings as settings_module
from docindex.cli.settings import TEMPLATE, settings_in
from docindex.folders import KEEP


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "XDG_CONFIG_HOME" / "docindex" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    for name in ("papers/a.txt", "archive/a.txt", "desk/a.txt", "desk/a.bak", "elsewhere/a.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("one text in several folders")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return home


def test_the_template_is_valid_with_and_without_its_comments():
    assert settings_in(TEMPLATE.encode(), "config.toml")[2:] == ((), (), (), (), None, None)
    lines = [line.removeprefix("# ") if " = " in line else line for line in TEMPLATE.splitlines()]
    settings = settings_in("\n".join(lines).encode(), "config.toml")
    assert all(settings)
    assert settings.keep in KEEP
    assert settings_module._RULES == KEEP
    assert settings.folders[0] == str(Path("~/Documents").expanduser())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nfolders = ["~/a"\nkeep = "first"', "line 3: "),
        ("keep = newest", "line 1: "),
        ('\nfolder = ["/a"]', "line 2: there is no setting 'folder'; did you mean 'folders'?"),
        ("# a\n\n[tidy]\nx = 1", "line 3: there is no setting 'tidy'; the settings are folders, exclude"),
        ('exclude = "*.bak"', 'line 1: exclude must be a list of strings, such as ["a", "b"]'),
        ("folders = [1]", "line 1: folders must be a list of strings"),
        ('keep = "best"', "line 1: keep must be one of original, newest, oldest, shortest-path, first, not"),
        ('\n\nprefer = ["Papers"]', "line 3: the path 'Papers' of prefer must be absolute, or begin with ~"),
        ("index = 5", 'line 1: index must be a string, such as "a"'),
        ("a = 1\nb = '\xff'", "line 2: it is not UTF-8"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_with_its_line(text, message, config, home, capsys):
    config.write_bytes(text.encode("latin-1"))
    for command in (["dups", home], ["config"]):
        code, out, err = run(capsys, *command)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"docindex: {config}, {message}")


def test_dups_uses_the_folders_and_preferences_of_the_settings(config, home, capsys):
    config.write_text('folders = ["~/papers", "~/desk"]\nexclude = ["*.bak"]\nreference = ["~/archive"]\n')
    code, out, _ = run(capsys, "dups", "--json", "--kind", "exact")
    (group,) = json.loads(out)["groups"]
    assert code == 0
    assert [(os.path.relpath(file["key"], home), file["keep"]) for file in group["files"]] == [
        ("archive/a.txt", True),
        ("desk/a.txt", False),
        ("papers/a.txt", False),
    ]
    assert "elsewhere" in run(capsys, "dups", "--kind", "exact", "elsewhere", "papers")[1]
    config.write_text('prefer = ["~/desk"]\nkeep = "newest"')
    _, out, _ = run(capsys, "dups", "--kind", "exact", ".", "--exclude", "*.bak")
    assert "  keep  desk/a.txt\n" in out
    assert "  kept: in a preferred folder\n" in out
    _, out, _ = run(capsys, "dups", "--kind", "exact", ".", "--prefer", "papers", "--exclude", "*.bak")
    assert "  keep  papers/a.txt\n" in out


def test_the_index_of_the_settings_is_used_unless_another_is_named(config, home, capsys, monkeypatch):
    config.write_text('index = "~/own.index"')
    run(capsys, "scan", "papers")  # DOCINDEX names an index
    assert not (home / "own.index").exists()
    monkeypatch.delenv("DOCINDEX")
    run(capsys, "scan", "papers")
    assert (home / "own.index").exists()
    shown = run(capsys, "info")[1]
    assert f"file          {home / 'own.index'}\n" in shown
    assert f"settings      {config}\n" in shown


def test_edit_makes_the_file_with_comments_and_opens_it(capsys, monkeypatch, tmp_path):
    editor = tmp_path / "editor.py"
    editor.write_text("import sys; open(sys.argv[1], 'a').write('exclude = [\"*.tmp\"]\\n')")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    path = tmp_path / "XDG_CONFIG_HOME" / "docindex" / "config.toml"
    assert run(capsys, "config")[1] == f"{path} (not made yet; --edit makes it)\n"
    code, out, _ = run(capsys, "config", "--edit")
    assert (code, out) == (0, f"{path}\nexclude    *.tmp\n")
    assert path.read_text() == TEMPLATE + 'exclude = ["*.tmp"]\n'
    editor.write_text("import sys; open(sys.argv[1], 'a').write('exclude')")
    code, _, err = run(capsys, "config", "--edit")
    assert (code, "line" in err) == (2, True)
    assert json.loads(run(capsys, "config", "--json")[1] or "{}") == {}


def test_an_editor_that_fails_is_named(config, capsys, monkeypatch):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "false")
    code, _, err = run(capsys, "config", "--edit")
    assert code == 3
    assert err == (
        f"docindex: the editor failed (false: Editing failed); open {config} in another one, or set EDITOR\n"
    )


@pytest.mark.parametrize("value", ["[" * 5000, "9" * 5000])
def test_a_value_that_is_nested_too_deep_or_too_long_is_one_sentence(value, config, home, capsys):
    config.write_text(f"folders = {value}")
    code, out, err = run(capsys, "dups", home)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "too long or too deeply nested" in err
