"""Whatever is removed, each content that was there is still there under a name that was to be kept."""

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import docindex
from docindex.folders import journal as journals
from docindex.folders import removal, restore, system
from docindex.folders.exact_copies import find_copies
from docindex.folders.journal import Journal
from docindex.folders.path_keys import key_of, path_of, root_of
from docindex.folders.plan import KEEP, KeepPolicy, Plan, plan_groups
from docindex.folders.removal import HOW, remove_copies
from docindex.folders.restore import undo_steps
from docindex.folders.scanner import scan
from docindex.folders.trash import from_trash
from docindex.folders.walk import Skipped, WalkOptions

NAMES = [b"a", b"b.txt", b"caf\xe9", rb"\x41", b"new\nline", b"<script>", b"-rf", "größe".encode()]


@pytest.fixture(autouse=True)
def trash(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "data" / "Trash"


def tree(rng, root):
    """Random folders with copies, hard links, symbolic links, and texts as well as other bytes."""
    contents = [rng.randbytes(rng.choice([1, 20, 5000, 40_000])) for _ in range(4)]
    contents += [b"a text of words " * rng.randint(1, 2000) for _ in range(3)]
    # Alike at their ends, and in all but the middle.
    contents += [contents[0] + bytes(30_000), rng.randbytes(1) + bytes(30_000), b""]
    folders = [
        root,
        os.path.join(root, b"one"),
        os.path.join(root, b"two"),
        os.path.join(root, b"two", b"deep"),
    ]
    paths = []
    for number in range(rng.randint(2, 25)):
        folder = rng.choice(folders)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, rng.choice(NAMES) + b"%d" % number)
        if paths and rng.random() < 0.2:
            os.link(rng.choice(paths), path)
        elif paths and rng.random() < 0.1:
            os.symlink(rng.choice(paths), path)
            continue
        else:
            with open(path, "wb") as file:
                file.write(rng.choice(contents))
            os.utime(path, ns=(10**18, 10**18 + rng.randrange(5)))
        paths.append(path)
    return paths


def contents_of(root):
    """What is in each regular file."""
    return {
        os.path.join(folder, name): Path(os.fsdecode(os.path.join(folder, name))).read_bytes()
        for folder, _, names in os.walk(root)
        for name in names
        if not os.path.islink(os.path.join(folder, name))
    }


def planned(root, **options):
    with docindex.open(":memory:") as index:
        scan(index, [root], options=WalkOptions(hidden=True, ignore=False), workers=1)
        return plan_groups(find_copies(index, [key_of(root)], Skipped()), KeepPolicy(**options))


def to_json(groups):
    return Plan(tuple(groups)).to_json()


def from_json(text):
    return list(Plan.from_json(text).groups)


def undo(path, *, dry_run):
    """Undo the steps of a journal and return what became of each file."""
    with Journal(None if dry_run else path) as journal:
        return list(undo_steps(path, journal, dry_run=dry_run))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "tree").mkdir()
    return root_of(tmp_path / "tree")


@pytest.mark.parametrize("seed", range(30))
def test_no_content_is_ever_lost(root, seed, tmp_path):
    rng = random.Random(seed)
    tree(rng, root)
    before = contents_of(root)
    options = {
        "keep": rng.choice(KEEP),
        "reference": rng.choice([[], [key_of(os.path.join(root, b"two"))]]),
        "isolate": rng.choice([[], [key_of(os.path.join(root, b"one")), key_of(os.path.join(root, b"two"))]]),
    }
    groups = from_json(to_json(planned(root, **options)))
    for group in groups:
        assert len({before[path_of(file.key)] for file in group.files}) == 1
        assert group.kept
        assert group.others
    # Between the plan and the act people go on working.
    changed = rng.sample(sorted(before), min(len(before), rng.randrange(4)))
    for path in changed:
        match rng.randrange(4):
            case 0:
                os.unlink(path)
            case 1:
                with open(path, "r+b") as file:
                    file.write(b"!")
            case 2:
                os.rename(path, path + b".renamed")
            case 3:
                os.unlink(path)
                os.symlink(rng.choice(sorted(before)), path)
    how = rng.choice(["trash", "hardlink", "delete"])
    now = contents_of(root)
    with Journal(tmp_path / "journal") as journal:
        done = list(remove_copies(groups, how, dry_run=False, journal=journal))
    after = contents_of(root)
    assert set(now.values()) == set(after.values())
    acted = {path_of(one.key) for one in done if one.outcome == "done"}
    for path, content in now.items():
        if path not in acted:
            assert after[path] == content
    for one in done:
        if one.outcome == "done":
            assert after[path_of(one.kept)] == now[path_of(one.key)]
            if how == "hardlink":
                assert os.path.samefile(path_of(one.key), path_of(one.kept))
        else:
            assert one.reason
    if any(options["reference"]):
        assert not any(one.startswith(os.path.join(root, b"two") + b"/") for one in acted)
    assert not any(name.startswith(b".docindex-") for _, _, names in os.walk(root) for name in names)


