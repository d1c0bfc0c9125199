"""`docindex.folders` as an application uses it: its reports and its errors."""

import ast
import dataclasses
import inspect
import itertools
import json
import os
import random
import shutil
import sys
import threading
from pathlib import Path

import pytest

import docindex
from docindex import folders
from docindex.folders.acting import journal
from docindex.folders.walking import system
from tests.folders.desktop_app import Application
from tests.storage.texts import prose

OLD_NS = 10**18


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def index(tmp_path):
    with docindex.open(tmp_path / "own.docindex", durability="normal") as opened:
        yield opened
        assert opened.check() == []


@pytest.fixture
def home(tmp_path):
    """A folder with a group of each kind."""
    rng = random.Random(3)
    text, inner, outer = prose(rng, 200), prose(rng, 60), prose(rng, 300)
    words = text.split()
    home = tmp_path / "home"
    contents = {
        "photo.raw": bytes(range(256)) * 40,
        "old/photo.raw": bytes(range(256)) * 40,
        "old/photo again.raw": bytes(range(256)) * 40,
        "essay.txt": text.encode(),
        "wide.txt": text.encode("utf-16"),
        "essay, draft.txt": " ".join([*words[:100], "another", *words[100:]]).encode(),
        "part.txt": inner.encode(),
        "whole.txt": f"{outer}\n{inner}".encode(),
        "latin.txt": "Größe und Länge".encode("latin-1"),
    }
    for name, data in contents.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
        os.utime(home / name, ns=(OLD_NS, OLD_NS))
    return home


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(group):
    return sorted(Path(file.key).name for file in group.files)


def many_copies(folder, count):
    """Pairs of copies."""
    folder.mkdir(parents=True)
    for number in range(count):
        for side in "ab":
            (folder / f"{number}{side}").write_bytes(b"content %d" % number)


def planned(index, folder, **options):
    return folders.find(index, [folder], scan=folders.scan(index, [folder]), **options).plan()


# scan


