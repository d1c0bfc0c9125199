"""`act` removes copies, and every content that existed still exists under the name of a kept file."""

import json
import os
import random
import shutil
import stat
import subprocess

import pytest

from docindex.errors import DiskFull
from docindex.folders.acting import journal as journals
from docindex.folders.acting import places
from docindex.folders.acting.journal import Journal
from docindex.folders.acting.places import place_at
from docindex.folders.acting.removal import HOW, remove_copies
from docindex.folders.acting.trash import from_trash
from docindex.folders.planning.keep_rules import KEEP
from docindex.folders.walking.path_keys import key_of, path_of, root_of
from tests.folders.trees import contents_of, copied, from_json, planned, to_json, tree


@pytest.fixture
def sharing(tmp_path):
    """A folder on a Btrfs file system that is made for the test, where files can share storage."""
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
        pytest.skip("no Btrfs file system can be made here")
    yield root_of(folder)
    subprocess.run(["umount", folder], check=True)


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
    # People keep working between the plan and the act.
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


def test_dry_runs_touch_nothing(root):
    tree(random.Random(4), root)
    before = contents_of(root)
    for how in HOW:
        done = list(remove_copies(planned(root), how, dry_run=True, journal=Journal(None)))
        assert {one.outcome for one in done} <= {"would be done", "left"}
        assert any(one.outcome == "would be done" for one in done)
    assert contents_of(root) == before


def test_every_trashed_file_can_be_restored(root, trash):
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
            with place_at(path_of(one.trashed)) as trashed, place_at(path_of(one.key)) as own:
                from_trash(trashed, own)
    assert contents_of(root) == before
    assert list((trash / "info").iterdir()) == list((trash / "files").iterdir()) == []


def test_the_trash_accepts_several_files_with_one_name(root, trash):
    for folder in (b"one", b"two", b"three"):
        os.makedirs(os.path.join(root, folder))
        for name in (b"same", b"n" * 255):
            with open(os.path.join(root, folder, name), "wb") as file:
                file.write(name)
    done = list(remove_copies(planned(root), "trash", dry_run=False, journal=Journal(None)))
    assert [one.outcome for one in done] == ["done"] * 4
    assert len({one.trashed for one in done}) == 4
    assert len(list((trash / "files").iterdir())) == 4


@pytest.mark.parametrize("way", ["a link to its folder", "a hard link"])
def test_another_path_to_the_kept_file_is_left(root, way):
    with open(os.path.join(root, b"a"), "wb") as file:
        file.write(b"the only one")
    key, other = key_of(os.path.join(root, b"a")), key_of(os.path.join(root + b".too", b"a"))
    if way == "a hard link":
        os.mkdir(root + b".too")
        os.link(path_of(key), path_of(other))
        reason = "the plan keeps this file under another name"
    else:
        os.symlink(root, root + b".too")
        reason = "its path leads through a link, which is not followed"
    status = os.stat(os.path.join(root, b"a"))
    identity = {"size": status.st_size, "mtime_ns": -1, "device": status.st_dev, "inode": status.st_ino}
    text = json.dumps({"docindex-plan": 1, "groups": [{"digest": "0" * 32, "reclaimable": 1, "files": [
        {"key": key, "keep": True, **identity},
        {"key": other, "keep": False, **identity},
    ]}]})  # fmt: skip
    for how in HOW:
        (one,) = remove_copies(from_json(text), how, dry_run=False, journal=Journal(None))
        assert (one.outcome, one.reason) == ("left", reason)
    assert contents_of(root) == {os.path.join(root, b"a"): b"the only one"}


def test_a_hard_link_never_changes_who_may_read_or_run_a_file(root):
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


def test_files_that_share_storage_keep_their_own_facts(sharing):
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