@pytest.mark.parametrize("seed", range(10))
def test_of_each_content_all_copies_are_found(root, seed):
    tree(random.Random(seed), root)
    expected = {}
    for path, content in contents_of(root).items():
        expected.setdefault(content, []).append(path)
    expected = sorted(
        sorted(map(key_of, paths))
        for content, paths in expected.items()
        if content and len({os.stat(path).st_ino for path in paths}) > 1
    )
    assert sorted(sorted(file.key for file in group.files) for group in planned(root)) == expected
    for group in planned(root):
        inodes = {os.stat(path_of(file.key)).st_ino for file in group.files}
        assert group.reclaimable == (len(inodes) - 1) * group.files[0].size


def test_dry_runs_touch_nothing(root):
    tree(random.Random(4), root)
    before = contents_of(root)
    for how in HOW:
        done = list(remove_copies(planned(root), how, dry_run=True, journal=Journal(None)))
        assert {one.outcome for one in done} <= {"would be done", "left"}
        assert any(one.outcome == "would be done" for one in done)
    assert contents_of(root) == before


def test_the_trash_gives_back_what_it_got(root, trash):
    tree(random.Random(4), root)
    before = contents_of(root)
    done = list(remove_copies(planned(root), "trash", dry_run=False, journal=Journal(None)))
    assert (
        len(list((trash / "info").iterdir()))
        == len(list((trash / "files").iterdir()))
        == len([one for one in done if one.trashed])
    )
    for one in done:
        if one.trashed:
            from_trash(path_of(one.trashed), path_of(one.key))
    assert contents_of(root) == before
    assert list((trash / "info").iterdir()) == list((trash / "files").iterdir()) == []


def test_the_trash_takes_files_of_one_name(root, trash):
    for folder in (b"one", b"two", b"three"):
        os.makedirs(os.path.join(root, folder))
        for name in (b"same", b"n" * 255):
            with open(os.path.join(root, folder, name), "wb") as file:
                file.write(name)
    done = list(remove_copies(planned(root), "trash", dry_run=False, journal=Journal(None)))
    assert [one.outcome for one in done] == ["done"] * 4
    assert len({one.trashed for one in done}) == 4
    assert len(list((trash / "files").iterdir())) == 4


def test_a_file_that_is_the_kept_one_by_another_way_is_left(root):
    with open(os.path.join(root, b"a"), "wb") as file:
        file.write(b"the only one")
    os.symlink(root, root + b".too")
    (key,) = [key_of(os.path.join(root, b"a"))]
    status = os.stat(os.path.join(root, b"a"))
    other = key_of(os.path.join(root + b".too", b"a"))
    text = json.dumps({"docindex-plan": 1, "groups": [{"digest": "0" * 32, "reclaimable": 1, "files": [
        {"key": key, "keep": True, "size": status.st_size, "mtime_ns": -1},
        {"key": other, "keep": False, "size": status.st_size, "mtime_ns": -1},
    ]}]})  # fmt: skip
    for how in HOW:
        (one,) = remove_copies(from_json(text), how, dry_run=False, journal=Journal(None))
        assert (one.outcome, one.reason) == (
            "left",
            "it is the kept file itself, under another name",
        )
    assert contents_of(root) == {os.path.join(root, b"a"): b"the only one"}