def test_a_scan_says_what_changed(index, home):
    seen = folders.scan(index, [home])
    assert (seen.added, seen.changed, seen.moved, seen.removed, seen.unchanged) == (9, 0, 0, 0, 0)
    assert (seen.files, seen.texts, seen.binaries, seen.changes) == (9, 6, 3, 9)
    assert seen.bytes == sum(len(data) for data in files_in(home).values())
    assert seen.seen == {str(home / name) for name in files_in(home)}
    assert seen.guessed == {str(home / "latin.txt"): "windows-1252"}
    assert (seen.skipped, seen.failed) == ({}, ())
    (home / "part.txt").unlink()
    again = folders.scan(index, [home])
    assert (again.removed, again.unchanged, again.changes, again.bytes_read) == (1, 8, 1, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.removed = 2


def test_roots_are_named_in_any_way(index, home):
    for root in (home, str(home), os.fsencode(home), "~", Path("~"), f"{home}/"):
        assert folders.scan(index, [root]).files == 9
    assert len(index) == 6
    assert {folders.path_of(key) for key in index} <= {os.fsencode(path) for path in home.rglob("*")}


def test_a_forced_encoding_is_used_for_all_texts(index, home):
    (home / "latin.txt").write_bytes("Größe".encode("cp850"))
    seen = folders.scan(index, [home / "latin.txt"], encoding="cp850")
    assert (seen.guessed, index.text(str(home / "latin.txt"))) == ({}, "Größe")


def test_a_forced_encoding_is_used_for_unchanged_and_moved_texts_too(index, home):
    file, moved = home / "latin.txt", home / "moved.txt"
    file.write_bytes("größer ".encode("cp1251", "replace") + b"f\xfcr H\xf6he und L\xe4nge, \xfcber")
    os.utime(file, ns=(OLD_NS, OLD_NS))
    assert folders.scan(index, [home]).guessed == {str(file): "windows-1252"}
    assert index.text(str(file)).endswith("für Höhe und Länge, über")
    (home / "wide.txt").unlink()
    assert folders.scan(index, [home]).changes == 1
    seen = folders.scan(index, [home], encoding="cp1251")
    assert (seen.changed, seen.unchanged, seen.files) == (1, 7, 8)
    assert index.text(str(file)).endswith("Lдnge, ьber")
    assert folders.scan(index, [home]).unchanged == 8
    file.rename(moved)
    index.add(str(home / "part.txt"), index.text(str(home / "part.txt")), meta="kept")
    seen = folders.scan(index, [home], encoding="latin-1")
    assert (seen.moved, seen.added, seen.removed, seen.changed, seen.files) == (1, 0, 0, 0, 8)
    assert (index.text(str(moved))[-4:], index.meta(str(home / "part.txt"))) == ("über", "kept")


def test_text_in_an_unknown_encoding_is_named_and_compared_as_bytes_until_it_is_forced(index, tmp_path):
    files = [tmp_path / name for name in ("a", "b", "moved")]
    for file in files[:2]:
        file.write_bytes("ÄÖÜ ä ö ü".encode("cp850"))
        os.utime(file, ns=(OLD_NS, OLD_NS))
    for scanned in range(2):
        seen = folders.scan(index, [tmp_path])
        assert seen.undetected == (str(files[0]), str(files[1]))
        assert (seen.texts, seen.binaries, seen.unchanged, len(index)) == (0, 2, 2 * scanned, 0)
    (group,) = folders.find(index, [tmp_path], scan=seen).groups
    assert (group.kind, names(group)) == ("exact", ["a", "b"])
    files[1].rename(files[2])
    seen = folders.scan(index, [tmp_path])
    assert (seen.moved, seen.undetected) == (1, (str(files[0]), str(files[2])))
    seen = folders.scan(index, [tmp_path], encoding="cp850")
    assert (seen.changed, seen.texts, seen.undetected) == (2, 2, ())
    assert index.text(str(files[2])) == "ÄÖÜ ä ö ü"
    assert folders.scan(index, [tmp_path]).undetected == ()


def test_a_moved_text_is_counted_once_when_an_encoding_is_forced(index, tmp_path):
    (tmp_path / "a").write_bytes(b"\xe4\xf6")
    os.utime(tmp_path / "a", ns=(OLD_NS, OLD_NS))
    assert folders.scan(index, [tmp_path]).undetected == (str(tmp_path / "a"),)
    (tmp_path / "a").rename(tmp_path / "b")
    seen = folders.scan(index, [tmp_path], encoding="latin-1")
    assert (seen.moved, seen.texts, seen.binaries, seen.undetected) == (1, 1, 0, ())


def test_the_progress_of_a_scan_counts_files(index, home):
    calls = []
    folders.scan(index, [home], progress=lambda done, total: calls.append((done, total)))
    walked = [done for done, total in calls if total is None]
    read = [(done, total) for done, total in calls if total is not None]
    assert walked == list(range(1, 10))
    assert read[-1] == (9, 9)
    assert read == sorted(read)


def test_a_scan_refuses_invalid_arguments(index, home):
    for action in (folders.scan, folders.find):
        with pytest.raises(TypeError, match=r"must be one that docindex\.open returned, not 'a'"):
            action("a", [home])
    with pytest.raises(TypeError, match="put it in a list"):
        folders.scan(index, str(home))
    for wrong, message in (
        ([5], "a path must be str, bytes or os.PathLike, not 5"),
        (5, "list of paths, not 5"),
    ):
        with pytest.raises(TypeError, match=message):
            folders.scan(index, wrong)
    with pytest.raises(ValueError, match="unknown encoding 'utf-9'"):
        folders.scan(index, [home], encoding="utf-9")
    with pytest.raises(ValueError, match="a path is empty"):
        folders.scan(index, [""])
    assert len(index) == 0
    with pytest.raises(docindex.UnreadableFile, match="nothing cannot be read") as caught:
        folders.scan(index, [home / "nothing"])
    assert caught.value.path == str(home / "nothing")
    assert len(index) == 0


def test_an_error_of_the_callback_is_not_an_unreadable_folder(index, home):
    def fail(*_):
        raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        folders.scan(index, [home], progress=fail)
    assert folders.scan(index, [home]).files == 9


def test_a_scan_is_cancelled_from_another_thread(index, home):
    def cancel(done, _total):
        if done == 3:
            thread = threading.Thread(target=index.cancel)
            thread.start()
            thread.join()

    with pytest.raises(docindex.Cancelled):
        folders.scan(index, [home], progress=cancel)
    assert folders.scan(index, [home]).files == 9


# find


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("exact", [["photo again.raw", "photo.raw", "photo.raw"]]),
        ("same words", [["essay.txt", "wide.txt"]]),
        ("near", [["essay, draft.txt", "essay.txt", "wide.txt"]]),
        ("contained", [["part.txt", "whole.txt"]]),
    ],
)
def test_each_kind_of_group_is_found(index, home, kind, expected):
    if kind == "same words":
        (home / "essay, draft.txt").unlink()
    folders.scan(index, [home])
    findings = folders.find(index, [home], kinds=[kind])
    assert [names(group) for group in findings.groups] == expected
    assert {group.kind for group in findings.groups} == {kind}
    everything = folders.find(index, [home])
    assert set(findings.groups) <= set(everything.groups)
    assert {group.kind for group in everything.groups} <= set(folders.KINDS)
    sizes = [group.reclaimable for group in everything.groups]
    assert sizes == sorted(sizes, reverse=True)


