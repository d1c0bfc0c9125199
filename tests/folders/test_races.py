"""No content is lost if `act` is interrupted, or if somebody else changes the files at the same time."""

import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from docindex.folders.acting import removal, write_guard
from docindex.folders.acting.journal import Journal
from docindex.folders.acting.removal import remove_copies
from docindex.folders.walking.path_keys import key_of
from tests.folders.trees import contents_of, copied, planned, to_json, undo


def is_aside(path):
    """Whether this is the temporary path of a file that a step removes."""
    return re.fullmatch(rb"\.docindex-[0-9a-f]{16}", os.path.basename(path)) is not None


@pytest.fixture
def no_leases(monkeypatch):
    """A file system or an owner for which the kernel grants no leases."""

    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(write_guard, "take_lease", refuse)


@pytest.mark.usefixtures("no_leases")
@pytest.mark.parametrize("changed", [b"a", b"b"])
def test_a_change_during_the_comparison_is_noticed(root, monkeypatch, changed):
    for name in (b"a", b"b"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    groups = planned(root)
    compare = removal.same_bytes

    def changing(*files):
        same = compare(*files)
        with open(os.path.join(root, changed), "ab") as file:
            file.write(b"!")
        return same

    monkeypatch.setattr(removal, "same_bytes", changing)
    (one,) = remove_copies(groups, "delete", dry_run=False, journal=Journal(None))
    assert (one.outcome, one.reason) == ("left", "it was changed while it was compared")
    assert len(contents_of(root)) == 2


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_any_moment_loses_nothing(root, tmp_path, how, seed):
    rng = random.Random(seed)
    data = [rng.randbytes(30_000) for _ in range(20)]
    for number, content in itertools.product(range(15), range(20)):
        with open(os.path.join(root, b"%d-%d" % (number, content)), "wb") as file:
            file.write(data[content])
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(to_json(planned(root)))
    program = (
        "import sys; from docindex.folders.planning.plan import Plan\n"
        "from docindex.folders.acting.removal import remove_copies\n"
        "from docindex.folders.acting.journal import Journal; print('ready', flush=True)\n"
        "groups = Plan.from_json(open(sys.argv[1]).read()).groups\n"
        "with Journal(sys.argv[3]) as journal:\n"
        "    for one in remove_copies(groups, sys.argv[2], dry_run=False, journal=journal): pass"
    )
    for attempt in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", program, plan_file, how, tmp_path / "journal"], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        time.sleep(rng.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        found = contents_of(root)
        assert set(found.values()) - {b""} == set(data), attempt  # a step tries renaming with an empty file
        assert all(os.path.join(root, b"0-%d" % content) in found for content in range(20))
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies([], how, dry_run=False, journal=journal))
    assert not any(b".docindex-" in path for path in contents_of(root))


@pytest.mark.parametrize("by", ["act", "undo"])
@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_the_file_of_an_interrupted_act_is_restored(root, tmp_path, how, by, monkeypatch):
    """Interrupt `act` before each call that changes a folder, as if the process were killed there."""

    class Stopped(BaseException):
        pass

    calls = ["rename", "link", "unlink"]
    left = count = 0
    while left <= count:
        for name in (b"a", b"b"):
            with open(os.path.join(root, name), "wb") as file:
                file.write(b"the same %d" % left)
        groups, count = planned(root, keep="first"), 0
        before = contents_of(root)

        def counted(call, allowed=left):
            def called(*arguments, **options):
                nonlocal count
                count += 1
                if count > allowed:
                    raise Stopped
                return call(*arguments, **options)

            return called

        with monkeypatch.context() as patches:
            for name in calls:
                patches.setattr(os, name, counted(getattr(os, name)))
            with Journal(tmp_path / "journal") as journal, contextlib.suppress(Stopped):
                list(remove_copies(groups, how, dry_run=False, journal=journal))
        stopped = contents_of(root)
        assert set(stopped.values()) - {b""} == set(before.values())
        if by == "act":
            with Journal(tmp_path / "journal") as journal:
                back = list(remove_copies([], how, dry_run=False, journal=journal))
            assert all(
                (one.key, one.outcome) == (key_of(os.path.join(root, b"b")), "restored") for one in back
            )
        else:
            undo(tmp_path / "journal", dry_run=False)
            assert contents_of(root) == before
        assert set(contents_of(root)) <= set(before)
        assert contents_of(root)[os.path.join(root, b"a")] == before[os.path.join(root, b"a")]
        assert by != "act" or os.path.join(root, b"b") in contents_of(root) or left >= 2
        left += 1
        for path in contents_of(root):
            os.unlink(path)
    assert left > 2


@pytest.mark.usefixtures("no_leases")
@pytest.mark.parametrize("how", ["delete", "hardlink"])
@pytest.mark.parametrize("new_file", ["nothing", "another file"])
def test_no_content_is_lost_if_the_kept_file_is_edited_at_the_last_moment(
    root, tmp_path, monkeypatch, how, new_file
):
    copied(root, b"a", b"b")
    unlink = os.unlink

    def editing(path, **options):
        unlink(path, **options)
        if is_aside(path):
            monkeypatch.setattr(os, "unlink", unlink)
            with open(os.path.join(root, b"a"), "r+b") as file:
                file.write(b"EDITED..")
            if new_file == "another file":
                with contextlib.suppress(FileNotFoundError):
                    unlink(os.path.join(root, b"b"))
                with open(os.path.join(root, b"b"), "wb") as file:
                    file.write(b"a person's")

    monkeypatch.setattr(os, "unlink", editing)
    with Journal(tmp_path / "journal") as journal:
        (one,) = remove_copies(planned(root, keep="first"), how, dry_run=False, journal=journal)
    assert one.outcome == "left"
    found = contents_of(root)
    assert b"the same" in found.values()
    assert found[os.path.join(root, b"a")] == b"EDITED.."
    if new_file == "nothing":
        assert found[os.path.join(root, b"b")] == b"the same"
        assert undo(tmp_path / "journal", dry_run=False) == []
    else:
        assert found[os.path.join(root, b"b")] == b"a person's"
        assert ".docindex-" in one.reason
        (left,) = undo(tmp_path / "journal", dry_run=False)
        assert ".docindex-" in left.reason


