"""A plan is reviewed without a terminal: choices, undo, resuming, saving, and what `act` then does."""

import contextlib
import json
import os
import random
import shutil

import pytest

import docindex
from docindex import folders
from docindex.folders.review import files_of
from tests.folders.test_copied_folders import ALL, tree_with_copied_folders
from tests.folders.trees import contents_of, copied


@pytest.fixture
def home(tmp_path):
    """Two copied folders, and a group of three single files."""
    home = tmp_path / "home"
    for number in range(6):
        (home / "Documents").mkdir(parents=True, exist_ok=True)
        copied(os.fsencode(home / "Documents"), b"%d" % number, content=b"%d" % number * 50)
    shutil.copytree(home / "Documents", home / "backup" / "Documents")
    for name in ("Desktop", "Downloads", "Notes"):
        (home / name).mkdir()
        (home / name / "song").write_bytes(b"a song")
    (home / "Downloads" / "zero").write_bytes(b"0" * 50)
    return home


def found_in(home, **options):
    return folders.PlanReview(folders.find_exact([home], **options).plan())


def decisions(review):
    return [review.decision(number) for number in range(len(review))]


def keys(files):
    return [file.key for file in files]


def shown(review):
    """All that a review says, to compare it with another one."""
    return [(review.group(number), review.decision(number)) for number in range(len(review))]


def test_choices_change_which_files_stay_and_what_that_frees(home):
    review = found_in(home)
    assert [review.group(number).kind for number in range(len(review))] == ["folder", "exact", "exact"]
    (number,) = (number for number in (1, 2) if review.group(number).files[0].size == 6)
    a, b, c = keys(review.group(number).files)
    review.choose(number, [c])
    assert keys(review.group(number).files) == [a, b, c]
    assert keys(review.group(number).kept) == [c]
    assert (review.group(number).reason, review.group(number).reclaimable) == ("you chose it", 12)
    review.choose(number, [a, b])
    assert (keys(review.group(number).others), review.group(number).reclaimable) == ([c], 6)
    review.skip(number)
    assert (review.group(number).others, review.group(number).reclaimable) == ([], 0)
    review.agree(0)
    assert review.decision(0) == "agreed"
    assert review.decision(number) == "skipped"


def test_a_choice_that_keeps_nothing_or_another_file_is_refused(home):
    review = found_in(home)
    for keep in ([], ["/elsewhere"]):
        with pytest.raises(ValueError, match="keep at least one of"):
            review.choose(1, keep)
        with pytest.raises(ValueError, match="keep either "):
            review.choose(0, keep)
    with pytest.raises(TypeError, match="keep must be a list of keys"):
        review.choose(1, review.group(1).files[0].key)
    assert decisions(review) == ["open"] * 3


def test_undo_reverts_the_last_choice_also_one_of_many_groups(home):
    review = found_in(home)
    states = [shown(review)]
    review.choose(1, [review.group(1).files[-1].key])
    states.append(shown(review))
    review.choose(0, [review.group(0).folder])
    states.append(shown(review))
    review.position = 2
    assert review.skip_open() == 1
    for state, number in zip(reversed(states), (2, 0, 1), strict=True):
        assert shown(review) != state
        assert review.undo() == number
        assert shown(review) == state
    assert review.undo() is None


def test_files_of_reference_folders_stay_whatever_a_person_chooses(home):
    review = found_in(home, reference=[home / "Notes", home / "backup"])
    number = next(number for number in (1, 2) if review.group(number).files[0].size == 6)
    notes, other, _ = keys(review.group(number).files)
    with pytest.raises(ValueError, match="Notes/song stays: it is in a reference folder"):
        review.choose(number, [other])
    review.skip(number)
    again = folders.PlanReview.from_json(review.to_json())
    with pytest.raises(ValueError, match="Notes/song stays: it is in a reference folder"):
        again.choose(number, [other])
    again.choose(number, [notes, other])
    assert keys(again.group(number).kept) == [notes, other]
    with pytest.raises(ValueError, match="backup/Documents stays: in a reference folder"):
        review.choose(0, [review.group(0).folder])


