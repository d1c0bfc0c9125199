"""`undo` waits for a disk that is not mounted, and `act` uses no trash that somebody else made."""

import json
import os
import subprocess
import sys

import pytest

from docindex import folders
from tests.folders.trees import copied

PROGRAM = """
import os, pathlib, subprocess, sys
AWAY = "its disk is not mounted, or another one is mounted at its path"
from docindex import cli, folders

disk, mounted = pathlib.Path(sys.argv[1], "disk"), pathlib.Path(sys.argv[1], "mounted")
os.environ["XDG_DATA_HOME"], os.environ["XDG_STATE_HOME"] = sys.argv[1] + "/data", sys.argv[1] + "/state"


def plug():
    subprocess.run(["mount", "--bind", disk, mounted], check=True)


def unplug():
    subprocess.run(["umount", mounted], check=True)


def files():
    found = [path for path in mounted.rglob("*") if path.is_file()]
    return {str(path.relative_to(mounted)): path.read_bytes() for path in found}

"""

UNDO = """
for how in ("trash", "hardlink", "delete"):
    plug()
    for name in ("a/x", "b/x"):
        path = mounted / how / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"the same")
        os.utime(path, ns=(10**18, 10**18))
    before = files()
    kept = pathlib.Path(sys.argv[1], how)  # the kept file is on a disk that stays
    if how == "delete":
        kept.write_bytes(b"the same")
        os.utime(kept, ns=(10**18, 10**18))
    roots = [mounted / how, *([kept] if how == "delete" else [])]
    prefer = [kept] if how == "delete" else []
    plan = folders.find_exact(roots, keep="first", prefer=prefer, other_disks=True).plan()
    outcome = folders.act(plan, how)
    assert {file.outcome for file in outcome.files} == {"done"}, outcome
    assert files() != before or how == "hardlink"
    unplug()
    for act in ("last", "all", outcome.act):
        for dry_run in (True, False):
            undone = folders.undo(act, dry_run=dry_run)
            assert {file.outcome for file in undone.files} == {"left"}
            assert {file.reason for file in undone.files} == {AWAY}
            assert len(undone.files) == len(outcome.files)
    assert list(mounted.iterdir()) == []  # nothing was written into the empty mount point
    assert folders.acts()[-1].state == "done"
    plug()
    assert {file.outcome for file in folders.undo().files} == {"undone"}
    assert {name: data for name, data in files().items() if ".Trash" not in name} == before
    assert folders.acts()[-1].state == "undone"
    assert folders.undo().files == ()
    for path in sorted(mounted.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    unplug()
"""

TRASH = """
plug()
for name in "ab":
    (mounted / name).write_bytes(b"the same")
    os.utime(mounted / name, ns=(10**18, 10**18))
own = mounted / f".Trash-{os.getuid()}"
(mounted / "elsewhere").mkdir()
strange = {
    "a link": lambda: own.symlink_to("elsewhere"),
    "of another owner": lambda: (own.mkdir(0o700), os.chown(own, 1234, 1234)),
    "that others may write to": lambda: (own.mkdir(), own.chmod(0o777)),
    "with a link in it": lambda: (own.mkdir(0o700), (own / "files").symlink_to("../elsewhere")),
}
plan = folders.find_exact([mounted], keep="first").plan()
for kind, make in strange.items():
    make()
    (file,) = folders.act(plan, "trash").files
    assert file.outcome == "left", kind
    assert str(own) in file.reason, file.reason
    assert "move it away" in file.reason or "chmod 700" in file.reason, file.reason
    assert sorted(files()) == ["a", "b"], kind
    if own.is_symlink():
        own.unlink()
    else:
        for path in own.iterdir():
            path.unlink() if path.is_symlink() else path.rmdir()
        own.rmdir()
(file,) = folders.act(plan, "trash").files
assert file.outcome == "done" and file.trashed.startswith(str(own)), file
assert [file.outcome for file in folders.undo().files] == ["undone"]
"""


@pytest.mark.parametrize(
    "program", [UNDO, TRASH], ids=["undo waits for a disk", "a strange trash is refused"]
)
def test_on_a_disk_that_can_be_unplugged(tmp_path, program):
    for name in ("disk", "mounted"):
        (tmp_path / name).mkdir()
    command = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0/disk" && "$@"', str(tmp_path)]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM + (UNDO if "undo" in program else TRASH), str(tmp_path)],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "kind", ["a link", "files is a link", "writable", "files is writable", "of another owner"]
)
def test_a_home_trash_that_somebody_else_could_have_made_is_refused(root, tmp_path, trash, kind):
    copied(root, b"a", b"b")
    plan = folders.find_exact([root], keep="first").plan()
    (tmp_path / "elsewhere").mkdir()
    trash.parent.mkdir()
    if kind == "a link":
        trash.symlink_to(tmp_path / "elsewhere")
    else:
        trash.mkdir(0o700)
    if kind == "files is a link":
        (trash / "files").symlink_to(tmp_path / "elsewhere")
    elif kind == "files is writable":
        (trash / "files").mkdir()
        (trash / "files").chmod(0o777)
    elif kind == "writable":
        trash.chmod(0o770)
    elif kind == "of another owner":
        if os.geteuid():
            pytest.skip("only root can give a folder to another user")
        os.chown(trash, 1234, 1234)
    (file,) = folders.act(plan, "trash").files
    assert file.outcome == "left"
    assert str(trash) in file.reason
    assert sorted(os.listdir(root)) == [b"a", b"b"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_files_come_back_to_a_disk_that_has_another_device_number_now(root, how):
    copied(root, b"a", b"b", b"c")
    outcome = folders.act(folders.find_exact([root], keep="first").plan(), how)
    lines = [json.loads(line) for line in outcome.journal.read_text().splitlines()]
    for line in lines:  # as if the disk had been mounted elsewhere when the files were removed
        if "disk" in line:
            for name in ("disk", "inode", "kept_inode"):
                line[name][0] += 7
    outcome.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if not os.statvfs(root).f_fsid:
        pytest.skip("the file system here has no number of its own")
    assert {file.outcome for file in folders.undo().files} == {"undone"}
    assert len({os.stat(os.path.join(root, name)).st_ino for name in (b"a", b"b", b"c")}) == 3


@pytest.mark.parametrize("how", ["delete", "hardlink"])
def test_sparse_files_come_back_sparse(root, how):
    size, middle = 500_000_000, 300_000_000
    for name in ("a", "b"):
        with open(os.path.join(root.decode(), name), "wb") as file:
            file.write(b"beginning")
            file.seek(middle)
            file.write(b"middle")
            file.truncate(size)
        os.utime(os.path.join(root.decode(), name), ns=(10**18, 10**18))
    own = os.path.join(root, b"b")
    before = os.stat(own)
    if before.st_blocks * 512 > 1_000_000:
        pytest.skip("this file system has no sparse files")
    outcome = folders.act(folders.find_exact([root], keep="first").plan(), how)
    assert [file.outcome for file in outcome.files] == ["done"]
    assert [file.outcome for file in folders.undo(outcome).files] == ["undone"]
    after = os.stat(own)
    assert (after.st_size, after.st_blocks) == (size, before.st_blocks)
    assert not os.path.samefile(own, os.path.join(root, b"a"))
    with open(own, "rb") as file:
        assert file.read(9) == b"beginning"
        file.seek(middle)
        assert file.read(7) == b"middle\0"