@pytest.mark.parametrize("changed", [b"a", b"b"])
def test_a_change_while_files_are_compared_is_seen(root, monkeypatch, changed):
    for name in (b"a", b"b"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    groups = planned(root)
    compare = removal._same_bytes

    def changing(a, b):
        same = compare(a, b)
        with open(os.path.join(root, changed), "ab") as file:
            file.write(b"!")
        return same

    monkeypatch.setattr(removal, "_same_bytes", changing)
    (one,) = remove_copies(groups, "delete", dry_run=False, journal=Journal(None))
    assert (one.outcome, one.reason) == ("left", "it was changed while it was compared")
    assert len(contents_of(root)) == 2


def test_a_plan_that_keeps_nothing_or_is_none_is_refused(root):
    tree(random.Random(4), root)
    good = json.loads(to_json(planned(root)))
    for file in good["groups"][0]["files"]:
        file["keep"] = False
    with pytest.raises(ValueError, match="keeps none of"):
        from_json(json.dumps(good))
    for bad in [
        *("", "[]", "{}", "null", '{"docindex-plan": 2, "groups": []}', '{"docindex-plan": 1}'),
        '{"docindex-plan": 1, "groups": [{"files": [{"key": 1}]}]}',
        '{"docindex-plan": 1, "groups": [{"files": [], "digest": "x", "reclaimable": 0}]}',
    ]:
        with pytest.raises(ValueError, match="this is not a plan that dups --json wrote"):
            from_json(bad)


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
        "import sys; from docindex.folders.plan import Plan\n"
        "from docindex.folders.removal import remove_copies\n"
        "from docindex.folders.journal import Journal; print('ready', flush=True)\n"
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
        assert set(found.values()) == set(data), attempt
        assert all(os.path.join(root, b"0-%d" % content) in found for content in range(20))
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies([], how, dry_run=False, journal=journal))
    assert not any(b".docindex-" in path for path in contents_of(root))


@pytest.mark.parametrize("by", ["act", "undo"])
@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_what_a_stopped_act_had_in_its_hands_is_put_back(root, tmp_path, how, by, monkeypatch):
    """Stopped before each of the calls that change a folder: it is as if the process were gone."""

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
        assert set(stopped.values()) == set(before.values())
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


def test_a_link_never_changes_who_may_read_a_file_or_run_it(root):
    for name, mode in ((b"a", 0o644), (b"b", 0o755), (b"c", 0o644)):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
        os.chmod(os.path.join(root, name), mode)
    for dry_run in (True, False):
        done = {
            os.path.basename(one.key): (one.outcome, one.reason)
            for one in remove_copies(planned(root), "hardlink", dry_run=dry_run, journal=Journal(None))
        }
        assert done == {
            "b": ("left", "its owner, mode or attributes differ from those of the kept file"),
            "c": ("would be done" if dry_run else "done", None),
        }
    assert stat.S_IMODE(os.stat(os.path.join(root, b"b")).st_mode) == 0o755


def test_folders_that_are_isolated_are_so_beside_a_reference(root):
    os.makedirs(os.path.join(root, b"one", b"ref"))
    os.makedirs(os.path.join(root, b"two"))
    copied(root, b"one/ref/x", b"one/y", b"two/z")
    one, two = (key_of(os.path.join(root, name)) for name in (b"one", b"two"))
    (group,) = planned(root, reference=[f"{one}/ref"], isolate=[one, two])
    assert [os.path.basename(file.key) for file in group.others] == ["z"]
    os.unlink(os.path.join(root, b"two", b"z"))
    assert planned(root, reference=[f"{one}/ref"], isolate=[one, two]) == []


def test_the_newest_is_the_newest_also_when_it_is_very_new(root):
    copied(root, b"old", b"new")
    os.utime(os.path.join(root, b"new"))
    for keep, kept in (("newest", "new"), ("oldest", "old")):
        (group,) = planned(root, keep=keep)
        assert [os.path.basename(file.key) for file in group.kept] == [kept]


def test_what_links_in_a_reference_lead_to_is_never_offered(root):
    for folder in (b"archive", b"store", b"desk"):
        os.makedirs(os.path.join(root, folder))
    copied(os.path.join(root, b"store"), b"x")
    copied(os.path.join(root, b"desk"), b"y")
    os.symlink("../store", os.path.join(root, b"archive", b"2020"))
    reference = [key_of(os.path.join(root, b"archive"))]
    (group,) = planned(root, keep="first", reference=reference)
    assert [os.path.basename(file.key) for file in group.kept] == ["x"]