def test_an_interrupt_ends_act_even_if_a_file_cannot_come_back(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b", b"c")
    groups = planned(root, keep="first")

    def interrupted(*_):
        with open(os.path.join(root, b"b"), "wb") as file:
            file.write(b"a person's")
        raise KeyboardInterrupt

    monkeypatch.setattr(removal, "to_trash", interrupted)
    with Journal(tmp_path / "journal") as journal, pytest.raises(KeyboardInterrupt):
        list(remove_copies(groups, "trash", dry_run=False, journal=journal))
    found = contents_of(root)
    assert found[os.path.join(root, b"b")] == b"a person's"
    assert found[os.path.join(root, b"c")] == b"the same"
    assert len(found) == 4  # the file that could not come back has its temporary name


@pytest.mark.parametrize("how", ["hardlink", "delete"])
def test_a_file_that_was_unlinked_when_an_interrupt_came_comes_back(root, tmp_path, how, monkeypatch):
    copied(root, b"a", b"b")
    groups, unlink = planned(root), os.unlink

    def interrupted(path, **options):
        unlink(path, **options)
        if is_aside(path):
            monkeypatch.setattr(os, "unlink", unlink)
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "unlink", interrupted)
    with Journal(tmp_path / "journal") as journal, pytest.raises(KeyboardInterrupt):
        list(remove_copies(groups, how, dry_run=False, journal=journal))
    undo(tmp_path / "journal", dry_run=False)
    assert sorted(map(os.path.basename, contents_of(root))) == [b"a", b"b"]
    assert not os.path.samefile(os.path.join(root, b"a"), os.path.join(root, b"b"))


@pytest.mark.parametrize("how", ["delete", "trash", "hardlink"])
def test_two_plans_that_contradict_each_other_leave_a_copy(root, tmp_path, how):
    plans = []
    for number in range(200):
        for name in (b"a", b"b"):
            with open(os.path.join(root, b"%d-%b" % (number, name)), "wb") as file:
                file.write(b"content %d" % number)
    for name in ("a", "b"):
        groups = json.loads(to_json(planned(root)))
        for group in groups["groups"]:
            for file in group["files"]:
                file["keep"] = file["key"].endswith(name)
        plans.append(tmp_path / f"keeps-{name}.json")
        plans[-1].write_text(json.dumps(groups))
    program = (
        "import sys; from docindex.cli import main; print('ready', flush=True); sys.stdin.readline()\n"
        "sys.exit(main(['act', sys.argv[1], '--' + sys.argv[2], '--no-dry-run']))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, name, how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in plans
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    ends = [process.communicate() for process in processes]
    assert set(contents_of(root).values()) == {b"content %d" % number for number in range(200)}
    if any(process.returncode == 8 for process in processes):
        assert any(b"another docindex act or undo is running" in err for _, err in ends)


@pytest.mark.parametrize("how", ["delete", "trash", "hardlink"])
@pytest.mark.parametrize("which", [b"own", b"kept"])
@pytest.mark.parametrize("replaced_by", ["another file", "the same bytes", "nothing"])
def test_a_file_that_is_replaced_at_the_last_moment_is_left(root, how, which, replaced_by):
    for name in (b"kept", b"own"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"old")
    (group,) = planned(root, keep="first")
    new, target = os.path.join(root, b"new"), os.path.join(root, which)
    with open(new, "wb") as file:
        file.write(b"old" if replaced_by == "the same bytes" else b"a new version")

    class Replacing(Journal):
        def begin(self, _step):
            if replaced_by == "nothing":
                os.unlink(target)
            else:
                os.rename(new, target)

    (one,) = remove_copies([group], how, dry_run=False, journal=Replacing(None))
    assert one.outcome == "left"
    found = contents_of(root)
    other = os.path.join(root, b"own" if which == b"kept" else b"kept")
    assert found.pop(other) == b"old"
    if replaced_by == "nothing":
        found.pop(new)
        assert found == {}
    else:
        assert found == {target: b"old" if replaced_by == "the same bytes" else b"a new version"}


@pytest.mark.parametrize("how", ["delete", "trash", "hardlink"])
def test_a_new_version_that_is_saved_at_any_moment_is_not_lost(root, how):
    rng = random.Random(7)
    for attempt in range(40):
        for name in (b"kept", b"own"):
            with open(os.path.join(root, name), "wb") as file:
                file.write(b"old")
        groups = planned(root, keep="first")
        new, after = os.path.join(root, b"new"), rng.random() * 0.002
        with open(new, "wb") as file:
            file.write(b"a new version")

        def replace(after=after, new=new):
            time.sleep(after)
            os.rename(new, os.path.join(root, b"own"))

        thread = threading.Thread(target=replace)
        thread.start()
        list(remove_copies(groups, how, dry_run=False, journal=Journal(None)))
        thread.join()
        found = contents_of(root)
        assert set(found.values()) == {b"a new version", b"old"}, attempt
        for path in found:
            os.unlink(path)
