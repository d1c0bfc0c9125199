"""Every command reads text files in the same way: the same encodings, the same refusals, the same options."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

import docindex
from docindex.cli import main

TEXT = (
    "Größe und Gewicht, Länge und Breite, Höhe und Tiefe; mehr ist über den Würfel nicht zu sagen. "
    "Wer mehr wissen möchte, fragt in der Bücherei nach den übrigen Bänden.\n"
)

# How each command that reads text files is called with one file.
COMMANDS = {
    "scan": ["scan"],
    "dups": ["dups"],
    "search": ["search"],
    "similar": ["similar"],
    "compare": ["compare", "original"],
    "add": ["add", "--key", "added"],
    "boilerplate": ["boilerplate", "--add"],
}
READ_BY_NAME = [name for name in COMMANDS if name not in ("scan", "dups")]
READ_FROM_A_PIPE = ["search", "similar"]
ENCODINGS = {
    "utf-8": (TEXT.encode(), None),
    "utf-8 with a mark": (TEXT.encode("utf-8-sig"), None),
    "utf-16": (TEXT.encode("utf-16"), None),
    "utf-32": (TEXT.encode("utf-32"), None),
    "latin-1": (TEXT.encode("latin-1"), "windows-1252"),
}
"""The bytes of a file, and the encoding that is guessed."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("original").write_text(TEXT, "utf-8")
    assert main(["add", "original"]) == 0
    return tmp_path


def run(capsys, *arguments):
    capsys.readouterr()
    code = main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def called(name, *options, file="file"):
    """The arguments that call a command with a file."""
    command, *arguments = COMMANDS[name]
    return [command, *options, *arguments, file]


