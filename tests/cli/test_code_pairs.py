"""Test ``docindex pairs --code``: the programs of a class, their templates, and those of last year."""

import json

import pytest

from docindex.cli import main
from tests.reading.forty_functions import FUNCTIONS
from tests.reading.test_disguised_code import commented, renamed

JAVA = FUNCTIONS["Java"]
GIVEN = "\n".join(JAVA[7:10])


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")


@pytest.fixture
def homework(tmp_path, monkeypatch):
    """Ada's program in two files; Bob's copy of it, disguised, in one file; Cleo's own program."""
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path / "homework",
        {
            "ada/src/Sort.java": "\n".join(JAVA[:2]),
            "ada/src/Sieve.java": JAVA[2],
            "ada/notes.txt": JAVA[5],
            "bob/Main.java": "// mine\r\n" + "\r\n".join(renamed("Java", JAVA[at]) for at in range(3)),
            "cleo/Main.java": "\n".join(JAVA[4:6]),
            "dora.py": "\n".join(FUNCTIONS["Python"]),
        },
    )
    return tmp_path


def found(capsys, *options):
    assert main(["pairs", "--code", "homework", "--json", "--quiet", *options]) == 0
    return json.loads(capsys.readouterr().out)


def names(pairs):
    return [tuple(pair[side].split("/")[-1] for side in "ab") for pair in pairs]


@pytest.mark.usefixtures("homework")
def test_a_submission_is_all_source_files_of_a_folder_or_one_file(capsys):
    assert main(["pairs", "--code", "homework"]) == 0
    shown = capsys.readouterr()
    assert "4 submissions" in shown.err
    assert "homework/ada" in shown.out
    assert "homework/bob" in shown.out
    assert "cleo" not in shown.out


@pytest.mark.usefixtures("homework")
def test_a_disguised_copy_in_other_files_is_found(capsys):
    (pair,) = found(capsys)
    assert names([pair]) == [("ada", "bob")]
    assert pair["containment"] > 0.9
    assert main(["pairs", "--code", "homework", "--raw"]) == 1
    assert "no pairs" in capsys.readouterr().out


@pytest.mark.usefixtures("homework")
def test_passages_are_told_by_file_and_line(capsys):
    (pair,) = found(capsys, "--verbose")
    longest = pair["passages"][0]
    # The comment is line 1 of Main.java.
    assert longest["a"] == "src/Sort.java lines 1 to 25"
    assert longest["b"] == "Main.java lines 2 to 26"
    assert ("src/Sieve.java lines 1", "Main.java lines 27") in {
        (passage["a"].split(" to ")[0], passage["b"].split(" to ")[0]) for passage in pair["passages"]
    }
    assert main(["pairs", "--code", "homework", "--verbose"]) == 0
    assert "src/Sort.java lines 1 to 25" in capsys.readouterr().out


def test_code_that_everybody_was_given_does_not_count(homework, capsys):
    for name in ("ada/src/Sort.java", "cleo/Main.java"):
        path = homework / "homework" / name
        path.write_text(path.read_text("utf-8") + "\n" + GIVEN, "utf-8")
    (homework / "given.java").write_text(commented("Java", GIVEN), "utf-8")
    assert ("ada", "cleo") in names(found(capsys, "--min-containment", "0.4"))
    pairs = found(capsys, "--min-containment", "0.4", "--boilerplate", "given.java", "--verbose")
    assert names(pairs) == [("ada", "bob")]
    assert not any("Main.java line 4" in passage["b"] for passage in pairs[0]["passages"])


def test_between_lists_pairs_of_this_year_and_last_year_only(homework, capsys):
    write(
        homework / "last year",
        {"emil/Queue.java": renamed("Java", "\n".join(JAVA[4:6])), "fay/x.java": JAVA[8]},
    )
    assert names(found(capsys, "--between", "homework", "last year")) == [("cleo", "emil")]
    assert names(found(capsys, "--between", "last year", "homework")) == [("emil", "cleo")]


def test_the_first_program_of_a_pair_is_in_the_folder_of_this_year(homework, capsys):
    write(homework / "before", {"emil/Queue.java": "\n".join(JAVA[4:6] + JAVA[8:9])})
    (pair,) = found(capsys, "--between", "homework", "before")
    assert names([pair]) == [("cleo", "emil")]
    assert pair["containment"] == 1 > pair["reverse_containment"]
    assert not any("Main.java" in passage["b"] for passage in pair.get("passages", ()))


@pytest.mark.usefixtures("homework")
@pytest.mark.parametrize("other", ["homework", "homework/../homework/", "homework/ada", "."])
def test_programs_are_not_compared_between_a_folder_and_itself(other, capsys):
    assert main(["pairs", "--code", "homework", "--between", "homework", other]) == 2
    assert "name two separate folders of programs" in capsys.readouterr().err


def test_submissions_and_files_that_are_no_source_code_are_told(homework, capsys):
    write(homework / "homework", {"eve/readme.txt": "later", "fay.zip": "x"})
    assert main(["pairs", "--code", "homework"]) == 0
    shown = capsys.readouterr().err
    assert "homework/eve is left out: it has no source code" in shown
    # ada has a file of notes.
    assert "left out 3 files without" in shown
    assert "4 submissions" in shown


def test_the_report_shows_both_programs(homework, capsys):
    found(capsys, "--report", "class.html")
    page = (homework / "class.html").read_text("utf-8")
    assert "bubbleSort" in page
    assert "ada" in page
    assert "Groups" not in page
    assert "index on disk" not in page
    assert not list(homework.glob("*.docindex"))


@pytest.mark.usefixtures("homework")
def test_options_for_programs_need_their_folder(capsys):
    for option in (["--raw"], ["--boilerplate", "x"], ["--report", "x"]):
        assert main(["pairs", *option]) == 2
        assert "give their folder with --code DIR" in capsys.readouterr().err


def test_a_folder_without_programs_is_refused(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("no program", "utf-8")
    assert main(["pairs", "--code", str(tmp_path)]) not in (0, 2)
    assert "no source code" in capsys.readouterr().err


def test_files_that_are_not_text_are_named_and_left_out(homework, capsys):
    (homework / "homework" / "bob" / "Broken.java").write_bytes(b"class A {\x00\x01\x02\xff}")
    assert main(["pairs", "--code", "homework"]) == 0
    shown = capsys.readouterr()
    assert "Broken.java is left out" in shown.err
    assert "homework/bob" in shown.out