def test_only_exact_copies_are_planned(index, home):
    folders.scan(index, [home])
    findings = folders.find(index, [home])
    assert findings.plan().groups == findings.copies
    assert findings.plan().reclaimable == findings.reclaimable == 2 * 10240
    assert (findings.unreadable, findings.ignored) == ((), 0)
    assert folders.find(index, [home], kinds=["near"]).plan().groups == ()


@pytest.mark.parametrize(
    ("keep", "kept"),
    [("shortest-path", "photo.raw"), ("newest", "old/photo.raw"), ("oldest", "old/photo again.raw"),
     ("first", "old/photo again.raw")],
)  # fmt: skip
def test_the_caller_chooses_which_copy_is_kept(index, home, keep, kept):
    for age, name in enumerate(("old/photo.raw", "photo.raw", "old/photo again.raw")):
        os.utime(home / name, ns=(OLD_NS, OLD_NS - age))
    folders.scan(index, [home])
    (group,) = folders.find(index, [home], keep=keep).copies
    assert [file.key for file in group.kept] == [str(home / kept)]
    assert len(group.others) == 2


def test_files_of_reference_folders_are_kept(index, home):
    folders.scan(index, [home])
    (group,) = folders.find(index, [home], reference=[home / "old"]).copies
    assert sorted(Path(file.key).name for file in group.kept) == ["photo again.raw", "photo.raw"]
    assert [file.key for file in group.others] == [str(home / "photo.raw")]
    (home / "photo.raw").unlink()
    folders.scan(index, [home])
    assert folders.find(index, [home], reference=[home / "old"]).copies == ()


def test_a_reference_folder_that_does_not_exist_is_refused(index, home):
    """Otherwise a mistyped name would protect nothing."""
    folders.scan(index, [home])
    with pytest.raises(docindex.UnreadableFile, match=r"the reference folder .*/odl does not") as caught:
        folders.find(index, [home], reference=[home / "odl"])
    assert caught.value.path == str(home / "odl")


def test_files_under_one_isolated_root_are_not_copies_of_each_other(index, home):
    folders.scan(index, [home])
    assert folders.find(index, [home / "old"], isolate=True).copies == ()
    (group,) = folders.find(index, [home / "old"]).copies
    assert len(group.files) == 2


def test_only_files_of_the_scan_are_compared(index, home):
    folders.scan(index, [home])
    seen = folders.scan(index, [home], options=folders.WalkOptions(exclude=["old"]))
    assert folders.find(index, [home], kinds=["exact"], scan=seen).copies == ()
    assert len(folders.find(index, [home], kinds=["exact"]).copies) == 1