def test_the_other_one_of_two_copied_folders_can_stay(home, tmp_path):
    review = found_in(home)
    review.choose(0, [str(home / "backup" / "Documents")])
    group = review.group(0)
    assert (group.folder, group.kept) == (str(home / "Documents"), str(home / "backup" / "Documents"))
    assert (group.reason, len(group.copies)) == ("you chose it", 6)
    outcome = folders.act(review.plan(), "delete", journal=tmp_path / "journal")
    assert {file.outcome for file in outcome.files} == {"done"}
    assert not (home / "Documents").exists()
    assert len(list((home / "backup" / "Documents").iterdir())) == 6
    assert len(outcome.files) == 6 + 1 + 2


def test_files_that_somebody_kept_in_the_plan_stay_when_the_other_folder_is_chosen(home):
    edited = json.loads(found_in(home).to_json())
    for file in edited["folders"][0]["copies"][0]["files"]:
        file["keep"] = True
    review = folders.PlanReview.from_json(json.dumps(edited))
    review.choose(0, [review.group(0).folder])
    assert len(review.group(0).copies) == 5
    kept = {file["key"] for file in edited["folders"][0]["copies"][0]["files"]}
    assert kept.isdisjoint(file.key for group in review.plan().steps for file in group.others)


def test_a_folder_that_another_group_needs_stays(home):
    shutil.copytree(home / "Documents", home / "old" / "Documents")
    review = found_in(home)
    assert isinstance(review.group(1), folders.FolderGroup)
    with pytest.raises(ValueError, match="stays: another group needs "):
        review.choose(0, [review.group(0).folder])
    review.skip(0)
    assert review.plan().going == (review.group(1),)


@pytest.mark.parametrize("seed", range(12))
def test_act_does_what_any_choices_say_and_loses_no_content(seed, root, tmp_path):
    rng = random.Random(seed)
    tree_with_copied_folders(rng, root)
    before = contents_of(root)
    review = folders.PlanReview(folders.find_exact([root], options=ALL).plan())
    for number in rng.sample(range(len(review)), len(review)):
        group = review.group(number)
        if rng.random() < 0.2:
            review.skip(number)
        elif isinstance(group, folders.CopyGroup):
            review.choose(number, rng.sample(keys(group.files), rng.randint(1, len(group.files))))
        else:
            with contextlib.suppress(ValueError):  # another group needs that folder
                review.choose(number, [rng.choice((group.folder, group.kept))])
        if rng.random() < 0.2:
            review.undo()
    review = folders.PlanReview.from_json(review.to_json())
    plan = folders.Plan.from_json(review.to_json())
    assert plan == review.plan()
    going = [file.key for group in plan.steps for file in group.others]
    outcome = folders.act(plan, "delete", journal=tmp_path / "journal")
    assert [file.key for file in outcome.files] == going
    left = {file.reason for file in outcome.files if file.outcome == "left"}
    assert left <= {"the plan keeps this file under another name"}
    assert (review.summary.files, review.summary.freed) == (len(going), plan.reclaimable)
    assert set(contents_of(root).values()) == set(before.values())
    if outcome.journal.exists():
        assert {file.outcome for file in folders.undo(outcome).files} <= {"undone"}
    assert contents_of(root) == before


def test_a_review_goes_on_where_it_was_with_all_else_that_the_plan_had(home, tmp_path):
    path = tmp_path / "plan.json"
    alike = [{"kind": "near", "files": []}]
    path.write_text(json.dumps({**json.loads(found_in(home).to_json()), "alike": alike}))
    file = folders.ReviewFile.read(path)
    file.review.skip(1)
    file.review.agree(0)
    file.review.position = 2
    file.save()
    file.save()
    again = folders.ReviewFile.read(path).review
    assert (again.position, decisions(again), again.rest["alike"]) == (
        2,
        ["agreed", "skipped", "open"],
        alike,
    )
    assert shown(again) == shown(file.review)
    assert (again.next_open(0), again.next_open(3), again.undo()) == (2, 2, None)
    assert again.summary.groups == {"agreed": 1, "skipped": 1, "open": 1}
    assert again.summary.open_files == len(again.group(2).others)
    assert sorted(os.listdir(tmp_path)) == ["home", "plan.json"]


