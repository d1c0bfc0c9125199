"""A plan as a table: a spreadsheet program and a person may change it, and it removes nothing else."""

import csv
import io
import os
import re
import shutil
import subprocess

import pytest

from docindex import folders
from docindex.folders.copy_groups import CopyGroup, PlannedFile
from docindex.folders.plan_table import guarded, plan_of_table, plan_rows, read_plan

ODD = [
    b"plain.txt",
    b"=1+1; \"quoted\", 'twice'.txt",
    b"caf\xe9 \xff.txt",
    "ünïcode 日本 e\u0301\u200f.txt".encode(),
    b"line\nfeed\tand \\x41.txt",
    b" spaces at both ends ",
    b"1.5",
    b"TRUE",
    b"2024-01-02",
]


def cells_of(row):
    """A row as it is in a file."""
    return {name: guarded(value) if isinstance(value, str) else value for name, value in row.items()}


def table_of(groups, delimiter=","):
    lines = io.StringIO()
    rows = [cells_of(row) for row in plan_rows(groups)]
    writer = csv.DictWriter(lines, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return lines.getvalue()


def decisions(plan):
    """What a plan does: the files that it keeps and removes, with the facts that `act` checks."""
    return {(frozenset(group.kept), file, group.digest) for group in plan.steps for file in group.others}, {
        (folder.folder, folder.kept) for folder in plan.going
    }


def edited(table, change):
    """A table whose rows were changed; a row for which `change` returns False is removed."""
    rows = list(csv.DictReader(io.StringIO(table)))
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(rows[0]))
    writer.writeheader()
    writer.writerows([row for row in rows if change(row) is not False])
    return lines.getvalue().encode()


@pytest.fixture
def home(tmp_path):
    """A folder with odd names, and a copy of it; and single copies."""
    own = os.fsencode(tmp_path)
    for place in (b"Music", b"Music/copy", b"one", b"backup/one"):
        os.makedirs(os.path.join(own, place))
    for number, name in enumerate(ODD):
        with open(os.path.join(own, b"one", name), "wb") as file:
            file.write(b"%d " % number * 50)
        shutil.copy2(os.path.join(own, b"one", name), os.path.join(own, b"backup/one", name))
        with open(os.path.join(own, b"Music", name), "wb") as file:
            file.write(b"%d " % number * 60)
        if number:
            shutil.copy2(os.path.join(own, b"Music", name), os.path.join(own, b"Music/copy", b"of " + name))
    for found, _, names in os.walk(own):
        for name in names:
            os.utime(os.path.join(found, name), ns=(10**18 + 7, 10**18 + 7))
    return tmp_path


def test_a_plan_is_the_same_after_it_was_a_table(home):
    found = folders.find_exact([home])
    assert found.folders
    assert found.copies
    for delimiter in ",;\t":
        table = table_of(found.groups, delimiter)
        for text in (table.encode(), b"\xef\xbb\xbf" + table.encode(), table.encode("utf-16")):
            assert decisions(read_plan(text)) == decisions(found.plan())


def test_rows_can_be_sorted_and_removed_and_keep_written_in_other_ways(home):
    found = folders.find_exact([home])
    table = table_of(found.groups)
    header, *rows = table.splitlines(True)
    assert decisions(plan_of_table("".join([header, *reversed(rows)]).encode())) == decisions(found.plan())
    for true, false in (("TRUE", "FALSE"), ("WAHR", "FALSCH"), ("1", "0"), ("x", ""), ("VRAI", "FAUX")):
        words = {"true": true, "false": false}
        text = edited(table, lambda row, words=words: row.update(keep=words[row["keep"]]))
        assert decisions(plan_of_table(text)) == decisions(found.plan())
    others = edited(table, lambda row: row["keep"] == "true")
    assert plan_of_table(others).steps == ()


def test_sizes_and_dates_that_a_program_rewrote_are_not_read(home):
    found = folders.find_exact([home])
    text = edited(table_of(found.groups), lambda row: row.update(size="1,23E+05", date="02.01.24 10:00"))
    assert decisions(plan_of_table(text)) == decisions(found.plan())


def test_a_folder_row_that_is_kept_keeps_the_folder(home):
    found = folders.find_exact([home])
    text = edited(
        table_of(found.groups), lambda row: (row["kind"] == "folder" and row.update(keep="true")) or True
    )
    plan = plan_of_table(text)
    assert plan.going == ()
    assert [folder.keep for folder in plan.folders] == [True]
    assert plan.steps == plan.groups != ()


def test_a_file_of_a_copied_folder_can_be_kept(home):
    found = folders.find_exact([home])
    name = "backup/one/1.5"
    text = edited(
        table_of(found.groups), lambda row: (row["path"].endswith(name) and row.update(keep="1")) or True
    )
    removed = {file.key for group in plan_of_table(text).steps for file in group.others}
    before = {file.key for group in found.plan().steps for file in group.others}
    assert before - removed == {f"{home}/{name}"}


