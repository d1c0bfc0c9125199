"""What a file system cannot guarantee is refused, and the reason names the file system."""

import os
import subprocess
import sys

import pytest

from docindex.folders import mounts
from docindex.folders.journal import Journal
from docindex.folders.mounts import Mounts
from docindex.folders.removal import HOW, remove_copies
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
        monkeypatch.setattr(mounts, "_TABLE", str(tmp_path / "mountinfo"))
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
    monkeypatch.setattr(mounts, "_TABLE", "/nowhere")
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