def test_saving_keeps_the_mode_and_the_link_and_not_the_changes_of_others(home, tmp_path):
    real, path = tmp_path / "real.json", tmp_path / "plan.json"
    real.write_text(found_in(home).to_json())
    real.chmod(0o640)
    path.symlink_to(real)
    file = folders.ReviewFile.read(path)
    file.review.skip(0)
    file.save()
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    real.write_text(found_in(home).to_json())
    with pytest.raises(ValueError, match=r"real\.json was changed by another program; review it again"):
        file.save()
    assert folders.ReviewFile.read(path).review.decision(0) == "open"


def test_an_interrupt_or_a_full_disk_leaves_the_old_plan_or_the_new_one(home, tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    path.write_text(found_in(home).to_json())
    file = folders.ReviewFile.read(path)
    real = {name: getattr(os, name) for name in ("fsync", "chmod", "replace")}
    for name, problem in (
        ("fsync", OSError(28, "no space")),
        ("replace", KeyboardInterrupt()),
        ("chmod", OSError()),
    ):
        file.review.skip(0)

        def failing(*arguments, problem=problem, name=name):
            if isinstance(problem, KeyboardInterrupt):
                real[name](*arguments)
            raise problem

        monkeypatch.setattr(os, name, failing)
        with pytest.raises((docindex.DiskFull, docindex.UnreadableFile, KeyboardInterrupt)):
            file.save()
        monkeypatch.setattr(os, name, real[name])
        folders.ReviewFile.read(path)
        assert not list(tmp_path.glob("*.part"))
    file.save()
    assert folders.ReviewFile.read(path).review.decision(0) == "skipped"


def test_files_that_are_gone_or_changed_are_named(home):
    review = found_in(home)
    assert [review.changes(number) for number in range(3)] == [{}, {}, {}]
    number = next(number for number in (1, 2) if review.group(number).files[0].size == 6)
    a, b, c = keys(review.group(number).files)
    os.remove(a)
    with open(b, "ab") as file:
        file.write(b"more")
    assert review.changes(number) == {a: "gone", b: "changed"}
    review.choose(number, [c])
    assert review.group(number).reclaimable == 10
    os.remove(files_of(review.group(0))[0].key)
    assert list(review.changes(0).values()) == ["gone"]


def test_the_files_in_which_copied_folders_differ_are_listed(home):
    backup = home / "backup" / "Documents"
    (backup / "1").write_bytes(b"other")
    (backup / "own").touch()
    (home / "Documents" / "sub").mkdir()
    (home / "Documents" / "sub" / "new").write_bytes(b"new")
    group = found_in(home).group(0)
    assert folders.differing_files(group) == (("1",), ("own",), ("sub/new",))


def test_a_plan_of_thousands_of_groups_is_saved_without_writing_each_group_again(tmp_path, monkeypatch):
    identity = {"device": 1, "inode": 2}
    groups = [
        {
            "files": [
                {"key": f"/{number}/{name}", "keep": name == "a", "size": 8, "mtime_ns": -1, **identity}
                for name in "ab"
            ],
            "digest": "0" * 32,
            "reclaimable": 8,
        }
        for number in range(3000)
    ]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"docindex-plan": 1, "groups": groups}))
    file = folders.ReviewFile.read(path)
    file.save()
    from docindex.folders import review as plan_review

    written, original = [], plan_review.planned_record
    monkeypatch.setattr(plan_review, "planned_record", lambda group: written.append(group) or original(group))
    file.review.skip(1500)
    file.save()
    assert written == [file.review.group(1500)]
    assert folders.ReviewFile.read(path).review.decision(1500) == "skipped"