def test_a_file_that_cannot_be_read_may_have_copies(index, home):
    folders.scan(index, [home])
    (home / "old" / "photo.raw").write_bytes(bytes(10_240))
    findings = folders.find(index, [home], kinds=["exact"])
    assert [file.key for file in findings.unreadable] == [str(home / "old" / "photo.raw")]
    assert [names(group) for group in findings.copies] == [["photo again.raw", "photo.raw"]]


def test_text_that_many_files_share_is_ignored(index, tmp_path):
    template = prose(random.Random(1), 60)
    (tmp_path / "letters").mkdir()
    for number in range(12):
        (tmp_path / "letters" / f"{number}").write_text(f"{template} {number}")
    folders.scan(index, [tmp_path / "letters"])
    assert len(folders.find(index, [tmp_path / "letters"], ignore_above=None).likenesses) == 1
    findings = folders.find(index, [tmp_path / "letters"], ignore_above=11)
    assert (findings.likenesses, findings.ignored > 0) == ((), True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kinds": ["similar"]},
            "kinds must be some of folder, exact, same words, near, contained, not similar",
        ),
        ({"kinds": []}, "kinds is empty"),
        ({"keep": "best"}, "keep must be one of original, newest, oldest, shortest-path, first, not 'best'"),
        ({"min_resemblance": 0.0}, "min_resemblance"),
        ({"min_containment": 1.5}, "min_containment"),
    ],
)
def test_find_refuses_parameters_out_of_their_range(index, home, options, message):
    with pytest.raises(ValueError, match=message):
        folders.find(index, [home], **options)


def test_find_reports_progress_in_bytes_and_can_be_cancelled(index, home):
    folders.scan(index, [home])
    calls = []

    def cancel(done, total):
        calls.append((done, total))
        if len(calls) == 1:
            thread = threading.Thread(target=index.cancel)
            thread.start()
            thread.join()

    with pytest.raises(docindex.Cancelled):
        folders.find(index, [home], progress=cancel)
    calls.clear()
    folders.find(index, [home], kinds=["exact"], progress=lambda *call: calls.append(call))
    assert calls[-1] == (3 * 10_240, 3 * 10_240)


# plan


def test_a_plan_is_edited_as_json(index, home):
    plan = planned(index, home)
    assert folders.Plan.from_json(plan.to_json()) == plan
    edited = json.loads(plan.to_json())
    for file in edited["groups"][0]["files"]:
        file["keep"] = file["key"].endswith("again.raw")
    plan = folders.Plan.from_json(json.dumps(edited))
    assert [Path(file.key).name for file in plan.groups[0].kept] == ["photo again.raw"]
    folders.act(plan, "delete")
    assert sorted(name for name in files_in(home) if name.endswith("raw")) == ["old/photo again.raw"]


def test_a_plan_that_would_keep_nothing_is_refused(index, home):
    with pytest.raises(ValueError, match="a group keeps no file"):
        folders.Plan.from_json(planned(index, home).to_json().replace("true", "false"))
    with pytest.raises(ValueError, match="this is not a plan"):
        folders.Plan.from_json(b"\xff")


# act


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_copies_are_removed_and_brought_back(index, home, tmp_path, how):
    before = files_in(home)
    calls, files = [], []
    outcome = folders.act(
        planned(index, home), how, journal=tmp_path / "journal",
        progress=lambda *call: calls.append(call), on_file=files.append,
    )  # fmt: skip
    assert calls == [(1, 2), (2, 2)]
    assert outcome.files == tuple(files)
    assert (outcome.journal, outcome.cancelled, outcome.dry_run) == (tmp_path / "journal", False, False)
    assert [(file.outcome, file.kept, file.reason) for file in files] == [
        ("done", str(home / "photo.raw"), None)
    ] * 2
    assert outcome.bytes == 2 * 10_240
    assert all((file.trashed is not None) == (how == "trash") for file in files)
    left = {name for name in files_in(home) if name.endswith("raw")}
    assert left == ({name for name in before if name.endswith("raw")} if how == "hardlink" else {"photo.raw"})
    undone = folders.undo(outcome)
    assert [(file.outcome, file.reason) for file in undone.files] == [("undone", None)] * 2
    assert files_in(home) == before
    assert len({path.stat().st_ino for path in home.rglob("*.raw")}) == 3
    assert folders.undo(outcome).files == ()