def test_files_that_cannot_share_storage_are_left(root):
    for name in (b"a", b"b"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    (one,) = remove_copies(planned(root), "reflink", dry_run=False, journal=Journal(None))
    assert one.outcome in ("done", "left")
    assert set(contents_of(root).values()) == {b"the same"}


def test_nothing_is_removed_if_the_disk_of_the_journal_is_full(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b")
    before, write = contents_of(root), os.write

    def half(descriptor, line):
        if len(line) < 200:
            raise OSError(28, "No space left on device")
        return write(descriptor, line[: len(line) - 100])

    with monkeypatch.context() as patches, Journal(tmp_path / "journal") as journal:
        patches.setattr(journals.os, "write", half)
        with pytest.raises(DiskFull, match="journal cannot be written, so no more files are changed"):
            list(remove_copies(planned(root), "delete", dry_run=False, journal=journal))
    assert contents_of(root) == before
    assert (tmp_path / "journal").read_bytes() == b""


@pytest.mark.parametrize("known", [True, False])
def test_a_rename_never_replaces_a_file(root, monkeypatch, known):
    copied(root, b"a")
    copied(root, b"b", content=b"a person's")
    if not known:
        monkeypatch.setattr(places, "_renameat2", lambda: None)
    a, b, c = (os.path.join(root, name) for name in (b"a", b"b", b"c"))
    with place_at(a) as own:
        with pytest.raises(FileExistsError):
            places.rename_no_replace(own, own.beside(b"b"))
        assert contents_of(root) == {a: b"the same", b: b"a person's"}
        places.rename_no_replace(own, own.beside(b"c"))
    assert contents_of(root) == {b: b"a person's", c: b"the same"}


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("how", ["trash", "delete"])
def test_what_is_freed_is_the_allocated_storage_of_the_last_name_of_a_file(root, how, dry_run):
    for name in (b"a", b"b", b"c"):
        with open(os.path.join(root, name), "wb") as file:
            file.truncate(1_000_000)  # a hole, which takes no storage
            file.seek(0)
            file.write(b"x" * 5000)
        os.utime(os.path.join(root, name), ns=(10**18, 10**18))
    os.link(os.path.join(root, b"c"), os.path.join(root, b"d"))
    blocks = os.stat(os.path.join(root, b"b")).st_blocks * 512
    assert 0 < blocks < 100_000
    (group,) = planned(root, keep="first")
    group = group._replace(files=tuple(file._replace(keep=file.key[-1] == "a") for file in group.files))
    done = list(remove_copies([group], how, dry_run=dry_run, journal=Journal(None)))
    freed = {os.path.basename(file.key): file.freed for file in done}
    assert freed == {"b": blocks, "c": 0, "d": blocks}


def test_a_file_with_other_attributes_is_not_linked(root):
    copied(root, b"a", b"b")
    os.setxattr(os.path.join(root, b"b"), "user.tag", b"mine")
    (one,) = remove_copies(planned(root), "hardlink", dry_run=False, journal=Journal(None))
    assert (one.outcome, "attributes differ" in one.reason) == ("left", True)
    assert os.getxattr(os.path.join(root, b"b"), "user.tag") == b"mine"


def test_a_file_in_the_trash_does_not_count_as_a_kept_copy(root, trash):
    (trash / "files").mkdir(parents=True)
    (trash / "files" / "kept").write_text("the same")
    with open(os.path.join(root, b"own"), "wb") as file:
        file.write(b"the same")
    both = [str(trash / "files" / "kept"), key_of(os.path.join(root, b"own"))]
    files = [
        {
            "key": key,
            "keep": number == 0,
            "size": 8,
            "mtime_ns": -1,
            "device": found.st_dev,
            "inode": found.st_ino,
        }
        for number, key in enumerate(both)
        if (found := os.stat(path_of(key)))
    ]
    group = {"digest": "0" * 32, "reclaimable": 8, "files": files}
    text = json.dumps({"docindex-plan": 1, "groups": [group]})
    (one,) = remove_copies(from_json(text), "delete", dry_run=False, journal=Journal(None))
    assert (one.outcome, one.reason) == ("left", "no kept file has the same bytes any more")


def test_a_journal_that_cannot_be_written_leaves_the_files(root):
    copied(root, b"a", b"b")

    class Failing(Journal):
        def append(self, _entry):
            raise OSError(5, "Input/output error")

    (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=Failing(None))
    assert (one.outcome, one.reason) == ("left", "Input/output error")
    assert len(contents_of(root)) == 2


def test_files_are_left_if_their_file_system_cannot_rename_them_back_safely(root, monkeypatch):
    copied(root, b"a", b"b")
    before = contents_of(root)
    monkeypatch.setattr(places, "_renameat2", lambda: None)
    monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(PermissionError(1, "no")))
    (one,) = remove_copies(planned(root), "trash", dry_run=False, journal=Journal(None))
    assert (one.outcome, one.reason) == (
        "left",
        "its file system cannot rename a file without replacing another one",
    )
    assert contents_of(root) == before
