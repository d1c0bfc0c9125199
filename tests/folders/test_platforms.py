"""On macOS and Windows the library imports and indexes; calls that remove files raise a clear error."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docindex.folders.walking import system
from docindex.folders.walking.path_keys import with_slashes
from docindex.folders.walking.walk import Skipped, WalkOptions, walk_files

PACKAGE = Path(__file__).parents[2] / "docindex"

# The names of the module os that only Linux has, and those that only Unix has; from Python's manual.
LINUX_ONLY = {
    *("O_PATH", "O_TMPFILE", "copy_file_range", "eventfd", "getxattr", "listxattr", "memfd_create"),
    *("posix_fadvise", "posix_fallocate", "removexattr", "sched_getaffinity", "setxattr", "splice"),
}
UNIX_ONLY = {
    *(
        "O_CLOEXEC",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "chown",
        "chroot",
        "environb",
        "fchdir",
        "fchmod",
    ),
    *("fchown", "fdatasync", "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups", "getloadavg"),
    *("getenvb", "getpgid", "getsid", "getuid", "killpg", "lchown", "lockf", "mkfifo", "mknod", "nice"),
    *(
        "openpty",
        "pathconf",
        "posix_spawn",
        "pread",
        "preadv",
        "pwrite",
        "pwritev",
        "readv",
        "register_at_fork",
    ),
    *(
        "sendfile",
        "setegid",
        "seteuid",
        "setgid",
        "setsid",
        "setuid",
        "statvfs",
        "sync",
        "sysconf",
        "ttyname",
    ),
    *("uname", "wait3", "wait4", "writev"),
}
UNIX_MODULES = {"fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}

# Removes the names that the other system lacks, and then uses docindex. The packages that docindex needs are
# imported before: they have their own code for each system, which cannot work on this one.
PROGRAM = """
import concurrent.futures.process, ctypes, importlib.resources, logging, multiprocessing.connection
import os, pathlib, subprocess, sys, tempfile
import apsw, click, click.shell_completion, jinja2, numpy, platformdirs
import rich.console, rich.progress, rich.traceback, xxhash

platform, folder, *missing = sys.argv[1:]
platformdirs.user_state_path("x"), os.path.expanduser("~")
for name in missing:
    if name in sys.stdlib_module_names:
        sys.modules[name] = None
    elif hasattr(os, name):
        delattr(os, name)
sys.platform = platform
if platform == "win32":
    os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks = set(), {os.stat}, {os.stat}

import docindex
from docindex import cli, folders

with docindex.open(os.path.join(folder, "own.docindex")) as index:
    seen = folders.scan(index, [os.path.join(folder, "files")])
    findings = folders.find(index, [os.path.join(folder, "files")], scan=seen)
    print(seen.added, seen.texts, len(findings.copies), len(findings.likenesses))
    print(index.search("what many readers have in common with each other")[0].key == min(seen.seen))
    plan = findings.plan()
    print({file.outcome for file in folders.act(plan, "trash", dry_run=True).files})
    print(folders.undo(dry_run=True).files)
    for action in (lambda: folders.act(plan, "trash"), folders.undo):
        try:
            action()
        except docindex.UnsupportedPlatform as error:
            print(error)
    assert index.check() == []
