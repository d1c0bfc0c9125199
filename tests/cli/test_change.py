"""Test ``docindex add``, ``remove``, ``boilerplate``, ``similar`` and ``pairs``."""

import csv
import io
import json
import os
import re
import zipfile
from pathlib import Path

import pytest

import docindex
from docindex.cli import main

SAMPLES = Path(__file__).parents[1] / "samples"
DRAFT, FINAL = (str(SAMPLES / name) for name in ("draft.txt", "final.txt"))


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def index(tmp_path):
    with docindex.open(tmp_path / "own.docindex") as opened:
        yield opened


def test_documents_are_added_and_removed(index, capsys):
    assert run(capsys, "add", DRAFT, FINAL) == (0, "added: 2 documents\n", "")
    assert list(index) == [DRAFT, FINAL]
    assert run(capsys, "add", "--key", "mine", DRAFT)[0] == 0
    assert index.text("mine") == Path(DRAFT).read_text()
    assert run(capsys, "remove", "mine", "unknown") == (
        1,
        "no such document: unknown\nremoved: 1 document\n",
        "",
    )
    assert run(capsys, "remove", DRAFT) == (0, "removed: 1 document\n", "")
    assert list(index) == [FINAL]
    assert Path(DRAFT).exists()
    code, _, err = run(capsys, "add", "--key", "x", DRAFT, FINAL)
    assert (code, "--key is the key of one document" in err) == (2, True)
    assert run(capsys, "add", "no such file")[0] == 3
    assert run(capsys, "add", "--key", "", DRAFT)[0] == 0
    assert "" in index


def test_boilerplate_is_added_listed_and_removed(index, capsys):
    run(capsys, "add", DRAFT, FINAL)
    assert run(capsys, "boilerplate") == (1, "no boilerplate\n", "")
    assert run(capsys, "boilerplate", "--add", FINAL) == (0, f"added: {FINAL}\n", "")
    characters = len(Path(FINAL).read_text())
    assert run(capsys, "boilerplate")[:2] == (0, f"{FINAL}  ({characters} characters)\n")
    assert json.loads(run(capsys, "boilerplate", "--json")[1]) == [{"name": FINAL, "characters": characters}]
    assert len(index.boilerplate) == 1
    assert run(capsys, "boilerplate", "--remove", os.path.relpath(FINAL))[:2] == (0, f"removed: {FINAL}\n")
    assert run(capsys, "boilerplate", "--remove", "rules")[:2] == (
        1,
        "no such boilerplate: rules; docindex boilerplate lists all names\n",
    )
    index.boilerplate.add("the rules of the house", name="rules")
    assert run(capsys, "boilerplate", "--remove", "rules")[:2] == (0, "removed: rules\n")
    assert run(capsys, "boilerplate", "--remove", "")[0] == 1


def test_similar_and_pairs_print_measures(capsys):
    run(capsys, "add", DRAFT, FINAL)
    code, out, _ = run(capsys, "similar", "--min-resemblance", "0.4", DRAFT)
    assert (code, [line.rpartition(" ")[2] for line in out.splitlines()]) == (0, ["100%", "48%"])
    assert run(capsys, "similar", "--json", DRAFT)[0] == 0
    code, out, _ = run(capsys, "pairs", "--min-resemblance", "0.3")
    assert code == 0
    names = f"  A  {DRAFT}\n  B  {FINAL}\n".replace(f"{Path.cwd()}/", "")
    shares = "72% of A is in B; 59% of B is in A; resemblance 48%"
    assert out == f"{shares}\n{names}"
    (row,) = csv.DictReader(io.StringIO(run(capsys, "pairs", "--min-containment", "0.5", "--csv")[1]))
    assert (row["a"], row["b"]) == (DRAFT, FINAL)
    assert run(capsys, "pairs")[:2] == (1, "no pairs\n")  # the least resemblance is 0.5
    assert run(capsys, "pairs", "--min-resemblance", "0.6") == (1, "no pairs\n", "")
    assert run(capsys, "pairs", "--min-resemblance", "0.3", "--under", SAMPLES.parent / "cli")[0] == 1
    assert run(capsys, "pairs", "--min-resemblance", "0.3", "--under", SAMPLES)[0] == 0
    assert run(capsys, "pairs", "--min-resemblance", "2")[0] == 2
    code, _, err = run(capsys, "pairs", "--min-resemblance", "0.3", "--min-containment", "0.3")
    assert code == 2
    assert "--min-resemblance and --min-containment cannot be used together; give only one of them" in err


def test_the_output_says_whether_a_share_is_exact_or_an_estimate(index, capsys):
    text = Path(DRAFT).read_text("utf-8")
    run(capsys, "add", DRAFT)
    index.add("lost", text + " And so on.", store_text=False)
    exact, estimated = json.loads(run(capsys, "similar", "--json", DRAFT)[1])
    assert (exact["basis"], exact["resemblance_error"]) == ("shingles", 0.0)
    assert estimated["basis"] in ("slots", "fingerprints")
    assert 0 < estimated["resemblance_error"] < 0.2
    lines = run(capsys, "similar", DRAFT)[1].splitlines()
    assert lines[0].endswith("; resemblance 100%")
    assert re.search(r"; resemblance about \d+%$", lines[1])
    (first, *_) = json.loads(run(capsys, "search", "--json", DRAFT)[1])
    assert (first["basis"], first["containment_error"] > 0) == ("fingerprints", True)
    out = run(capsys, "search", "--exact", DRAFT)[1]
    assert re.search(
        r"draft\.txt: 100% of your file is in it; 100% of it is in your file; resemblance 100%$", out, re.M
    )
    assert re.search(r"^lost: about \d+% of your file is in it", out, re.MULTILINE)
    pairs = run(capsys, "pairs", "--min-resemblance", "0.5")[1]
    assert re.match(r"about \d+% of A is in B; about \d+% of B is in A; resemblance about \d+%\n", pairs)


def test_a_search_shows_its_results_though_a_text_is_not_kept(index, capsys):
    text = Path(DRAFT).read_text("utf-8")
    run(capsys, "add", DRAFT)
    index.add("lost", text + " And so on.", store_text=False)
    code, out, err = run(capsys, "search", "--verbose", DRAFT)
    assert (code, err) == (0, "")
    assert "symbols: " in out
    assert "lost: about " in out
    assert "\n      its passages cannot be shown, because its text is not kept" in out
    found = json.loads(run(capsys, "search", "--verbose", "--json", DRAFT)[1])
    assert {match["key"]: match["passages"] is None for match in found} == {DRAFT: False, "lost": True}


def test_add_reads_archives_if_asked(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("x.txt", "The Analytical Engine")
    code, _, err = run(capsys, "add", "--index", "i", "a.zip")
    assert (code != 0, "--archives" in err) == (True, True)
    assert run(capsys, "add", "--index", "i", "--archives", "a.zip")[1] == "added: 1 document\n"
    with docindex.open("i") as index:
        assert list(index) == [f"{tmp_path}/a.zip!/x.txt"]
