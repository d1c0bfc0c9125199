"""What a file system cannot guarantee is refused, and the reason names the file system."""

import os
import subprocess
import sys

import pytest

from docindex.folders.acting import removal
from docindex.folders.acting.journal import Journal
from docindex.folders.acting.removal import HOW, Mounts, remove_copies
from tests.folders.trees import contents_of, copied, planned

TABLE = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:40 / {root} rw - {kind} source rw
31 22 0:41 / /media/my\040disk rw - vfat /dev/sdb1 rw
32 22 0:42 / /media/hidden rw - ext4 /dev/sdc1 rw
33 22 0:43 / /media/hidden rw - cifs //server/share rw
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write a table of mounts in which a folder is on another kind of file system."""

    def write(kind, root="/nowhere"):
        (tmp_path / "mountinfo").write_text(TABLE.format(root=root, kind=kind).lstrip())
        monkeypatch.setattr(removal, "_TABLE", str(tmp_path / "mountinfo"))
        return Mounts()

    return write


def test_the_kind_of_a_file_system_is_that_of_the_nearest_mount(table):
    found = table("xfs")
    assert found.kind(b"/home/a") == "ext4"
    assert found.kind(b"/media/my disk/deep/a") == "vfat"
    assert found.kind(b"/media/hidden/a") == "cifs"  # the last mount hides the one before


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse", "fuse.sshfs"])
def test_nothing_is_deleted_where_other_computers_may_be_writing(root, table, kind):
    copied(root, b"a", b"b")
    groups, before = planned(root), contents_of(root)
    table(kind, root.decode())
    for how in ("delete", "hardlink"):
        for dry_run in (True, False):
            (one,) = remove_copies(groups, how, dry_run=dry_run, journal=Journal(None))
            assert (one.outcome, one.reason) == (
                "left",
                f"it is on a file system ({kind}) where others may be writing to it unseen; the trash would "
                "keep what they write",
            )
    assert contents_of(root) == before
    (one,) = remove_copies(groups, "trash", dry_run=False, journal=Journal(None))
    assert one.outcome == "done"


@pytest.mark.parametrize("kind", ["vfat", "exfat"])
def test_a_file_system_without_hard_links_is_named(root, table, kind):
    copied(root, b"a", b"b")
    groups = planned(root)
    table(kind, root.decode())
    (one,) = remove_copies(groups, "hardlink", dry_run=True, journal=Journal(None))
    assert (one.outcome, one.reason) == ("left", f"its file system ({kind}) has no hard links")
    assert {
        one.outcome for how in ("trash", "delete") for one in remove_copies(
            groups, how, dry_run=True, journal=Journal(None)
        )
    } == {"would be done"}  # fmt: skip


def test_without_a_table_of_mounts_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(removal, "_TABLE", "/nowhere")
    assert {Mounts().obstacle(b"/home/a", how) for how in HOW} == {None}


PROGRAM = """
import os, pathlib, sys
from docindex import folders

folder = pathlib.Path(sys.argv[1])
os.environ["XDG_DATA_HOME"], os.environ["XDG_STATE_HOME"] = sys.argv[2:4]
for how in ("trash", "hardlink", "delete"):
    own = folder / how
    own.mkdir()
    for name in "ab":
        (own / name).write_bytes(b"the same")
        os.utime(own / name, ns=(10**18, 10**18))
    plan = folders.find_exact([own], keep="first").plan()
    with (own / "b").open("ab"):
        (file,) = folders.act(plan, how).files
        assert file.reason == "in use by another program", file
    outcome = folders.act(plan, how)
    assert [(file.outcome, file.guard) for file in outcome.files] == [("done", "lease")], outcome
    assert [file.outcome for file in folders.undo(outcome).files] == ["undone"]
    assert sorted(path.name for path in own.iterdir()) == ["a", "b"]
    assert {path.read_bytes() for path in own.iterdir()} == {b"the same"}
    assert (own / "b").stat().st_mtime_ns == 10**18
"""

MOUNTS = {
    "tmpfs": 'mount -t tmpfs none "$0"',
    "overlay": 'mount -t tmpfs none "$0" && mkdir "$0/l" "$0/u" "$0/w" "$0/m" && '
    'mount -t overlay overlay -o "lowerdir=$0/l,upperdir=$0/u,workdir=$0/w" "$0/m" && cd "$0/m"',
}


@pytest.mark.parametrize("kind", MOUNTS)
def test_files_in_use_are_left_and_acts_are_undone_on(tmp_path, kind):
    (tmp_path / "mount").mkdir()
    command = ["unshare", "--mount", "sh", "-c", f'{MOUNTS[kind]} && "$@"', str(tmp_path / "mount")]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"no {kind} can be mounted here")
    there = "mount/m" if kind == "overlay" else "mount"
    program = [sys.executable, "-c", PROGRAM, *(str(tmp_path / name) for name in (there, "data", "state"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*command, *program], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


FOUND = """
import json, os, pathlib, subprocess, sys
import docindex
from docindex import folders
from docindex.cli import main