def text_that_was_read(name, out):
    """Whether a command read `TEXT` from the file."""
    with docindex.open("own.docindex", readonly=True) as index:
        if name in ("scan", "dups"):
            return index.text(str(Path.cwd() / "file"))
        if name == "add":
            return index.text("added")
        if name == "boilerplate":
            (template,) = index.boilerplate
            return template.text
    found = json.loads(out)
    return TEXT if (found if name == "compare" else found[0])["resemblance"] == 1.0 else None


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_the_same_text(capsys, name, encoding):
    data, guess = ENCODINGS[encoding]
    Path("file").write_bytes(data)
    _, out, err = run(capsys, *called(name, "--json"))
    assert text_that_was_read(name, out) == TEXT
    assert "guess" not in err
    if guess is None:
        assert "guess" not in run(capsys, *called(name, "-v"))[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_verbose_names_a_guessed_encoding_on_stderr(capsys, name):
    Path("file").write_bytes(TEXT.encode("latin-1"))
    line = "docindex: file was read as windows-1252, which is a guess; --encoding sets it\n"
    _, out, err = run(capsys, *called(name, "-v"))
    assert err.count(line) == 1
    assert "a guess" not in out
    assert "guess" not in run(capsys, *called(name, "-v", "-q"))[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_forced_encoding_is_used_and_is_no_guess(capsys, name):
    for file in ("file", "original"):
        Path(file).write_bytes(TEXT.encode("cp850"))
    _, out, err = run(capsys, *called(name, "--json", "-v", "--encoding", "cp850"))
    assert text_that_was_read(name, out) == TEXT
    assert "guess" not in err


@pytest.mark.parametrize("name", ["scan", "dups"])
def test_a_forced_encoding_replaces_a_guess_even_if_the_file_is_unchanged(capsys, name):
    Path("file").write_bytes(TEXT.encode("cp850"))
    os.utime("file", ns=(10**18, 10**18))
    assert "file was read as cp850, which is a guess" in run(capsys, name, "-v", "file")[2]
    run(capsys, name, "--encoding", "latin-1", "file")
    _, out, err = run(capsys, name, "--encoding", "cp850", "file")
    assert "0 new, 1 changed, 0 moved, 0 gone, 0 unchanged\n" in out + err
    assert text_that_was_read(name, out) == TEXT


@pytest.mark.parametrize("name", READ_BY_NAME)
def test_a_binary_file_is_refused_in_one_sentence(capsys, name):
    Path("file").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert run(capsys, *called(name)) == (
        3,
        "",
        "docindex: file is not text, and not in a format that docindex reads; name another file, or give its "
        "--encoding\n",
    )


@pytest.mark.parametrize("name", READ_BY_NAME)
def test_a_file_in_an_unknown_encoding_is_refused_in_one_sentence(capsys, name):
    Path("file").write_bytes(b"\xe4\xf6\n")
    assert run(capsys, *called(name)) == (
        3,
        "",
        "docindex: file is not UTF-8, and no other encoding is certain enough; give its --encoding\n",
    )


@pytest.mark.parametrize("name", ["scan", "dups"])
def test_a_scan_counts_the_files_in_an_unknown_encoding_and_names_them_with_verbose(capsys, name):
    Path("file").write_bytes(b"\xe4\xf6\n")
    count = "unknown encoding: 1 text, counted among the other files; --encoding reads them"
    line = "docindex: the encoding of file is not known, so it has no text; --encoding sets it\n"
    _, out, err = run(capsys, name, "file")
    assert count + ", --verbose lists them\n" in out + err
    assert line not in err
    _, out, err = run(capsys, name, "--verbose", "file")
    assert count + "\n" in out + err
    assert err.count(line) == 1
    if name == "scan":
        assert json.loads(run(capsys, name, "--json", "file")[1])["undetected"] == [str(Path.cwd() / "file")]


@pytest.mark.parametrize("name", ["scan", "dups"])
def test_a_scan_adds_no_document_for_a_binary_file(capsys, name):
    Path("file").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    run(capsys, *called(name))
    with docindex.open("own.docindex", readonly=True) as index:
        assert list(index) == [str(Path.cwd() / "original")]


@pytest.mark.parametrize("name", READ_BY_NAME)
def test_a_file_that_is_not_in_the_forced_encoding_is_refused(capsys, name):
    Path("file").write_bytes(TEXT.encode("latin-1"))
    code, out, err = run(capsys, *called(name, "--encoding", "utf-8"))
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("docindex: file cannot be read: the bytes are not valid utf-8 (")


@pytest.mark.parametrize("name", ["scan", "dups"])
def test_a_scan_counts_a_file_that_is_not_in_the_forced_encoding(capsys, name):
    Path("file").write_bytes(TEXT.encode("latin-1"))
    _, out, err = run(capsys, *called(name, "-v", "--encoding", "utf-8"))
    assert "  file: the bytes are not valid utf-8 (" in out + err


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("encoding", ["utf-9", "hex", ""])
def test_an_unknown_encoding_is_one_sentence(capsys, name, encoding):
    code, out, err = run(capsys, *called(name, "--encoding", encoding, file="original"))
    assert (code, out) == (2, "")
    usage, line = err.splitlines()
    assert usage.startswith(f"Usage: docindex {name} ")
    assert line.startswith(f"docindex: --encoding: unknown encoding {encoding!r}; ")


@pytest.mark.parametrize("name", READ_FROM_A_PIPE)
def test_a_pipe_is_read_as_files_are(capsys, monkeypatch, name):
    def piped(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    for data, guess in ENCODINGS.values():
        piped(data)
        _, out, err = run(capsys, name, "--json", "-v", "-")
        assert text_that_was_read(name, out) == TEXT
        assert ("standard input was read as windows-1252, which is a guess" in err) == bool(guess)
    piped(b"\xe4\xf6")
    code, _, err = run(capsys, name, "-")
    assert (code, err.count("\n")) == (3, 1)
    assert err.startswith("docindex: standard input cannot be read: the bytes are not UTF-8, and no other")
    piped(b"\x89PNG\0")
    assert run(capsys, name, "-") == (
        3, "", "docindex: standard input is not plain text; pipe plain text, or name the file\n",
    )  # fmt: skip
    piped(TEXT.encode("latin-1"))
    code, _, err = run(capsys, name, "--encoding", "utf-8", "-")
    assert (code, err.count("\n")) == (3, 1)
    assert err.startswith("docindex: standard input cannot be read: the bytes are not valid utf-8 (")
