"""What a search left out is never counted as equal, entered or removed, whatever the plan went through."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import docindex
from docindex import folders
from docindex.cli import main
from tests.folders.test_copied_folders import all_below, write

GIT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(folder, *arguments):
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    done = subprocess.run(command, cwd=folder, env=GIT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    write(home / "proj", **{"a.txt": "one text", "b.txt": "another text", "src_c.txt": "the third text"})
    return home


@pytest.fixture
def repository(home):
    """A project with a copy, in which there is work that was committed and exists nowhere else."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(home / "proj", "init", "--quiet", "--initial-branch=main")
    git(home / "proj", "add", "--all")
    git(home / "proj", "commit", "--quiet", "--message", "The first commit")
    copy = copied(home)
    git(copy, "checkout", "--quiet", "-b", "unpushed")
    git(copy, "commit", "--quiet", "--allow-empty", "--message", "Unpushed work")
    git(copy, "pack-refs", "--all")
    return copy


def copied(home):
    shutil.copytree(home / "proj", home / "proj copy", symlinks=True)
    return home / "proj copy"


def indexed(home, *, with_scan=True, **options):
    with docindex.open(":memory:") as index:
        scanned = folders.scan(index, [home], options=folders.WalkOptions(**options), workers=1)
        return folders.find(index, [home], kinds=folders.EXACT_KINDS, scan=scanned if with_scan else None)


SEARCHES = {
    "without an index": lambda home: folders.find_exact([home]),
    "after a scan": indexed,
    "with an older scan": lambda home: indexed(home, with_scan=False),
}


def by_hand(plan):
    return dataclasses.replace(plan, folders=tuple(group._replace(keep=False) for group in plan.folders))


def edited_json(plan):
    edited = json.loads(plan.to_json())
    for group in edited["folders"]:
        group["keep"] = False
    return folders.Plan.from_json(json.dumps(edited))


def reviewed(plan):
    review = folders.PlanReview(plan)
    review.choose(0, [plan.folders[0].kept])
    return folders.PlanReview.from_json(review.to_json()).plan()


DECISIONS = {"python": by_hand, "JSON": edited_json, "review": reviewed}


def acted(plan, tmp_path, how="delete"):
    return folders.act(plan, how, journal=tmp_path / "journal")


@pytest.mark.parametrize("search", SEARCHES)
def test_a_copy_of_a_repository_is_not_exact_and_is_kept(search, home, repository, tmp_path):
    found = SEARCHES[search](home)
    (group,) = found.folders
    assert (group.folder, group.is_exact, group.keep) == (str(repository), False, True)
    assert (group.not_compared, group.remark) == ([".git"], "not compared: .git")
    assert (len(group.copies), found.reclaimable, found.copies) == (3, 0, ())
    before = all_below(home)
    assert acted(found.plan(), tmp_path).files == ()
    assert all_below(home) == before


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("search", SEARCHES)
def test_a_repository_survives_that_its_copied_files_go(search, decision, home, repository, tmp_path):
    before = all_below(home)
    plan = DECISIONS[decision](SEARCHES[search](home).plan())
    outcome = acted(plan, tmp_path)
    assert [file.outcome for file in outcome.files] == ["done"] * 3
    assert outcome.emptied == (str(repository / "src"),)
    assert all_below(repository / ".git") == {
        path.removeprefix("proj copy/.git/"): fact
        for path, fact in before.items()
        if path.startswith("proj copy/.git/")
    }
    assert git(repository, "log", "--format=%s", "unpushed") == "Unpushed work\nThe first commit"
    folders.undo(outcome)
    after = all_below(home)
    assert {**after, "proj copy": None} == {**before, "proj copy": None}
    assert git(repository, "status", "--short") == ""


