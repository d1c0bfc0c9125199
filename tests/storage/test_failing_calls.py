"""A file system that refuses locks is not called a writer, nor is a disk that fails called damage.

A library that is loaded before all others lets the calls of the operating system fail, so that SQLite and
Python meet them as they do on a real disk.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import docindex

COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and COMPILER), reason="needs LD_PRELOAD of Linux, and a C compiler"
)

CHILD = """
import json, os, sqlite3, sys
from pathlib import Path
import docindex

path, told, number, when = sys.argv[1:]
found = {}

def tried(name, ask):
    try:
        found[name] = ["answer", str(ask())]
    except Exception as error:
        found[name] = [type(error).__name__, str(error)]

def fail(number):
    Path(told).write_text(number)

def through_sqlite3():
    connection = sqlite3.connect(path, timeout=0.1)
    sqlite3.enable_callback_tracebacks(False)
    docindex.register(connection)
    fail(number)
    try:
        connection.execute("select doc_search_json('words of a text')").fetchall()
    except sqlite3.OperationalError:
        fail("0")
        return connection.execute("select doc_error()").fetchone()[0]

if when == "before":
    fail(number)
    for readonly in (False, True):
        tried(f"open, {readonly=}", lambda: docindex.open(path, timeout_s=0.1, readonly=readonly))
    fail("0")
    tried("sqlite3", through_sqlite3)
else:
    with docindex.open(path, timeout_s=0.1) as index:
        fail(number)
        tried("search", lambda: index.search("words of a text"))
        if "FAILING_READS" in os.environ:  # SQLite tries for ten seconds to lock
            tried("add", lambda: index.add("new", "another text"))
            tried("check", index.check)
        fail("0")
        found["findings"] = index.check()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = tmp_path_factory.mktemp("library") / "failing.so"
    source = Path(__file__).with_name("failing_calls.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def path(tmp_path):
    with docindex.open(tmp_path / "an.index") as index:
        index.add_many([(f"{n}", f"{n} words of a text about nothing at all " * 30) for n in range(100)])
    return tmp_path / "an.index"


def told_by(library, path, kind, number, when):
    """What a child process is told while the calls of a kind fail."""
    switch = path.with_name("switch")
    switch.write_text("0")
    failing = {"LD_PRELOAD": str(library), "FAILING_FILE": path.name, kind: str(switch)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(switch), number, when],
        env=os.environ | failing, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOLCK, "its file system does not lock files"),
        (errno.EOPNOTSUPP, "its file system does not lock files"),
        (errno.EACCES, "locking is refused"),
        (errno.EPERM, "locking is refused"),
    ],
)
def test_a_refused_lock_is_not_called_another_writer(number, why, library, path):
    found = told_by(library, path, "FAILING_LOCKS", str(number), "before")
    assert list(found) == ["open, readonly=False", "open, readonly=True", "sqlite3"]
    for name, (kind, message) in found.items():
        assert kind == ("answer" if name == "sqlite3" else "DiskError"), name
        assert message.startswith(f"{path} cannot be locked: {why} ("), name


def test_a_lock_that_is_refused_to_an_open_index_is_told_so(library, path):
    found = told_by(library, path, "FAILING_LOCKS", str(errno.ENOLCK), "later")
    assert found.pop("findings") == []
    assert {kind for kind, _ in found.values()} == {"DiskError"}
    assert all("its file system does not lock files" in message for _, message in found.values())


@pytest.mark.parametrize(("number", "offset"), [(errno.EIO, 0), (errno.EIO, 8192), (errno.ENXIO, 1)])
def test_a_disk_that_cannot_be_read_is_not_called_damage(number, offset, library, path):
    found = told_by(library, path, "FAILING_READS", f"{number} {offset}", "later")
    assert found.pop("findings") == []  # nothing was wrong with the file
    for name, (kind, message) in found.items():
        assert (kind, "restore a backup" in message) == ("DiskError", False), (name, message)


@pytest.mark.parametrize("offset", [0, 8192])
def test_a_file_that_cannot_be_read_when_it_is_opened_is_not_called_damaged(offset, library, path):
    found = told_by(library, path, "FAILING_READS", f"{errno.EIO} {offset}", "before")
    for name, (kind, message) in found.items():
        assert kind == ("answer" if name == "sqlite3" else "DiskError"), (name, message)
        assert "the disk or its file system failed" in message, name


def test_a_busy_file_that_can_be_locked_is_still_called_busy(library, path):
    with docindex.open(path) as index, index._store.writing():
        found = told_by(library, path, "FAILING_READS", "0", "later")
    assert found["add"][0] == "Busy"
    assert "is being written by" in found["add"][1]