def test_a_dry_run_changes_nothing(index, home, tmp_path):
    before = files_in(home)
    outcome = folders.act(planned(index, home), "delete", dry_run=True, journal=tmp_path / "journal")
    assert [file.outcome for file in outcome.files] == ["would be done"] * 2
    assert (outcome.journal, outcome.dry_run, outcome.bytes) == (None, True, 2 * 10_240)
    assert (files_in(home), (tmp_path / "journal").exists()) == (before, False)


def test_a_changed_file_is_left(index, home):
    plan = planned(index, home)
    (home / "old" / "photo.raw").write_bytes(bytes(10_240))
    outcome = folders.act(plan, "delete")
    assert {Path(file.key).name: (file.outcome, file.reason) for file in outcome.files} == {
        "photo.raw": ("left", "it was changed since the plan was made"),
        "photo again.raw": ("done", None),
    }
    assert outcome.bytes == 10_240


def test_an_act_is_cancelled_from_another_thread(index, tmp_path):
    many_copies(tmp_path / "many", 20)
    plan, stop = planned(index, tmp_path / "many"), threading.Event()

    def cancel_after(done, _total):
        if done == 5:
            thread = threading.Thread(target=stop.set)
            thread.start()
            thread.join()

    outcome = folders.act(plan, "delete", progress=cancel_after, cancel=stop)
    assert (outcome.cancelled, len(outcome.files)) == (True, 5)
    assert len(files_in(tmp_path / "many")) == 35
    undone = folders.undo(outcome, cancel=stop)
    assert (undone.cancelled, undone.files) == (True, ())
    stop.clear()
    undone = folders.undo(outcome, progress=cancel_after, cancel=stop)
    assert (undone.cancelled, len(undone.files)) == (False, 5)  # there was nothing left to cancel
    assert len(files_in(tmp_path / "many")) == 40


def test_an_interrupted_act_has_reported_its_finished_files(index, tmp_path):
    many_copies(tmp_path / "many", 5)
    files = []

    def interrupt(file):
        files.append(file)
        if len(files) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folders.act(planned(index, tmp_path / "many"), "delete", on_file=interrupt)
    assert [file.outcome for file in files] == ["done", "done"]
    assert len(files_in(tmp_path / "many")) == 8
    assert len(folders.undo().files) == 2


def test_a_file_that_is_already_gone_is_left(index, home):
    plan = planned(index, home)
    (home / "old" / "photo.raw").unlink()
    outcome = folders.act(plan, "delete")
    assert [file.reason for file in outcome.files if file.outcome == "left"] == ["already gone"]


def test_the_error_names_the_folder_that_cannot_be_made_and_its_purpose(index, home, tmp_path, monkeypatch):
    plan, before = planned(index, home), files_in(home)
    (tmp_path / "file").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    (outcome, _) = folders.act(plan, "trash").files
    assert outcome.reason == f"the trash {tmp_path}/file/Trash cannot be made: Not a directory"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    for action, purpose in [
        (folders.undo, "the journal of act"),
        (lambda: folders.act(plan, "delete"), "the journal of act"),
        (lambda: folders.act(plan, "delete", journal=tmp_path / "journal"), "the lock of act"),
    ]:
        with pytest.raises(
            docindex.UnreadableFile, match=f"/file/docindex for {purpose} cannot be made: Not a"
        ):
            action()
    with pytest.raises(
        docindex.UnreadableFile, match=r"/file/docindex for your default index cannot .* --index"
    ):
        docindex.open()
    assert files_in(home) == before