plan_path = os.path.join(folder, "plan.json")
pathlib.Path(plan_path).write_text(plan.to_json())
print(cli.main(["info", "--json", "--index", os.path.join(folder, "own.docindex")]))
print(cli.main(["act", plan_path, "--trash", "--no-dry-run"]))
"""


@pytest.mark.parametrize(("platform", "missing"), [
    ("linux", set()),
    ("darwin", LINUX_ONLY),
    ("win32", LINUX_ONLY | UNIX_ONLY | UNIX_MODULES),
])  # fmt: skip
def test_the_library_imports_and_indexes(tmp_path, platform, missing):
    text = "A text about what many readers have in common with each other, and with nobody else at all."
    (tmp_path / "files" / "below").mkdir(parents=True)
    for name in ("a.txt", "below/b.txt"):
        (tmp_path / "files" / name).write_text(text)
    (tmp_path / "files" / "wide.txt").write_text(text, "utf-16")
    (tmp_path / "files" / "other.bin").write_bytes(bytes(1000))
    environment = {**os.environ, **{f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "STATE")}}
    command = [sys.executable, "-W", "error", "-c", PROGRAM, platform, str(tmp_path), *sorted(missing)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:4] == ["4 3 1 1", "True", "{'would be done'}", "()"]
    files = sorted(path.name for path in (tmp_path / "files").rglob("*") if path.is_file())
    if platform == "linux":
        assert lines[-1] == "0"  # undo had brought the file back
        assert files == ["a.txt", "other.bin", "wide.txt"]
    else:
        assert lines[4:6] == [
            f"{action} works on Linux only, not on {platform}; a dry run shows what it would do"
            for action in ("act", "undo")
        ]
        assert lines[-2:] == ["0", "15"]
        assert done.stderr == f"docindex: {lines[4]}\n"
        assert files == ["a.txt", "b.txt", "other.bin", "wide.txt"]


MAY_LACK = {
    PACKAGE / "cli" / "review" / "terminal.py",
    PACKAGE / "folders" / "walking" / "system.py",
    PACKAGE / "frontends" / "isolated" / "child.py",
    PACKAGE / "storage" / "file" / "descriptors.py",
    PACKAGE / "storage" / "file" / "held_files.py",
    PACKAGE / "storage" / "file" / "sqlite_errors.py",
}


def test_only_a_few_modules_use_names_that_some_systems_lack():
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path in MAY_LACK:
            continue
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
                names = {node.attr} & (LINUX_ONLY | UNIX_ONLY)
            elif isinstance(node, ast.Import):
                names = {alias.name for alias in node.names} & UNIX_MODULES
            elif isinstance(node, ast.ImportFrom):
                names = {node.module} & UNIX_MODULES
                if node.module == "os":
                    names |= {alias.name for alias in node.names} & (LINUX_ONLY | UNIX_ONLY)
            else:
                continue
            found += [
                f"{path}:{node.lineno}: {name}" for name in names if f'hasattr(os, "{name}")' not in source
            ]
    assert found == []


def test_that_module_can_be_imported_on_every_system():
    tree = ast.parse((PACKAGE / "folders" / "walking" / "system.py").read_text("utf-8"))
    at_import = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    for top in at_import:
        for node in ast.walk(top):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
                assert node.attr not in LINUX_ONLY | UNIX_ONLY, node.attr
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert not {alias.name for alias in node.names} & UNIX_MODULES


def test_paths_are_opened_in_one_call_where_folders_have_no_descriptors(tmp_path, monkeypatch):
    monkeypatch.setattr(system.os, "supports_dir_fd", set())
    monkeypatch.setattr(system, "LONGEST_PATH", 10)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.txt").write_text("some text")
    found = list(walk_files(os.fsencode(tmp_path), WalkOptions(), Skipped()))
    assert [file.path for file in found] == [os.fsencode(tmp_path / "below" / "a.txt")]
    descriptor = system.open_file(found[0].path, system.READ_FLAGS)
    assert os.read(descriptor, 9) == b"some text"
    os.close(descriptor)


def test_a_walk_finds_the_same_files_where_folders_have_no_descriptors(tmp_path, monkeypatch):
    (tmp_path / "below" / "deeper").mkdir(parents=True)
    for name in ("a.txt", "below/b.txt", "below/deeper/c.txt", ".hidden"):
        (tmp_path / name).write_text(name)
    (tmp_path / "below" / "link").symlink_to("b.txt")
    root, options = os.fsencode(tmp_path), WalkOptions(hidden=True)
    by_name = list(walk_files(root, options, named := Skipped()))
    monkeypatch.setattr(system.os, "supports_dir_fd", set())
    by_path = list(walk_files(root, options, pathed := Skipped()))
    assert by_path == by_name
    assert len(by_path) == 4
    assert pathed.counts == named.counts == {"symlink": 1}
    assert pathed.paths == named.paths == [os.fsencode(tmp_path / "below" / "link")]


def test_keys_have_forward_slashes_everywhere(monkeypatch):
    assert with_slashes(rb"C:\home\ada") == rb"C:\home\ada"  # a backslash belongs to a name on Unix
    monkeypatch.setattr("docindex.folders.walking.path_keys.os.sep", "\\")
    assert with_slashes(rb"C:\home\ada") == b"C:/home/ada"
