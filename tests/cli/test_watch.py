"""Test ``docindex scan --watch``: changes on disk reach the index within seconds."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading

import pytest

import docindex
from docindex.cli import main
from docindex.folders import file_readers, watch

DEADLINE_S = 60


@contextlib.contextmanager
def watching(*arguments):
    """Run a watching scan; yields the process and a function that waits for the next report."""
    command = [sys.executable, "-m", "docindex", "scan", "--watch", "--jsonl", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    reports = queue.Queue()

    def read():
        for line in process.stdout:
            reports.put(json.loads(line))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield process, lambda: reports.get(timeout=DEADLINE_S)
    finally:
        process.kill()
        reader.join()
        process.stdout.close()
        process.stderr.close()
        process.wait()


def news(report):
    return {name: report[name] for name in ("added", "changed", "moved", "removed") if report[name]}


def test_files_are_added_moved_and_removed_as_they_change_on_disk(tmp_path):
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "old.txt").write_text("a text that was there before")
    # The index is in the watched folder: its own changes must not start a scan.
    with watching("--index", folder / "own.docindex", folder) as (process, report):
        assert news(report()) == {"added": 1}
        (folder / "below" / "new.txt").write_text("a text that came later")
        assert news(report()) == {"added": 1}
        (folder / ".hidden").write_text("ignored")
        (folder / "below" / "new.txt").rename(folder / "moved.txt")
        assert news(report()) == {"moved": 1}
        (folder / "made").mkdir()
        (folder / "made" / "deep.txt").write_text("a text in a folder that was made during the scan")
        (folder / "old.txt").unlink()
        assert news(report()) == {"added": 1, "removed": 1}
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 0
        assert process.stderr.read() == ""
    with docindex.open(folder / "own.docindex") as index:
        assert set(index) == {str(folder / "moved.txt"), str(folder / "made" / "deep.txt")}
        assert index.check() == []


def test_a_single_file_can_be_watched(tmp_path):
    file = tmp_path / "one.txt"
    file.write_text("first")
    with watching("--index", tmp_path / "own.docindex", file) as (_, report):
        assert news(report()) == {"added": 1}
        (tmp_path / "other.txt").write_text("ignored")
        (tmp_path / "new").write_text("second")
        (tmp_path / "new").replace(file)
        assert news(report()) == {"changed": 1}


def test_a_root_is_watched_through_a_link_and_after_it_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with watching("--index", tmp_path / "own.docindex", tmp_path / "link") as (_, report):
        assert news(report()) == {}
        (tmp_path / "real" / "one.txt").write_text("a text")
        assert news(report()) == {"added": 1}
        (tmp_path / "real").rename(tmp_path / "away")
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "two.txt").write_text("another text")
        assert news(report()) == {"added": 1, "removed": 1}
        (tmp_path / "real" / ".gitignore").write_text("*.log\n")
        (tmp_path / "real" / "own.docindex.txt").write_text("a text with the name of an index")
        assert news(report()) == {"added": 1}
        (tmp_path / "real" / ".gitignore").write_text("*.txt\n")
        (tmp_path / "real" / "three.md").write_text("a third text")
        assert news(report()) == {"added": 1}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 3, "nothing cannot be read: No such file or directory"),
        (["--json", "."], 2, "--watch prints many reports; use --jsonl instead"),
    ],
)
def test_the_error_says_why_a_root_cannot_be_watched(capsys, tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    assert main(["scan", "--watch", *arguments]) == code
    assert message in capsys.readouterr().err


def test_only_the_first_scan_reads_unchanged_texts_in_a_forced_encoding(capsys, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes("Größe".encode("cp850"))
    (tmp_path / "b.txt").write_bytes(b"second")
    for name in ("a.txt", "b.txt"):
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    roots = [os.fsencode(tmp_path / "a.txt"), os.fsencode(tmp_path / "b.txt")]

    def changed_roots(*_, **__):
        yield roots
        read.clear()
        yield roots

    def reading(path, **options):
        read.append(path)
        return read_file(path, **options)

    read = []
    read_file = file_readers.read_file
    monkeypatch.setattr(watch, "changed_roots", changed_roots)
    monkeypatch.setattr(file_readers, "read_file", reading)
    arguments = ["scan", "--watch", "--encoding", "cp850", *map(os.fsdecode, roots)]
    for _ in range(2):
        assert main(arguments) == 0
        assert read == []
    capsys.readouterr()


def test_without_watchdog_the_error_says_what_to_install(capsys, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("watchdog", "docindex.folders.watch"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "watchdog", None)
    assert main(["scan", "--watch", str(tmp_path)]) == 2
    assert "pip install '.[watch]'" in capsys.readouterr().err