@pytest.fixture
def sharing(tmp_path):
    """A folder where files can share room: the file system of the tests, or one made for them."""
    folder = tmp_path / "btrfs"
    folder.mkdir()
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(200_000_000)
    made = (
        shutil.which("mkfs.btrfs")
        and not subprocess.run(
            ["bash", "-c", 'mkfs.btrfs -q "$0" && mount -o loop "$0" "$1"', image, folder],
            capture_output=True,
            check=False,
        ).returncode
    )
    if not made:
        pytest.skip("no file system can be made here on which files share room")
    yield root_of(folder)
    subprocess.run(["umount", folder], check=True)


def test_files_that_share_room_stay_what_they_are(sharing):
    data = random.Random(1).randbytes(20_000_001)
    for name in (b"a", b"b"):
        with open(os.path.join(sharing, name), "wb") as file:
            file.write(data)
    os.chmod(os.path.join(sharing, b"b"), 0o600)
    os.setxattr(os.path.join(sharing, b"b"), "user.tag", b"mine")
    before = os.stat(os.path.join(sharing, b"b"))
    (one,) = remove_copies(planned(sharing, keep="first"), "reflink", dry_run=False, journal=Journal(None))
    assert (one.outcome, one.reason, one.size) == ("done", None, len(data))
    after = os.stat(os.path.join(sharing, b"b"))
    assert (after.st_mtime_ns, after.st_mode, after.st_ino) == (
        before.st_mtime_ns,
        before.st_mode,
        before.st_ino,
    )
    assert os.getxattr(os.path.join(sharing, b"b"), "user.tag") == b"mine"
    assert set(contents_of(sharing).values()) == {data}
    places = subprocess.run(["filefrag", "-v", os.path.join(sharing, b"b")], capture_output=True, check=True)
    assert b"shared" in places.stdout
    with open(os.path.join(sharing, b"b"), "r+b") as file:
        file.write(b"!")
    assert contents_of(sharing)[os.path.join(sharing, b"a")] == data


def test_where_files_cannot_share_room_they_are_left(root):
    for name in (b"a", b"b"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    (one,) = remove_copies(planned(root), "reflink", dry_run=False, journal=Journal(None))
    assert one.outcome in ("done", "left")
    assert set(contents_of(root).values()) == {b"the same"}


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
@pytest.mark.parametrize("seed", range(6))
def test_all_can_be_undone_while_the_kept_copies_are_there(root, tmp_path, how, seed):
    tree(random.Random(seed), root)
    before = contents_of(root)
    facts = {path: (os.stat(path).st_mtime_ns, os.stat(path).st_mode) for path in before}
    with Journal(tmp_path / "journal") as journal:
        done = [
            one
            for one in remove_copies(planned(root), how, dry_run=False, journal=journal)
            if one.outcome == "done"
        ]
    after = contents_of(root)
    assert {one.outcome for one in undo(tmp_path / "journal", dry_run=True)} <= {"would be undone"}
    assert contents_of(root) == after
    assert len([one for one in undo(tmp_path / "journal", dry_run=False) if one.outcome == "undone"]) == len(
        done
    )
    assert contents_of(root) == before
    assert {path: (os.stat(path).st_mtime_ns, os.stat(path).st_mode) for path in before} == facts
    for one in done:
        assert not os.path.samefile(path_of(one.key), path_of(one.kept))
    assert undo(tmp_path / "journal", dry_run=False) == []


def test_undoing_replaces_nothing_and_says_what_it_cannot_do(root, tmp_path):
    for name in (b"a", b"b", b"c"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "delete", dry_run=False, journal=journal))
    (tmp_path / "tree" / "b").write_text("something new")
    (tmp_path / "tree" / "a").write_text("THE SAME")
    found = {
        os.path.basename(one.key): (one.outcome, one.reason)
        for one in undo(tmp_path / "journal", dry_run=False)
    }
    assert found == {
        "b": ("left", "another file has its path by now, and stays"),
        "c": ("left", "the kept copy is gone or has other bytes by now"),
    }
    assert (tmp_path / "tree" / "b").read_text() == "something new"
    (tmp_path / "tree" / "a").unlink()
    assert {one.reason for one in undo(tmp_path / "journal", dry_run=False)} == {
        "another file has its path by now, and stays",
        "the kept copy is gone or has other bytes by now",
    }