@pytest.mark.usefixtures("home")
def test_the_command_names_what_was_not_compared_and_keeps_the_folder(
    repository, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    arguments = ["dups", "--kind", "folder", "--kind", "exact", "home"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "home/proj copy is a copy of home/proj: 3 files, 34 B; both folders stay\n" in shown
    assert "  keep  home/proj copy\n" in shown
    assert "removing the copies frees 0 B" in shown
    main([*arguments, "--json"])
    (tmp_path / "plan.json").write_text(capsys.readouterr().out)
    main(["act", "plan.json", "--trash", "--no-dry-run"])
    shown = capsys.readouterr().out
    assert shown.startswith("folder stays: home/proj copy (not compared: .git)\nmoved to the trash: 0 files")
    assert git(repository, "log", "--format=%s", "-1") == "Unpushed work"
    assert (repository / "src" / "c.txt").exists()


def an_empty_hidden_folder(copy):
    (copy / ".cache" / "deep").mkdir(parents=True)
    return ".cache"


def a_link(copy):
    (copy / "link").symlink_to("a.txt")
    return "link"


def a_link_to_a_folder(copy):
    (copy / "link").symlink_to(copy.parent / "proj" / "src")
    return "link"


def a_pipe(copy):
    os.mkfifo(copy / "pipe")
    return "pipe"


def an_excluded_folder(copy):
    (copy / "no").mkdir()
    return "no"


def a_program_folder(copy):
    write(copy / "env", **{"pyvenv.cfg": "home = /usr/bin"})
    return "env"


def an_ignored_folder(copy):
    write(copy, **{".gitignore": "out/\n"})
    (copy / "out").mkdir()
    return ".gitignore, out"


PARTS = (
    *(an_empty_hidden_folder, a_link, a_link_to_a_folder, a_pipe, an_excluded_folder, a_program_folder),
    an_ignored_folder,
)
OPTIONS = folders.WalkOptions(exclude=["no"])


@pytest.mark.parametrize("make", PARTS)
def test_whatever_the_walk_left_out_is_named_and_stays(make, home, tmp_path):
    copy = copied(home)
    name = make(copy)
    found = folders.find_exact([home], options=OPTIONS, prefer=[home / "proj"])
    assert indexed(home, exclude=["no"]).folders[0].remark == f"not compared: {name}"
    (group,) = found.folders
    assert (group.folder, group.is_exact, group.keep) == (str(copy), False, True)
    assert group.remark == f"not compared: {name}"
    parts = [copy / part for part in name.split(", ")]
    before = [(path.lstat(), all_below(path)) for path in parts]
    acted(by_hand(found.plan()), tmp_path)
    assert [(path.lstat(), all_below(path)) for path in parts] == before
    assert not (copy / "a.txt").exists()


def test_files_left_out_by_their_size_keep_the_folder(home):
    write(copied(home), large="x" * 1000)
    found = folders.find_exact([home], options=folders.WalkOptions(max_size=100), prefer=[home / "proj"])
    assert [group.remark for group in found.folders] == ["not compared: large"]


def test_what_only_the_kept_folder_has_unseen_lets_the_copy_go_and_is_exchanged_with_it(home, tmp_path):
    copy = copied(home)
    write(home / "proj", **{".hidden": "a text of its own"})
    (copy / "empty").mkdir()
    plan = folders.find_exact([home], prefer=[home / "proj"]).plan()
    (group,) = plan.folders
    assert (group.is_exact, group.keep, group.remark) == (True, False, "")
    review = folders.PlanReview(plan)
    review.choose(0, [str(copy)])
    (other,) = review.plan().folders
    assert (other.folder, other.is_exact, other.remark) == (
        *(str(home / "proj"), False, "not compared: .hidden"),
    )
    outcome = acted(plan, tmp_path, "trash")  # from where the same files come back
    assert not copy.exists()
    assert str(copy / "empty") in outcome.emptied
    folders.undo(outcome)
    acted(review.plan(), tmp_path)
    assert os.listdir(home / "proj") == [".hidden"]
    assert (copy / "empty").is_dir()


def test_an_empty_folder_goes_with_a_folder_that_was_seen_whole_only(home, tmp_path):
    copy = copied(home)
    for name in ("empty", "lost+found"):
        (copy / name / "in it").mkdir(parents=True)
    plan = folders.find_exact([home], prefer=[home / "proj"]).plan()
    outcome = acted(plan, tmp_path)
    # A check of the disk needs lost+found.
    assert sorted(path.name for path in copy.iterdir()) == ["lost+found"]
    folders.undo(outcome)
    (copy / ".hidden").touch()
    (group,) = folders.find_exact([home], prefer=[home / "proj"]).folders
    assert group.empty_folders == ()
    acted(by_hand(folders.Plan((), (group,))), tmp_path)
    assert sorted(path.name for path in copy.iterdir()) == [".hidden", "empty", "lost+found"]
    assert (copy / "empty" / "in it").is_dir()


def test_a_list_of_empty_folders_that_was_edited_removes_nothing_else(home, tmp_path):
    copy = copied(home)
    for folder in (home / "proj" / "empty", copy / "empty", home / "other", copy / "full"):
        folder.mkdir()
    plan = folders.find_exact([home], prefer=[home / "proj"]).plan()
    edited = json.loads(plan.to_json())
    write(copy / "full", new="a new file")
    (copy / "link").symlink_to(home / "other")
    assert set(edited["folders"][0]["empty_folders"]) == {
        *(str(home / "proj" / "empty"), str(copy / "empty"), str(copy / "full")),
    }
    edited["folders"][0]["empty_folders"] += [str(home / "other"), str(copy / "link"), str(home), "/"]
    acted(folders.Plan.from_json(json.dumps(edited)), tmp_path)
    assert sorted(path.name for path in copy.iterdir()) == ["full", "link"]
    assert (home / "other").is_dir()
    assert (home / "proj" / "empty").is_dir()
    for wrong in (f"{copy}/../other", f"{copy}/..", "empty", 5):
        edited["folders"][0]["empty_folders"] = [wrong]
        with pytest.raises(ValueError, match=r"not a valid absolute path|must be a list of strings"):
            folders.Plan.from_json(json.dumps(edited))


def test_a_folder_that_could_not_be_read_keeps_the_copy():
    folder = Path(tempfile.mkdtemp())  # another user cannot enter `tmp_path`
    folder.chmod(0o755)
    try:
        write(folder / "proj", **{"a.txt": "one text", "b.txt": "another text"})
        write(copied(folder), locked_c="the third text")
        (folder / "proj copy" / "locked").chmod(0o000)
        program = (
            "import os, sys; from docindex import folders\n"
            "folders.find_exact([sys.argv[1]])  # loads what another user may not be able to read later\n"
            "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
            "[group] = folders.find_exact([sys.argv[1]]).folders\n"
            "print(group.is_exact, group.keep, group.remark)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, folder], capture_output=True, text=True, check=False, cwd="/"
        )
        assert done.stdout == "False True not compared: locked\n", done.stderr
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


@pytest.mark.parametrize("search", SEARCHES)
def test_what_was_left_out_deep_in_a_folder_keeps_the_inner_folder_only(search, home):
    for folder in ("docs", "backup"):
        for name in ("photos/a", "photos/b", "proj/c", "proj/d"):
            path = home / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"a text of {name}")
    (home / "backup" / "proj" / ".git").mkdir()
    (home / "backup" / "proj" / ".git" / "HEAD").write_text("ref: main")
    found = SEARCHES[search](home)
    kept = {group.folder: group.keep for group in found.folders}
    assert kept == {str(home / "backup" / "photos"): False, str(home / "backup" / "proj"): True}


def test_what_a_desktop_notes_about_a_folder_does_not_keep_its_copies(home, tmp_path):
    copy = copied(home)
    (copy / ".DS_Store").write_bytes(b"where the icons are")
    (group,) = folders.find_exact([home], prefer=[home / "proj"]).folders
    assert (group.is_exact, group.keep, group.remark) == (False, False, "not compared: .DS_Store")
    acted(folders.Plan((), (group,)), tmp_path)
    assert os.listdir(copy) == [".DS_Store"]
