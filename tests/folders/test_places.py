"""`act` and `undo` follow no link, and touch no other file than the one that was planned."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from docindex import folders
from docindex.folders.acting import compared_files, removal
from docindex.folders.acting.journal import Journal
from docindex.folders.walking import system
from docindex.folders.walking.path_keys import key_of
from tests.folders.trees import copied, planned

OLD_NS = 10**18
LINK = "its path leads through a link, which is not followed"


@pytest.fixture(params=["one call", "folder by folder"], autouse=True)
def opened(request, monkeypatch):
    """With the call of new kernels that refuses links, and without it."""
    if request.param == "folder by folder" and hasattr(system, "_openat2"):
        monkeypatch.setattr(system, "_openat2", lambda: None)


@pytest.fixture
def home(tmp_path):
    """The folders a, b and c, with the same file x in each."""
    for name in "abc":
        write(tmp_path / "home" / name / "x")
    return tmp_path / "home"


def write(path, data=b"the same"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(OLD_NS, OLD_NS))


def names_in(folder):
    """All files and folders below a folder, with their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def plan_of(home, **options):
    return folders.find_exact([home], kinds="exact", **options).plan()


def outcomes(result):
    return {Path(file.key).parent.name: (file.outcome, file.reason) for file in result.files}


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_act_removes_nothing_through_a_folder_that_became_a_link(home, how):
    plan = plan_of(home, reference=[home / "a", home / "c"])
    (home / "b" / "x").unlink()
    (home / "b").rmdir()
    (home / "b").symlink_to("c")
    before = names_in(home)
    for dry_run in (True, False):
        assert outcomes(folders.act(plan, how, dry_run=dry_run)) == {"b": ("left", LINK)}
    assert names_in(home) == before


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
@pytest.mark.parametrize("which", ["b", "a"])
def test_a_folder_that_is_replaced_by_a_link_before_the_removal_loses_nothing(home, how, which, monkeypatch):
    """Neither the folder of the file nor that of the kept file leads anywhere else."""
    (home / "c" / "x").write_bytes(b"another")
    plan, begin = plan_of(home, keep="first"), Journal.begin

    def replacing(self, step):
        begin(self, step)
        (home / which).rename(home / "moved")
        (home / which).symlink_to("c")

    monkeypatch.setattr(Journal, "begin", replacing)
    (file,) = folders.act(plan, how).files
    assert file.outcome == "left"
    assert "was moved while act" in file.reason
    found = {path: data for path, data in names_in(home).items() if not path.startswith(which)}
    other = "a" if which == "b" else "b"
    files = {f"{other}/x": b"the same", "moved/x": b"the same", "c/x": b"another"}
    assert found == {other: None, "moved": None, "c": None, **files}


def test_a_file_of_another_inode_than_planned_is_left(home):
    """Size, time and bytes may agree: nobody has planned to remove this file."""
    plan = plan_of(home, keep="first")
    write(home / "b" / "new")
    (home / "b" / "new").rename(home / "b" / "x")
    left = (
        "left",
        compared_files._REPLACED_SINCE,
    )
    assert outcomes(folders.act(plan, "delete")) == {"b": left, "c": ("done", None)}


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_a_file_that_any_group_of_the_plan_keeps_is_never_removed(home, how):
    plan = plan_of(home, keep="first")
    (first,) = plan.groups
    by_name = {Path(file.key).parent.name: file for file in first.files}
    groups = [
        first._replace(files=(by_name["a"]._replace(keep=True), by_name["b"]._replace(keep=False))),
        first._replace(files=(by_name["b"]._replace(keep=True), by_name["c"]._replace(keep=False))),
    ]
    found = outcomes(folders.act(folders.Plan(tuple(groups)), how))
    assert found["b"] == ("left", "the plan keeps this file under another name")
    assert found["c"] == ("done", None)


def test_a_file_of_a_folder_that_a_person_skipped_is_never_removed(home):
    write(home / "a" / "y", b"more")
    write(home / "b" / "y", b"more")
    plan = folders.find_exact([home / "a", home / "b"], keep="first").plan()
    (folder,) = plan.folders
    edited = folders.Plan(folder.copies, (folder._replace(keep=True),))
    assert {file.outcome for file in folders.act(edited, "delete").files} == {"left"}


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_undo_restores_nothing_through_a_folder_that_became_a_link(home, how):
    outcome = folders.act(plan_of(home, keep="first"), how)
    assert {file.outcome for file in outcome.files} == {"done"}
    (home / "b").rename(home / "moved")
    (home / "b").symlink_to("a")
    before = names_in(home)
    found = outcomes(folders.undo(outcome))
    assert found == {"b": ("left", LINK), "c": ("undone", None)}
    assert {path for path in names_in(home) if path not in before} == ({"c/x"} - set(before))
    assert folders.acts()[0].state == "partly undone"
    (home / "b").unlink()
    (home / "moved").rename(home / "b")
    assert outcomes(folders.undo()) == {"b": ("undone", None)}
    assert folders.acts()[0].state == "undone"