def test_a_journal_that_was_cut_short_is_followed_as_far_as_it_goes(root, tmp_path):
    for name in (b"a", b"b", b"c"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "delete", dry_run=False, journal=journal))
    whole = (tmp_path / "journal").read_text()
    (tmp_path / "journal").write_text(whole[:-20])
    assert [one.outcome for one in undo(tmp_path / "journal", dry_run=False)] == ["undone", "undone"]
    assert len(contents_of(root)) == 3
    (tmp_path / "journal").write_text("{}\n" + whole)
    with pytest.raises(ValueError, match="line 1 is not one that act wrote"):
        undo(tmp_path / "journal", dry_run=True)
    (tmp_path / "journal").write_bytes(b"\x7fELF\xff\n")
    with pytest.raises(ValueError, match="is not a journal that act wrote"):
        undo(tmp_path / "journal", dry_run=True)


def copied(root, *names, content=b"the same"):
    """Files with the same bytes."""
    for name in names:
        with open(os.path.join(root, name), "wb") as file:
            file.write(content)
        os.utime(os.path.join(root, name), ns=(10**18, 10**18))


def test_a_line_that_was_cut_short_swallows_no_other(root, tmp_path):
    for half in range(2):
        copied(root, b"a%d" % half, b"b%d" % half, content=b"content %d" % half)
        with Journal(tmp_path / "journal") as journal:
            list(remove_copies(planned(root), "delete", dry_run=False, journal=journal))
        if not half:
            whole = (tmp_path / "journal").read_bytes()
            (tmp_path / "journal").write_bytes(whole[:-20])
    assert [one.outcome for one in undo(tmp_path / "journal", dry_run=False)] == ["undone", "undone"]
    assert len(contents_of(root)) == 4
    assert undo(tmp_path / "journal", dry_run=False) == []


def test_where_the_journal_has_no_room_nothing_is_removed(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b")
    before, write = contents_of(root), os.write

    def half(descriptor, line):
        if len(line) < 200:
            raise OSError(28, "No space left on device")
        return write(descriptor, line[: len(line) - 100])

    with monkeypatch.context() as patches, Journal(tmp_path / "journal") as journal:
        patches.setattr(journals.os, "write", half)
        (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=journal)
    assert (one.outcome, one.reason) == ("left", "No space left on device")
    assert contents_of(root) == before
    assert (tmp_path / "journal").read_bytes() == b""


def test_an_undo_replaces_no_version_that_comes_while_it_copies(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "hardlink", dry_run=False, journal=journal))
    copy = restore._copy

    def saving(source, target, step):
        copy(source, target, step)
        with open(os.path.join(root, b"new"), "wb") as file:
            file.write(b"hours of work")
        os.rename(os.path.join(root, b"new"), os.path.join(root, b"b"))

    monkeypatch.setattr(restore, "_copy", saving)
    (one,) = undo(tmp_path / "journal", dry_run=False)
    assert one.outcome == "left"
    assert contents_of(root) == {
        os.path.join(root, b"a"): b"the same",
        os.path.join(root, b"b"): b"hours of work",
    }


@pytest.mark.parametrize("by", ["act", "undo"])
@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_an_undo_that_is_stopped_leaves_nothing_behind(root, tmp_path, how, by, monkeypatch):
    class Stopped(BaseException):
        pass

    copied(root, b"a", b"b")
    both = set(contents_of(root))
    stopped = True
    allowed = 0
    while stopped:
        with Journal(tmp_path / "journal") as journal:
            list(remove_copies(planned(root, keep="first"), how, dry_run=False, journal=journal))
        before, stopped, left = contents_of(root), False, allowed

        def counted(call):
            def called(*arguments, **options):
                nonlocal left, stopped
                left -= 1
                if left < 0:
                    stopped = True
                    raise Stopped
                return call(*arguments, **options)

            return called

        with monkeypatch.context() as patches, contextlib.suppress(Stopped):
            for name in ("rename", "unlink", "open"):
                patches.setattr(restore.os, name, counted(getattr(os, name)))
            patches.setattr(restore, "rename_no_replace", counted(restore.rename_no_replace))
            undo(tmp_path / "journal", dry_run=False)
        assert set(contents_of(root).values()) == {b"the same"}
        if by == "act":
            with Journal(tmp_path / "journal") as journal:
                list(remove_copies([], how, dry_run=False, journal=journal))
            assert set(contents_of(root)) in (both, set(before))
        undo(tmp_path / "journal", dry_run=False)
        assert set(contents_of(root)) == both
        assert len({os.stat(path).st_ino for path in both}) == 2
        allowed += 1
    assert allowed > 2