def test_act_and_undo_refuse_invalid_arguments(index, home, tmp_path):
    for wrong in (None, "plan"):
        with pytest.raises(TypeError, match=f"a plan must be a Plan, .* not {wrong!r}"):
            folders.act(wrong, "trash")
    plan, before = planned(index, home), files_in(home)
    with pytest.raises(ValueError, match="how must be one of trash, hardlink, reflink, delete, not 'shred'"):
        folders.act(plan, "shred")
    with journal.act_lock(), pytest.raises(docindex.Busy, match="another docindex act or undo is running"):
        folders.act(plan, "delete")
    with pytest.raises(docindex.UnreadableFile, match=r"there is no folder .*/nowhere"):
        folders.act(plan, "delete", journal=tmp_path / "nowhere" / "journal")
    (tmp_path / "diary").write_text("Dear diary\n")
    with pytest.raises(ValueError, match="is not a journal that act wrote"):
        folders.act(plan, "delete", journal=tmp_path / "diary")
    assert files_in(home) == before
    with pytest.raises(docindex.UnreadableFile, match="there is no journal at"):
        folders.undo(journal=tmp_path / "nothing")
    with pytest.raises(ValueError, match="is not a journal that act wrote"):
        folders.undo(journal=tmp_path / "diary")
    with pytest.raises(ValueError, match="is not a regular file"):
        folders.undo(journal=tmp_path)
    with pytest.raises(ValueError, match="has no act 7; no act is recorded there"):
        folders.undo(7)
    for wrong in (None, True, "2", tmp_path):
        with pytest.raises(
            TypeError, match='undo takes the number of an act, what act returned, "last" or "all"'
        ):
            folders.undo(wrong)
    with pytest.raises(ValueError, match="of a dry run, which changed no file: there is nothing to undo"):
        folders.undo(folders.act(plan, "trash", dry_run=True))
    with journal.act_lock(), pytest.raises(docindex.Busy):
        folders.undo()
    assert (tmp_path / "diary").read_text() == "Dear diary\n"


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_the_error_names_the_system_that_is_not_supported(index, home, monkeypatch, platform):
    plan, before = planned(index, home), files_in(home)
    monkeypatch.setattr(system.sys, "platform", platform)
    for action in (lambda: folders.act(plan, "trash"), folders.undo):
        with pytest.raises(docindex.UnsupportedPlatform, match=f"works on Linux only, not on {platform}"):
            action()
    assert {file.outcome for file in folders.act(plan, "trash", dry_run=True).files} == {"would be done"}
    assert folders.undo(dry_run=True).files == ()
    assert files_in(home) == before


# undo


def test_undo_undoes_the_last_act_then_the_one_before(index, tmp_path):
    for number in range(3):
        many_copies(tmp_path / f"{number}", 2 + number)
        folders.act(planned(index, tmp_path / f"{number}"), "trash")
    listed = folders.acts()
    assert [(act.number, act.files, act.bytes, act.how, act.state) for act in listed] == [
        (number + 1, 2 + number, 9 * (2 + number), "trash", "done") for number in range(3)
    ]
    assert listed == sorted(listed, key=lambda act: act.at)
    folders.undo()
    assert files_in(tmp_path / "2") == {
        name[2:]: data for name, data in files_in(tmp_path).items() if name[0] == "2"
    }
    assert [act.state for act in folders.acts()] == ["done", "done", "undone"]
    folders.undo(1)
    assert [act.state for act in folders.acts()] == ["undone", "done", "undone"]
    folders.undo()
    assert [act.state for act in folders.acts()] == ["undone"] * 3
    assert folders.undo().files == ()
    assert all(len(files_in(tmp_path / f"{number}")) == 4 + 2 * number for number in range(3))


def test_one_file_or_a_folder_of_an_act_comes_back_alone(index, tmp_path):
    for name in ("here", "here/below", "there"):
        many_copies(tmp_path / "root" / name, 1)
    outcome = folders.act(planned(index, tmp_path / "root"), "trash")
    removed = [file.key for file in outcome.files]
    assert len(removed) == 5
    one = next(key for key in removed if "there" in key)
    assert [file.key for file in folders.undo(files=[one]).files] == [one]
    assert (folders.acts()[0].undone, folders.acts()[0].state) == (1, "partly undone")
    below = folders.undo(outcome, files=[tmp_path / "root" / "here"])
    assert {file.key for file in below.files} == {key for key in removed if "/here/" in key}
    assert folders.undo(files=[tmp_path / "elsewhere"]).files == ()
    assert folders.undo("all").is_complete