home = pathlib.Path(sys.argv[1])
os.environ["XDG_DATA_HOME"], os.environ["XDG_STATE_HOME"] = sys.argv[2:4]

def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in "abc":
        (folder / name).write_text(f"the text {name}")
        os.utime(folder / name, (1e9, 1e9))

def searches(*roots, **options):
    yield folders.find_exact(roots, **options)
    with docindex.open(":memory:") as index:
        scan = folders.scan(index, roots, workers=1)
        yield folders.find(index, roots, scan=scan, **{"kinds": folders.EXACT_KINDS, **options})

def shown(*roots):
    main(["dups", "--kind", "folder", "--kind", "exact", *map(str, roots)])
"""

BIND = """
write(home / "a" / "deep")
write(home / "copy")
(home / "b").mkdir()
subprocess.run(["mount", "--bind", home / "a", home / "b"], check=True)
for roots in ((home,), (home / "a", home / "b", home / "copy")):
    for found in searches(*roots):
        assert not found.copies, found
        pairs = {(pathlib.Path(group.folder).name, pathlib.Path(group.kept).name) for group in found.folders}
        assert pairs in ({("copy", "deep")}, {("deep", "copy")}), pairs
        keys = [file.key for group in found.plan().steps for file in group.files]
        assert not [key for key in keys if key.startswith(f"{home}/b/")], keys
    assert folders.find_exact(roots).walked.skipped == {"seen under another path": 1}
    assert not folders.find_exact([home / "a", home / "b"]).groups
shown(home)
"""

OTHER_DISK = """
write(home / "own")
(home / "disk").mkdir()
subprocess.run(["mount", "-t", "tmpfs", "none", home / "disk"], check=True)
write(home / "disk" / "backup")
write(home / "disk" / "backup 2")
for found in searches(home):
    assert {group.kept for group in found.folders} == {f"{home}/own"}, found
    assert [(group.is_exact, group.keep, group.remark) for group in found.folders] == [
        (True, True, "on another disk"), (True, True, "on another disk"),
    ], found
    assert found.reclaimable == 0 and not folders.act(found.plan(), "delete").files
for found in searches(home, kinds=["exact"]):
    assert len(found.copies) == 3
    for group in found.copies:
        assert all(file.keep for file in group.files)
        assert [group.remark(file) for file in group.files] == ["on another disk", "on another disk", ""]
    assert found.reclaimable == 0 and not folders.act(found.plan(), "delete").files
    assert folders.Plan.from_json(found.plan().to_json()) == found.plan()
    review = folders.PlanReview(found.plan())
    review.choose(0, [found.copies[0].files[0].key])
    assert len(review.plan().groups[0].others) == 2
shown(home)
main(["dups", "--kind", "exact", str(home)])
write(home / "own copy")
(group,) = folders.find_exact([home], prefer=[home / "own"], kinds=["exact"]).copies[:1]
assert [file.key for file in group.others] == [f"{home}/own copy/a"], group
(home / "disk" / "backup" / "empty").mkdir()
for found in searches(home, other_disks=True, prefer=[home / "own"]):
    assert [group.keep for group in found.folders] == [False] * 3, found
outcome = folders.act(found.plan(), "delete")
assert sorted(path.name for path in home.rglob("*")) == ["a", "b", "c", "disk", "own"]
folders.undo(outcome)
assert (home / "disk" / "backup" / "empty").is_dir() and (home / "disk" / "backup 2" / "a").exists()
"""


def run_with_mounts(tmp_path, program):
    """What a program prints that may mount what it likes."""
    command = ["unshare", "--mount"]
    if subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    command += [sys.executable, "-c", FOUND + program]
    command += [str(tmp_path / name) for name in ("home", "data", "state")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done


def test_a_folder_that_is_mounted_twice_is_no_copy_of_itself(tmp_path):
    done = run_with_mounts(tmp_path, BIND)
    assert "left out: 1 folder seen under another path\n" in done.stderr


def test_copies_on_another_disk_are_named_and_kept_unless_they_may_go(tmp_path):
    lines = run_with_mounts(tmp_path, OTHER_DISK).stdout.splitlines()
    home = tmp_path / "home"
    heading = f"{home}/disk/backup is an exact copy of {home}/own: 3 files, 30 B; both folders stay"
    at = lines.index(heading)
    assert lines[at + 2] == f"  keep  {home}/disk/backup"
    assert "2 copied folders and 0 groups of exact copies: removing the copies frees 0 B; 0 groups of " in (
        "\n".join(lines)
    )
    at = lines.index("exact copies: 3 files of 10 B; all stay")
    assert lines[at + 1 : at + 4] == [
        f"  keep  {home}/disk/backup 2/a (on another disk)",
        f"  keep  {home}/disk/backup/a (on another disk)",
        f"  keep  {home}/own/a",
    ]