@pytest.mark.parametrize("how", ["delete", "hardlink"])
@pytest.mark.parametrize("comes", ["nothing", "another file"])
def test_a_kept_file_that_is_edited_as_the_other_goes_costs_nothing(root, tmp_path, monkeypatch, how, comes):
    copied(root, b"a", b"b")
    unlink = os.unlink

    def editing(path, **options):
        unlink(path, **options)
        if path.startswith(os.path.join(root, b".docindex-")) and not path.endswith(b".new"):
            monkeypatch.setattr(os, "unlink", unlink)
            with open(os.path.join(root, b"a"), "r+b") as file:
                file.write(b"EDITED..")
            if comes == "another file":
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
    if comes == "nothing":
        assert found[os.path.join(root, b"b")] == b"the same"
        assert undo(tmp_path / "journal", dry_run=False) == []
    else:
        assert found[os.path.join(root, b"b")] == b"a person's"
        assert ".docindex-" in one.reason
        (left,) = undo(tmp_path / "journal", dry_run=False)
        assert ".docindex-" in left.reason


def test_an_interrupt_ends_the_act_also_when_a_file_cannot_come_back(root, tmp_path, monkeypatch):
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
    assert len(found) == 4  # the one that could not come back lies aside


@pytest.mark.parametrize("known", [True, False])
def test_no_name_is_taken_from_another_file(root, monkeypatch, known):
    copied(root, b"a")
    copied(root, b"b", content=b"a person's")
    if not known:
        monkeypatch.setattr(system, "_renameat2", None)
        monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(PermissionError(1, "no")))
    a, b, c = (os.path.join(root, name) for name in (b"a", b"b", b"c"))
    with pytest.raises(FileExistsError):
        system.rename_no_replace(a, b)
    assert contents_of(root) == {a: b"the same", b: b"a person's"}
    system.rename_no_replace(a, c)
    assert contents_of(root) == {b: b"a person's", c: b"the same"}


def test_what_came_to_the_trash_under_the_same_name_stays_there(root, tmp_path, trash):
    copied(root, b"a", b"b")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "trash", dry_run=False, journal=journal))
    (trash / "files" / "b").write_text("a love letter")
    (one,) = undo(tmp_path / "journal", dry_run=False)
    assert one.outcome == "undone"  # from the copy that was kept
    assert contents_of(root)[os.path.join(root, b"b")] == b"the same"
    assert (trash / "files" / "b").read_text() == "a love letter"
    assert (trash / "info" / "b.trashinfo").exists()


