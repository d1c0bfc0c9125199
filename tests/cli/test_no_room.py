"""A full disk, a missing folder and a missing home are one sentence and an exit code of their own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import docindex
from docindex import folders
from docindex.cli import main
from docindex.index.adding import Target
from tests.trials.crash.test_full_disk import SMALL_DISK


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("home").mkdir()
    for name in "ab":
        Path("home", name).write_text("the same text in two files\n")
        os.utime(Path("home", name), ns=(10**18, 10**18))
    return tmp_path / "home"


def test_an_act_whose_journal_is_a_device_changes_nothing(home, capsys):
    Path("plan.json").write_text(run(capsys, "dups", "--kind", "exact", "--json", home)[1])
    code, out, err = run(capsys, "act", "plan.json", "--delete", "--no-dry-run", "--journal", "/dev/full")
    assert (code, out) == (2, "")  # a device is no journal
    assert "is not a regular file" in err
    assert sorted(path.name for path in home.iterdir()) == ["a", "b"]


# Fills a small disk, then scans and acts there.
PROGRAM = """
import os, pathlib, random, shutil, sys
from docindex.cli import main

disk, data = (pathlib.Path(name) for name in sys.argv[1:])
rng = random.Random(1)
(data / "texts").mkdir()
for number in range(20):
    words = " ".join(str(rng.randrange(10**6)) for _ in range(15_000))
    (data / "texts" / f"{number}.txt").write_text(words)

def leave(name, size):
    with (disk / name).open("wb") as ballast:
        now = os.statvfs(disk)
        os.posix_fallocate(ballast.fileno(), 0, now.f_bavail * now.f_frsize - size)

leave("ballast", 2_000_000)
codes = [main(["scan", "-q", "--index", str(disk / "index"), str(data / "texts")])]
log = disk / "index-wal"
assert not log.exists() or log.stat().st_size == 0, log.stat().st_size
codes.append(main(["info", "--check", "-q", "--index", str(disk / "index")]))
shutil.copy(data / "texts" / "1.txt", data / "texts" / "copy.txt")
sys.stdout.flush()
os.dup2(os.open(data / "plan.json", os.O_WRONLY | os.O_CREAT), 1)
main(["dups", "--kind", "exact", "--json", str(data / "texts")])
leave("more ballast", 0)
before = sorted((data / "texts").iterdir())
for how in ("--trash", "--delete"):
    journal = ["--journal", str(disk / "journal")]
    codes.append(main(["act", str(data / "plan.json"), how, "--no-dry-run", *journal]))
assert sorted((data / "texts").iterdir()) == before
print(codes, file=sys.stderr)
"""


@pytest.mark.skipif(SMALL_DISK is None, reason="no small disk can be mounted here")
def test_a_small_disk_that_is_full_harms_nothing_and_keeps_no_long_log(tmp_path):
    for name in ("disk", "data"):
        (tmp_path / name).mkdir()
    disk, data = str(tmp_path / "disk"), str(tmp_path / "data")
    command = [*SMALL_DISK, disk, sys.executable, "-c", PROGRAM, disk, data]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[11, 0, 11, 11]", done.stderr


def test_a_missing_folder_does_not_stop_the_others(home, capsys):
    sentence = "docindex: nowhere cannot be read: No such file or directory\n"
    code, out, err = run(capsys, "scan", "nowhere", home)
    assert (code, err) == (3, sentence)
    assert "2 new" in out
    for kind in ([], ["--kind", "exact"]):
        code, out, err = run(capsys, "dups", *kind, "nowhere", home)
        assert code == 3
        assert err.startswith(sentence)
        assert "1 group of exact copies" in out
    assert run(capsys, "dups", "nowhere", "nowhere else")[:2] == (3, "")


def test_dups_reads_an_index_that_cannot_be_written(home, capsys, monkeypatch):
    run(capsys, "scan", home)
    with docindex.open(os.environ["DOCINDEX"], readonly=True) as index:
        assert len(folders.find(index, [home]).copies) == 1
    monkeypatch.setattr(Target, "commit", None)
    code, out, _ = run(capsys, "dups", "--no-scan", "--json", home)
    assert (code, len(json.loads(out)["groups"])) == (0, 1)


def test_without_a_home_folder_the_error_says_what_to_set(capsys, monkeypatch):
    for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DOCINDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: (_ for _ in ()).throw(KeyError("no such user")))
    for command, variable in ((["info"], "HOME"), (["undo"], "HOME or XDG_STATE_HOME")):
        code, out, err = run(capsys, *command)
        assert (code, out) == (3, "")
        assert err.startswith("docindex: your home folder is not known, ")
        assert f"set the environment variable {variable}" in err


# Sends itself Ctrl-C when a certain module is imported.
INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["docindex", "--help"]
from docindex.__main__ import run_command
sys.exit(run_command())
"""


@pytest.mark.parametrize("module", ["docindex.cli", "docindex.cli.command_list", "click"])
def test_an_interrupt_during_the_import_prints_no_traceback(module):
    command = [sys.executable, "-c", f"MODULE = {module!r}\n{INTERRUPTED}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (-signal.SIGINT, 130)
    assert "Traceback" not in done.stderr