def test_a_root_may_be_reached_through_a_link_and_keys_stay_as_they_were_typed(home, tmp_path):
    (tmp_path / "typed").symlink_to("home")
    (home / "c" / "x").write_bytes(b"another")
    root = tmp_path / "typed"
    found = folders.find_exact([root], keep="first")
    plan = found.plan()
    again = folders.Plan.from_json(plan.to_json())
    before = names_in(home)
    outcome = folders.act(again, "delete")
    assert [(file.key, file.outcome) for file in outcome.files] == [(str(root / "b" / "x"), "done")]
    assert outcome.emptied == ((str(root / "b"),) if plan.folders else ())
    (tmp_path / "typed").unlink()  # undo knows where the file was
    assert [file.outcome for file in folders.undo(outcome).files] == ["undone"]
    assert names_in(home) == before


def test_a_root_that_leads_elsewhere_now_is_left(home, tmp_path):
    (tmp_path / "typed").symlink_to("home")
    plan = folders.find_exact([tmp_path / "typed"], kinds="exact", keep="first").plan()
    home.rename(tmp_path / "moved")
    (tmp_path / "home").symlink_to("moved")
    assert {file.reason for file in folders.act(plan, "delete").files} == {LINK}


def test_files_that_were_found_through_links_are_left(home, tmp_path):
    (home / "b" / "x").unlink()
    (home / "b").rmdir()
    (tmp_path / "outside").mkdir()
    write(tmp_path / "outside" / "x")
    (home / "b").symlink_to(tmp_path / "outside")
    plan = plan_of(home, keep="first", options=folders.WalkOptions(follow_symlinks=True))
    assert outcomes(folders.act(plan, "delete")) == {"b": ("left", LINK), "c": ("done", None)}
    assert (tmp_path / "outside" / "x").exists()


def test_the_plan_holds_the_device_and_the_inode_of_every_file(home):
    for name in "ab":
        write(home / name / "y", b"more")
        write(home / name / "empty", b"")
    plan = folders.find_exact([home], keep="first").plan()
    text = json.loads(plan.to_json())
    groups = [*text["groups"], *(copies for folder in text["folders"] for copies in folder["copies"])]
    files = [file for group in groups for file in group["files"]]
    assert {Path(file["key"]).name for file in files} == {"x", "y", "empty"}
    for file in files:
        status = os.stat(file["key"])
        assert (file["device"], file["inode"]) == (status.st_dev, status.st_ino)
    files[0].pop("inode")
    with pytest.raises(ValueError, match="has no field 'inode'"):
        folders.Plan.from_json(json.dumps(text))


def test_a_link_that_act_made_is_taken_back_although_the_kept_file_is_moved_away(root, tmp_path, monkeypatch):
    """So another act moves it, which works in the same folder: nothing of either stays behind."""
    copied(root, b"a", b"b")
    link, groups = removal._link, planned(root, keep="first")
    own = os.stat(os.path.join(root, b"b")).st_ino

    def moving(*arguments):
        link(*arguments)
        os.rename(os.path.join(root, b"a"), os.path.join(root, b"moved"))

    monkeypatch.setattr(removal, "_link", moving)
    with Journal(tmp_path / "journal") as journal:
        (one,) = removal.remove_copies(groups, "hardlink", dry_run=False, journal=journal)
    assert one.outcome == "left"
    assert sorted(os.listdir(root)) == [b"b", b"moved"]
    assert os.stat(os.path.join(root, b"b")).st_ino == own


def test_a_second_act_waits_until_the_first_has_left_the_folder(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b")
    groups, begin, inside = planned(root, keep="first"), Journal.begin, []

    def meeting(self, step):
        begin(self, step)
        with Journal(tmp_path / "second") as journal, monkeypatch.context() as patches:
            patches.setattr(removal, "act_lock", contextlib.nullcontext)
            patches.setattr(Journal, "begin", begin)
            patches.setattr(system, "_PATIENCE_S", 0)
            inside.extend(removal.remove_copies(groups, "delete", dry_run=False, journal=journal))

    monkeypatch.setattr(Journal, "begin", meeting)
    with Journal(tmp_path / "first") as journal:
        (one,) = removal.remove_copies(groups, "delete", dry_run=False, journal=journal)
    assert one.outcome == "done"
    assert {file.reason for file in inside} == {"another docindex act or undo is working in its folder"}


def test_paths_that_are_too_long_for_one_call_are_acted_on_and_restored(root):
    """Linux takes 4,096 bytes in a call."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(25):
        os.mkdir(b"d" * 200, dir_fd=here)
        below = os.open(b"d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    for name in (b"a", b"b"):
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here)
        os.write(descriptor, b"the same")
        os.close(descriptor)
    plan = folders.find_exact([root], keep="first").plan()
    outcome = folders.act(plan, "delete")
    assert [file.outcome for file in outcome.files] == ["done"]
    assert os.listdir(here) == ["a"]
    assert [file.outcome for file in folders.undo(outcome).files] == ["undone"]
    assert sorted(os.listdir(here)) == ["a", "b"]
    os.close(here)
    assert key_of(root) in outcome.files[0].key


def test_a_folder_that_becomes_a_link_while_act_looks_for_mounts_is_left(home, monkeypatch):
    for name in "ab":
        write(home / name / "y", b"another")
    plan = folders.find_exact([home / "a", home / "b"]).plan()

    def asked(folder):
        raise OSError(22, "Invalid argument", folder)  # as of a link that has just become a folder

    with monkeypatch.context() as changed:
        changed.setattr(os.path, "ismount", asked)
        outcome = folders.act(plan, "delete", journal=home.parent / "journal")
    assert [file.outcome for file in outcome.files] == ["done", "done"]
    assert outcome.emptied == ()
    assert sorted(path.name for path in home.iterdir()) == ["a", "b", "c"]