def test_what_was_never_removed_does_not_come_back(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b")
    with monkeypatch.context() as patches, Journal(tmp_path / "journal") as journal:

        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        patches.setattr(removal.os, "rename", refuse)
        (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=journal)
        assert (one.outcome, one.reason) == ("left", "Permission denied")
    os.unlink(os.path.join(root, b"b"))
    assert undo(tmp_path / "journal", dry_run=False) == []


def test_owner_mode_and_attributes_come_back(root, tmp_path):
    copied(root, b"a", b"b")
    own = os.path.join(root, b"b")
    os.setxattr(own, "user.tag", b"mine")
    os.chmod(own, 0o4710)
    if os.geteuid() == 0:
        os.chown(own, 1234, 1234)
        os.chmod(own, 0o4710)
    before = os.stat(own)
    with Journal(tmp_path / "journal") as journal:
        (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=journal)
    assert one.outcome == "done"
    undo(tmp_path / "journal", dry_run=False)
    after = os.stat(own)
    assert [getattr(after, fact) for fact in ("st_mode", "st_uid", "st_gid", "st_mtime_ns")] == [
        getattr(before, fact) for fact in ("st_mode", "st_uid", "st_gid", "st_mtime_ns")
    ]
    assert os.getxattr(own, "user.tag") == b"mine"


def test_a_link_loses_no_attributes(root):
    copied(root, b"a", b"b")
    os.setxattr(os.path.join(root, b"b"), "user.tag", b"mine")
    (one,) = remove_copies(planned(root), "hardlink", dry_run=False, journal=Journal(None))
    assert (one.outcome, "attributes differ" in one.reason) == ("left", True)
    assert os.getxattr(os.path.join(root, b"b"), "user.tag") == b"mine"


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
    if any(process.returncode == 3 for process in processes):
        assert any(b"another docindex act or undo is at work" in err for _, err in ends)


@pytest.mark.parametrize("how", ["delete", "trash", "hardlink"])
@pytest.mark.parametrize("which", [b"own", b"kept"])
@pytest.mark.parametrize("as_what", ["another file", "the same bytes", "nothing"])
def test_a_file_that_is_replaced_at_the_last_moment_is_left(root, how, which, as_what):
    for name in (b"kept", b"own"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"old")
    (group,) = planned(root, keep="first")
    new, target = os.path.join(root, b"new"), os.path.join(root, which)
    with open(new, "wb") as file:
        file.write(b"old" if as_what == "the same bytes" else b"a new version")

    class Replacing(Journal):
        def begin(self, _step):
            if as_what == "nothing":
                os.unlink(target)
            else:
                os.rename(new, target)

    (one,) = remove_copies([group], how, dry_run=False, journal=Replacing(None))
    assert one.outcome == "left"
    found = contents_of(root)
    other = os.path.join(root, b"own" if which == b"kept" else b"kept")
    assert found.pop(other) == b"old"
    if as_what == "nothing":
        found.pop(new)
        assert found == {}
    else:
        assert found == {target: b"old" if as_what == "the same bytes" else b"a new version"}


@pytest.mark.parametrize("how", ["delete", "trash", "hardlink"])
def test_a_new_version_that_comes_at_any_moment_is_not_lost(root, how):
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


def test_what_lies_in_the_trash_is_no_copy_to_keep(root, trash):
    (trash / "files").mkdir(parents=True)
    (trash / "files" / "kept").write_text("the same")
    with open(os.path.join(root, b"own"), "wb") as file:
        file.write(b"the same")
    both = [str(trash / "files" / "kept"), key_of(os.path.join(root, b"own"))]
    text = json.dumps({"docindex-plan": 1, "groups": [{"digest": "0" * 32, "reclaimable": 8, "files": [
        {"key": key, "keep": number == 0, "size": 8, "mtime_ns": -1} for number, key in enumerate(both)
    ]}]})  # fmt: skip
    (one,) = remove_copies(from_json(text), "delete", dry_run=False, journal=Journal(None))
    assert (one.outcome, one.reason) == ("left", "no kept file has its bytes any more")


@pytest.mark.parametrize("key", ["relative", "", "/a\x00b", "/a\ud800b", "/a\\x00b", "../up"])
def test_a_path_that_is_none_is_refused_before_anything_is_done(key):
    text = json.dumps({"docindex-plan": 1, "groups": [{"digest": "0" * 32, "reclaimable": 8, "files": [
        {"key": "/tmp/kept", "keep": True, "size": 8, "mtime_ns": -1},
        {"key": key, "keep": False, "size": 8, "mtime_ns": -1},
    ]}]})  # fmt: skip
    with pytest.raises(ValueError, match="this is not a plan"):
        from_json(text)


def test_reference_folders_are_those_that_they_lead_to(root):
    os.makedirs(os.path.join(root, b"data", b"Archive"))
    for name in (b"data/Archive/x", b"data/y"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    os.symlink(b"data", os.path.join(root, b"Docs"))
    (group,) = planned(root, keep="first", reference=[key_of(os.path.join(root, b"Docs/Archive"))])
    assert [file.key.rpartition("/")[2] for file in group.kept] == ["x"]
    (group,) = planned(root, keep="oldest", reference=[key_of(os.path.join(root, b"Docs/Archive"))])
    assert [file.key.rpartition("/")[2] for file in group.kept] == ["x"]


def test_a_full_disk_for_the_journal_leaves_the_files(root):
    for name in (b"a", b"b"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")

    class Full(Journal):
        def append(self, _entry):
            raise OSError(28, "No space left on device")

    (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=Full(None))
    assert (one.outcome, one.reason) == ("left", "No space left on device")
    assert len(contents_of(root)) == 2