def test_an_act_is_undone_although_a_later_act_removed_what_it_kept(index, tmp_path):
    folder = tmp_path / "chain"
    many_copies(folder, 1)
    folders.act(planned(index, folder, keep="first"), "delete")
    (folder / "0").write_bytes(b"content 0")
    folders.act(planned(index, folder, keep="shortest-path"), "delete")
    assert sorted(files_in(folder)) == ["0"]
    (undone,) = folders.undo(1).files
    assert (Path(undone.key).name, undone.outcome) == ("0b", "undone")
    (undone,) = folders.undo().files
    assert (Path(undone.key).name, undone.outcome) == ("0a", "undone")


def test_a_file_that_was_removed_twice_comes_back_from_the_last_act(index, tmp_path):
    folder = tmp_path / "twice"
    many_copies(folder, 1)
    for _ in range(2):
        folders.act(planned(index, folder), "trash")
        shutil.copy(folder / "0a", folder / "0b")
    (folder / "0b").unlink()
    (undone,) = folders.undo(files=[folder / "0b"]).files
    assert undone.outcome == "undone"
    assert [act.undone for act in folders.acts()] == [0, 1]


def test_a_dry_run_of_undo_changes_nothing(index, home):
    outcome = folders.act(planned(index, home), "trash")
    removed = files_in(home)
    undone = folders.undo(dry_run=True)
    assert [file.outcome for file in undone.files] == ["would be undone"] * 2
    assert (undone.dry_run, undone.journal, files_in(home)) == (True, outcome.journal, removed)


def test_undo_reports_each_file_as_it_goes(index, home):
    folders.act(planned(index, home), "delete")
    (home / "old" / "photo.raw").write_text("something new")
    calls, files = [], []
    undone = folders.undo(progress=lambda *call: calls.append(call), on_file=files.append)
    assert calls == [(1, 2), (2, 2)]
    assert undone.files == tuple(files)
    assert {Path(file.key).name: (file.outcome, file.reason) for file in files} == {
        "photo again.raw": ("undone", None),
        "photo.raw": ("left", "another file is at its path now, and stays"),
    }
    assert (home / "old" / "photo.raw").read_text() == "something new"


# the surface


def test_an_application_removes_copies_and_brings_them_back(index, home, tmp_path):
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "photo.raw").write_bytes((home / "photo.raw").read_bytes())
    application = Application(index, tmp_path / "journal")
    before = files_in(tmp_path / "home")
    seen, findings = application.look(home, tmp_path / "archive")
    assert (seen.files, len(findings.copies)) == (10, 1)
    outcome = application.remove(findings)
    assert [file.outcome for file in outcome.files] == ["done"] * 3
    assert {name for name in files_in(home) if name.endswith("raw")} == set()
    assert (tmp_path / "archive" / "photo.raw").exists()
    assert len(application.bring_back(outcome).files) == 3
    assert files_in(tmp_path / "home") == before
    assert application.shown[-3:] == ["done"] * 3
    assert application.bar.calls[-1] == (3, 3)


def documented_assignments(module):
    """The names that a module assigns at its top level and explains with a string below."""
    body = ast.parse(inspect.getsource(module)).body
    for node, below in itertools.pairwise(body):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_each_public_name_is_documented_and_each_call_has_an_example():
    assert len(folders.__all__) == len(set(folders.__all__))
    assert all(hasattr(folders, name) for name in folders.__all__)  # which imports the modules
    explained = {
        name
        for module in [*sys.modules.values()]
        if getattr(module, "__name__", "").startswith("docindex.folders.")
        for name in documented_assignments(module)
    }
    for name in folders.__all__:
        member = getattr(folders, name)
        if inspect.isclass(member) or inspect.isfunction(member):
            assert (member.__doc__ or "").strip(), name
            assert not member.__doc__.startswith(f"{name}("), name
        else:
            assert name in explained, name
        if inspect.isfunction(member):
            assert ">>>" in member.__doc__, name
        if dataclasses.is_dataclass(member):
            assert member.__dataclass_params__.frozen, name
    module_doc = inspect.getdoc(folders)
    for name in ("scan", "find", "plan", "act", "undo", "to_json"):
        assert name in module_doc
