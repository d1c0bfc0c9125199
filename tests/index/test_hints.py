"""A question that can find nothing says so once: in the log of an app, and on stderr of the command."""

import logging

import pytest

import docindex
from docindex.cli import main
from tests.trials.crash import program


@pytest.fixture
def index():
    with docindex.open(":memory:") as index:
        for number, key in enumerate(["ada.txt", "bob.txt", "eve.txt"]):
            index.add(key, program.text_of(number))
        yield index


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, "docindex")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "docindex"]


TOO_SHORT = (
    "the query 'to be or not' is too short to match: it has 9 of the 15 symbols (letters and digits) that a "
    "search needs, so only documents with exactly the same words are found"
)


def test_a_query_that_is_too_short_to_match_says_so_once(index, log):
    assert index.search("to be or not") == index.search("to be or") == []
    assert index.search_many(["nor this", docindex.Text("or that")]) == [[], []]
    assert log() == [TOO_SHORT]


def test_a_short_query_that_matches_and_a_long_one_that_does_not_say_nothing(index, log):
    index.add("short", "to be or not")
    assert index.search("To be, or not?")
    assert index.search("a query that is long enough, but that nobody has written before") == []
    assert index.search("漢字漢字漢字漢字") == []
    assert log() == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda index: index.search("adda.txt"),
        lambda index: index.search_many(["adda.txt"]),
        lambda index: index.similar("adda.txt"),
        lambda index: index.compare("bob.txt", "adda.txt"),
        lambda index: index.measures("adda.txt", "bob.txt"),
    ],
)
def test_a_mistyped_key_that_was_taken_as_a_text_is_noticed_once(index, log, ask):
    ask(index)
    ask(index)
    hints = [line for line in log() if "did you mean" in line]
    assert len(hints) == 1
    assert hints[0].startswith(
        "no document has the key 'adda.txt', so it was taken as a text, and nothing was"
    )
    assert "; did you mean 'ada.txt'? (docindex.Key raises an error" in hints[0]


def test_a_text_that_is_meant_as_one_is_never_taken_for_a_key(index, log):
    for query in (docindex.Text("adda.txt"), "ada.txt", docindex.Id(1)):
        index.similar(query)
        index.compare(query, "bob.txt")
    index.execute("select * from doc_search('adda.txt')")
    assert log() == []


def test_a_loop_over_texts_without_matches_looks_for_few_keys(index, log, monkeypatch):
    looks = []
    monkeypatch.setattr("docindex.index.asking.similar_key", lambda _db, key: looks.append(key))
    for number in range(100):
        index.measures(f"the text {number}", "another one")
    assert len(looks) == 20
    assert log() == []


# --- the command


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCINDEX", str(tmp_path / "index.docindex"))
    (tmp_path / "ada.txt").write_text(program.text_of(1))
    (tmp_path / "short.txt").write_text("to be or not")
    assert main(["add", "ada.txt"]) == 0
    capsys.readouterr()

    def run(*arguments):
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return run


def test_the_command_says_that_a_file_is_too_short_to_match(command):
    code, out, err = command("search", "short.txt")
    assert (code, out) == (1, "no document shares text with this text\n")
    assert err == f"docindex: {TOO_SHORT}\n"
    assert command("search", "--quiet", "short.txt")[2] == ""


def test_the_command_suggests_the_key_that_was_meant(command):
    code, out, _ = command("remove", "adda.txt", "nothing like it")
    assert code == 1
    assert "no such document: adda.txt; did you mean ada.txt?\n" in out
    assert "no such document: nothing like it\n" in out
    _, _, err = command("sql", "index.docindex", "select doc_resemblance(7, 'x')")
    assert "there is no document 7" in err
    command("boilerplate", "--add", "ada.txt")
    assert "/ada.txt?" in command("boilerplate", "--remove", "adda.txt")[1]


def test_a_command_leaves_no_handler_behind(command):
    before = list(logging.getLogger("docindex").handlers)
    command("search", "short.txt")
    assert logging.getLogger("docindex").handlers == before