def test_to_keep_the_other_folder_its_files_must_be_kept_too(home):
    found = folders.find_exact([home])
    (folder,) = found.folders
    swapped = {"true": "false", "false": "true"}
    only_folder = edited(
        table_of([folder]),
        lambda row: (row["kind"] == "folder" and row.update(keep=swapped[row["keep"]])) or True,
    )
    with pytest.raises(ValueError, match="but not the files in it; change their 'keep', too"):
        plan_of_table(only_folder)
    both = edited(table_of([folder]), lambda row: row.update(keep=swapped[row["keep"]]))
    plan = plan_of_table(both)
    assert [(each.folder, each.kept) for each in plan.going] == [(folder.kept, folder.folder)]
    assert {file.key for group in plan.steps for file in group.others} == {
        file.key for group in folder.copies for file in group.kept
    }


@pytest.mark.parametrize("name", ["=cmd", "+1", "-1", "@sum", "'=cmd", "''x", "'", "=", "\t=1", " =1", "＝1"])
def test_no_cell_is_a_formula_and_its_text_is_read_back(name):
    files = tuple(PlannedFile(key, keep, 3, -1) for key, keep in ((name, True), (f"/{name}", False)))
    group = CopyGroup(files, "0" * 32, 3, name)
    rows = [cells_of(row) for row in plan_rows([group])]
    assert all(
        str(value).strip()[:1] not in "=+-@＝＋－＠" for row in rows for value in row.values() if value
    )
    with pytest.raises(ValueError, match=re.escape(f"{name!r} is not a valid abs")):
        plan_of_table(table_of([group]).encode())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda row: row.update(keep="false"),
            r"group 1 keeps no file; set .* to true for at least one of /",
        ),
        (lambda row: row["keep"] != "true", r"group 1 keeps no file; set .* to true for at least one of /"),
        (lambda row: row.update(keep="maybe"), "'keep' in row 2 must be true or false, not 'maybe'"),
        (lambda row: row.update(check=""), "row 2 has nothing in the column 'check'"),
        (lambda row: row.update(check="c:12:3:4"), "'kind' or 'check' in row 2 was changed"),
        (lambda row: row.update(path="/a"), "row 3 names a file that row 2 names, too"),
    ],
)
def test_a_table_that_is_no_plan_is_refused_with_the_row(change, message):
    files = tuple(PlannedFile(key, key == "/a", 3, 7) for key in ("/a", "/b"))
    table = table_of([CopyGroup(files, "0" * 32, 3)])
    with pytest.raises(ValueError, match=f"plan.csv is not a table that dups --csv wrote: {message}"):
        plan_of_table(edited(table, change), name="plan.csv")


def test_a_table_in_another_encoding_or_without_its_columns_is_refused():
    files = tuple(PlannedFile(key, key == "/a", 3, 7) for key in ("/a", "/é"))
    table = table_of([CopyGroup(files, "0" * 32, 3)])
    with pytest.raises(ValueError, match="it is not in UTF-8; save it as CSV in UTF-8"):
        plan_of_table(table.encode("latin-1"))
    with pytest.raises(ValueError, match="it has no column 'check'"):
        plan_of_table(table.replace("check", "chuck").encode())
    with pytest.raises(ValueError, match="it has no column 'keep'"):
        read_plan(table.replace("keep", "stay").encode())


def test_similar_texts_are_listed_and_never_removed():
    files = (
        folders.LikeFile("/a", 1.0, None, 5),
        folders.LikeFile("/b", 0.93, "/a", 4),
    )
    rows = list(plan_rows([folders.LikenessGroup("near", files)]))
    assert [(row["kind"], row["keep"], row["why"]) for row in rows] == [
        ("near", "", ""),
        ("near", "", "resemblance 0.93 to /a"),
    ]
    assert plan_of_table(table_of([folders.LikenessGroup("near", files)]).encode()).steps == ()


@pytest.mark.skipif(not shutil.which("soffice"), reason="LibreOffice is not installed")
def test_libreoffice_opens_and_saves_a_table_that_is_the_same_plan(home, tmp_path):
    found = folders.find_exact([home])
    (tmp_path / "plan.csv").write_text(table_of(found.groups))
    (tmp_path / "saved").mkdir()
    subprocess.run(
        [
            *("soffice", f"-env:UserInstallation=file://{tmp_path}/profile", "--headless", "--norestore"),
            *("--infilter=CSV:44,34,76", "--convert-to", "csv:Text - txt - csv (StarCalc):59,34,76"),
            *("--outdir", tmp_path / "saved", tmp_path / "plan.csv"),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    saved = (tmp_path / "saved" / "plan.csv").read_bytes()
    assert b";TRUE;" in saved
    assert decisions(read_plan(saved)) == decisions(found.plan())
