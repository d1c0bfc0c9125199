"""``search``, ``similar`` and ``compare`` take documents in the index and inside files, and show places."""

import csv
import io
import json
import mailbox
import os
import zipfile

import pytest

import docindex
from docindex.cli import main
from docindex.cli.typed_paths import typed_key
from docindex.folders import key_of
from docindex.shown.paths import display_path
from tests.cli.test_compare import A, B
from tests.frontends.office import docx_of

INDEX = ("--index", "own.docindex")
MESSAGE = "From: ada@example.org\nMessage-ID: <{}>\nSubject: tea\n\n{}\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    box = mailbox.mbox("mail.mbox")
    for number, text in enumerate(("something else", A)):
        box.add(MESSAGE.format(number, text))
    box.close()
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("old/x.txt", B)
        archive.write("mail.mbox")
    (tmp_path / "a.docx").write_bytes(docx_of(["A first paragraph", A]))
    (tmp_path / "b.txt").write_text(B)
    return tmp_path


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


NAMES = [
    *("mail.mbox!/message 2", "mail.mbox!message 2", "./mail.mbox!/message 2"),
    *("a.zip!/mail.mbox!/message 2", "a.zip!mail.mbox!message 2"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("indexed", ["no", "yes", "only"])
def test_a_document_inside_a_file_is_compared(files, capsys, name, indexed):
    if indexed != "no":
        run(capsys, "scan", *INDEX, "--archives", files)
    if indexed == "only":
        (files / "mail.mbox").unlink()
        (files / "a.zip").unlink()
    index = INDEX if indexed != "no" else ()
    code, out, err = run(capsys, "compare", *index, "--json", name, "b.txt")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["resemblance"] == docindex.resemblance(f"{A}\n\n", B)
    assert found["a"] in {f"{files}/{NAMES[0]}", f"{files}/{NAMES[3]}"}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", NAMES)
def test_a_document_inside_a_file_is_searched_for(capsys, name):
    run(capsys, "add", *INDEX, "b.txt")
    for command in (["search"], ["similar", "--min-resemblance", "0.1"]):
        code, out, err = run(capsys, *command, *INDEX, name)
        assert (code, err) == (0, "")
        assert "b.txt" in out


@pytest.mark.usefixtures("files")
def test_a_document_is_named_by_its_key(capsys):
    with docindex.open("own.docindex") as index:
        index.add("https://example.org/a", A)
    code, out, _ = run(capsys, "search", *INDEX, "https://example.org/a")
    assert (code, out.partition(":")[0]) == (0, "https")
    assert run(capsys, "compare", *INDEX, "https://example.org/a", "b.txt")[0] == 0


def test_a_file_comes_before_a_document_of_the_same_name(files, capsys):
    with docindex.open("own.docindex") as index:
        index.add("b.txt", "other words")
        index.add(f"{files}/mail.mbox!/message 2", B)
    (files / "mail.mbox!").mkdir()
    (files / "mail.mbox!" / "message 2").write_text(A)
    out = run(capsys, "compare", *INDEX, "--json", "mail.mbox!/message 2", "b.txt")[1]
    assert json.loads(out)["resemblance"] == docindex.resemblance(A, B)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "mail.mbox!/mesage 2",
            "mail.mbox has no document mesage 2 inside it; did you mean mail.mbox!/message 2?",
        ),
        (
            "mail.mbox",
            "mail.mbox has no text of its own, but 2 documents inside it; name one of them, such as "
            "'mail.mbox!/message 1'",
        ),
        (
            "a.zip",
            "a.zip is an archive; name a file inside it as 'a.zip!/NAME', or use docindex add --archives",
        ),
        ("gone.zip!/x", "gone.zip!/x cannot be read: No such file or directory"),
        ("", " cannot be read: "),
    ],
)
def test_a_document_that_cannot_be_found_is_named(capsys, name, message):
    code, _, err = run(capsys, "compare", *INDEX, name, "b.txt")
    assert code != 0
    assert err.startswith(f"docindex: {message}") or not name


@pytest.mark.usefixtures("files")
def test_compare_shows_the_places_in_both_files(capsys):
    found = json.loads(run(capsys, "compare", "--json", "a.docx", "mail.mbox!/message 2")[1])
    places = [(passage["query_place"], passage["place"]) for passage in found["passages"]]
    assert places == [("paragraph 2", "paragraph 1")]
    (row,) = csv.DictReader(io.StringIO(run(capsys, "compare", "--csv", "a.docx", "b.txt")[1]))
    assert json.loads(row["passages"])[0]["query_place"] == "paragraph 2"
    out = run(capsys, "compare", "a.docx", "b.txt")[1]
    assert "A, paragraph 2" in out
    assert "B, line 1" in out


@pytest.mark.usefixtures("files")
def test_search_shows_the_places_in_the_file_that_is_searched_for(capsys):
    run(capsys, "add", *INDEX, "b.txt", "mail.mbox")
    out = run(capsys, "search", "-v", *INDEX, "a.docx")[1]
    assert "paragraph 2 (line 1 of the document)" in out
    assert "paragraph 2 (paragraph 1 of the document)" in out


def test_a_name_that_ends_in_a_mark_is_shown_as_it_is_unless_it_looks_like_a_document_inside_a_file(files):
    for name in ("Wow!", "a.zip!", "Wow!.txt"):
        (files / name).mkdir()
        key = key_of(os.fsencode(files / name / "x"))
        shown = display_path(key)
        assert shown == ("a.zip\\x21/x" if name == "a.zip!" else f"{name}/x")
        (files / name / "x").write_text("x")
        assert typed_key(shown) == key


@pytest.mark.usefixtures("files")
def test_a_document_inside_a_file_is_removed_by_its_name(capsys):
    run(capsys, "add", *INDEX, "mail.mbox")
    assert run(capsys, "remove", *INDEX, "mail.mbox!message 2")[1] == "removed: 1 document\n"


@pytest.mark.usefixtures("files")
def test_whoever_removes_a_mailbox_is_told_the_names_of_the_documents_inside_it(capsys):
    run(capsys, "add", *INDEX, "mail.mbox")
    answer = run(capsys, "remove", *INDEX, "mail.mbox")[1]
    assert "mail.mbox; name each document inside it, such as 'mail.mbox!/message 1'\n" in answer


def test_a_message_that_is_no_longer_in_a_mailbox_is_removed_when_the_mailbox_is_added_again(files, capsys):
    run(capsys, "add", *INDEX, "mail.mbox")
    box = (files / "mail.mbox").read_bytes()
    (files / "mail.mbox").write_bytes(box[: box.rindex(b"\nFrom ") + 1])
    run(capsys, "add", *INDEX, "mail.mbox")
    with docindex.open("own.docindex") as index:
        assert f"{files}/mail.mbox!/message 1" in index
        assert f"{files}/mail.mbox!/message 2" not in index


def test_a_document_inside_a_file_is_named_as_it_is_shown(files, capsys):
    with zipfile.ZipFile("odd.zip", "w") as archive:
        archive.writestr("two\nlines\u202e.txt", B)
    shown = "odd.zip!/two\\x0alines\\xe2\\x80\\xae.txt"
    assert run(capsys, "compare", "--json", shown, "b.txt")[::2] == (0, "")
    run(capsys, "scan", *INDEX, "--archives", files)
    assert shown in run(capsys, "search", *INDEX, "b.txt")[1]
    assert run(capsys, "remove", *INDEX, shown)[1] == "removed: 1 document\n"
