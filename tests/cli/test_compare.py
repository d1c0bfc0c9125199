"""Test ``docindex compare``: its numbers, its JSON, and how it refuses files."""

import csv
import dataclasses
import json
import os
import random
import re
import subprocess
import sys

import pytest
from rich.cells import cell_len

import docindex
from docindex.cli import main
from tests.query import reworded

A = "The quick brown fox jumps over the lazy dog while the cat looks on and says nothing at all."
B = (
    A.replace("quick", "slow")
    + " Then it rains, and all of them go home together, where they sit and tell each other stories."
)


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, text in zip(paths, (A, B), strict=True):
        path.write_text(text, "utf-8")
    return paths


def test_the_report_prints_the_numbers_of_the_python_functions(files, capsys):
    assert main(["compare", *map(str, files)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    sentence = "87% of A is in B; 39% of B is in A; resemblance 37%"
    assert shown.out.startswith(f"{sentence}\n  A  {files[0]}\n  B  {files[1]}\n\n")
    assert main(["compare", "--verbose", *map(str, files)]) == 0
    shown = capsys.readouterr()
    assert f"resemblance          {docindex.resemblance(A, B):.3f}" in shown.out
    assert f"A contained in B     {docindex.containment(A, B):.3f}" in shown.out
    assert f"B contained in A     {docindex.containment(B, A):.3f}" in shown.out
    assert "shared shingles      13 (A has 15, B has 33)" in shown.out


def test_diff_shows_the_words_that_differ_and_no_passages(files, capsys):
    assert main(["compare", "--diff", *map(str, files)]) == 0
    out = capsys.readouterr().out
    assert "\ndifferences: 1 word only in A, 19 only in B\n\nline 1 of A, line 1 of B\n" in out
    assert "The [-quick-]{+slow+} brown fox" in out
    assert "[[" not in out
    assert main(["compare", "--diff", "--json", *map(str, files)]) == 0
    kinds = [each["kind"] for each in json.loads(capsys.readouterr().out)["differences"]]
    assert kinds == ["replaced", "inserted"]
    assert main(["compare", "--diff", str(files[0]), str(files[0])]) == 0
    assert capsys.readouterr().out.endswith("\nno words differ\n")


@pytest.mark.parametrize("options", [[], ["--diff"]])
def test_lines_are_as_wide_as_the_terminal_through_a_pipe(options, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    wide = "".join(random.Random(5).choices("".join(map(chr, range(0x4E00, 0x4F00))), k=300))
    for name, text in (("a.txt", wide + "日本"), ("b.txt", wide.replace(wide[100], "語") + "終")):
        (tmp_path / name).write_text(text, "utf-8")
    assert main(["compare", *options, str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]) == 0
    lines = capsys.readouterr().out.split("\n")[3:]
    widths = [cell_len(line) for line in lines]
    assert 76 < max(widths) <= 80


def test_json_has_all_the_numbers(files, capsys):
    assert main(["compare", "--json", *map(str, files)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["resemblance"] == docindex.resemblance(A, B)
    assert found["simhash_distance"] == docindex.distance(docindex.simhash(A), docindex.simhash(B))
    assert found["shared_shingles"] == found["resemblance"] * (
        found["shingles_of_a"] + found["shingles_of_b"] - found["shared_shingles"]
    )
    assert found["shared_shingles"] / found["shingles_of_a"] == found["containment_of_a_in_b"]
    assert 0 < found["shared_fingerprints"] <= found["fingerprints_of_a"] < found["fingerprints_of_b"]


def test_passages_below_the_minimum_length_are_not_shown(tmp_path, capsys):
    shared = "the engine weaves algebraical patterns just as the loom weaves flowers"  # 60 letters
    paths = [tmp_path / name for name in ("a.txt", "b.txt")]
    for path, begin in zip(paths, ("First", "Second"), strict=True):
        path.write_text(f"{begin} {shared}", "utf-8")
    for arguments, count in (([], 1), (["--min-length", "60"], 1), (["--min-length", "61"], 0)):
        assert main(["compare", "--json", *arguments, *map(str, paths)]) == 0
        assert len(json.loads(capsys.readouterr().out)["passages"]) == count
    assert main(["compare", "--min-length", "0", *map(str, paths)]) == 2


@pytest.fixture
def reworded_files(tmp_path):
    paths = tmp_path / "reworded.txt", tmp_path / "original.txt"
    for path, text in zip(paths, (reworded.A, reworded.B), strict=True):
        path.write_text(text, "utf-8")
    return [str(path) for path in paths]


def test_reworded_regions_are_shown_side_by_side_and_never_called_copied(reworded_files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["compare", *reworded_files]) == 0
    shown = capsys.readouterr().out
    assert "A, line 3" in shown
    assert re.search(r"B, line 1   \(reworded, score \d\.\d\d, 26 shared words\)", shown)
    assert re.search(r"\[\[Before a storm .*│ \[\[The librarian counted every", shown)
    assert "copied" not in shown


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_json_and_csv_have_the_regions(form, reworded_files, capsys):
    assert main(["compare", form, *reworded_files]) == 0
    out = capsys.readouterr().out
    if form == "--json":
        record = json.loads(out)
    else:
        (record,) = csv.DictReader(out.splitlines())
        record = {name: json.loads(record[name]) for name in ("passages", "regions")}
    with docindex.open(":memory:") as index:
        (region,) = index.compare(reworded.A, reworded.B).regions
    assert record["passages"] == []
    assert record["regions"] == [dataclasses.asdict(region)]


def test_neighbouring_passages_are_joined(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    parts = (
        "the engine weaves algebraical patterns of numbers and of letters",
        "just as the loom weaves flowers and leaves of silk and of cotton",
    )
    lengths = [len(part.replace(" ", "")) for part in parts]
    paths = [tmp_path / name for name in ("a.txt", "b.txt")]
    for path, between in zip(paths, ("brightly", "dimly"), strict=True):
        path.write_text(f"Now {parts[0]} {between} {parts[1]}.", "utf-8")
    for join, expected in ((7, lengths), (8, [sum(lengths)])):
        assert main(["compare", "--json", "--join", f"{join}", *map(str, paths)]) == 0
        found = json.loads(capsys.readouterr().out)["passages"]
        # "Now" is common too.
        assert [passage["length"] for passage in found] == [expected[0] + 3, *expected[1:]]
    assert found[0]["identical"] == found[0]["length"] / (found[0]["length"] + len("brightly"))
    assert main(["compare", "--join", "8", *map(str, paths)]) == 0
    assert re.search(r"\(\d+ symbols, 9\d% identical\)", capsys.readouterr().out)


OTHER = "Some different words, which are nowhere in the first file"
FOOTER = "This document is confidential and may be read only by the persons to whom it was addressed."


@pytest.fixture
def letters(tmp_path):
    """An index with a footer as boilerplate, and two files that share only that footer."""
    recipe = docindex.Recipe(k=20, window=11, shingle=2)
    with docindex.open(tmp_path / "own.docindex", recipe=recipe) as index:
        index.boilerplate.add(FOOTER, name="footer")
    paths = [tmp_path / name for name in ("one.txt", "two.txt")]
    for path, text in zip(paths, (A, OTHER), strict=True):
        path.write_text(f"{text}\n\n{FOOTER}\n", "utf-8")
    return str(tmp_path / "own.docindex"), *map(str, paths)


def test_with_an_index_its_boilerplate_is_ignored_and_its_recipe_is_used(letters, capsys):
    index, one, two = letters
    assert main(["compare", "--json", "--index", index, one, two]) == 0
    found = json.loads(capsys.readouterr().out)
    for measure in ("resemblance", "containment_of_a_in_b", "containment_of_b_in_a"):
        assert found[measure] == 0.0
    assert (found["shared_fingerprints"], found["boilerplate_passages"], found["passages"]) == (0, 1, [])
    with docindex.open(index, readonly=True) as opened:
        hashes = docindex.fingerprints(A, opened.recipe).hashes
        assert found["fingerprints_of_a"] >= len(set(hashes.tolist())) > 0
        simhashes = [docindex.simhash(f"{text}\n\n{FOOTER}", opened.recipe) for text in (A, OTHER)]
    assert found["simhash_distance"] == docindex.distance(*simhashes)
    assert main(["compare", "--index", index, one, two]) == 0
    shown = capsys.readouterr().out
    assert "boilerplate: 1 passage left out" in shown
    assert "confidential" not in shown
    assert main(["compare", "--index", index, one, one]) == 0
    assert "resemblance 100%" in capsys.readouterr().out


def test_without_an_index_no_text_is_ignored(letters, capsys, monkeypatch):
    index, one, two = letters
    monkeypatch.setenv("DOCINDEX", index)
    assert main(["compare", "--json", one, two]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["resemblance"] > 0
    assert (len(found["passages"]), found["boilerplate_passages"]) == (1, 0)
    assert main(["compare", one, two]) == 0
    shown = capsys.readouterr().out
    assert "boilerplate" not in shown
    assert "confidential" in shown
    assert main(["compare", "--index", f"{index}.other", one, two]) == 3
    assert "docindex scan makes one" in capsys.readouterr().err


def test_a_search_does_not_show_passages_that_are_boilerplate(letters, capsys):
    index, one, _ = letters
    with docindex.open(index) as opened:
        opened.add("letter", f"{FOOTER}\nAnd more.\n{A}")
    assert main(["search", "--verbose", "--index", index, one]) == 0
    (line,) = re.findall(r"symbols: .*", capsys.readouterr().out)
    assert "The quick brown fox" in line
    assert main(["search", "--verbose", "--json", "--index", index, one]) == 0
    assert len(json.loads(capsys.readouterr().out)[0]["passages"]) == 1


def test_a_search_shows_reworded_regions_and_never_calls_them_copied(tmp_path, capsys):
    shared = "The harbour master keeps both ledgers in an iron chest below the stairs."
    index, asked = str(tmp_path / "own.docindex"), tmp_path / "asked.txt"
    asked.write_text(f"{reworded.A}\n\n{shared}", "utf-8")
    with docindex.open(index) as opened:
        opened.add("original", f"{reworded.B}\n\n{shared}")
        opened.add("sketch", shared, store_text=False)
        (region,) = opened.search(docindex.Text(asked.read_text("utf-8")))[1].regions()
    command = ["search", "--verbose", "--index", index]
    assert main([*command, str(asked)]) == 0
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if "reworded" in line and "asked.txt" not in line]
    assert line.startswith(
        f"      line {region.query_line} (line {region.line} of the document), reworded, "
        f"score {region.score:.2f}, {region.shared_words} shared words: Before a storm got to the"
    )
    assert "copied" not in shown
    assert main([*command, "--json", str(asked)]) == 0
    by_key = {record["key"]: record for record in json.loads(capsys.readouterr().out)}
    assert by_key["original"]["regions"] == [dataclasses.asdict(region)]
    assert (by_key["sketch"]["passages"], by_key["sketch"]["regions"]) == (None, None)


def test_the_position_of_an_invalid_byte_counts_the_byte_order_mark(files, capsys):
    files[1].write_bytes(b"\xef\xbb\xbfab\xff")
    assert main(["compare", "--encoding", "utf-8", *map(str, files)]) == 3
    assert "byte 0xff in position 5" in capsys.readouterr().err


def test_a_name_that_the_terminal_cannot_show_is_shown_escaped(tmp_path, files):
    odd = tmp_path / os.fsdecode(b"caf\xe9.txt")
    odd.write_bytes(files[0].read_bytes())
    command = [sys.executable, "-m", "docindex", "compare", str(odd), str(files[1])]
    done = subprocess.run(
        command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0
    assert b"caf\\xe9.txt" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_stdout_is_reported_in_one_line(unbuffered, files):
    command = f'"{sys.executable}" -m docindex compare "{files[0]}" "{files[1]}" > /dev/full'
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 11
    assert re.fullmatch(r"docindex: the disk is full: the output cannot be written.*\n", done.stderr)


def test_a_byte_order_mark_is_not_part_of_the_text(files, capsys):
    files[1].write_bytes(b"\xef\xbb\xbf" + A.encode())
    main(["compare", *map(str, files)])
    assert "resemblance 100%" in capsys.readouterr().out


def bad_files(folder):
    """Yield files that cannot be compared, each with the reason."""
    (folder / "binary").write_bytes(b"\x89PNG\0")
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    yield folder / "binary", "is not text, and not in a format that docindex reads"
    yield folder / "pipe", "is not a regular file"
    yield folder / "folder", "is a folder"
    yield folder / "missing", "cannot be read: No such file"


def test_a_file_that_cannot_be_used_is_refused_in_one_line_with_the_reason(tmp_path, files, capsys):
    for path, words in bad_files(tmp_path):
        assert main(["compare", str(files[0]), str(path)]) == 3
        shown = capsys.readouterr()
        assert shown.out == ""
        assert re.fullmatch(f"docindex: {re.escape(str(path))} {words}.*\n", shown.err)


def test_a_missing_argument_gives_exit_code_2(capsys):
    assert main(["compare", "only-one"]) == 2
    assert "Missing argument 'B'" in capsys.readouterr().err


def test_a_reader_that_closes_the_pipe_early_is_no_error(files):
    command = f'"{sys.executable}" -m docindex compare "{files[0]}" "{files[1]}" | true'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
