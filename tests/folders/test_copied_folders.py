"""Copied folders are one group, whatever differs in them; acting on one loses nothing, and can be undone."""

import dataclasses
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from docindex import folders
from tests.folders.trees import contents_of, copied, tree


def write(folder, **files):
    """Write files, whose names have "_" for "/", with their contents."""
    for name, content in files.items():
        path = folder / name.replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (1e9, 1e9))


def all_below(root):
    """The status and the bytes of all that is below a folder."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else None,
        )
        for path in sorted(root.rglob("*"))
    }


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    for number in range(8):
        folder = home / "Documents" / "a" / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        copied(os.fsencode(folder), b"%d" % number, content=b"%d" % number * 50)
    (home / "Documents" / "empty.txt").touch()
    shutil.copytree(home / "Documents", home / "backup" / "Documents")
    return home


def found_in(*roots, **options):
    return folders.find_exact(roots, **options)


def test_an_exact_copy_of_a_folder_is_one_group_and_its_files_are_in_no_other(home):
    found = found_in(home)
    (group,) = found.folders
    assert (group.folder, group.kept) == (str(home / "backup" / "Documents"), str(home / "Documents"))
    assert (group.is_exact, len(group.copies), group.reason) == (True, 9, "not in backup")
    assert (found.copies, found.groups) == ((), [group])
    assert group.reclaimable == found.reclaimable == 400


def test_what_differs_and_what_is_in_one_folder_only_is_counted(home):
    write(home / "backup" / "Documents", a_0_0="changed", a_new="only here", b_new="only here, too")
    write(home / "Documents", c="only in the kept folder")
    (group,) = found_in(home).folders
    assert (group.differing, group.only_here, group.only_in_kept) == (1, 2, 1)
    assert len(group.copies) == 8


def test_folders_that_share_a_few_files_are_no_group(home):
    for number in range(20):
        write(home / "Documents", **{f"more {number}": f"a text of its own {number}" * 9})
        write(home / "backup" / "Documents", **{f"other {number}": f"another text {number}" * 9})
    (group,) = found_in(home).folders
    assert group.folder == str(home / "backup" / "Documents" / "a")  # in which the same files still are
    shutil.rmtree(home / "Documents" / "a" / "1")
    assert [Path(group.folder).name for group in found_in(home).folders] == ["0"]


def test_loose_copies_do_not_make_a_folder_a_copy_of_a_large_one(tmp_path):
    for number in range(30):
        write(tmp_path / "Pictures", **{f"{number}": f"picture {number}"})
    write(tmp_path / "Desktop", **{"1": "picture 1", "2": "picture 2", "3": "picture 3"})
    found = found_in(tmp_path)
    assert (found.folders, len(found.copies)) == ((), 3)


def test_of_nested_copies_only_the_outermost_pair_is_a_group(home):
    shutil.copytree(home / "Documents", home / "Documents copy")
    found = found_in(home)
    assert {(Path(group.folder).name, Path(group.kept).name) for group in found.folders} == {
        ("Documents", "Documents"),
        ("Documents copy", "Documents"),
    }
    assert {group.kept for group in found.folders} == {str(home / "Documents")}
    assert found.copies == ()


def test_a_copy_inside_the_folder_that_is_copied_is_found_too(home):
    shutil.copytree(home / "Documents" / "a", home / "Documents" / "a (1)")
    shutil.rmtree(home / "backup")
    (group,) = found_in(home).folders
    assert (Path(group.folder).name, Path(group.kept).name) == ("a (1)", "a")


def test_a_third_copy_of_a_file_in_copied_folders_is_still_listed(home):
    shutil.copy(home / "Documents" / "a" / "0" / "0", home / "loose")
    found = found_in(home)
    assert len(found.folders) == 1
    (group,) = found.copies
    assert [Path(file.key).name for file in group.files] == ["0", "loose"]
    assert not any("backup" in file.key for file in group.files)
    assert group.reclaimable == 50


def test_reference_preference_and_isolation_decide_which_folder_stays(home):
    backup, own = str(home / "backup" / "Documents"), str(home / "Documents")
    assert found_in(home, reference=[home / "backup"]).folders[0].kept == backup
    assert found_in(home, reference=[home / "backup"]).folders[0].reason == "in a reference folder"
    assert found_in(home, prefer=[home / "backup"]).folders[0].kept == backup
    assert found_in(home, reference=[home / "backup" / "Documents" / "a" / "0"]).folders[0].kept == backup
    assert found_in(home / "backup", home / "Documents", isolate=True).folders[0].kept == own
    assert found_in(home, isolate=True).groups == []


def test_without_the_kind_the_files_are_listed_one_by_one(home):
    found = found_in(home, kinds=["exact"])
    assert (found.folders, len(found.copies)) == ((), 8)
    assert found_in(home, kinds=["folder"]).copies == ()
    with pytest.raises(ValueError, match="kinds must be folder, exact or both"):
        found_in(home, kinds=["near"])


ALL = folders.WalkOptions(hidden=True, ignore=False, programs=True)


def tree_with_copied_folders(rng, root):
    tree(rng, root)
    there = [name for name in (b"one", b"two", b"two/deep") if os.path.isdir(os.path.join(root, name))]
    for name in (b"copy", b"backup"):
        if there and rng.random() < 0.8:
            source = os.path.join(root, rng.choice(there))
            shutil.copytree(source, os.path.join(root, name, b"x"), symlinks=True)


def all_going(plan):
    """The plan if a person lets all copied folders go, also those with links, which are not compared."""
    return dataclasses.replace(plan, folders=tuple(group._replace(keep=False) for group in plan.folders))


@pytest.mark.parametrize("seed", range(60))
def test_every_copy_is_in_one_group_and_one_copy_of_each_content_stays(seed, root):
    tree_with_copied_folders(random.Random(seed), root)
    found = all_going(folders.find_exact([root], options=ALL).plan())
    flat = folders.find_exact([root], options=ALL, kinds=["exact"])
    members = {}
    for group in found.steps:
        members.setdefault(group.digest, []).append(group)
    for group in flat.copies:
        groups = members.pop(group.digest)
        going = [file.key for each in groups for file in each.others]
        kept = {file.key for each in groups for file in each.kept}
        assert len(going) == len(set(going))
        assert set(going) | kept == {file.key for file in group.files}
        assert kept.isdisjoint(going)
        assert kept
    assert all(group.files[0].size == 0 for groups in members.values() for group in groups)


def test_a_plan_with_folders_is_written_and_read(home):
    plan = found_in(home).plan()
    text = plan.to_json()
    assert folders.Plan.from_json(text) == plan
    assert plan.reclaimable == 400
    edited = json.loads(text)
    edited["folders"][0]["keep"] = True
    assert folders.Plan.from_json(json.dumps(edited)).steps == ()
    edited["folders"][0]["folder"] = str(home / "elsewhere")
    with pytest.raises(ValueError, match="is not in the folder"):
        folders.Plan.from_json(json.dumps(edited))


@pytest.mark.parametrize("how", ["trash", "delete"])
def test_act_removes_a_copied_folder_and_undo_brings_back_the_same(home, how, tmp_path):
    (home / "backup" / "Documents" / "nothing" / "in it").mkdir(parents=True)
    (home / "backup" / "Documents" / "a").chmod(0o750)
    for folder in ("a/0", "a", "."):
        os.utime(home / "backup" / "Documents" / folder, (1e9, 1e9))
    before = all_below(home)
    outcome = folders.act(found_in(home).plan(), how, journal=tmp_path / "journal")
    assert {file.outcome for file in outcome.files} == {"done"}
    assert [Path(key).name for key in outcome.emptied][-1] == "Documents"
    assert not (home / "backup" / "Documents").exists()
    assert (home / "Documents" / "a" / "0" / "0").exists()
    undone = folders.undo(outcome)
    assert {file.outcome for file in undone.files} == {"undone"}
    after = all_below(home)
    above = "backup"  # its time changed with the folder in it
    assert {**after, above: None} == {**before, above: None}


def test_files_that_differ_and_their_folders_stay(home, tmp_path):
    write(home / "backup" / "Documents", a_0_0="changed")
    (home / "backup" / "Documents" / "nothing").mkdir()
    outcome = folders.act(found_in(home).plan(), "trash", journal=tmp_path / "journal")
    left = [path for path in (home / "backup").rglob("*") if path.is_file()]
    assert left == [home / "backup" / "Documents" / "a" / "0" / "0"]
    assert sorted(Path(key).name for key in outcome.emptied) == ["1", "nothing"]
    folders.undo(outcome)
    assert (home / "backup" / "Documents" / "nothing").is_dir()
    assert len(list((home / "backup" / "Documents" / "a" / "1").iterdir())) == 4


def test_a_file_that_changed_after_the_plan_stays(home, tmp_path):
    plan = found_in(home).plan()
    (home / "backup" / "Documents" / "a" / "0" / "2").write_bytes(b"x" * 50)
    outcome = folders.act(plan, "delete", journal=tmp_path / "journal")
    assert sorted(file.outcome for file in outcome.files) == ["done"] * 8 + ["left"]
    assert (home / "backup" / "Documents" / "a" / "0" / "2").read_bytes() == b"x" * 50


def test_a_folder_pair_is_looked_at_once_however_many_files_it_shares(tmp_path, monkeypatch):
    from docindex.folders.finding import copied_folders

    for side in ("one", "two"):
        for number in range(60):
            write(tmp_path / side / f"{number}", licence="the same in all", own=f"text {number}")
    compared, original = [], copied_folders.FolderTree.compare
    monkeypatch.setattr(
        copied_folders.FolderTree,
        "compare",
        lambda tree, *pair: compared.append(pair) or original(tree, *pair),
    )
    (group,) = found_in(tmp_path).folders
    assert len(group.copies) == 120
    assert len(compared) < 12


@pytest.mark.parametrize("seed", range(12))
def test_acting_on_any_plan_loses_no_content_and_undo_restores_every_file(seed, root, tmp_path):
    tree_with_copied_folders(random.Random(seed), root)
    before, plan = contents_of(root), all_going(folders.find_exact([root], options=ALL).plan())
    outcome = folders.act(plan, "delete", journal=tmp_path / "journal")
    assert set(contents_of(root).values()) == set(before.values())
    if outcome.journal.exists():
        assert {file.outcome for file in folders.undo(outcome).files} <= {"undone"}
    assert contents_of(root) == before
